"""Mistakes of the paper's released code, each of which must not come back."""

from __future__ import annotations

import numpy as np
import pytest

from sekgnn.encoding import WalkEncoding, encode
from sekgnn.graphs import Graph, cycle_graph, path_graph
from sekgnn.testing import assert_permutation_equivariant

PAPER = WalkEncoding.paper()


def star(leaves: int) -> Graph:
    edges = [[0] * leaves, list(range(1, leaves + 1))]
    return Graph.from_edge_index(edges, leaves + 1, undirected="add")


def test_a_hop_without_pairs_has_no_phantom_pair() -> None:
    """There, hops beyond the diameter of a 4-node path linked nodes 0 and 1."""
    for perm in ([1, 0, 2, 3], [3, 1, 0, 2], [2, 3, 1, 0]):
        assert_permutation_equivariant(
            lambda g: encode(g, PAPER), path_graph(4), perm, atol=1e-13
        )


def test_shells_are_not_cut_at_forty_nodes() -> None:
    """There, only the first 40 of a shell's nodes counted.

    From the hub of a star with n leaves, t = 1: P(land on a leaf) = n / (n + 1).
    """
    for leaves in (39, 41, 100):
        to_shell = encode(star(leaves), PAPER)[0, 1, 0]
        assert to_shell == pytest.approx(leaves / (leaves + 1) / 5)


def test_isolated_nodes_are_kept_and_return_with_certainty() -> None:
    """There, trailing isolated nodes vanished, or returned with probability 0."""
    g = Graph.from_edge_index([[0, 1], [1, 0]], 4)
    got = encode(g, PAPER)
    assert got.shape == (4, 3, 32)
    np.testing.assert_array_equal(got[2:, 0], 1)
    np.testing.assert_array_equal(got[2:, 1:], 0)


def test_large_graphs_are_not_skipped() -> None:
    """There, graphs of 1,000 nodes or more were left out."""
    encoding = WalkEncoding(num_shells=2, walk_length=4)
    large = encode(cycle_graph(2000), encoding)
    np.testing.assert_allclose(large, np.tile(large[:1], (2000, 1, 1)), atol=1e-14)
    np.testing.assert_allclose(
        large[0], encode(cycle_graph(50), encoding)[0], atol=1e-14
    )


def test_the_preset_by_hand_on_a_path_of_three() -> None:
    """Node 0 of 0 - 1 - 2, t = 1, d = (2, 3, 2); hops 3 to 5 count as zero.

    f2 = (H_01 + H_02) / 5 = (1/2 + 0) / 5; f3 = (H_11 + H_22) / 5 = (1/3 + 1/2) / 5.
    Node 1: f2 = (H_10 + H_12) / 5 = (2/3) / 5; f3 = (H_00 + H_22 + 0) / 2 / 5.
    """
    got = encode(path_graph(3), PAPER)[:, :, 0]
    np.testing.assert_allclose(got[0], [1 / 2, 1 / 10, 1 / 6], atol=1e-14)
    np.testing.assert_allclose(got[1], [1 / 3, 2 / 15, 1 / 10], atol=1e-14)
