"""From a config to a model: widths from the data, options the model really has."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from sekgnn.datasets import pyg_task
from sekgnn.datasets.graph_task import GraphTask
from sekgnn.encoding.walk_encoding import WalkEncoding
from sekgnn.errors import ConfigError
from sekgnn.models.options import MODEL_KINDS
from sekgnn.training.build import make_encoding_of, make_model, model_config
from sekgnn.training.config import RunConfig


def data(edge_channels: int = 2) -> GraphTask:
    edges = torch.tensor([[0, 1], [1, 0]])
    graphs = []
    for i in range(6):
        graph = Data(x=torch.rand(2, 3), edge_index=edges, y=torch.tensor([i % 2]))
        if edge_channels:
            graph.edge_attr = torch.rand(2, edge_channels)
        graphs.append(graph)
    return pyg_task(graphs)


@pytest.mark.parametrize("name", MODEL_KINDS)
@pytest.mark.parametrize("edges", [0, 2])
def test_every_model_fits_every_data(name: str, edges: int) -> None:
    """Edge features are read by default where the layers can, and never fail."""
    keys: dict[str, Any] = {"hidden_channels": 4} if MODEL_KINDS[name].network else {}
    model = make_model(RunConfig(model=name, **keys), data(edges), 0)
    assert (model.in_channels, model.out_channels) == (3, 2)
    reads = MODEL_KINDS[name].edges and name != "sek-gnn"  # whose message may not
    assert model.edge_channels == (edges if reads else 0)
    chosen = RunConfig(model="sek-gnn", hidden_channels=4, message="gine")
    assert make_model(chosen, data(edges), 0).edge_channels == edges


def test_edge_features_by_choice() -> None:
    off = RunConfig(model="gin", edge_features=False)
    assert make_model(off, data(), 0).edge_channels == 0
    on = RunConfig(model="gin", edge_features=True)
    assert make_model(on, data(), 0).edge_channels == 2
    with pytest.raises(ConfigError, match="has no edge features"):
        make_model(on, data(0), 0)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"model": "gin", "combine": "sum"}, "'gin' has no combine"),
        ({"model": "ppgn", "num_hops": 2}, "'ppgn' has no num_hops"),
        ({"model": "sek-gin", "jump": "attentive"}, "Did you mean 'attention'"),
        ({"model": "sek-gin", "scope": ("grph",)}, "Did you mean 'graph'"),
    ],
)
def test_options_that_cannot_work(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_model(RunConfig(**keys), data(), 0)


def test_unset_keys_are_the_models_own_defaults() -> None:
    assert set(model_config(RunConfig(model="gin"), data())) == {
        "model", "in_channels", "out_channels", "level", "edge_channels",
    }  # fmt: skip


def test_the_papers_encoding_can_be_written_in_keys() -> None:
    keys = RunConfig(
        scope=("graph",),
        num_shells=5,
        walk_length=32,
        aggregate="landing",
        merge="parts",
    )
    assert make_encoding_of(keys) == WalkEncoding.paper()


def test_weights_depend_on_the_seed_alone() -> None:
    config, graphs = RunConfig(model="gin", hidden_channels=4), data()
    before = torch.random.get_rng_state()
    first, again, other = (make_model(config, graphs, seed) for seed in (3, 3, 4))
    assert torch.equal(before, torch.random.get_rng_state())
    assert torch.equal(first.head.weight, again.head.weight)
    assert not torch.equal(first.head.weight, other.head.weight)
