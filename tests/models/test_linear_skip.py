"""The fixed vector of a graph is its definition; the skip is linear in it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from tests.nn.helpers import SPEC, dressed
from tests.small_graphs import empty_graph
from torch_geometric.data import Batch

from sekgnn.graphs import cycle_graph, path_graph, petersen_graph
from sekgnn.models import SEKGIN, Ridge
from sekgnn.models.linear_skip import PooledFeatures

GRAPHS = dressed([petersen_graph(), empty_graph(1), path_graph(3), cycle_graph(5)])


def vector(data: Any, powers: int) -> np.ndarray[Any, Any]:
    """Return d^p [1, x, f, sum of e] of every node, one after the other."""
    rows = []
    for v in range(data.num_nodes):
        into = data.edge_index[1] == v
        parts = [np.ones(1), data.x[v], data.sub_enc[v].flatten(),
                 data.edge_attr[into].sum(0)]  # fmt: skip
        row = np.concatenate(parts)
        degree = int(into.sum())
        rows.append(np.concatenate([degree**p * row for p in range(powers + 1)]))
    return np.array(rows)


@pytest.mark.parametrize("level", ["graph", "node"])
def test_pooled_features_are_their_definition(level: Any) -> None:
    model = Ridge(3, 1, SPEC, edge_channels=2, level=level).double()
    pools = "sum+std+max"
    features = PooledFeatures(SPEC, 3, 2, powers=2, pools=pools, level=level)
    out = features(model.prepare(Batch.from_data_list(GRAPHS))).numpy()
    rows = [vector(data, 2) for data in GRAPHS]
    if level == "node":
        expected = np.concatenate(rows)
    else:
        expected = np.array(
            [np.concatenate([r.sum(0), r.std(0), r.max(0)]) for r in rows]
        )
    assert out.shape[1] == features.num_features
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-12)


def test_a_skip_adds_nothing_at_first_and_then_what_was_solved() -> None:
    torch.manual_seed(0)
    model = SEKGIN(3, 2, SPEC, skip=True, edge_channels=2, norm="none").double().eval()
    batch = Batch.from_data_list(GRAPHS)
    model.fit_inputs(lambda: [batch])
    assert model.skip is not None
    inputs = model.prepare(batch)
    before = model(batch)
    torch.testing.assert_close(before, model.head(model.represent(inputs)))
    z = model.skip.rotated(inputs)
    weight = torch.randn(2, z.size(1)).double()
    model.skip.set_solution(weight)
    torch.testing.assert_close(model(batch), before + z @ weight.t())


def test_frozen_scales_are_those_of_the_untrained_network() -> None:
    torch.manual_seed(0)
    model = SEKGIN(3, 2, SPEC, pooled="frozen", norm="none").double()
    batch = Batch.from_data_list(GRAPHS)
    model.fit_inputs(lambda: [batch])
    z = model.represent(model.prepare(batch))
    torch.testing.assert_close(z.mean(0), torch.zeros_like(z[0]), atol=1e-9, rtol=0)
    size = z.square().mean(0)[z.square().mean(0) > 1e-12]  # but those that do not vary
    torch.testing.assert_close(size, torch.full_like(size, 1 / z.size(1)))
    assert not model(batch).any()  # the head starts at zero
