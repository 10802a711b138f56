"""SR25 and the smaller strongly regular pair."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import igraph
import numpy as np
import pytest

from sekgnn.datasets import SR25, rook_shrikhande
from sekgnn.graphs import Graph


def is_strongly_regular(graph: Graph, k: int, common: int, other: int) -> bool:
    r"""Return whether A² = k I + λ A + μ (J - I - A)."""
    a = graph.adjacency()
    eye, ones = np.eye(len(a), dtype=np.int64), np.ones_like(a)
    return np.array_equal(a @ a, k * eye + common * a + other * (ones - eye - a))


def isomorphic(first: Graph, second: Graph) -> bool:
    a, b = (
        igraph.Graph(g.num_nodes, g.edge_index().T.tolist()).simplify()
        for g in (first, second)
    )
    return bool(a.isomorphic(b))


@pytest.mark.dataset
def test_fifteen_strongly_regular_graphs(data_root: Path) -> None:
    graphs = SR25(data_root)
    assert len(graphs) == 15 and repr(graphs) == "SR25(15)"
    assert all(g.num_nodes == 25 for g in graphs)
    assert all(is_strongly_regular(g, 12, 5, 6) for g in graphs)
    assert not any(isomorphic(a, b) for a, b in combinations(graphs, 2))


@pytest.mark.dataset
def test_pyg_data(data_root: Path) -> None:
    data = SR25(data_root).to_pyg()
    assert [item.y.item() for item in data] == list(range(15))
    assert all(item.is_undirected() and item.num_nodes == 25 for item in data)


def test_rook_and_shrikhande() -> None:
    first, second = rook_shrikhande()
    assert is_strongly_regular(first, 6, 2, 2)
    assert is_strongly_regular(second, 6, 2, 2)
    assert not isomorphic(first, second)
