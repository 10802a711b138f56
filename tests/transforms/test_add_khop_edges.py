"""K-hop pairs on Data: the definition, the direction, batching, and empty graphs."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.small_graphs import empty_graph
from tests.transforms.helpers import (
    mixed_graphs,
    to_data,
)
from torch_geometric.loader import DataLoader
from torch_geometric.nn import SimpleConv

from sekgnn.errors import ConfigError
from sekgnn.graphs import Graph, cycle_graph, pack, path_graph
from sekgnn.hops import hop_pairs
from sekgnn.testing import graphs
from sekgnn.transforms import AddKHopEdges


@settings(max_examples=60)
@given(graphs(max_nodes=8), st.integers(1, 4))
def test_matches_the_definition(graph: Graph, num_hops: int) -> None:
    """(u, v, k) is there once if and only if d(u, v) = k, 1 <= k <= K."""
    out = AddKHopEdges(num_hops)(to_data(graph))
    triples = [*zip(*out.hop_edge_index.tolist(), out.hop_order.tolist(), strict=True)]
    nx_graph = nx.Graph()
    nx_graph.add_nodes_from(range(graph.num_nodes))
    nx_graph.add_edges_from(graph.edge_index().T.tolist())
    lengths = dict(nx.all_pairs_shortest_path_length(nx_graph))
    expected = [
        (u, v, d) for u in lengths for v, d in lengths[u].items() if 1 <= d <= num_hops
    ]
    assert sorted(triples) == sorted(expected)
    assert out.hop_edge_index.dtype == out.hop_order.dtype == torch.int64
    assert (out.hop_order.diff() >= 0).all()


def test_direction_is_that_of_message_passing() -> None:
    """Samples are not symmetric, so a swap of the rows would show.

    PyG sums over edges (u, v) at v; the sum at v must be that over the sample at v.
    """
    graph = cycle_graph(9)
    transform = AddKHopEdges(3, max_neighbors=1, seed=3)
    out = transform(to_data(graph))
    pairs = hop_pairs(graph, 3, max_neighbors=1, seed=3)
    sent = set(zip(*out.hop_edge_index.tolist(), strict=True))
    assert sent != {(v, u) for u, v in sent}
    x = torch.arange(1.0, 10.0).view(-1, 1) ** 2
    summed = SimpleConv(aggr="sum")(x, out.hop_edge_index)
    by_hand = np.zeros(9)
    for v, u in zip(pairs.row.tolist(), pairs.col.tolist(), strict=True):
        by_hand[v] += float(x[u])
    assert torch.equal(summed[:, 0], torch.from_numpy(by_hand).float())


@pytest.mark.parametrize("kernel", ["shortest_path", "diffusion"])
@pytest.mark.parametrize("max_neighbors", [None, 2])
def test_batching_shifts_the_pairs(kernel: Any, max_neighbors: int | None) -> None:
    many = mixed_graphs()
    transform = AddKHopEdges(3, kernel=kernel, max_neighbors=max_neighbors)
    loader = DataLoader([transform(to_data(g)) for g in many], batch_size=len(many))
    batch = next(iter(loader))
    pairs = hop_pairs(pack(many), 3, kernel=kernel, max_neighbors=max_neighbors)
    triples = zip(*batch.hop_edge_index.tolist(), batch.hop_order.tolist(), strict=True)
    expected = zip(
        pairs.col.tolist(), pairs.row.tolist(), pairs.hop.tolist(), strict=True
    )
    assert sorted(triples) == sorted(expected)
    for graph, data in zip(many, batch.to_data_list(), strict=True):
        alone = transform(to_data(graph))
        assert torch.equal(data.hop_edge_index, alone.hop_edge_index)
        assert torch.equal(data.hop_order, alone.hop_order)


@pytest.mark.parametrize("num_nodes", [0, 1, 3])
@pytest.mark.parametrize("kernel", ["shortest_path", "diffusion"])
def test_graphs_without_edges_have_the_same_fields(num_nodes: int, kernel: Any) -> None:
    """Seen in KP-GNN: such graphs got other field names and could not be batched."""
    transform = AddKHopEdges(2, kernel=kernel)
    out = transform(to_data(empty_graph(num_nodes)))
    assert set(out.keys()) == set(transform(to_data(path_graph(3))).keys())
    assert out.hop_edge_index.shape == (2, 0)
    assert out.hop_order.shape == (0,)
    assert out.hop_edge_index.dtype == out.hop_order.dtype == torch.int64


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"num_hops": 0}, "num_hops"),
        ({"kernel": "shortest"}, "'shortest_path'"),
        ({"max_neighbors": 0}, "max_neighbors"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**64}, "seed"),
        ({"undirected": 1}, "undirected"),
        ({"loops": "x"}, "loops"),
    ],
)
def test_bad_parameters(kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        AddKHopEdges(**{"num_hops": 2, **kwargs})
