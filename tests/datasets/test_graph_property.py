"""The graph property benchmark, and its targets against brute force."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Literal

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sekgnn.datasets import GraphPropertyDataset, graph_properties, node_properties
from sekgnn.errors import ConfigError, DataNotFoundError, GraphInputError
from sekgnn.graphs import Graph, complete_graph, cycle_graph, path_graph
from sekgnn.testing import graphs


@pytest.fixture(scope="module")
def generated() -> GraphPropertyDataset:
    return GraphPropertyDataset.generated(seed=1, per_size=64)


@pytest.mark.dataset
def test_the_files(data_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = GraphPropertyDataset(data_root)
    assert repr(dataset) == "GraphPropertyDataset(7040, file)"
    assert dataset.split.sizes == (5120, 640, 1280)
    assert dataset.scale.tolist() == pytest.approx([1, 23, 22.675797])
    assert dataset.node_scale.tolist() == pytest.approx([23, 23, 13.565785])
    other = GraphPropertyDataset(data_root, version="12345")
    assert other.scale.tolist() == pytest.approx([1, 23, 22.919743])
    train = other[:5120]
    assert np.mean([2 * g.num_edges for g in train]) == pytest.approx(99.6, abs=0.05)
    monkeypatch.setenv("SEKGNN_DATA", str(data_root))
    assert GraphPropertyDataset().source == "file"


@pytest.mark.dataset
def test_generated_graphs_have_the_distribution_of_the_files(data_root: Path) -> None:
    def table(dataset: GraphPropertyDataset) -> NDArray[np.float64]:
        size = dataset.split.sizes[0]
        edges = np.array([g.num_edges for g in dataset[:size]])
        raw = dataset.targets[:size] * dataset.scale
        return np.column_stack([raw, raw**2, edges, edges**2, edges < 25, edges > 120])

    a, b = map(
        table,
        (GraphPropertyDataset(data_root), GraphPropertyDataset.generated(2, 128)),
    )
    error = np.sqrt(a.var(0) / len(a) + b.var(0) / len(b))
    assert (np.abs(a.mean(0) - b.mean(0)) <= 5 * error).all()


def test_sizes_are_those_of_the_published_generator(
    generated: GraphPropertyDataset,
) -> None:
    split = generated.split
    assert split.sizes == (640, 80, 160)
    sizes = np.array([g.num_nodes for g in generated])
    assert Counter(sizes[split.train].tolist()) == dict.fromkeys(range(15, 25), 64)
    assert Counter(sizes[split.val].tolist()) == dict.fromkeys(range(15, 20), 16)
    assert Counter(sizes[split.test].tolist()) == dict.fromkeys(range(15, 20), 32)


def test_targets_are_scaled_by_the_maximum_over_the_training_graphs(
    generated: GraphPropertyDataset,
) -> None:
    train = generated.split.train
    nodes = sum(generated[i].num_nodes for i in train.tolist())
    np.testing.assert_allclose(generated.targets[train].max(axis=0), 1, rtol=1e-6)
    np.testing.assert_allclose(generated.node_targets[:nodes].max(axis=0), 1, rtol=1e-6)
    raw = generated.targets * generated.scale
    np.testing.assert_allclose(raw, graph_properties(generated), atol=1e-5)
    raw = generated.node_targets * generated.node_scale
    expected = node_properties(generated, generated.features)
    np.testing.assert_allclose(raw, expected, atol=1e-5)


def test_each_graph_has_one_source_and_values_between_zero_and_one(
    generated: GraphPropertyDataset,
) -> None:
    sizes = [g.num_nodes for g in generated]
    parts = np.split(generated.features, np.cumsum(sizes)[:-1])
    assert all(part[:, 0].sum() == 1 for part in parts)
    assert len({int(part[:, 0].argmax()) for part in parts}) > 10
    value = generated.features[:, 1]
    assert 0 <= value.min() < 0.01 and 0.99 < value.max() < 1
    assert value.mean() == pytest.approx(0.5, abs=0.02)


def test_seeds() -> None:
    a, b, c = (GraphPropertyDataset.generated(seed, 4) for seed in (3, 3, 4))
    assert list(a) == list(b) and np.array_equal(a.features, b.features)
    assert list(a) != list(c)
    with pytest.raises(ConfigError, match="seed must be at least 0"):
        GraphPropertyDataset.generated(-1)
    with pytest.raises(ConfigError, match="per_size must be at least 4"):
        GraphPropertyDataset.generated(0, 3)


def test_without_a_data_folder_the_graphs_are_generated(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("sekgnn.datasets.graph_property.PER_SIZE", 4)
    monkeypatch.delenv("SEKGNN_DATA", raising=False)
    first = GraphPropertyDataset(seed=2)
    assert repr(first) == "GraphPropertyDataset(55, generated)"
    assert list(first) == list(GraphPropertyDataset.generated(2, 4))
    monkeypatch.setenv("SEKGNN_DATA", str(tmp_path))  # a folder without the files
    assert list(GraphPropertyDataset(seed=2)) == list(first)
    with pytest.raises(DataNotFoundError, match=r"graph_property/train\.npz"):
        GraphPropertyDataset(tmp_path)
    with pytest.raises(ConfigError, match="version must be one of"):
        GraphPropertyDataset(version="123")  # type: ignore[arg-type]


def test_pyg_data(generated: GraphPropertyDataset) -> None:
    whole = generated.to_pyg(("diameter", "is_connected"))
    nodes = generated.to_pyg("eccentricity")
    start = 0
    for i, (data, by_node) in enumerate(zip(whole, nodes, strict=True)):
        n = generated[i].num_nodes
        assert Graph.from_edge_index(data.edge_index, data.num_nodes) == generated[i]
        assert data.y.tolist() == [generated.targets[i, [1, 0]].tolist()]
        stop = start + n
        assert data.x.tolist() == generated.features[start:stop].tolist()
        column = generated.node_targets[start:stop, 1:2]
        assert by_node.y.tolist() == column.tolist()
        start = stop
    for wrong in (("diameter", "sssp"), ()):
        with pytest.raises(GraphInputError, match="targets must be some of"):
            generated.to_pyg(wrong)
    with pytest.raises(ConfigError, match="Did you mean 'diameter'"):
        generated.to_pyg("diametre")


def expected(graph: Graph) -> list[float]:
    g = graph.to_networkx()
    label = nx.is_connected(g) and not nx.is_bipartite(g)
    lengths = [
        d for _, row in nx.all_pairs_shortest_path_length(g) for d in row.values()
    ]
    radius = np.abs(np.linalg.eigvals(graph.adjacency())).max()
    return [float(label), float(max(lengths)), float(radius)]


@given(st.lists(graphs(min_nodes=1, max_nodes=8), min_size=1, max_size=4))
def test_graph_properties_match_networkx(many: list[Graph]) -> None:
    found = graph_properties(many)
    np.testing.assert_allclose(found, [expected(g) for g in many], atol=1e-6)


@given(graphs(min_nodes=1, max_nodes=8))
def test_the_label_is_that_of_the_published_test(graph: Graph) -> None:
    """Upstream squares A more than log2(n) times and asks whether all is positive."""
    power = graph.adjacency() > 0
    for _ in range(int(1 + np.ceil(np.log2(graph.num_nodes)))):
        power = (power.astype(float) @ power) > 0
    assert graph_properties([graph])[0, 0] == power.min()


@given(st.lists(graphs(min_nodes=1, max_nodes=7), min_size=1, max_size=4), st.data())
def test_node_properties_match_networkx(many: list[Graph], data: st.DataObject) -> None:
    features, rows = [], []
    for graph in many:
        n, g = graph.num_nodes, graph.to_networkx()
        source = data.draw(st.integers(0, n - 1))
        value = np.array(data.draw(st.lists(st.floats(0, 1), min_size=n, max_size=n)))
        lengths = nx.single_source_shortest_path_length(g, source)
        laplacian = nx.laplacian_matrix(g).toarray() @ value if n else value
        features.append(np.stack([np.arange(n) == source, value], axis=1))
        for v in range(n):
            widest = max(nx.single_source_shortest_path_length(g, v).values())
            rows.append([lengths.get(v, 0), widest, laplacian[v]])
    found = node_properties(many, np.concatenate(features))
    np.testing.assert_allclose(found, rows, atol=1e-9)


def test_known_values() -> None:
    known = {
        path_graph(1): [0, 0, 0],
        path_graph(2): [0, 1, 1],
        cycle_graph(3).disjoint_union(path_graph(1)): [0, 1, 2],
        complete_graph(5): [1, 1, 4],
    }
    np.testing.assert_allclose(graph_properties([*known]), [*known.values()], atol=1e-9)
    assert graph_properties([path_graph(0)]).tolist() == [[0, 0, 0]]
    assert node_properties([path_graph(0)], np.zeros((0, 2))).shape == (0, 3)


def test_features_of_another_shape_are_refused() -> None:
    with pytest.raises(GraphInputError, match=r"shape \[3, 2\], got \[2, 2\]"):
        node_properties([path_graph(3)], np.zeros((2, 2)))


@pytest.mark.dataset
@pytest.mark.parametrize("version", ["1234", "12345"])
def test_stored_targets_are_recomputed(
    version: Literal["1234", "12345"], data_root: Path
) -> None:
    dataset = GraphPropertyDataset(data_root, version=version)
    y = graph_properties(dataset) / dataset.scale
    node_y = node_properties(dataset, dataset.features) / dataset.node_scale
    assert len(dataset) == 7040
    assert np.abs(y - dataset.targets).max() < 2e-6
    assert np.abs(node_y - dataset.node_targets).max() < 2e-6
    train = dataset.split.sizes[0]
    assert (dataset.targets[:train].max(axis=0) == 1).all()
