"""Step 0, shell sizes, and walks with and without self-loops in one encoding.

That every backend and the residues follow the definition is tested where backends are:
the encodings drawn there have all of these.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sekgnn.encoding import (
    WalkEncoding,
    encode,
    encode_exact,
    encode_sampled,
)
from sekgnn.encoding.tasks import BACKENDS, Backend
from sekgnn.graphs import Graph, cycle_graph, path_graph, random_graph

PLAIN = WalkEncoding(num_shells=2, walk_length=3, scope=("graph", "internal"))
RICH = replace(PLAIN, self_loops=(True, False), first_step=0, shell_sizes=6)


def test_a_path_by_hand() -> None:
    """0 - 1 - 2 - 3 from node 0: one node at each distance."""
    encoding = replace(RICH, scope="graph", radius=None, shell_sizes=5)
    found = dict(
        zip(encoding.channels, encode(path_graph(4), encoding)[0], strict=True)
    )
    for loops in ("loops", "no_loops"):
        assert found[f"{loops}/graph/return"][0] == 1
        assert found[f"{loops}/graph/across_diagonal/2"][0] == 1
        assert found[f"{loops}/graph/to_shell/1"][0] == 0
    assert found["no_loops/graph/to_shell/1"].tolist() == [0, 1, 0, 0.75]
    assert found["loops/graph/to_shell/1"][:2] == pytest.approx([0, 0.5])
    assert found["shell_sizes/1-4"].tolist() == [1, 1, 1, 0]
    assert found["shell_sizes/5-5"].tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_walks_are_those_of_simpler_specs_to_the_bit(backend: Backend) -> None:
    g = random_graph(40, 0.15, np.random.default_rng(0))
    got = encode(g, RICH, backend=backend)
    exact = encode_exact(g, RICH)
    apart = [replace(PLAIN, self_loops=loops) for loops in (True, False)]
    end = 2 * PLAIN.num_channels
    for found, plain in (
        (got, [encode(g, encoding, backend=backend) for encoding in apart]),
        (exact, [encode_exact(g, encoding) for encoding in apart]),
    ):
        np.testing.assert_array_equal(found[:, :end, 1:], np.concatenate(plain, axis=1))
    np.testing.assert_array_equal(got[:, end:], exact[:, end:, :, 0])


def test_estimates_have_exact_sizes_and_no_error_there() -> None:
    g = path_graph(5).disjoint_union(cycle_graph(6))
    encoding = replace(
        RICH, scope="graph", radius=None, aggregate="mean", merge="parts"
    )
    walks = replace(encoding, first_step=1, shell_sizes=0)
    found, exact = encode_sampled(g, encoding, num_walks=9), encode(g, encoding)
    known = found.standard_error == 0
    known[:, :-2, 1:] = False
    assert known[:, :, 0].all() and known[:, -2:].all()
    np.testing.assert_array_equal(found.values[known], exact[known])
    plain = [
        encode_sampled(g, replace(walks, self_loops=loops), num_walks=9)
        for loops in (True, False)
    ]
    for name in ("values", "standard_error"):
        both = np.concatenate([getattr(one, name) for one in plain], axis=1)
        np.testing.assert_array_equal(getattr(found, name)[:, :-2, 1:], both)


def test_corners() -> None:
    assert encode(path_graph(0), RICH).shape == (0, RICH.num_channels, 4)
    alone = encode(Graph.from_edge_index([[], []], 2), RICH)
    returns = [RICH.channels.index(f"{x}/graph/return") for x in ("loops", "no_loops")]
    assert alone[:, returns].tolist() == [[[1, 1, 1, 1], [1, 0, 0, 0]]] * 2
    assert not np.delete(alone, returns, axis=1).any()


def test_sizes_far_out_on_a_large_graph_need_no_pairs() -> None:
    """A matrix over all pairs of nodes would take 7 GB."""
    encoding = WalkEncoding(num_shells=1, walk_length=2, shell_sizes=101)
    found = encode(cycle_graph(30_000), encoding)[:, 4:]
    assert found.shape == (30_000, 51, 2)
    assert (found.reshape(30_000, -1)[:, :101] == 2).all()
    assert not found[:, -1, 1].any()
