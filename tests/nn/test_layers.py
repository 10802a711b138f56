"""The layers are their equations; every option trains every parameter."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from tests.nn.helpers import dense, dressed, hops_of, unset_parameters
from tests.small_graphs import empty_graph
from torch import Tensor, nn
from torch_geometric.data import Batch
from torch_geometric.nn import GCNConv, GINConv, GINEConv

from sekgnn.graphs import cycle_graph, path_graph, petersen_graph
from sekgnn.models import GraphInputs
from sekgnn.models.hop_encoder import HopEncoder
from sekgnn.models.options import ModelOptions
from sekgnn.nn import (
    EncodingFusion,
    GINEPlusConv,
    GraphReadout,
    HopCombine,
    JumpingKnowledge,
    PPGNBlock,
    SEKConv,
    edge_features,
    membership,
    pair_layout,
)
from sekgnn.nn.mlp import Linear
from sekgnn.nn.pooling import pool_nodes

GRAPHS = [petersen_graph(), path_graph(5), empty_graph(2), cycle_graph(7)]


@pytest.fixture(scope="module")
def batch() -> Any:
    return Batch.from_data_list(dressed(GRAPHS))


def shake(module: nn.Module) -> nn.Module:
    """Draw every parameter, those that start at zero too."""
    torch.manual_seed(2)  # a seed that leaves no narrow MLP without active units
    for p in module.parameters():
        nn.init.normal_(p, std=0.5)
    return module.double().eval()


def test_geometric_weights_are_the_formula() -> None:
    combine = HopCombine(3, 4, "geometric")
    nn.init.normal_(combine.logit, std=2)
    alpha = torch.sigmoid(combine.logit)
    weights = combine.weights()
    assert weights is not None
    for k in range(1, 5):
        torch.testing.assert_close(weights[k - 1], alpha * (1 - alpha) ** k)
    hops = [torch.randn(2, 3) for _ in range(4)]
    expected = sum(weights[k] * hops[k] for k in range(4))
    torch.testing.assert_close(combine(hops), expected)
    torch.testing.assert_close(HopCombine(3, 4, "sum")(hops), sum(hops))


@pytest.mark.parametrize("message", ["gin", "gine", "gcn"])
@pytest.mark.parametrize("update", ["mlp", "relu"])
@pytest.mark.parametrize("combine", ["sum", "geometric"])
@pytest.mark.parametrize("share", [True, False])
@pytest.mark.parametrize("extra", [0, 1])
def test_sek_conv_is_its_equation(
    batch: Any, message: Any, update: Any, combine: Any, share: bool, extra: int
) -> None:
    """By dense matrices, hop by hop; then every parameter has a gradient."""
    edge_channels = 2 if extra and message == "gine" else 0
    conv: Any = SEKConv(
        3,
        4,
        3,
        message=message,
        update=update,
        combine=combine,
        share_hops=share,
        encoding_channels=5 * extra,
        edge_channels=edge_channels,
    )
    shake(conv)
    hops = hops_of(batch, 3)
    f = torch.randn(batch.num_nodes, 5, dtype=torch.float64) if extra else None
    edges = edge_features(batch.edge_index, batch.edge_attr, hops)
    z: Tensor = batch.x if conv.inject is None else batch.x + conv.inject(f)
    parts = []
    for k in (1, 2, 3):
        b, p = dense(hops, k), 0 if share else k - 1
        if message == "gcn":
            loops = b + torch.eye(len(b)).double()
            scale = loops.sum(1).rsqrt().diag()
            m = scale @ loops @ scale @ z
        else:
            sent = z.expand(len(b), -1, -1)  # [v, u, C]
            if message == "gine" and k == 1 and edge_channels:
                table = torch.zeros(len(b), len(b), 2).double()
                table[batch.edge_index[1], batch.edge_index[0]] = batch.edge_attr
                sent = (sent + conv.message.edge_lift(table)).relu()
            elif message == "gine":
                sent = (
                    sent + conv.message.hop_embedding[k - 1 - bool(edge_channels)]
                ).relu()
            m = (1 + conv.message.eps[p]) * z + (b.unsqueeze(2) * sent).sum(1)
        h = conv.updates[p](m)
        parts.append(h.relu() if update == "relu" else h)
    expected = conv.combine(parts)
    out = conv(batch.x, hops, encoding=f, edge_attr=edges)
    torch.testing.assert_close(out, expected)
    conv.zero_grad()
    conv(batch.x, hops, encoding=f, edge_attr=edges).square().sum().backward()
    assert unset_parameters(conv) == []


def test_one_hop_is_pygs_layer(batch: Any) -> None:
    """GIN, GINE and GCN of PyG, with the same weights."""
    hops, x, edge_index = hops_of(batch, 1), batch.x, batch.edge_index
    gin: Any = shake(SEKConv(3, 4, 1, combine="sum"))
    other = GINConv(gin.updates[0], eps=gin.message.eps[0].item()).eval()
    torch.testing.assert_close(gin(x, hops), other(x, edge_index))
    gine: Any = shake(SEKConv(3, 4, 1, message="gine", combine="sum", edge_channels=2))
    other = GINEConv(gine.updates[0], eps=gine.message.eps[0].item())
    edges = edge_features(edge_index, batch.edge_attr, hops)
    lifted = gine.message.edge_lift(batch.edge_attr)
    expected = other.eval()(x, edge_index, lifted)
    torch.testing.assert_close(gine(x, hops, edge_attr=edges), expected)
    gcn: Any = shake(SEKConv(3, 4, 1, message="gcn", update="relu", combine="sum"))
    same = GCNConv(3, 4).double()
    same.lin.weight.data, same.bias.data = gcn.updates[0].weight, gcn.updates[0].bias
    torch.testing.assert_close(gcn(x, hops), same(x, edge_index).relu())


@pytest.mark.parametrize("combine", ["sum", "geometric"])
@pytest.mark.parametrize("layers", [1, 2, 4])
@pytest.mark.parametrize("edge_channels", [0, 2])
def test_gine_plus_is_its_equation(
    batch: Any, combine: Any, layers: int, edge_channels: int
) -> None:
    """Hop k reads k layers back, layer 0 where there is none."""
    conv: Any = GINEPlusConv(3, 3, combine=combine, edge_channels=edge_channels)
    shake(conv)
    hops = hops_of(batch, 3)
    edges = edge_features(batch.edge_index, batch.edge_attr, hops)
    history = [torch.randn_like(batch.x) for _ in range(layers)]
    weights = conv.combine.weights()
    total = (1 + conv.eps[0]) * history[-1]
    for k in (1, 2, 3):
        b = dense(hops, k)
        sent = history[max(layers - k, 0)].expand(len(b), -1, -1)
        if k == 1 and edge_channels:
            table = torch.zeros(len(b), len(b), 2).double()
            table[batch.edge_index[1], batch.edge_index[0]] = batch.edge_attr
            sent = sent + conv.edge_lift(table)
        w = 1 + conv.eps[k] if weights is None else weights[k - 1]
        total = total + w * (b.unsqueeze(2) * sent.relu()).sum(1)
    out = conv(history, hops, edge_attr=edges)
    torch.testing.assert_close(out, conv.mlp(total))
    out.square().sum().backward()
    assert unset_parameters(conv) == []


def test_the_first_layer_of_gine_plus_reads_every_hop() -> None:
    """The released code clips K to the layer number; here hop 5 is felt in layer 1."""
    (data,) = dressed([path_graph(6)], num_hops=5)
    conv: Any = shake(GINEPlusConv(3, 5))
    conv.mlp = nn.Identity()
    x = data.x.abs().requires_grad_()
    conv([x], hops_of(data, 5))[0].sum().backward()
    assert bool((x.grad.abs().sum(1) > 0)[5])


@pytest.mark.parametrize("width", [1, 3, 11])
@pytest.mark.parametrize("bias", [True, False])
def test_narrow_linear_layers_are_pytorchs(width: int, bias: bool) -> None:
    """To the second gradient."""
    layer = Linear(width, 4, bias=bias).double()
    x = torch.randn(5, width, dtype=torch.float64, requires_grad=True)
    expected = nn.functional.linear(x, layer.weight, layer.bias)
    torch.testing.assert_close(layer(x), expected)
    for check in (torch.autograd.gradcheck, torch.autograd.gradgradcheck):
        assert check(lambda x, *_: layer(x), (x, *layer.parameters()))


@pytest.mark.parametrize("readout", ["sum", "mean"])
@pytest.mark.parametrize("jump", ["last", "sum", "concat", "attention"])
@pytest.mark.parametrize("message", ["gin", "gine_plus"])
def test_pooling_before_the_last_linear_layer_is_pooling_after_it(
    batch: Any, readout: str, jump: Any, message: str
) -> None:
    """A graph without nodes gives zeros either way."""
    options = ModelOptions(4, 2, message=message, jump=jump)
    encoder: Any = shake(HopEncoder(3, options))
    ptr = torch.cat([batch.ptr[:2], batch.ptr[1:]])  # graph 1 is empty
    graphs, read = membership(ptr), GraphReadout(4, readout)
    inputs = GraphInputs(hops_of(batch, 3), graphs, batch.x)
    pool = read.row_pool(graphs)
    assert pool is not None
    torch.testing.assert_close(encoder(inputs, pool), read(encoder(inputs), graphs))


def test_fusion_is_its_equation() -> None:
    encoding = torch.randn(6, 3, 4)
    for fusion in ("mean", "weighted"):
        layer: Any = EncodingFusion(3, 4, 5, fusion)
        if fusion == "weighted":
            nn.init.normal_(layer.logits)
            weights = layer.logits.softmax(0)
        else:
            weights = torch.full((3,), 1 / 3)
        average = sum(weights[c] * encoding[:, c] for c in range(3))
        torch.testing.assert_close(layer(encoding), layer.lift(average))
        layer(encoding).square().sum().backward()
        assert unset_parameters(layer) == []
    layer = EncodingFusion(3, 4, 5, "concat")
    torch.testing.assert_close(layer(encoding), layer.lift(encoding.reshape(6, 12)))


@pytest.mark.parametrize("jump", ["last", "sum", "concat", "attention"])
@pytest.mark.parametrize("layers", [1, 3])
def test_jumping_knowledge_is_its_equation(jump: Any, layers: int) -> None:
    h = [torch.randn(5, 4) for _ in range(layers)]
    pool: Any = JumpingKnowledge(4, layers, jump)
    if jump == "last":
        expected = h[-1]
    elif jump == "sum":
        expected = sum(h)  # type: ignore[assignment]
    elif jump == "concat":
        expected = pool.merge(torch.cat(h, 1))
    elif layers == 1:
        expected = h[0]
    else:
        scores = torch.cat([pool.merge(x) for x in h], 1).softmax(1)  # [N, L]
        expected = sum(scores[:, i : i + 1] * h[i] for i in range(layers))  # type: ignore[assignment]
    torch.testing.assert_close(pool(h), expected)


@pytest.mark.parametrize("readout", ["sum", "mean", "max", "attention"])
def test_readout_is_its_equation_graph_by_graph(readout: Any) -> None:
    """A graph without nodes gives zeros; large scores do not overflow."""
    ptr = torch.tensor([0, 3, 3, 4, 9])
    h = torch.randn(9, 4)
    pool: Any = GraphReadout(4, readout)
    for scale in (1.0, 1e4):
        out = pool(scale * h, membership(ptr))
        for g, (a, b) in enumerate(itertools.pairwise(ptr.tolist())):
            part = scale * h[a:b]
            if a == b:
                expected = torch.zeros(4)
            elif readout == "attention":
                expected = (pool.score(part).softmax(0) * part).sum(0)
            else:
                expected = getattr(part, "amax" if readout == "max" else readout)(0)
            torch.testing.assert_close(out[g], expected)


def test_readouts_joined_by_plus_stand_side_by_side() -> None:
    graphs, h = membership(torch.tensor([0, 3, 3, 5])), torch.randn(5, 4)
    both = GraphReadout(4, "max+sum")
    alone = [GraphReadout(4, name)(h, graphs) for name in ("max", "sum")]
    torch.testing.assert_close(both(h, graphs), torch.cat(alone, dim=1))
    assert both.out_channels == 8


@pytest.mark.parametrize("pool", ["sum", "mean", "std", "max", "min"])
def test_fixed_pools_are_numpys(pool: str) -> None:
    ptr, h = torch.tensor([0, 3, 3, 4, 9]), torch.randn(9, 4).double()
    out = pool_nodes(h, membership(ptr), pool).numpy()
    for g, (a, b) in enumerate(itertools.pairwise(ptr.tolist())):
        part = h[a:b].numpy()
        expected = getattr(part, pool)(0) if b > a else np.zeros(4)
        np.testing.assert_allclose(out[g], expected, atol=1e-14)


@pytest.mark.parametrize("activation", ["relu", "sine"])
def test_ppgn_block_is_its_equation_graph_by_graph(batch: Any, activation: Any) -> None:
    block: Any = shake(PPGNBlock(3, 4, activation=activation))
    layout = pair_layout(batch.ptr, hops_of(batch, 1))
    sizes = sorted(batch.ptr.diff().tolist())
    flat = torch.randn(3, sum(n * n for n in sizes), dtype=torch.float64)
    out = block(flat, layout)
    act = torch.sin if activation == "sine" else torch.relu
    w1, w2 = block.factors.weight.chunk(2)
    start = 0
    for n in sizes:
        x = flat[:, start : start + n * n]
        left, right = (act(w @ x).view(4, n, n) for w in (w1, w2))
        product = torch.einsum("cvw,cwu->cvu", left, right).reshape(4, n * n)
        product = product / (n**0.5 if activation == "sine" else 1)
        expected = act(block.merge.weight @ torch.cat([x, product]))
        torch.testing.assert_close(out[:, start : start + n * n], expected)
        start += n * n


def test_pairs_of_a_node_are_its_row(batch: Any) -> None:
    """Whatever the order of the graphs' sizes: sums of rows, and the diagonal."""
    layout = pair_layout(batch.ptr, hops_of(batch, 1))
    degrees = torch.bincount(batch.edge_index[0], minlength=batch.num_nodes).double()
    near = torch.zeros(1, layout.num_pairs).double()
    near[0, layout.adjacent] = 1
    near[0, layout.diagonal] = 100
    assert torch.equal(layout.row_sums(near)[0], degrees + 100)


def test_adjacent_pairs_are_the_edges_in_the_order_of_hop_1(batch: Any) -> None:
    hops = hops_of(batch, 1)
    layout, first = pair_layout(batch.ptr, hops), batch.ptr[batch.batch]
    node = torch.arange(batch.num_nodes)
    row = layout.diagonal - (node - first)  # place of (v, first node of the graph)
    receiver, sender = hops.pairs(1)
    expected = row[receiver] + (sender - first[sender])
    assert torch.equal(layout.adjacent, expected)
