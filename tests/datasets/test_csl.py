"""CSL, original and generated."""

from __future__ import annotations

from pathlib import Path

import igraph
import numpy as np
import pytest

from sekgnn.datasets import CSL
from sekgnn.datasets.wl_benchmarks import SKIPS
from sekgnn.errors import ConfigError
from sekgnn.graphs import Graph, csl_graph


def is_csl(graph: Graph, skip: int) -> bool:
    a, b = (
        igraph.Graph(g.num_nodes, g.edge_index().T.tolist()).simplify()
        for g in (graph, csl_graph(41, skip))
    )
    return bool(a.isomorphic(b))


@pytest.mark.dataset
def test_original(data_root: Path) -> None:
    csl = CSL(data_root)
    assert len(csl) == 150
    assert np.bincount(csl.labels).tolist() == [15] * 10
    for graph, skip in zip(csl[::6], csl.skips[::6].tolist(), strict=True):
        assert graph.degrees.tolist() == [4] * 41
        assert is_csl(graph, skip)


@pytest.mark.dataset
def test_generated_has_the_labels_of_the_original(data_root: Path) -> None:
    assert np.array_equal(CSL(data_root).labels, CSL.generated().labels)


def test_generated_copies_belong_to_their_class_only() -> None:
    csl = CSL.generated(seed=3)
    assert len(csl) == 150 and repr(csl) == "CSL(150)"
    assert csl.skips.tolist() == [skip for skip in SKIPS for _ in range(15)]
    for graph, own in zip(csl[::15], SKIPS, strict=True):
        assert [skip for skip in SKIPS if is_csl(graph, skip)] == [own]


def test_generated_copies_differ_and_follow_the_seed() -> None:
    a, b, c = CSL.generated(seed=1), CSL.generated(seed=1), CSL.generated(seed=2)
    assert list(a) == list(b)
    assert list(a) != list(c)
    assert len(set(a)) == 150
    with pytest.raises(ConfigError, match="seed must be at least 0"):
        CSL.generated(seed=-1)
    with pytest.raises(ConfigError, match="copies must be at least 1"):
        CSL.generated(copies=0)


def test_pyg_data() -> None:
    csl = CSL.generated(copies=2)
    for item, graph, label in zip(csl.to_pyg(), csl, csl.labels, strict=True):
        assert item.is_undirected()
        assert item.y.tolist() == [label]
        assert Graph.from_edge_index(item.edge_index, item.num_nodes) == graph
