"""Properties against networkx, and against the targets stored in the files."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sekgnn.datasets import GraphPropertyDataset, graph_properties, node_properties
from sekgnn.errors import GraphInputError
from sekgnn.graphs import Graph, complete_graph, cycle_graph, path_graph
from sekgnn.testing import graphs


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
