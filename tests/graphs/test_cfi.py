"""CFI pairs: not isomorphic, alike in all else; only the parity of twists counts."""

from __future__ import annotations

import igraph
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sekgnn.errors import GraphInputError
from sekgnn.graphs import (
    Graph,
    cfi_graph,
    cfi_pair,
    complete_graph,
    csl_graph,
    cycle_graph,
    path_graph,
    petersen_graph,
    rook_graph,
)
from sekgnn.testing import graphs

CHORD = Graph.from_edge_index(
    [[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 0, 2]], 5, undirected="add"
)
BASES = {
    "K4": complete_graph(4),
    "K5": complete_graph(5),
    "triangle": cycle_graph(3),
    "hexagon": cycle_graph(6),
    "chord": CHORD,
    "petersen": petersen_graph(),
    "rook": rook_graph(2, 3),
    "csl": csl_graph(11, 3),
    "edge": path_graph(2),
}


def as_igraph(g: Graph) -> igraph.Graph:
    return igraph.Graph(g.num_nodes, g.edge_index().T.tolist()).simplify()


def isomorphic(a: Graph, b: Graph) -> bool:
    return bool(as_igraph(a).isomorphic_bliss(as_igraph(b)))


@pytest.mark.parametrize("name", BASES)
def test_pairs(name: str) -> None:
    base = BASES[name]
    plain, twisted = cfi_pair(base)
    degrees = base.degrees
    assert plain.num_nodes == 2 * degrees.sum() + (2 ** (degrees - 1)).sum()
    for v in range(base.num_nodes):
        assert degrees[v] > 0
    assert sorted(plain.degrees.tolist()) == sorted(twisted.degrees.tolist())
    assert not isomorphic(plain, twisted)
    rng = np.random.default_rng(0)
    for g in (plain, twisted):
        assert isomorphic(g, g.relabel(rng.permutation(g.num_nodes)))


def test_worked_by_hand() -> None:
    """Over a cycle of n: two cycles of length 3 n, or one of length 6 n."""
    plain, twisted = cfi_pair(cycle_graph(4))
    assert isomorphic(plain, cycle_graph(12).disjoint_union(cycle_graph(12)))
    assert isomorphic(twisted, cycle_graph(24))


@settings(max_examples=40, deadline=None)
@given(graphs(min_nodes=2, max_nodes=5), st.data())
def test_parity_of_twists(base: Graph, data: st.DataObject) -> None:
    assume(base.num_edges > 0 and as_igraph(base).is_connected())
    edges = [(u, v) for u, v in base.edge_index().T.tolist() if u < v]
    chosen = data.draw(st.lists(st.sampled_from(edges), max_size=5))
    plain, twisted = cfi_pair(base)
    g = cfi_graph(base, chosen)
    assert isomorphic(g, twisted if len(chosen) % 2 else plain)


def test_twice_is_not_at_all() -> None:
    base = complete_graph(4)
    assert cfi_graph(base, [(0, 1), (1, 0)]) == cfi_graph(base)
    assert isomorphic(cfi_graph(base, [(0, 1), (2, 3)]), cfi_graph(base))
    assert isomorphic(cfi_graph(base, [(2, 3)]), cfi_pair(base)[1])


def test_bases_that_cannot_be() -> None:
    apart = cycle_graph(3).disjoint_union(cycle_graph(3))
    for base in (path_graph(0), path_graph(1), apart):
        with pytest.raises(GraphInputError, match="connected and have an edge"):
            cfi_pair(base)
    with pytest.raises(GraphInputError, match="17 neighbours"):
        cfi_graph(complete_graph(18))
    with pytest.raises(GraphInputError, match=r"\(0, 2\) is no edge"):
        cfi_graph(path_graph(3), [(0, 2)])
    assert cfi_graph(path_graph(0)) == path_graph(0)
    assert cfi_graph(path_graph(1)) == path_graph(1)
