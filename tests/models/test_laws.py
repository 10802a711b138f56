"""Laws of every model: symmetry, batching, corners, gradients, compilation."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.helpers import VARIANTS, make, suited
from tests.nn.helpers import SPEC, dress, dressed, relabel, unset_parameters
from tests.small_graphs import empty_graph
from tests.transforms.helpers import mixed_graphs
from torch.utils._pytree import tree_map
from torch_geometric.data import Batch
from torch_geometric.loader import DataLoader

from sekgnn import fields
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs import Graph, cycle_graph, path_graph, petersen_graph
from sekgnn.models import GIN, SEKGIN, GraphInputs
from sekgnn.nn import HopLoader
from sekgnn.nn.sparse_sum import _any_device_sum
from sekgnn.testing import graphs
from sekgnn.training.objective import Objective

NAMES = sorted(VARIANTS)
GRAPHS_ONLY = ("capsgnn",)
LOLLIPOP = Graph.from_edge_index(  # a clique of five nodes, and a path to a square
    [[0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 4, 5, 6, 7, 8], [1, 2, 3, 4, 2, 3, 4, 3, 4, 4, 5,
     6, 7, 8, 5]], 9, undirected="add",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=12)
@given(graph=graphs(min_nodes=1, max_nodes=7), rng=st.randoms(use_true_random=False))
def test_relabelling_changes_nothing(name: str, graph: Graph, rng: Any) -> None:
    """Graph outputs are invariant, node outputs equivariant, to 1e-9."""
    (data,) = dressed([graph], seed=rng.randrange(1000))
    perm = rng.sample(range(graph.num_nodes), graph.num_nodes)
    other = relabel(data, perm)
    whole = make(name)
    data, other = suited(whole, [data, other])
    with torch.no_grad():
        torch.testing.assert_close(whole(other), whole(data), rtol=0, atol=1e-9)
        if name in GRAPHS_ONLY:
            return
        nodes = make(name, level="node")
        torch.testing.assert_close(nodes(other)[perm], nodes(data), rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("level", ["graph", "node"])
def test_a_batch_is_its_graphs_one_by_one(name: str, level: str) -> None:
    """From PyG's loader and from ours; graphs without edges, or with one node."""
    if level == "node" and name in GRAPHS_ONLY:
        with pytest.raises(ConfigError, match="targets of nodes"):
            make(name, level=level)
        return
    model = make(name, level=level)
    items = suited(model, dressed([g for g in mixed_graphs() if g.num_nodes]))
    with torch.no_grad():
        alone = torch.cat([model(item) for item in items])
        (ours,) = HopLoader(items, len(items), num_hops=3)
        for batch in (Batch.from_data_list(items), ours):
            torch.testing.assert_close(model(batch), alone, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_gets_a_gradient_and_a_new_value(name: str) -> None:
    model = make(name).train()
    items = suited(
        model, dressed([petersen_graph(), path_graph(6), cycle_graph(7), LOLLIPOP])
    )
    batch = Batch.from_data_list(items)
    y = torch.ones(len(items), 2)
    task = Objective("regression", "mse", (0.0, 0.0), (1.0, 1.0))
    total, _ = model.loss_sum(batch, y, y > 0, task)
    total.backward()  # type: ignore[no-untyped-call]
    assert unset_parameters(model) == []
    before = {key: p.detach().clone() for key, p in model.named_parameters()}
    model.reset_parameters()
    same = [
        key
        for key, p in model.named_parameters()
        if p.numel() and torch.equal(p, before[key])
    ]
    assert same == []


@pytest.mark.parametrize("name", NAMES)
def test_other_devices_compute_the_same(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What runs where tensors are not on the CPU, forced; outputs and gradients."""
    model = make(name)
    items = suited(model, dressed([petersen_graph(), path_graph(6), cycle_graph(7)]))

    def outputs() -> list[torch.Tensor]:
        out = model(Batch.from_data_list(items))
        weights = [p for p in model.parameters() if p.numel()]
        grads = torch.autograd.grad(out.square().sum(), weights, allow_unused=True)
        return [out.detach(), *(g for g in grads if g is not None)]

    expected = outputs()
    calls = []

    def elsewhere(*args: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        return _any_device_sum(*args)

    monkeypatch.setattr(torch.Tensor, "is_cpu", property(lambda self: False))
    monkeypatch.setattr(torch.ops.sekgnn, "csr_sum", elsewhere)
    found = outputs()
    assert calls
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("graph", [empty_graph(1), empty_graph(3)])
def test_graphs_without_edges_train(name: str, graph: Graph) -> None:
    model = make(name).train()
    (data,) = suited(model, dressed([graph]))
    out = model(data)
    assert out.shape == (1, 2)
    assert out.isfinite().all()
    out.sum().backward()


@pytest.mark.parametrize("name", [n for n in NAMES if n.startswith(("SEKG", "KHop"))])
def test_hops_beyond_the_diameter_are_harmless(name: str) -> None:
    """The empty hops of a triangle: more of them stored changes nothing."""
    model = make(name)
    (short,), (long,) = dressed([cycle_graph(3)], 1), dressed([cycle_graph(3)], 7)
    assert int(long.hop_order.max()) == 1
    with torch.no_grad():
        assert torch.equal(model(short), model(long))


# dynamo itself makes the instance that PyTorch warns of
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param("SEKGNN learned", marks=pytest.mark.slow),
        "SEKGIN edges",
        "SEKPPGN",
    ],
)
def test_compiled_is_the_same_in_one_graph(name: str) -> None:
    """Traced whole, forward and backward, for batches of different sizes."""
    torch.compiler.reset()
    model = make(name)
    compiled = torch.compile(model.compute, backend="aot_eager", fullgraph=True)
    for items in (dressed([petersen_graph(), path_graph(4)]), dressed(mixed_graphs())):
        inputs = model.prepare(Batch.from_data_list(items))
        assert isinstance(inputs, GraphInputs)
        model.zero_grad()
        expected = model.compute(inputs)
        expected.square().sum().backward()  # type: ignore[no-untyped-call]
        grads = [p.grad.clone() for p in model.parameters() if p.grad is not None]
        model.zero_grad()
        out = compiled(inputs)
        torch.autograd.backward(out.square().sum())
        torch.testing.assert_close(out, expected)
        again = [p.grad for p in model.parameters() if p.grad is not None]
        torch.testing.assert_close(again, grads)


class Exported(torch.nn.Module):
    """What computes with prepared tensors, as ``torch.export`` takes it."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, inputs: GraphInputs) -> torch.Tensor:
        out: torch.Tensor = self.model.compute(inputs)
        return out


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
@pytest.mark.parametrize("name", ["SEKGIN edges", "SEKGNN"])
def test_exported_is_the_same_for_batches_of_any_size(name: str) -> None:
    model = make(name)
    inputs = model.prepare(
        Batch.from_data_list(dressed([petersen_graph(), path_graph(4)]))
    )
    sizes = tree_map(
        lambda t: {0: torch.export.Dim.AUTO} if isinstance(t, torch.Tensor) else None,
        inputs,
    )
    program = torch.export.export(Exported(model), (inputs,), dynamic_shapes=(sizes,))
    other = model.prepare(Batch.from_data_list(dressed(mixed_graphs())))
    assert torch.equal(program.module()(other), model.compute(other))


# switching oneDNN off and on asks for an Intel GPU
@pytest.mark.filterwarnings("ignore:TF32 acceleration:UserWarning")
@pytest.mark.parametrize("name", NAMES)
def test_autocast_trains(name: str) -> None:
    model = make(name).float().train()
    items = suited(model, dressed([petersen_graph(), LOLLIPOP, empty_graph(2)]))
    # oneDNN's bfloat16 kernels need instructions that not every virtual machine has
    with torch.backends.mkldnn.flags(enabled=False):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = model(Batch.from_data_list(items))
        out.float().square().sum().backward()
    grads = [p.grad for key, p in model.named_parameters() if "decoder" not in key]
    assert all(grad is not None and bool(grad.isfinite().all()) for grad in grads)


def test_hops_are_built_once_per_batch_and_again_when_they_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import sekgnn.models.graph_inputs as module

    calls = []
    from sekgnn.nn import hop_csr as build

    monkeypatch.setattr(
        module,
        "hop_csr",
        lambda *a: calls.append(1) or build(*a),  # type: ignore[func-returns-value]
    )
    items = dressed([petersen_graph(), path_graph(4)])
    model = make("SEKGIN")
    batch = next(iter(DataLoader(items, 2)))
    first = model(batch)
    assert torch.equal(model(batch), first)
    assert len(calls) == 1
    batch.hop_edge_index = batch.hop_edge_index[:, :4]
    batch.hop_order = batch.hop_order[:4]
    assert not torch.equal(model(batch), first)
    assert len(calls) == 2
    model(items[0])  # a graph that was used alone can still be batched
    again = next(iter(DataLoader(items, 2)))
    torch.testing.assert_close(model(again), first)
    model(next(iter(HopLoader(items, 2, num_hops=3))))
    assert len(calls) == 4


def test_one_hop_needs_only_edges() -> None:
    (data,) = dressed([petersen_graph()])
    model = make("GIN")
    expected = model(data)
    del data[fields.HOP_EDGE_INDEX], data[fields.HOP_ORDER]
    torch.testing.assert_close(model(data), expected)
    with pytest.raises(GraphInputError, match=r"AddKHopEdges\(3\)"):
        make("SEKGIN")(data)


def test_graphs_without_features() -> None:
    """in_channels=0: one learned vector, and degrees still count."""
    model = GIN(0, 1, hidden_channels=4).eval()
    a, b = dressed([path_graph(4)]), dressed([cycle_graph(4)])
    assert not torch.allclose(model(a[0]), model(b[0]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": None}, "no 'x'"),
        ({"x": torch.ones(10, 4)}, r"x must have shape \[10, 3\]"),
        ({"sub_enc": None}, "AddSubstructureEncoding"),
        ({"sub_enc": torch.ones(10, 2, 2)}, "sub_enc must have shape"),
    ],
)
def test_missing_and_misshapen_fields_are_named(
    change: dict[str, Any], message: str
) -> None:
    (data,) = dressed([petersen_graph()])
    data.num_nodes = 10
    for key, value in change.items():
        data[key] = value
    with pytest.raises(GraphInputError, match=message):
        make("SEKGIN")(data)
    with pytest.raises(GraphInputError, match="sub_enc_rows"):
        make("SEKGNN learned")(dress(petersen_graph(), x=torch.ones(10, 3)))
    (batch,) = HopLoader(dressed([petersen_graph()]), num_hops=2)
    with pytest.raises(GraphInputError, match="the loader made 2 hops"):
        make("SEKGIN")(batch)


@pytest.mark.parametrize(
    "bad",
    [
        {"dropout": 1.0},
        {"hidden_channels": 0},
        {"level": "edge"},
        {"readout": "median"},
        {"encoding": {"num_hops": 2}},
        {"in_channels": -1},
    ],
)
def test_bad_parameters_are_refused(bad: dict[str, Any]) -> None:
    good: dict[str, Any] = {"in_channels": 3, "out_channels": 2, "encoding": SPEC}
    with pytest.raises(ConfigError):
        SEKGIN(**{**good, **bad})


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("GIN", {"norm": "none"}),
        ("KHopGNN gin", {"norm": "none"}),
        ("SEKGNN gine+", {"inject": "input"}),
    ],
)
def test_dropout_between_layers(name: str, options: dict[str, Any]) -> None:
    """The second layer reads what the first gave: a part p is 0, the rest / (1 - p)."""
    (data,) = dressed([petersen_graph()])
    model = make(name, dropout=0.25, **options)
    read: list[torch.Tensor] = []

    def listen(_: torch.nn.Module, args: tuple[Any, ...]) -> None:
        read.append(args[0][-1] if isinstance(args[0], list) else args[0])

    encoder: Any = model.branches[0]
    encoder.convs[1].register_forward_pre_hook(listen)
    model(data)
    model.train()
    torch.manual_seed(0)
    model(data)
    whole, dropped = (x[read[0] > 0] for x in read)
    zero = dropped == 0
    assert 0 < zero.sum() < len(zero)
    torch.testing.assert_close(dropped[~zero], whole[~zero] / 0.75)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_features_that_are_not_finite_are_refused_with_their_place(value: Any) -> None:
    items = dressed([path_graph(3), cycle_graph(4)])
    items[1].x[2, 1] = value
    model = make("SEKGIN")
    place = "graph 1 of the batch, node 2, column 1"
    for batch in (
        Batch.from_data_list(items),
        next(iter(HopLoader(items, num_hops=3, batch_size=2))),
    ):
        with pytest.raises(GraphInputError, match=place):
            model(batch)
    items[1].x[2, 1] = 1e38  # large, but a number
    items[1].x[:, 0] = 3e38
    assert not model.prepare(Batch.from_data_list(items)).x.sum().isnan()
