"""The graph property benchmark, its families, and its targets by brute force."""

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

from sekgnn.errors import ConfigError, DataNotFoundError, GraphInputError
from sekgnn.graphs import Graph, complete_graph, cycle_graph, path_graph
from sekgnn.paper import GraphPropertyDataset, graph_properties, node_properties
from sekgnn.paper.graph_property import FAMILIES, _rewired, benchmark_graph
from sekgnn.testing import graphs

SIZES = (15, 16, 17, 20, 24)


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
    features = np.split(generated.features, np.cumsum(sizes)[:-1])
    assert all(x[:, 0].sum() == 1 for x in features)
    assert len({int(x[:, 0].argmax()) for x in features}) > 10
    value = generated.features[:, 1]
    assert 0 <= value.min() < 0.01 and 0.99 < value.max() < 1
    assert value.mean() == pytest.approx(0.5, abs=0.02)


def test_seeds() -> None:
    a, b, c = (GraphPropertyDataset.generated(seed, 4) for seed in (3, 3, 4))
    assert list(a) == list(b) and np.array_equal(a.features, b.features)
    assert list(a) != list(c)
    with pytest.raises(ConfigError, match=r"seed.*at least"):
        GraphPropertyDataset.generated(-1)
    with pytest.raises(ConfigError, match=r"per_size.*at least"):
        GraphPropertyDataset.generated(0, 3)


