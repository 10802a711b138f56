"""Twins are exactly the nodes with equal closed neighbourhoods."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from sekgnn.graphs import Graph, complete_graph, cycle_graph
from sekgnn.graphs.twins import find_alike, find_twins, quotient
from sekgnn.testing import graphs


def twins_of(g: Graph) -> np.ndarray:
    twin_of = np.empty(g.num_nodes, dtype=np.int32)
    find_twins(g.csr, 0, g.num_nodes, twin_of)
    return twin_of


@given(graphs(max_nodes=9))
def test_twins_match_the_definition(g: Graph) -> None:
    closed = g.adjacency() + np.eye(g.num_nodes)
    expected = [
        next(u for u in range(g.num_nodes) if (closed[u] == closed[v]).all())
        for v in range(g.num_nodes)
    ]
    assert twins_of(g).tolist() == expected


@given(graphs(max_nodes=9))
def test_quotient_keeps_the_row_sums_of_the_walk(g: Graph) -> None:
    """Class sizes summed over a class's neighbours give its degree plus one."""
    twin_of = twins_of(g)
    nodes, sizes, rows, columns = quotient(g.csr, twin_of, 0, g.num_nodes, 1)
    assert nodes.tolist() == np.unique(twin_of).tolist()
    assert sizes.sum() == g.num_nodes
    for c, v in enumerate(nodes.tolist()):
        near = columns[rows[c] : rows[c + 1]]
        assert np.unique(near).size == near.size
        assert sizes[near].sum() == g.degrees[v] + 1


def test_known_classes() -> None:
    assert twins_of(complete_graph(5)).tolist() == [0] * 5
    assert twins_of(cycle_graph(5)).tolist() == list(range(5))


@given(graphs(max_nodes=9))
def test_nodes_alike_match_the_definition(g: Graph) -> None:
    """Equal rows of A or of A + I, isolated nodes aside."""
    plain = g.adjacency()
    closed = plain + np.eye(g.num_nodes)
    expected = [
        next(
            u
            for u in range(g.num_nodes)
            if (closed[u] == closed[v]).all()
            or (plain[u].any() and (plain[u] == plain[v]).all())
        )
        for v in range(g.num_nodes)
    ]
    assert find_alike(g.csr).tolist() == expected
