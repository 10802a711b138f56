"""The learned sum over multisets: by its definition, and what is shared or fitted."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.nn.helpers import LEARNED, dress
from tests.small_graphs import empty_graph, star
from tests.transforms.helpers import mixed_graphs
from torch import Tensor
from torch_geometric.data import Batch

from sekgnn import fields
from sekgnn.encoding import RaggedEncoding, encode
from sekgnn.encoding.ragged import PARTS
from sekgnn.errors import ConfigError
from sekgnn.graphs import Graph, cycle_graph, path_graph, petersen_graph
from sekgnn.models import SEKGNN
from sekgnn.nn import MultisetFusion, Multisets, csr_sum, join_multisets
from sekgnn.nn.choices import Norm

WIDTH = 5


def joined(graphs: list[Graph], dtype: torch.dtype = torch.float64) -> Multisets:
    batch = Batch.from_data_list([dress(g, encoding=LEARNED) for g in graphs])
    names = zip(PARTS, fields.SUB_ENC_PARTS, strict=True)
    parts = {part: batch[name] for part, name in names}
    parts["vectors"] = parts["vectors"].to(dtype)
    return join_multisets(**parts, num_nodes=batch.ptr.diff())


def fusion(norm: Norm = "none") -> MultisetFusion:
    torch.manual_seed(0)
    shape = LEARNED.num_channels, LEARNED.length, WIDTH
    return MultisetFusion(*shape, norm, "silu").double()


def slow(layer: MultisetFusion, encoding: RaggedEncoding) -> Tensor:
    """Return the layer's output from its formula, vector by vector."""
    rows = []
    for v in range(encoding.num_nodes):
        parts = []
        for c, multiset in enumerate(encoding.multisets(v)):
            total = torch.zeros(WIDTH, dtype=torch.float64)
            for n, h in multiset:
                z = (torch.from_numpy(h) - layer.shift[:, c].sum(0)) / layer.scale[c]
                one = z @ layer.first[c, :-1] + layer.first[c, -1]
                one = one * one.sigmoid()
                total += n * (one @ layer.second[c, :-1] + layer.second[c, -1])
            parts.append(total * layer.share[c])
        rows.append(torch.cat(parts))
    return layer.lift(torch.stack(rows)) if rows else torch.zeros(0, WIDTH).double()


@pytest.mark.parametrize("norm", ["none", "batch"])  # with and without a bias
def test_is_its_formula_for_every_graph_of_a_batch(norm: Norm) -> None:
    some = [*mixed_graphs(), empty_graph(1), empty_graph(3), star(2), star(3)]
    layer = fusion(norm).eval()
    layer.fit(lambda: [joined(some)])
    expected = torch.cat([slow(layer, encode(g, LEARNED)) for g in some])
    torch.testing.assert_close(layer(joined(some)), expected)
    one_by_one = torch.cat([layer(joined([g])) for g in some])
    torch.testing.assert_close(layer(joined(some)), one_by_one)
    assert layer(joined([empty_graph(0)])).shape == (0, WIDTH)


def test_equal_multisets_of_different_graphs_are_computed_once() -> None:
    one = joined([petersen_graph()])
    many = joined([petersen_graph(), petersen_graph().relabel(np.arange(9, -1, -1))])
    assert torch.equal(many.vectors, one.vectors)
    assert many.splits == one.splits
    assert len(many.members.indptr) == len(one.members.indptr)
    assert torch.equal(many.rows, one.rows[:1].expand(20, -1))


def test_fit_standardises_the_vectors_of_all_pairs() -> None:
    """Weighted by counts and by the nodes that share a multiset; batches add up."""
    some = [petersen_graph(), path_graph(6), cycle_graph(7), empty_graph(2)]
    layer = fusion()
    layer.fit(lambda: [joined(some[:1]), joined(some[1:])])
    found: list[list[Tensor]] = [[] for _ in range(LEARNED.num_channels)]
    for graph in some:
        encoding = encode(graph, LEARNED)
        for v in range(graph.num_nodes):
            for c, multiset in enumerate(encoding.multisets(v)):
                found[c] += [torch.from_numpy(h) for n, h in multiset for _ in range(n)]
    for c, vectors in enumerate(found):
        x = torch.stack(vectors)
        torch.testing.assert_close(layer.shift[:, c].sum(0), x.mean(0))
        spread = x.std(0, correction=0)
        spread[spread < 1e-14] = 1
        torch.testing.assert_close(layer.scale[c], spread)
        share = sum(g.num_nodes for g in some) / len(vectors)
        assert layer.share[c].item() == pytest.approx(share)
    layer.fit(lambda: [joined([empty_graph(2)])])  # no shells: nothing to divide by
    assert layer.share.tolist() == [1.0] * LEARNED.num_channels
    assert layer(joined(some)).isfinite().all()


def test_gradients() -> None:
    layer, batch = fusion(), joined([path_graph(4), cycle_graph(5)])
    weights = [layer.first, layer.second, *layer.lift.parameters()]

    def out(*_: Tensor) -> Tensor:
        result: Tensor = layer(batch)
        return result

    assert torch.autograd.gradcheck(out, weights, fast_mode=True)
    x = torch.randn(len(batch.vectors), 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda x: csr_sum(x, batch.members), (x,))


def test_float64_vectors_are_standardised_before_they_are_rounded() -> None:
    """A difference that float32 does not hold reaches a network of float32."""
    layer, batch = fusion().float(), joined([petersen_graph(), cycle_graph(9)])
    close = batch._replace(vectors=0.3 + 1e-10 * batch.vectors)
    layer.fit(lambda: [close])
    far, near = fusion().float(), layer(close)
    far.fit(lambda: [batch])
    torch.testing.assert_close(near, far(batch), rtol=1e-4, atol=1e-4)


def test_other_fusions_are_refused() -> None:
    with pytest.raises(ConfigError, match=r'use fusion="concat", got .mean'):
        SEKGNN(0, 1, LEARNED, fusion="mean")
    with pytest.raises(ConfigError, match='have "scale" and "none"'):
        SEKGNN(0, 1, LEARNED, standardize="rotate")
