"""Layers take what PyG layers take; sorted, compiled, exported they give the same."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from tests.nn.helpers import SPEC, dressed, hops_of
from tests.small_graphs import empty_graph
from tests.transforms.helpers import mixed_graphs
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.explain import Explainer, GNNExplainer, ModelConfig
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

# dynamo itself makes the instance that PyTorch warns of
TRACED = pytest.mark.filterwarnings(
    "ignore:.*should not be instantiated:DeprecationWarning"
)


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


def fields_of(layer: Any, data: Any) -> dict[str, Any]:
    """What a layer takes of a plain batch, by the names of its arguments."""
    own = {
        "history": [data.x, data.x.sin().detach()],
        "x": data.x,
        "encoding": data.sub_enc,
    }
    known = inspect.signature(layer.forward).parameters
    names = ("hop_edge_index", "hop_order", "edge_index", "edge_attr")
    values = own | {name: data[name] for name in names}
    return {name: value for name, value in values.items() if name in known}


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
def batches() -> list[Any]:
    """Of different sizes, so that nothing is fixed by the first."""
    graphs = dressed(mixed_graphs())
    return [batch for batch in DataLoader(graphs, batch_size=(len(graphs) + 1) // 2)]


@TRACED
@pytest.mark.parametrize("name", LAYERS)
def test_compiled_whole_it_gives_the_same_numbers_and_gradients(
    name: str, batches: list[Any]
) -> None:
    torch.compiler.reset()
    layer = make(name).train()
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    for batch in batches:
        batch.x.requires_grad_()
        fields = fields_of(layer, batch)
        plain = layer(**fields)
        expected = gradients(plain, layer, batch.x)
        out = compiled(**fields)
        torch.testing.assert_close(out, plain)
        torch.testing.assert_close(gradients(out, layer, batch.x), expected)


@TRACED
@pytest.mark.slow  # the compiler of C++ takes half a minute
def test_the_default_compiler_takes_it_whole(batches: list[Any]) -> None:
    torch.compiler.reset()
    layer = make("gine")
    compiled = torch.compile(layer, fullgraph=True)
    fields = fields_of(layer, batches[0])
    torch.testing.assert_close(compiled(**fields), layer(**fields))


@TRACED
@pytest.mark.parametrize("name", LAYERS)
def test_exported_it_takes_graphs_of_any_size(
    name: str, batches: list[Any], tmp_path: Path
) -> None:
    layer = make(name)
    first, second = (fields_of(layer, batch) for batch in batches)
    auto = torch.export.Dim.AUTO
    sizes: dict[str, Any] = {key: {int("index" in key): auto} for key in first}
    if "history" in first:
        sizes["history"] = [{0: auto}, {0: auto}]
    program = torch.export.export(layer, (), first, dynamic_shapes=sizes)
    torch.export.save(program, tmp_path / "layer.pt2")
    loaded = torch.export.load(tmp_path / "layer.pt2").module()
    assert torch.equal(loaded(**second), layer(**second))


@TRACED
def test_compiled_and_exported_layers_check_their_pairs(data: Any) -> None:
    layer, wrong = make("gcn"), data.hop_edge_index + 1
    good = data.x, data.hop_edge_index, data.hop_order
    compiled = torch.compile(layer, backend="eager", fullgraph=True)
    compiled(*good)
    exported = torch.export.export(layer, good).module()
    for run_it in (layer, compiled, exported):
        with pytest.raises(GraphInputError, match=r"nodes 1\.\.6.*there are 6"):
            run_it(data.x, wrong, data.hop_order)


class Network(nn.Module):
    """Two layers in a network that PyG explains."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = SEKConv(3, 8, 2), SEKConv(8, 1, 2)

    def forward(self, x: Tensor, edge_index: Tensor, hop_order: Tensor) -> Tensor:
        h = self.first(x, edge_index, hop_order).relu()
        out: Tensor = self.second(h, edge_index, hop_order).sum(0, keepdim=True)
        return out


def test_gnn_explainer_masks_features(data: Any) -> None:
    """As ``docs/models.md`` says; a feature that no weight reads gets no mask."""
    torch.manual_seed(0)
    network = Network().eval()
    with torch.no_grad():
        cast("Any", network.first.updates[0]).first.weight[:, 2] = 0
        cast("Any", network.first.updates[1]).first.weight[:, 2] = 0
    explainer = Explainer(
        network,
        GNNExplainer(epochs=20),
        explanation_type="model",
        node_mask_type="attributes",
        edge_mask_type=None,
        model_config=ModelConfig(mode="regression", task_level="graph"),
    )
    found = explainer(data.x.float(), data.hop_edge_index, hop_order=data.hop_order)
    assert found.node_mask.shape == data.x.shape
    assert (found.node_mask[:, 2] == 0).all() and (found.node_mask > 0).any()


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
