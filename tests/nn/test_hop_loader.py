"""Batches of the loader are those of PyG, with the hops ready; samples are seeded."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.nn.helpers import dense, dressed, hops_of
from tests.transforms.helpers import mixed_graphs, to_data
from torch_geometric.data import Batch, Data

from sekgnn import AddKHopEdges, fields
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs import cycle_graph, petersen_graph, rook_graph, shrikhande_graph
from sekgnn.models.graph_inputs import hops_of as ready
from sekgnn.nn import HopLoader


class Odd(Data):
    """A graph with a field that counts something other than nodes."""

    def __inc__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        return 17 if key == "odd_index" else super().__inc__(key, value)


def bare(items: list[Data]) -> list[Data]:
    """Return the graphs without their hop pairs."""
    out = []
    for item in items:
        item = item.clone()
        del item[fields.HOP_EDGE_INDEX], item[fields.HOP_ORDER]
        out.append(item)
    return out


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("num_hops", [1, 3])
def test_batches_are_those_of_pyg(stored: bool, num_hops: int) -> None:
    """Every field, ptr and batch included, and every hop; empty graphs among them."""
    items = dressed(mixed_graphs())
    for i, item in enumerate(items):
        item.y = torch.tensor([i])
        item.name = f"graph {i}"
    loader = HopLoader(items if stored else bare(items), 3, num_hops=num_hops)
    assert len(loader) == 3
    for i, batch in enumerate(loader):
        expected = Batch.from_data_list(items[3 * i : 3 * i + 3])
        assert batch.num_graphs == expected.num_graphs
        for name in ("x", "y", "edge_index", "edge_attr", "sub_enc", "batch", "ptr"):
            assert torch.equal(batch[name], expected[name]), name
        assert batch.name == expected.name
        hops = ready(batch, batch.num_nodes, num_hops)
        again = hops_of(expected, num_hops)
        assert hops.t_indptr is hops.indptr  # symmetric: no transpose is stored
        for k in range(1, num_hops + 1):
            assert torch.equal(dense(hops, k), dense(again, k))


def test_every_graph_comes_once_in_another_order_each_epoch() -> None:
    items = [to_data(cycle_graph(4), y=torch.tensor([i])) for i in range(20)]
    loader = HopLoader(items, 6, shuffle=True, num_hops=1, seed=3)
    epochs = [[y for batch in loader for y in batch.y.tolist()] for _ in range(3)]
    assert all(sorted(epoch) == list(range(20)) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == 3
    again = HopLoader(items, 6, shuffle=True, num_hops=1, seed=3)
    again.set_epoch(1)
    assert [y for batch in again for y in batch.y.tolist()] == epochs[1]


def test_fixed_samples_are_those_of_the_transform() -> None:
    """At most c per hop, the same in every epoch, and no hop is lost."""
    graphs = [rook_graph(4), petersen_graph(), shrikhande_graph()]
    items = [to_data(g) for g in graphs]
    loader = HopLoader(items, 3, num_hops=2, max_neighbors=2, resample=False, seed=5)
    sample = AddKHopEdges(2, max_neighbors=2, seed=5)
    expected = Batch.from_data_list([sample(to_data(g)) for g in graphs])
    for _ in range(2):
        (batch,) = loader
        hops = ready(batch, batch.num_nodes, 2)
        other = hops_of(expected, 2)
        for k in (1, 2):
            assert torch.equal(dense(hops, k), dense(other, k))
            assert hops.hop(k).row_sizes().max() == 2
            turned = hops._replace(indptr=hops.t_indptr, indices=hops.t_indices)
            assert torch.equal(dense(turned, k), dense(hops, k).T)


def test_fresh_samples_differ_between_epochs_and_repeat_with_the_seed() -> None:
    items = [to_data(rook_graph(5))]

    def epochs(seed: int) -> list[list[int]]:
        loader = HopLoader(items, num_hops=2, max_neighbors=3, seed=seed)
        return [next(iter(loader)).hops.indices.tolist() for _ in range(3)]

    first = epochs(1)
    assert len({tuple(epoch) for epoch in first}) == 3
    assert epochs(1) == first
    assert epochs(2)[0] != first[0]


def test_an_epoch_keeps_its_samples_when_the_next_begins() -> None:
    items = [to_data(rook_graph(5)) for _ in range(4)]
    loader = HopLoader(items, num_hops=2, max_neighbors=3, seed=1)
    expected = [batch.hops.indices.tolist() for batch in loader]
    loader.set_epoch(0)
    first = iter(loader)
    found = [next(first).hops.indices.tolist()]
    iter(loader)
    assert [*found, *(batch.hops.indices.tolist() for batch in first)] == expected


def test_batches_say_which_graphs_they_hold() -> None:
    items = [to_data(cycle_graph(4), y=torch.tensor([i])) for i in range(7)]
    for batch in HopLoader(items, 3, shuffle=True, num_hops=1):
        assert torch.equal(batch[fields.GRAPH_NUMBER], batch.y)


def test_pairs_that_are_sampled_already_keep_their_direction() -> None:
    """The loader notices that stored pairs are not symmetric."""
    transform = AddKHopEdges(2, max_neighbors=1)
    data = transform(to_data(rook_graph(4)))
    (batch,) = HopLoader([data], num_hops=2)
    hops = ready(batch, 16, 2)
    for k in (1, 2):
        assert torch.equal(dense(hops, k), dense(hops_of(data, 2), k))
    assert hops.t_indices is not hops.indices
    with pytest.raises(ConfigError, match="leave AddKHopEdges out"):
        HopLoader([data], num_hops=2, max_neighbors=1)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"num_hops": 0}, "num_hops"),
        ({"num_hops": 1, "max_neighbors": 0}, "max_neighbors"),
        ({"num_hops": 1, "max_neighbors": 1, "persistent_workers": True}, "persistent"),
    ],
)
def test_bad_parameters_are_named(kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        HopLoader([to_data(cycle_graph(3))], **kwargs)


def test_unusable_graphs_are_named() -> None:
    with pytest.raises(GraphInputError, match="empty"):
        HopLoader([], num_hops=1)
    with pytest.raises(GraphInputError, match="'odd_index'"):
        item = to_data(cycle_graph(3))
        HopLoader([Odd(**item.to_dict(), odd_index=torch.tensor([1]))], num_hops=1)
    with pytest.raises(GraphInputError, match="outside its graph"):
        bad = AddKHopEdges(1)(to_data(cycle_graph(3)))
        bad.hop_edge_index = bad.hop_edge_index + 1
        HopLoader([bad], num_hops=1)
