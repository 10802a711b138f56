"""What compiled kernels trust is exactly what simple undirected graphs are."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sekgnn.errors import GraphInputError
from sekgnn.graphs import Graph, cleaning, pack, path_graph
from sekgnn.graphs.cleaning import check_rows, checked_once
from sekgnn.graphs.packed import PackedGraphs
from sekgnn.testing import graphs

NUMBERS = st.lists(st.integers(-1, 6), max_size=7)


def simple(node_ptr: list[int], indptr: list[int], indices: list[int]) -> bool:
    """The definition, word by word."""
    for ptr, end in ((node_ptr, len(indptr) - 1), (indptr, len(indices))):
        if not ptr or ptr[0] != 0 or ptr[-1] != end or ptr != sorted(ptr):
            return False
    rows = [indices[a:b] for a, b in pairwise(indptr)]
    edges = {(v, u) for v, row in enumerate(rows) for u in row}
    return (
        all(row == sorted(set(row)) for row in rows)
        and all(v != u and (u, v) in edges for v, u in edges)
        and all(
            any(a <= v < b and a <= u < b for a, b in pairwise(node_ptr))
            for v, u in edges
        )
    )


def accepted(node_ptr: list[int], indptr: list[int], indices: list[int]) -> bool:
    try:
        check_rows(
            np.array(node_ptr, np.int64),
            np.array(indptr, np.int64),
            np.array(indices, np.int32),
        )
    except GraphInputError as error:
        assert len(str(error).splitlines()) == 1
        return False
    return True


@given(NUMBERS, NUMBERS, NUMBERS)
@example([0, 2], [0, 1, 2], [1, 0])
@example([0, 1, 2], [0, 1, 2], [1, 0])  # an edge between two graphs
@example([0, 2], [0, 1, 2], [10**9, -(10**9)])
@example([0, 2], [0, 10**9, 2], [1, 0])
@example([0, 2], [0, -(10**9), 2], [1, 0])
@example([0, 10**9, 2], [0, 1, 2], [1, 0])
def test_any_numbers(nodes: list[int], rows: list[int], entries: list[int]) -> None:
    assert accepted(nodes, rows, entries) == simple(nodes, rows, entries)


@given(
    st.lists(graphs(max_nodes=5), max_size=4),
    st.sampled_from(["node_ptr", "indptr", "indices"]),
    st.lists(st.tuples(st.integers(0, 50), st.integers(-1, 20)), max_size=2),
    st.sampled_from([1, 2, 1000]),
)
def test_a_changed_number(
    many: list[Graph], name: str, changes: list[tuple[int, int]], chunk: int
) -> None:
    """Wherever chunks of nodes end."""
    packed = pack(many)
    arrays = {n: getattr(packed, n).tolist() for n in ("node_ptr", "indptr", "indices")}
    for place, value in changes if arrays[name] else ():
        arrays[name][place % len(arrays[name])] = value
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cleaning, "_CHUNK", chunk)
        assert accepted(*arrays.values()) == simple(*arrays.values())


@pytest.mark.parametrize(
    ("indptr", "indices", "message"),
    [
        ([0, 1, 2], [1, 5], "node 1 has a neighbour that is not a node"),
        ([0, 1, 2], [1, -1], "node 1 has a neighbour that is not a node"),
        ([0, 9, 2], [1, 0], "the row of node 0 does not lie in the indices"),
        ([0, 2, 3, 3], [1, 1, 0], "neighbours of node 0 are not sorted"),
        ([0, 2, 3, 4], [2, 1, 0, 0], "neighbours of node 0 are not sorted"),
        ([0, 1], [0], "node 0 is its own neighbour"),
        ([0, 1, 1], [1], "one direction only"),
        ([0, 1], [1, 0], "indptr must start at 0 and end at 2"),
        ([], [], "indptr must start at 0"),
        ([0, 1, 2], [1.0, 0.5], "must hold integers"),
        ([0, 1, 2], [1, 2**32], "must hold integers that fit int32"),
        ([[0, 1, 2]], [1, 0], r"indptr must be int64 \[\?\]"),
        ([0, 1, 2], ["a", "b"], "must hold integers"),
    ],
)
def test_messages(indptr: Any, indices: Any, message: str) -> None:
    with pytest.raises(GraphInputError, match=message):
        Graph(indptr, indices)


def test_graphs_of_users_are_checked() -> None:
    with pytest.raises(GraphInputError, match="int32"):
        PackedGraphs(np.array([0, 2]), np.array([0, 1, 2]), np.array([1, 0]))
    wrong = np.array([1, 7], dtype=np.int32)
    with pytest.raises(GraphInputError, match="not a node of its graph"):
        PackedGraphs(np.array([0, 2]), np.array([0, 1, 2]), wrong)


@given(st.lists(graphs(max_nodes=5), max_size=4))
def test_what_is_built_here_need_not_be_checked(many: list[Graph]) -> None:
    """And is right."""
    packed = pack(many)
    assert accepted(*(a.tolist() for a in vars(packed).values()))
    union = path_graph(0)
    for graph in many:
        union = union.disjoint_union(graph)
    for graph in (union, *many):
        assert Graph(graph.indptr, graph.indices) == graph


def test_a_file_is_checked_once_as_it_stands(tmp_path: Path) -> None:
    """And again when it has changed, or has not passed."""
    file, calls = tmp_path / "file", []
    file.write_text("a")

    def refuse() -> None:
        calls.append("refused")
        raise GraphInputError("no")

    for _ in range(2):
        with pytest.raises(GraphInputError):
            checked_once(file, refuse)
    for _ in range(3):
        checked_once(file, lambda: calls.append("passed"))
    file.write_text("ab")
    checked_once(file, lambda: calls.append("passed"))
    assert calls == ["refused"] * 2 + ["passed"] * 2
