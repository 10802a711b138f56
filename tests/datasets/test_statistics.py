"""Splits, and the paper's table of statistics."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sekgnn.datasets import PAPER_STATISTICS, Split, check_statistics
from sekgnn.errors import GraphInputError


@pytest.mark.parametrize("name", sorted(PAPER_STATISTICS))
def test_the_numbers_of_the_paper_are_accepted(name: str) -> None:
    paper = PAPER_STATISTICS[name]
    edges = paper.edges / (2 if paper.directed else 1)
    check_statistics(name, [paper.nodes] * 9, [edges] * 9, graphs=paper.graphs)
    check_statistics(name, [paper.nodes], [edges], tasks=paper.tasks)


@pytest.mark.parametrize(
    ("nodes", "edges", "graphs", "tasks", "message"),
    [
        (17.95, 19.79, (188,), 2, r"nodes 17\.95 \(paper: 17\.93\)"),
        (17.93, 19.77, (188,), 2, r"edges 19\.77 \(paper: 19\.79\)"),
        (17.93, 19.79, (187,), 2, r"graphs \(187,\) \(paper: \(188,\)\)"),
        (17.93, 19.79, (188,), 3, r"classes or targets 3 \(paper: 2\)"),
    ],
)
def test_a_difference_is_named(
    nodes: float, edges: float, graphs: tuple[int], tasks: int, message: str
) -> None:
    with pytest.raises(GraphInputError, match=f"^MUTAG is not .*{message}"):
        check_statistics("MUTAG", [nodes], [edges], graphs=graphs, tasks=tasks)


def test_edges_count_twice_where_the_paper_does() -> None:
    check_statistics("counting", [18.8], [31.3])
    with pytest.raises(GraphInputError, match=r"edges 125\.2 \(paper: 62\.6\)"):
        check_statistics("counting", [18.8], [62.6])


def test_a_sample_may_be_off_by_its_standard_errors() -> None:
    nodes = np.where(np.arange(400) % 2, 18.8 - 7, 18.8 + 7)  # standard error 0.35
    edges = np.full(400, 31.3)
    check_statistics("counting", nodes + 2, edges, sampled=True)
    with pytest.raises(GraphInputError, match="mean number of nodes"):
        check_statistics("counting", nodes + 2, edges)
    with pytest.raises(GraphInputError, match="mean number of nodes"):
        check_statistics("counting", nodes + 3, edges, sampled=True)


def test_no_graphs_are_not_the_dataset() -> None:
    with pytest.raises(GraphInputError, match="nodes nan"):
        check_statistics("MUTAG", [], [])


@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9), st.integers(0, 99))
def test_parts_are_the_order_cut_in_three(a: int, b: int, c: int, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(a + b + c)
    split = Split.of(order, a, b)
    assert split.sizes == (a, b, c)
    joined = np.concatenate([split.train, split.val, split.test])
    assert np.array_equal(joined, order)
    assert Split.contiguous(a, b, c).val.tolist() == list(range(a, a + b))
