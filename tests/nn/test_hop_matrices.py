"""The hops of a batch, from pairs in any order."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.nn.helpers import dense, dress, dressed, hops_of
from torch_geometric.data import Data

import sekgnn.nn.hop_matrices as matrices
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs import Graph, cycle_graph, path_graph
from sekgnn.models import GIN
from sekgnn.nn import HopLoader, edge_features, hop_csr
from sekgnn.testing import graphs


@given(graphs(max_nodes=7), st.integers(1, 4), st.randoms())
def test_order_of_the_pairs_does_not_matter(graph: Graph, k: int, rng: object) -> None:
    data = dress(graph, 4, encoding=None)
    perm = torch.randperm(data.hop_order.numel())
    a = hops_of(data, k)
    b = hop_csr(data.hop_edge_index[:, perm], data.hop_order[perm], graph.num_nodes, k)
    for j in range(1, k + 1):
        here = data.hop_edge_index[:, data.hop_order == j]
        expected = torch.zeros(graph.num_nodes, graph.num_nodes, dtype=torch.float64)
        expected[here[1], here[0]] = 1
        assert torch.equal(dense(a, j), expected)
        assert torch.equal(dense(b, j), expected)


def test_other_devices_group_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """The path without compiled loops gives the same rows."""
    keys, values = torch.tensor([3, 0, 3, 1]), torch.tensor([5, 6, 7, 8])
    here = matrices.grouped(keys, values, 5)

    class Elsewhere(torch.Tensor):
        is_cpu = False

    there = matrices.grouped(keys.as_subclass(Elsewhere), values, 5)
    assert [t.tolist() for t in here] == [t.tolist() for t in there]
    assert here[1].tolist() == [6, 8, 5, 7]


@pytest.mark.parametrize(
    ("pairs", "order", "message"),
    [
        ([[0], [5]], [1], "holds nodes 0..5"),
        ([[-1], [0]], [1], "holds nodes -1..0"),
        ([[0], [1]], [0], "counts from 1"),
        ([[0], [1]], [1, 2], "must have shape"),
    ],
)
def test_bad_pairs_are_refused(
    pairs: list[list[int]], order: list[int], message: str
) -> None:
    with pytest.raises(GraphInputError, match=message):
        hop_csr(torch.tensor(pairs), torch.tensor(order), 3, 2)
    with pytest.raises(ConfigError, match="num_hops"):
        hop_csr(torch.zeros(2, 0).long(), torch.zeros(0).long(), 3, 0)


@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.bool])
def test_numbers_of_nodes_are_integers(kind: torch.dtype) -> None:
    """Whoever reads them: pairs, their hops, edges beside features, a loader."""
    name = str(kind).removeprefix("torch.")
    pairs, order = torch.tensor([[0, 1], [1, 0]]), torch.ones(2, dtype=torch.int64)
    hops = hop_csr(pairs, order, 2, 1)
    whole = Data(x=torch.ones(2, 1), edge_index=pairs)
    whole.update({"hop_edge_index": pairs, "hop_order": order})
    model = GIN(1, 1)

    def refused(field: str) -> Any:
        return pytest.raises(GraphInputError, match=f"{field} must hold .*{name};")

    with refused("hop_edge_index"):
        hop_csr(pairs.to(kind), order, 2, 1)
    with refused("hop_order"):
        hop_csr(pairs, order.to(kind), 2, 1)
    with refused("edge_index"):
        edge_features(pairs.to(kind), torch.ones(2), hops)
    for field in ("hop_edge_index", "hop_order"):
        bad = whole.clone().update({field: whole[field].to(kind)})
        with refused(field):
            model(bad)
        with refused(field):
            next(iter(HopLoader([bad], num_hops=1)))
    with refused("edge_index"):
        model(Data(x=torch.ones(2, 1), edge_index=pairs.to(kind)))


def test_edge_features_follow_the_pairs() -> None:
    """Whatever the order of the edges, the pair (v, u) of hop 1 gets that of u -> v."""
    (data,) = dressed([cycle_graph(6)])
    n = data.num_nodes
    value = data.edge_index[0] * n + data.edge_index[1]
    for perm in (torch.arange(12), torch.randperm(12)):
        found = edge_features(data.edge_index[:, perm], value[perm], hops_of(data, 2))
        row, col = hops_of(data, 2).pairs(1)
        assert found.attr.flatten().tolist() == (col * n + row).tolist()


def test_edges_that_do_not_fit_are_refused() -> None:
    data = dress(path_graph(3), encoding=None)
    hops = hops_of(data, 1)
    one_way = data.edge_index[:, :3]
    with pytest.raises(GraphInputError, match="has 0 edges"):
        edge_features(one_way, torch.ones(3), hops)
    twice = torch.cat([data.edge_index, data.edge_index], dim=1)
    with pytest.raises(GraphInputError, match="has 2 edges"):
        edge_features(twice, torch.ones(8), hops)
    with pytest.raises(GraphInputError, match="5 rows for 4 edges"):
        edge_features(data.edge_index, torch.ones(5), hops)
