"""Layers take what PyG layers take; the compiled form gives the same numbers."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.nn.helpers import SPEC, dressed, hops_of
from tests.small_graphs import empty_graph
from tests.transforms.helpers import mixed_graphs
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader

from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs import cycle_graph
from sekgnn.nn import GINEPlusConv, SEKConv, edge_features

WIDTH = SPEC.num_channels * SPEC.walk_length
LAYERS: dict[str, Any] = {
    "gin": lambda: SEKConv(3, 3, 3, encoding_channels=WIDTH),
    "gcn": lambda: SEKConv(3, 3, 3, message="gcn", combine="sum"),
    "gine": lambda: SEKConv(3, 3, 3, message="gine", edge_channels=2),
    "gine without edges": lambda: SEKConv(3, 3, 3, message="gine"),
    "gine+": lambda: GINEPlusConv(3, 3, edge_channels=2),
    "gine+ without edges": lambda: GINEPlusConv(3, 3, combine="sum"),
}


def make(name: str) -> nn.Module:
    torch.manual_seed(1)
    layer: nn.Module = LAYERS[name]()
    for p in layer.parameters():
        nn.init.normal_(p, std=0.5)
    return layer.double().eval()


def run(layer: Any, data: Any, x: Tensor | None = None) -> Any:
    """Call a layer with the fields of a plain batch."""
    x = data.x if x is None else x
    edges = {"edge_index": data.edge_index, "edge_attr": data.edge_attr}
    pairs = data.hop_edge_index, data.hop_order
    if isinstance(layer, GINEPlusConv):
        return layer([x, x.sin()], *pairs, **edges)
    return layer(x, *pairs, data.sub_enc, **edges)


def run_compiled(layer: Any, data: Any, x: Tensor) -> Any:
    """The same from the rows that are sorted once."""
    hops = hops_of(data, 3)
    edges = edge_features(data.edge_index, data.edge_attr, hops)
    if isinstance(layer, GINEPlusConv):
        return layer([x, x.sin()], hops, edge_attr=edges)
    flat = data.sub_enc.flatten(start_dim=1)
    return layer(x, hops, encoding=flat, edge_attr=edges)


def gradients(out: Tensor, layer: nn.Module, x: Tensor) -> list[Tensor]:
    return list(torch.autograd.grad(out.square().sum(), [x, *layer.parameters()]))


@pytest.mark.parametrize("name", LAYERS)
def test_both_forms_give_the_same_numbers_and_gradients(name: str) -> None:
    (data,) = DataLoader(dressed(mixed_graphs()), batch_size=100)
    layer = make(name)
    x = data.x.clone().requires_grad_()
    plain, compiled = run(layer, data, x), run_compiled(layer, data, x)
    assert torch.equal(plain, compiled)
    one, other = gradients(plain, layer, x), gradients(compiled, layer, x)
    assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))
    (lone,) = dressed([empty_graph(3)])  # no pairs at all
    assert run(layer.train(), lone).isfinite().all()


@pytest.fixture
def data() -> Data:
    return dressed([cycle_graph(6)])[0]


def test_hops_that_do_not_fit_are_refused(data: Any) -> None:
    x, pairs, order = data.x, data.hop_edge_index, data.hop_order
    for layer, first in ((make("gcn"), x), (make("gine+ without edges"), [x])):
        with pytest.raises(GraphInputError, match=r"hop_order is missing.*AddKHop"):
            layer(first, pairs)
        with pytest.raises(GraphInputError, match="leave hop_order out"):
            layer(first, hops_of(data, 3), order)
        with pytest.raises(GraphInputError, match="holds 2 hops"):
            layer(first, hops_of(data, 2))
    with pytest.raises(GraphInputError, match="of 6 nodes, x has 5 rows"):
        make("gcn")(x[:5], hops_of(data, 3))
    with pytest.raises(GraphInputError, match="history"):
        make("gine+ without edges")([], pairs, order)


@pytest.mark.parametrize("name", ["message", "update", "combine", "norm"])
def test_unknown_choices_are_named(name: str) -> None:
    bad: dict[str, Any] = {name: "best"}
    with pytest.raises(ConfigError, match=name):
        SEKConv(3, 3, 1, **bad)


def test_encodings_and_edges_that_do_not_fit_are_refused(data: Any) -> None:
    x, pairs = data.x, (data.hop_edge_index, data.hop_order)
    edges = {"edge_index": data.edge_index, "edge_attr": data.edge_attr}
    with pytest.raises(GraphInputError, match="pass encoding"):
        make("gin")(x, *pairs)
    with pytest.raises(GraphInputError, match=r"encoding has shape \[6, 2\]"):
        make("gin")(x, *pairs, encoding=torch.ones(6, 2))
    for layer, first in ((make("gine"), x), (make("gine+"), [x])):
        for name in edges:
            with pytest.raises(GraphInputError, match=f"{name} is missing"):
                layer(first, *pairs, **{**edges, name: None})
        with pytest.raises(GraphInputError, match=r"1 columns.*edge_channels=2"):
            layer(first, *pairs, **{**edges, "edge_attr": torch.ones(12)})
