"""Every model, small, in float64, with parameters that are all drawn."""

from __future__ import annotations

from typing import Any

import torch
from tests.nn.helpers import LEARNED, SPEC, encoded
from torch import nn
from torch_geometric.data import Data

from sekgnn.models import (
    GIN,
    PPGN,
    SEKGIN,
    SEKGNN,
    SEKPPGN,
    GraphModel,
    KHopGNN,
    Ridge,
    build_model,
)

SMALL: dict[str, Any] = {"hidden_channels": 6, "num_layers": 2}

VARIANTS: dict[str, Any] = {
    "SEKGNN": lambda **kw: SEKGNN(3, 2, SPEC, num_hops=3, **SMALL, **kw),
    "SEKGNN gine relu": lambda **kw: SEKGNN(
        3,
        2,
        SPEC,
        message="gine",
        update="relu",
        edge_channels=2,
        jump="concat",
        readout="mean",
        fusion="mean",
        **SMALL,
        **kw,
    ),
    "SEKGNN gcn shared": lambda **kw: SEKGNN(
        3,
        2,
        SPEC,
        message="gcn",
        share_hops=True,
        inject="input",
        combine="sum",
        jump="sum",
        readout="attention",
        fusion="weighted",
        norm="layer",
        **SMALL,
        **kw,
    ),
    "SEKGNN gine+": lambda **kw: SEKGNN(
        3, 2, SPEC, message="gine_plus", edge_channels=2, norm="none", **SMALL, **kw
    ),
    "SEKGNN learned": lambda **kw: SEKGNN(3, 2, LEARNED, **SMALL, **kw),
    "SEKGIN": lambda **kw: SEKGIN(3, 2, SPEC, **SMALL, **kw),
    "SEKGIN learned": lambda **kw: SEKGIN(
        3, 2, LEARNED, edge_channels=2, norm="layer", **SMALL, **kw
    ),
    "SEKGIN edges": lambda **kw: SEKGIN(
        3, 2, SPEC, edge_channels=2, combine="sum", jump="last", **SMALL, **kw
    ),
    "SEKPPGN": lambda **kw: SEKPPGN(3, 2, SPEC, **SMALL, **kw),
    "SEKPPGN learned": lambda **kw: SEKPPGN(3, 2, LEARNED, norm="none", **SMALL, **kw),
    "SEKPPGN edges": lambda **kw: SEKPPGN(3, 2, SPEC, edge_channels=2, **SMALL, **kw),
    "KHopGNN": lambda **kw: KHopGNN(3, 2, **SMALL, **kw),
    "KHopGNN gin": lambda **kw: KHopGNN(3, 2, message="gin", **SMALL, **kw),
    "GIN": lambda **kw: GIN(3, 2, **SMALL, **kw),
    "GIN edges": lambda **kw: GIN(3, 2, edge_channels=2, **SMALL, **kw),
    "SEKGIN skip sine": lambda **kw: SEKGIN(
        3,
        2,
        SPEC,
        edge_channels=2,
        skip=True,
        head="mlp",
        pooled="frozen",
        readout="sum+max",
        standardize="rotate",
        activation="sine",
        norm="none",
        **SMALL,
        **kw,
    ),
    "SEKPPGN silu": lambda **kw: SEKPPGN(
        3, 2, SPEC, activation="silu", readout="mean+attention", **SMALL, **kw
    ),
    "Ridge": lambda **kw: Ridge(3, 2, SPEC, edge_channels=2, **kw),
    "PPGN": lambda **kw: PPGN(3, 2, **SMALL, **kw),
    "PPGN edges": lambda **kw: PPGN(3, 2, edge_channels=2, **SMALL, **kw),
}


def named(model: str, **options: Any) -> Any:
    """Return how to make a model by name."""
    widths = {"in_channels": 3, "out_channels": 2}
    return lambda **kw: build_model({"model": model, **widths, **options, **kw})


VARIANTS |= {
    "GIN set2set": named("gin", readout="set2set+max", **SMALL),
    "graphsage": named("graphsage", **SMALL),
    "pna": named("pna", edge_channels=2, towers=2, jump="concat", **SMALL),
    "dgcnn": named("dgcnn", sort_nodes=6, **SMALL),
    "graphsnn": named("graphsnn", **SMALL),
    "kp-gin": named("kp-gin", edge_channels=2, shortest_paths=True, **SMALL),
    "kp-gin+": named("kp-gin+", combine="sum", shortest_paths=True, **SMALL),
    "gin-ak+": named("gin-ak+", edge_channels=2, num_hops=2, **SMALL),
    "nested-gnn": named(
        "nested-gnn", edge_channels=2, num_hops=2, base="1-2-3", **SMALL
    ),
    "deep-lrp": named("deep-lrp", edge_channels=2, num_hops=2, order_size=4, **SMALL),
    "mpnn": named("mpnn", edge_channels=2, **SMALL),
    "dtnn": named("dtnn", **SMALL),
    "capsgnn": named("capsgnn", num_capsules=3, **SMALL),
}


def suited(model: GraphModel, items: list[Data]) -> list[Data]:
    """Return graphs with the encoding of a model that has one of its own."""
    if model.encoding is None or model.encoding in (SPEC, LEARNED):
        return items
    return [encoded(data.clone(), model.encoding) for data in items]


def make(name: str, seed: int = 0, **kwargs: Any) -> GraphModel:
    """Return a model with nothing at its starting value."""
    torch.manual_seed(seed)
    model: GraphModel = VARIANTS[name](**kwargs)
    for p in model.parameters():
        if p.dim() < 2 or not p.any():
            nn.init.normal_(p, std=0.5)
    for name_, buffer in model.named_buffers():
        if name_.endswith("running_mean"):
            nn.init.normal_(buffer)
        elif name_.endswith("running_var"):
            nn.init.uniform_(buffer, 0.5, 2)
        elif name_.endswith(("shift", "scale", "axes", "variances")):
            nn.init.uniform_(buffer, 0.5, 2)
    return model.double().eval()
