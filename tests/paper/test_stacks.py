"""Stacks of matrices hold every graph once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sekgnn.graphs import Graph, path_graph
from sekgnn.paper import stacks
from sekgnn.testing import graphs


@given(st.lists(graphs(max_nodes=5), max_size=8))
def test_every_graph_is_in_one_stack(many: list[Graph]) -> None:
    matrices = {}
    for indices, stack in stacks.same_size_stacks(many):
        assert len(indices) == len(stack) > 0
        for index, matrix in zip(indices.tolist(), stack, strict=True):
            assert index not in matrices
            matrices[index] = matrix
    assert sorted(matrices) == list(range(len(many)))
    for index, matrix in matrices.items():
        assert np.array_equal(matrix, many[index].adjacency())


def test_large_stacks_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stacks, "_CELLS", 20)
    cut = list(stacks.same_size_stacks([path_graph(3)] * 5 + [path_graph(9)]))
    assert [len(indices) for indices, _ in cut] == [2, 2, 1, 1]
