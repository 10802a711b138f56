"""The counting dataset, from the file and generated."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from sekgnn.datasets import CountingDataset, pattern_counts
from sekgnn.datasets.counting import SHAPES
from sekgnn.errors import ConfigError, DataNotFoundError, GraphInputError
from sekgnn.graphs import Graph

EDGES = {n: n * degree // 2 - n for n, degree in SHAPES}


@pytest.fixture(scope="module")
def generated() -> CountingDataset:
    return CountingDataset.generated(seed=1, num_graphs=1000)


@pytest.mark.dataset
def test_the_file(data_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = CountingDataset(data_root)
    assert repr(dataset) == "CountingDataset(5000, file)"
    assert dataset.split.sizes == (1500, 1000, 2500)
    published = [3.0723, 25.9458, 17.7789, 6.9390, 0.1112]  # randomgraph.mat
    assert dataset.scale[:5].round(4).tolist() == published
    assert all(g.num_edges == EDGES[g.num_nodes] for g in dataset)
    monkeypatch.setenv("SEKGNN_DATA", str(data_root))
    assert CountingDataset().source == "file"


@pytest.mark.dataset
def test_generated_graphs_have_the_distribution_of_the_file(
    data_root: Path, generated: CountingDataset
) -> None:
    dataset = CountingDataset(data_root)
    for n in EDGES:  # means of each size within six standard errors
        a, b = (
            d.targets[np.array([g.num_nodes == n for g in d])]
            for d in (dataset, generated)
        )
        error = np.sqrt(a.var(0) / len(a) + b.var(0) / len(b))
        assert (np.abs(a.mean(0) - b.mean(0)) <= 6 * error + 1e-12).all()


def test_generated_graphs_follow_the_recipe(generated: CountingDataset) -> None:
    degree = dict(SHAPES)
    sizes = Counter(g.num_nodes for g in generated)
    assert set(sizes) == set(degree)
    assert all(180 < count < 320 for count in sizes.values())  # a quarter each
    for graph in generated:
        assert graph.num_edges == EDGES[graph.num_nodes]
        assert graph.degrees.max() <= degree[graph.num_nodes]
    assert np.array_equal(generated.targets[:50], pattern_counts(generated[:50]))


def test_the_split_covers_every_graph_once(generated: CountingDataset) -> None:
    split = generated.split
    assert split.sizes == (300, 200, 500)
    everything = np.concatenate([split.train, split.val, split.test])
    assert sorted(everything.tolist()) == list(range(1000))


def test_seeds() -> None:
    a, b, c = (CountingDataset.generated(seed, num_graphs=40) for seed in (3, 3, 4))
    assert list(a) == list(b) and a.split.test.tolist() == b.split.test.tolist()
    assert list(a) != list(c)
    assert len(set(a)) == 40
    with pytest.raises(ConfigError, match="seed must be at least 0"):
        CountingDataset.generated(-1)
    with pytest.raises(ConfigError, match="num_graphs must be at least 10"):
        CountingDataset.generated(0, 9)


def test_without_a_data_folder_the_graphs_are_generated(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("sekgnn.datasets.counting.NUM_GRAPHS", 20)
    monkeypatch.delenv("SEKGNN_DATA", raising=False)
    first = CountingDataset()
    assert repr(first) == "CountingDataset(20, generated)"
    assert list(CountingDataset(seed=5)) == list(CountingDataset.generated(5, 20))
    monkeypatch.setenv("SEKGNN_DATA", str(tmp_path))  # a folder without the file
    assert list(CountingDataset()) == list(first)
    with pytest.raises(DataNotFoundError, match=r"counting/counting\.npz"):
        CountingDataset(tmp_path)
    monkeypatch.setenv("SEKGNN_DATA", str(tmp_path / "typo"))
    with pytest.raises(DataNotFoundError, match="which is no folder"):
        CountingDataset()


def test_pyg_data(generated: CountingDataset) -> None:
    two = generated.to_pyg(("k4", "triangle"))
    for data, graph, row in zip(two, generated, generated.targets, strict=True):
        assert data.y.tolist() == [[row[10], row[0]]]
        assert Graph.from_edge_index(data.edge_index, data.num_nodes) == graph
        assert data.x.tolist() == [[1.0]] * graph.num_nodes
    assert generated.to_pyg()[0].y.shape == (1, 11)
    assert generated.to_pyg("cycle4")[7].y.item() == generated.targets[7, 3]
    with pytest.raises(ConfigError, match="Did you mean 'cycle4'"):
        generated.to_pyg("cycle_4")
    with pytest.raises(GraphInputError, match="no target is named"):
        generated.to_pyg(())
