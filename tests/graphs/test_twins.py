"""Twins are exactly the nodes with equal closed neighbourhoods."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sekgnn.graphs import Graph, complete_graph, cycle_graph, pack, twins
from sekgnn.graphs.twins import copy_to_twins, find_alike, find_twins, quotient
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
    assert find_alike(pack([g]))[1].tolist() == expected


@given(st.lists(graphs(max_nodes=6), max_size=6), st.integers(1, 8))
def test_many_graphs_are_searched_like_one(many: list[Graph], chunk: int) -> None:
    """In chunks of any size, on threads; twins are never of two graphs."""
    packed, starts = pack(many), np.cumsum([0, *(g.num_nodes for g in many)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(twins, "_CHUNK", chunk)
        classes = find_alike(packed, threads=2)
    for i, g in enumerate(many):
        for whole, own in zip(classes, find_alike(pack([g])), strict=True):
            own_part = whole[starts[i] : starts[i + 1]]
            assert own_part.tolist() == (own + starts[i]).tolist()


@given(graphs(max_nodes=9))
def test_twins_get_the_row_of_the_smallest(g: Graph) -> None:
    alike = find_alike(pack([g]))[1]
    values = np.arange(2.0 * g.num_nodes).reshape(-1, 2)
    expected = values[alike]
    copy_to_twins(alike, 0, g.num_nodes, values)
    np.testing.assert_array_equal(values, expected)
    copy_to_twins(np.full_like(alike, -1), 0, g.num_nodes, values)
    np.testing.assert_array_equal(values, expected)
