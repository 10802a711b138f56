"""Packed graphs, and stacks of dense ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from sekgnn.errors import GraphInputError, GraphInputWarning
from sekgnn.graphs import (
    Graph,
    cycle_graph,
    pack,
    pack_edge_indices,
    packed,
    path_graph,
    unpack,
)
from sekgnn.graphs.packed import PackedGraphs
from sekgnn.testing import graphs

MANY = st.lists(graphs(max_nodes=5), max_size=5)


def same(a: PackedGraphs, b: PackedGraphs) -> bool:
    names = ("node_ptr", "indptr", "indices")
    return all(
        np.array_equal(getattr(a, x), getattr(b, x))
        and getattr(a, x).dtype == getattr(b, x).dtype
        for x in names
    )


def concatenate(
    many: list[Graph], rng: np.random.Generator | None = None
) -> tuple[Any, Any, Any]:
    """Edge indices one after the other, columns shuffled within each graph."""
    parts = [g.edge_index() for g in many]
    if rng is not None:
        parts = [part[:, rng.permutation(part.shape[1])] for part in parts]
    node_ptr = np.cumsum([0] + [g.num_nodes for g in many])
    edge_ptr = np.cumsum([0] + [part.shape[1] for part in parts])
    return np.concatenate([np.zeros((2, 0), int), *parts], axis=1), node_ptr, edge_ptr


@given(MANY)
def test_unpack_inverts_pack(many: list[Graph]) -> None:
    packed = pack(many)
    assert unpack(packed) == many
    assert packed.num_graphs == len(many)
    assert packed.num_nodes == sum(g.num_nodes for g in many)


@given(MANY, st.data())
def test_some_of_them_in_any_order_and_joined(
    many: list[Graph], data: st.DataObject
) -> None:
    packed = pack(many)
    order = data.draw(st.permutations(range(len(many))))
    cut = data.draw(st.integers(0, len(many)))
    halves = [packed.take(order[:cut])[0], packed.take(order[cut:])[0]]
    assert [unpack(half) for half in halves] == [
        [many[g] for g in numbers] for numbers in (order[:cut], order[cut:])
    ]
    assert same(PackedGraphs.join(halves), pack([many[g] for g in order]))
    some, nodes, entries = packed.take(order)
    assert np.array_equal(np.diff(packed.indptr)[nodes], np.diff(some.indptr))
    assert packed.indices[entries].size == some.indices.size == packed.indices.size


@given(MANY)
def test_pack_is_the_disjoint_union(many: list[Graph]) -> None:
    union = path_graph(0)
    for g in many:
        union = union.disjoint_union(g)
    packed = pack(many)
    assert Graph(packed.indptr, packed.indices) == union


@given(MANY)
def test_repeats_and_missing_directions(many: list[Graph]) -> None:
    halves = [g.edge_index()[:, g.edge_index()[0] < g.edge_index()[1]] for g in many]
    parts = [np.concatenate([half, half], axis=1) for half in halves]
    edge_index = np.concatenate([np.zeros((2, 0), int), *parts], axis=1)
    edge_ptr = np.cumsum([0] + [part.shape[1] for part in parts])
    node_ptr = np.cumsum([0] + [g.num_nodes for g in many])
    packed = pack_edge_indices(edge_index, node_ptr, edge_ptr, undirected="add")
    assert same(packed, pack(many))


PAIRS = st.lists(st.tuples(st.integers(-1, 4), st.integers(-1, 4)), max_size=6)


@given(st.lists(st.tuples(st.integers(0, 4), PAIRS), max_size=3))
@example([(3, [(0, 1), (1, 2), (2, 0)])])  # as many pairs enter as leave each node
@example([(2, [(0, 1), (1, 0), (0, 1), (1, 0)])])
@example([(0, []), (3, [(1, 2), (2, 1)]), (2, [(1, 0), (0, 1)]), (1, [])])
def test_rows_are_written_if_no_rule_is_broken(
    many: list[tuple[int, list[tuple[int, int]]]],
) -> None:
    """Foreign nodes, loops, repeats and missing reverses are seen, one by one."""
    node_ptr = np.cumsum([0, *(n for n, _ in many)])
    edge_ptr = np.cumsum([0, *(len(pairs) for _, pairs in many)])
    edges = np.array([pair for _, pairs in many for pair in pairs], dtype=np.int64)
    edges = np.ascontiguousarray(edges.reshape(-1, 2).T)
    indptr = np.zeros(node_ptr[-1] + 1, dtype=np.int64)
    indices = np.empty(edge_ptr[-1], dtype=np.int32)
    arrays = edges, node_ptr, edge_ptr, 0, len(many), indptr, indices
    simple = all(
        len(set(pairs)) == len(pairs)
        and all(0 <= u < n and 0 <= v < n and u != v for u, v in pairs)
        and all((v, u) in pairs for u, v in pairs)
        for n, pairs in many
    )
    assert packed.write_rows(*arrays) == simple
    if simple:
        row, col = edges + np.repeat(node_ptr[:-1], np.diff(edge_ptr))
        expected = packed.pack_union(row, col, node_ptr, "error", "error")
        assert same(PackedGraphs(node_ptr, indptr, indices), expected)


@given(MANY, st.integers(0, 2**32 - 1))
def test_every_road_packs_alike(many: list[Graph], seed: int) -> None:
    """With a repeat all pairs are cleaned; many copies make several chunks."""
    many = many * 40
    edge_index, node_ptr, edge_ptr = concatenate(many, np.random.default_rng(seed))
    expected = pack(many)
    assert same(pack_edge_indices(edge_index, node_ptr, edge_ptr, threads=2), expected)
    if edge_index.size:
        twice = np.concatenate([edge_index, edge_index[:, -1:]], axis=1)
        edge_ptr[edge_ptr == edge_ptr[-1]] += 1
        assert same(pack_edge_indices(twice, node_ptr, edge_ptr), expected)


@given(st.lists(st.integers(0, 5), max_size=9), st.integers(1, 7))
def test_ranges_cut_no_graph(sizes: list[int], size: int) -> None:
    node_ptr = np.cumsum([0, *sizes])
    ranges = packed.whole_graph_ranges(node_ptr, size)
    nodes = [v for start, stop in ranges for v in range(start, stop)]
    assert nodes == list(range(node_ptr[-1]))
    for start, stop in ranges:
        assert start in node_ptr and stop in node_ptr
        assert stop - start < size + max(sizes)


def test_small_integers_do_not_overflow_and_torch_is_accepted() -> None:
    many = [cycle_graph(100)] * 40
    edge_index, node_ptr, edge_ptr = concatenate(many)
    small = edge_index.astype(np.int8)
    assert same(pack_edge_indices(small, node_ptr, edge_ptr), pack(many))
    tensors = (torch.from_numpy(x) for x in (edge_index, node_ptr, edge_ptr))
    assert same(pack_edge_indices(*tensors), pack(many))


def test_rules_name_the_graph() -> None:
    loop = [[0, 1, 0, 1, 2], [1, 0, 1, 0, 2]]
    with pytest.warns(GraphInputWarning, match="first at node 2 of graph 1") as seen:
        packed = pack_edge_indices(loop, [0, 2, 5], [0, 2, 5])
    assert seen[0].filename == __file__
    assert unpack(packed)[1] == path_graph(2).disjoint_union(path_graph(1))
    with pytest.raises(GraphInputError, match=r"1 self-loop.*node 2 of graph 1"):
        pack_edge_indices(loop, [0, 2, 5], [0, 2, 5], loops="error")
    with pytest.raises(GraphInputError, match="1 -> 2 without 2 -> 1 of graph 1"):
        pack_edge_indices([[0, 1, 1], [1, 0, 2]], [0, 2, 5], [0, 2, 3])


@pytest.mark.parametrize(
    ("edges", "nodes", "columns", "message"),
    [
        ([[0, 0, 2], [1, 1, 0]], [0, 2, 2, 4], [0, 1, 1, 3], "graph 2: edge 2 -> 0"),
        ([[0], [-1]], [0, 2], [0, 1], r"graph 0: edge 0 -> -1.*\[0, 2\)"),
        ([[0], [1]], [0, 2], [0, 2], "edge_ptr ends at 2.*1 columns"),
        ([[0], [1]], [0, 2], [0], r"1 graphs.*edge_ptr 0"),
        ([[0], [1]], [1, 2], [0, 1], r"node_ptr.*start at 0"),
        ([[0], [1]], [0, 2, 1], [0, 1, 1], r"node_ptr.*decrease.*entry 2"),
        ([[0], [1]], [0, 2, 3], [0, 2, 1], "edge_ptr must not decrease"),
        ([[0], [1]], [], [0, 1], r"node_ptr.*integers"),
        ([[0], [1]], [0.0, 2.0], [0, 1], r"node_ptr.*integers"),
        ([[0], [1]], [0, 2**31], [0, 1], r"below 2\^31"),
        ([[0.5], [1]], [0, 2], [0, 1], "integers"),
        ([0, 1, 2], [0, 2], [0, 1], r"shape \[2, E\]"),
    ],
)
def test_bad_input(edges: Any, nodes: Any, columns: Any, message: str) -> None:
    with pytest.raises(GraphInputError, match=message):
        pack_edge_indices(edges, nodes, columns, undirected="add")


def test_nothing_to_pack() -> None:
    assert pack([]).num_graphs == 0
    assert unpack(pack([])) == []
    assert same(pack_edge_indices([], [0], [0]), pack([]))
