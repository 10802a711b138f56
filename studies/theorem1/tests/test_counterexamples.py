"""Theorem 1's smallest failures, worked out by hand."""

from __future__ import annotations

from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from studies.theorem1.counterexamples import Counterexample, counterexamples
from studies.theorem1.counts import degree_in_range, radius_bound
from studies.theorem1.ego_nets import internal_labels, rooted_labels
from studies.theorem1.returns import (
    pairs_within,
    prefix_labels,
    return_residues,
    together,
)

from sekgnn.graphs import Graph, circulant_graph, complete_graph, from_networkx, pack

EXAMPLES = counterexamples()


def nothing(n: int) -> np.ndarray:
    return np.zeros(n, dtype=np.int64)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.names[1][:16])
@pytest.mark.parametrize("copies", [1, 8])
def test_the_ego_nets_differ_and_2k_returns_do_not(
    example: Counterexample, copies: int
) -> None:
    """Also for copies beside one another, which are in the theorem's range."""
    first, second = example.graphs
    n = first.num_nodes
    assert second.num_nodes == n
    assert {*first.degrees.tolist(), *second.degrees.tolist()} == {3}
    packed = pack([first] * copies + [second] * copies)
    size, other = 2 * n * copies, n * copies
    rooted = rooted_labels(packed, example.radius, nothing(size))
    internal = internal_labels(packed, example.radius, rooted, nothing(size))
    assert rooted[0] != rooted[other]
    assert internal[0] != internal[other]
    labels = prefix_labels(return_residues(packed, 4 * n))
    equal = labels[:, 0] == labels[:, other]
    assert equal[: 2 * example.radius].all()
    if example.first_step is None:
        assert equal.all()
    else:
        assert example.first_step == 2 * example.radius + 1
        assert equal.tolist() == [t < example.first_step for t in range(1, 4 * n + 1)]
    if copies == 8:
        assert degree_in_range(other, 3)
        assert example.radius <= radius_bound(other, 3)


def test_returns_by_hand() -> None:
    """Closed walks of A + I: 1 + 3·3 + 2·triangles of 64 at t = 3, and so on."""
    prism, k33 = EXAMPLES[0].returns(3)
    assert prism == [Fraction(1, 4), Fraction(1, 4), Fraction(12, 64)]
    assert k33 == [Fraction(1, 4), Fraction(1, 4), Fraction(10, 64)]
    # t = 4: 1 + 6·3 + (9 + Σ w²), both Σ w² = 12; t = 5: 1 + 10·3 + 5·21 + 2·edges
    cube, capped = EXAMPLES[1].returns(5)
    assert cube[3] == capped[3] == Fraction(40, 256)
    assert (cube[4], capped[4]) == (Fraction(136, 1024), Fraction(142, 1024))


def test_no_smaller_pair_for_two_hops() -> None:
    """All regular graphs of degree 3 or more on at most 7 nodes."""
    octahedron = circulant_graph(6, [1, 2])
    on_seven = [
        from_networkx(nx.complement(nx.disjoint_union_all(map(nx.cycle_graph, cycles))))
        for cycles in ([7], [3, 4])
    ]
    families: list[list[Graph]] = [
        list(EXAMPLES[0].graphs),
        [octahedron],
        on_seven,
        *([complete_graph(n)] for n in (4, 5, 6, 7)),
    ]
    for family in families:
        packed = pack(family)
        n = packed.num_nodes
        label = prefix_labels(return_residues(packed, 4))[3]
        rooted = rooted_labels(packed, 2, nothing(n))
        assert pairs_within(label) == pairs_within(together(label, rooted))
