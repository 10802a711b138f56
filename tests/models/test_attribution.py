"""Contributions of nodes add up, and are exact where the model is linear."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.models.helpers import SMALL, VARIANTS, make, suited
from tests.nn.helpers import SPEC, dressed
from tests.transforms.helpers import mixed_graphs
from torch_geometric.data import Batch, Data

from sekgnn.errors import ConfigError
from sekgnn.models import SEKGIN, SEKGNN, Forest, GraphModel, Ridge
from sekgnn.models.attribution import contributions

SMOOTH: dict[str, Any] = {"activation": "silu", "norm": "none"}


def without_inputs(model: GraphModel, data: Any) -> torch.Tensor:
    """Return the outputs of graphs of which only the edges are known."""
    blank = data.clone()
    for name in ("x", "edge_attr", "sub_enc"):
        if name in blank:
            blank[name] = torch.zeros_like(blank[name])
    with torch.no_grad():
        out: torch.Tensor = model(blank)
    return out


@pytest.mark.parametrize(
    "kind, more, error",
    [(SEKGNN, {"message": "gin"}, 1e-9), (SEKGIN, {"edge_channels": 2}, 1e-2)],
)
def test_they_add_up_to_what_the_inputs_change(
    kind: Any, more: dict[str, Any], error: float
) -> None:
    """Sum of contributions = output - output without inputs, graph by graph.

    The messages of GINE have a ReLU, where the sum over points is not the integral.
    """
    model = kind(3, 2, SPEC, **more, **SMOOTH, **SMALL).double().eval()
    (batch,) = suited(model, [Batch.from_data_list(dressed(mixed_graphs()))])
    nodes, rest = contributions(model, batch)
    with torch.no_grad():
        out = model(batch)
    sums = torch.zeros_like(out).index_add_(0, batch.batch, nodes)
    torch.testing.assert_close(sums + rest, out, rtol=0, atol=1e-12)
    blank = without_inputs(model, batch)
    torch.testing.assert_close(rest, blank, rtol=0, atol=error)


@pytest.mark.parametrize("name", sorted(VARIANTS))
def test_every_model_of_graphs_says_it(name: str) -> None:
    """Equal for a graph alone and in a batch, of any size."""
    model = make(name)
    graphs = suited(model, dressed(mixed_graphs()))
    batch = Batch.from_data_list(graphs)
    if name == "mpnn":
        with pytest.raises(ConfigError, match="derivative"):
            contributions(model, batch)
        return
    nodes, _ = contributions(model, batch, steps=4)
    alone = torch.cat([contributions(model, one, steps=4)[0] for one in graphs])
    torch.testing.assert_close(nodes, alone, rtol=0, atol=1e-9)


def test_a_sum_over_atoms_is_given_back_exactly() -> None:
    """Ridge fitted to a known sum of node features names each node's own term."""
    weights = torch.tensor([2.0, -1.0, 0.5], dtype=torch.float64)
    graphs = dressed(mixed_graphs())
    model = Ridge(3, 1, None).double().eval()
    assert model.skip is not None
    features = model.skip.features
    solution = torch.zeros(1, features.num_features, dtype=torch.float64)
    solution[0, 1:4] = weights  # after the column of ones
    with torch.no_grad():
        model.head.bias.zero_()
        model.skip.weight.copy_(solution)
    for data in graphs:
        nodes, rest = contributions(model, data)
        torch.testing.assert_close(nodes[:, 0], data.x @ weights, rtol=0, atol=1e-9)
        torch.testing.assert_close(rest, torch.zeros_like(rest), rtol=0, atol=1e-9)


def test_what_has_no_gradients_is_refused() -> None:
    lonely = Data(x=torch.zeros(1, 3), edge_index=torch.zeros(2, 0, dtype=torch.long))
    with pytest.raises(ConfigError, match="network or ridge"):
        contributions(Forest(3, 1, None), lonely)
    with pytest.raises(ConfigError, match="targets of graphs"):
        contributions(SEKGIN(3, 1, SPEC, level="node", **SMALL), lonely)
