"""The graph type: construction, laws, corners, immutability."""

from __future__ import annotations

import pickle
import random
import warnings
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sekgnn.errors import ConfigError, GraphInputError, GraphInputWarning
from sekgnn.graphs import Graph, path_graph
from sekgnn.testing import graphs

PAIRS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=30)


@given(PAIRS)
def test_edges_are_the_pairs_without_loops_and_repeats(
    pairs: list[tuple[int, int]],
) -> None:
    """Any order, any repeats: the neighbour sets are the definition."""
    edges = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphInputWarning)
        g = Graph.from_edge_index(edges, 6, undirected="add")
    expected = [
        sorted({b for a, b in pairs if a == v} | {a for a, b in pairs if b == v})
        for v in range(6)
    ]
    assert [g.neighbors(v).tolist() for v in range(6)] == [
        [u for u in near if u != v] for v, near in enumerate(expected)
    ]


@given(PAIRS)
def test_one_way_pairs_are_refused_exactly_when_there_are_some(
    pairs: list[tuple[int, int]],
) -> None:
    pairs = [(a, b) for a, b in pairs if a != b]
    edges = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    one_way = {(a, b) for a, b in pairs} - {(b, a) for a, b in pairs}
    if one_way:
        with pytest.raises(GraphInputError, match=f"^{len(one_way)} edges have one"):
            Graph.from_edge_index(edges, 6)
    else:
        assert Graph.from_edge_index(edges, 6).num_edges == len(set(pairs)) // 2


@given(graphs())
def test_round_trips(g: Graph) -> None:
    assert Graph.from_edge_index(g.edge_index(), g.num_nodes) == g
    assert pickle.loads(pickle.dumps(g)) == g
    np.testing.assert_array_equal(g.to_scipy().toarray(), g.adjacency())
    np.testing.assert_array_equal(g.adjacency().sum(1), g.degrees)
    expected = nx.to_numpy_array(g.to_networkx(), nodelist=range(g.num_nodes))
    np.testing.assert_array_equal(expected, g.adjacency())
    assert g.num_edges * 2 == g.edge_index().shape[1]


@given(graphs(), st.randoms())
def test_relabel_moves_rows_and_columns(g: Graph, rng: random.Random) -> None:
    perm = rng.sample(range(g.num_nodes), g.num_nodes)
    moved = g.relabel(perm).adjacency()
    np.testing.assert_array_equal(moved[np.ix_(perm, perm)], g.adjacency())


@given(graphs(), st.data())
def test_induced_and_union(g: Graph, data: st.DataObject) -> None:
    nodes = data.draw(st.permutations(range(g.num_nodes)))
    nodes = nodes[: data.draw(st.integers(0, g.num_nodes))]
    sub = g.induced(nodes)
    np.testing.assert_array_equal(sub.adjacency(), g.adjacency()[np.ix_(nodes, nodes)])
    both = g.disjoint_union(sub)
    assert both.induced(range(g.num_nodes)) == g
    assert both.induced(range(g.num_nodes, both.num_nodes)) == sub


def test_equality_hash_and_fingerprint() -> None:
    a, b = path_graph(3), path_graph(3)
    other = a.relabel([1, 0, 2])
    assert a == b and hash(a) == hash(b) and a.fingerprint() == b.fingerprint()
    assert a != other and a.fingerprint() != other.fingerprint()
    assert path_graph(1) != path_graph(0)
    assert a != "path"
    assert repr(a) == "Graph(num_nodes=3, num_edges=2)"


@pytest.mark.parametrize("n", [0, 1, 5])
def test_no_edges(n: int) -> None:
    nothing: list[Any] = [[], [[], []], np.zeros((2, 0)), torch.empty(2, 0).long()]
    for empty in nothing:
        g = Graph.from_edge_index(empty, n)
        assert (g.num_nodes, g.num_edges) == (n, 0)
        assert g.adjacency().shape == (n, n)


def test_torch_and_small_integer_types_agree() -> None:
    pairs = [[0, 1, 1, 2], [1, 0, 2, 1]]
    for edges in (
        torch.tensor(pairs),
        np.array(pairs, np.int8),
        np.array(pairs, np.uint64),
    ):
        assert Graph.from_edge_index(edges, 3) == path_graph(3)


def test_a_graph_cannot_be_changed() -> None:
    g = path_graph(3)
    with pytest.raises(ValueError, match="read-only"):
        g.indices[0] = 2
    with pytest.raises(ValueError, match="read-only"):
        g.indptr[0] = 2
    with pytest.raises(AttributeError, match="immutable"):
        g.indices = np.zeros(1, np.int32)
    source = np.array([[0, 1], [1, 0]])
    h = Graph.from_edge_index(source, 2)
    source[:] = 0
    assert h == path_graph(2)


def test_self_loops_warn_or_fail() -> None:
    edges = [[0, 1, 1, 1, 2], [1, 0, 1, 1, 2]]
    with pytest.warns(GraphInputWarning, match="2 self-loops.*first at node 1") as seen:
        g = Graph.from_edge_index(edges, 3)
    assert seen[0].filename == __file__
    assert g.num_edges == 1
    with pytest.raises(GraphInputError, match=r'first at node 1.*loops="drop"'):
        Graph.from_edge_index(edges, 3, loops="error")


@pytest.mark.parametrize(
    ("edges", "n", "message"),
    [
        ([[0, 1]], 2, r"shape \[2, E\]"),
        ([[0, 1], [1, 0], [0, 1]], 2, r"pass edge_index\.T"),
        ([[0, 1], [1]], 2, "rows differ in length"),
        ([[[0]], [[1]]], 2, r"shape \[2, E\]"),
        ([[0.0], [1.0]], 2, "must hold integers"),
        ([[True], [False]], 2, "must hold integers"),
        ([[0], [2]], 2, r"nodes 0\.\.2.*num_nodes=2"),
        ([[-1], [0]], 2, r"nodes -1\.\.0"),
        (np.array([[2**64 - 1], [0]], np.uint64), 2, "too large"),
        ([[0], [0]], 0, r"\[0, 0\)"),
        ([[0], [1]], None, "num_nodes is not set"),
        ([[0], [1]], -1, "an integer"),
        ([[0], [1]], 2.5, "an integer"),
        ([[0], [1]], float("nan"), "an integer"),
        ([[0], [1]], True, "an integer"),
        ([[0], [1]], "2", "an integer"),
        ([[0], [1]], 2**31, r"below 2\^31"),
    ],
)
def test_bad_input(edges: Any, n: Any, message: str) -> None:
    with pytest.raises(GraphInputError, match=message):
        Graph.from_edge_index(edges, n, undirected="add")


def test_other_errors() -> None:
    g = path_graph(3)
    with pytest.raises(ConfigError, match="Did you mean 'add'"):
        Graph.from_edge_index([], 2, undirected="addd")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="loops"):
        Graph.from_edge_index([], 2, loops="keep")  # type: ignore[arg-type]
    with pytest.raises(GraphInputError, match="exactly once"):
        g.relabel([0, 0, 1])
    with pytest.raises(GraphInputError, match="repeat"):
        g.induced([0, 0])
    with pytest.raises(GraphInputError, match=r"\[0, 3\)"):
        g.induced([3])
    for node in (-1, 3):
        with pytest.raises(GraphInputError, match=r"\[0, 3\)"):
            g.neighbors(node)
    with pytest.raises(GraphInputError, match="indptr"):
        Graph(np.array([0, 2]), np.array([1]))