def test_without_a_data_folder_the_graphs_are_generated(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("sekgnn.paper.graph_property.PER_SIZE", 4)
    monkeypatch.delenv("SEKGNN_DATA", raising=False)
    first = GraphPropertyDataset(seed=2)
    assert repr(first) == "GraphPropertyDataset(55, generated)"
    assert list(first) == list(GraphPropertyDataset.generated(2, 4))
    monkeypatch.setenv("SEKGNN_DATA", str(tmp_path))  # a folder without the files
    assert list(GraphPropertyDataset(seed=2)) == list(first)
    with pytest.raises(DataNotFoundError, match=r"graph_property/train\.npz"):
        GraphPropertyDataset(tmp_path)
    with pytest.raises(ConfigError, match=r"version.*one of"):
        GraphPropertyDataset(version="123")  # type: ignore[arg-type]


def test_pyg_data(generated: GraphPropertyDataset) -> None:
    by_graph = generated.to_pyg(("diameter", "is_connected"))
    nodes = generated.to_pyg("eccentricity")
    start = 0
    for i, (data, by_node) in enumerate(zip(by_graph, nodes, strict=True)):
        n = generated[i].num_nodes
        assert Graph.from_edge_index(data.edge_index, data.num_nodes) == generated[i]
        assert data.y.tolist() == [generated.targets[i, [1, 0]].tolist()]
        stop = start + n
        assert data.x.tolist() == generated.features[start:stop].tolist()
        column = generated.node_targets[start:stop, 1:2]
        assert by_node.y.tolist() == column.tolist()
        start = stop
    for wrong in (("diameter", "sssp"), ()):
        with pytest.raises(GraphInputError, match=r"targets.*some of"):
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
    properties = graph_properties(many)
    np.testing.assert_allclose(properties, [expected(g) for g in many], atol=1e-6)


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
    properties = node_properties(many, np.concatenate(features))
    np.testing.assert_allclose(properties, rows, atol=1e-9)


def test_known_values() -> None:
    expected_values = {
        path_graph(1): [0, 0, 0],
        path_graph(2): [0, 1, 1],
        cycle_graph(3).disjoint_union(path_graph(1)): [0, 1, 2],
        complete_graph(5): [1, 1, 4],
    }
    np.testing.assert_allclose(
        graph_properties([*expected_values]), [*expected_values.values()], atol=1e-9
    )
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


def make(family: str, n: int, seed: int = 0) -> nx.Graph:
    matrix = FAMILIES[family][1](n, np.random.default_rng(seed))
    assert matrix.shape == (n, n) and not matrix.diagonal().any()
    assert np.array_equal(matrix, matrix.T)
    return nx.from_numpy_array(matrix.astype(int))


@pytest.mark.parametrize("n", SIZES)
def test_fixed_families_are_those_of_networkx(n: int) -> None:
    small = max(i for i in range(1, 5) if n % i == 0)
    ladder = nx.ladder_graph(n // 2)
    if n % 2:
        ladder.add_edge(0, n - 1)
    same = {
        "grid": nx.grid_2d_graph(small, n // small),
        "caveman": nx.caveman_graph(small, n // small),
        "ladder": ladder,
        "line": nx.path_graph(n),
        "star": nx.star_graph(n - 1),
    }
    for family, graph in same.items():
        assert nx.is_isomorphic(make(family, n), graph), family


@pytest.mark.parametrize("family", ["tree", "caterpillar", "lobster"])
@pytest.mark.parametrize("seed", range(8))
def test_tree_families_are_trees_of_their_kind(family: str, seed: int) -> None:
    graph = make(family, SIZES[seed % 5], seed)
    assert nx.is_tree(graph)
    for _ in range(2 if family == "lobster" else 1):  # pruning leaves leaves a path
        graph = graph.subgraph([v for v, d in graph.degree if d > 1]).copy()
    assert max((d for _, d in graph.degree), default=0) <= 2


def test_some_lobsters_are_no_caterpillars() -> None:
    def rest(seed: int) -> int:
        graph = make("lobster", 20, seed)
        inner = graph.subgraph([v for v, d in graph.degree if d > 1])
        return max((d for _, d in inner.degree), default=0)

    assert max(rest(seed) for seed in range(20)) > 2


def test_degrees_of_a_tree_follow_the_power_law_of_networkx() -> None:
    """The same numbers of leaves and of forks, within five standard errors."""

    def table(trees: list[nx.Graph]) -> NDArray[np.int64]:
        degrees = [np.array([d for _, d in tree.degree]) for tree in trees]
        return np.array([[(d == 1).sum(), (d > 3).sum(), d.max()] for d in degrees])

    a = table([make("tree", 24, seed) for seed in range(300)])
    b = table([nx.random_powerlaw_tree(24, seed=s, tries=10000) for s in range(300)])
    error = np.sqrt((a.var(0) + b.var(0)) / 300)
    assert (np.abs(a.mean(0) - b.mean(0)) <= 5 * error).all()


def test_density_of_the_dense_families_is_drawn_anew() -> None:
    for family in ("erdos_renyi", "barabasi_albert"):
        edges = [make(family, 20, seed).number_of_edges() for seed in range(40)]
        assert min(edges) < 40 and max(edges) >= 99, family


def test_probabilities_sum_to_one() -> None:
    assert sum(weight for weight, _ in FAMILIES.values()) == pytest.approx(1)


def test_rewiring_drops_two_percent_of_the_edges() -> None:
    rng = np.random.default_rng(5)
    star = np.zeros((20, 20), dtype=np.bool_)
    star[0, 1:] = star[1:, 0] = True
    remaining = added = 0
    for _ in range(3000):
        matrix = _rewired(star, rng)
        assert np.array_equal(matrix, matrix.T) and not matrix.diagonal().any()
        remaining += int((matrix & star).sum()) // 2
        added += int((matrix & ~star).sum()) // 2
    assert remaining / (3000 * 19) == pytest.approx(0.98, abs=0.004)
    appear = 2 * (0.1 * 19 / 171) ** 2
    assert added / (3000 * 171) == pytest.approx(appear, rel=0.3)
    full = ~np.eye(6, dtype=np.bool_)
    assert np.array_equal(_rewired(full, rng), full)


def test_no_node_is_isolated() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        assert benchmark_graph(15, rng).any(axis=0).all()
