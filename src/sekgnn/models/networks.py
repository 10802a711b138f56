"""SEK-GNN and the networks it is compared with; their arguments are in ``options``."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor, nn

from sekgnn.errors import GraphInputError
from sekgnn.models.graph_inputs import GraphInputs
from sekgnn.models.graph_model import GraphModel, register_model
from sekgnn.models.hop_encoder import HopEncoder
from sekgnn.models.options import ModelOptions
from sekgnn.nn import PPGNBlock
from sekgnn.nn.mlp import reset_children


@register_model("sek-gin")
class SEKGIN(GraphModel):
    r"""SEK-GNN with GINE+ beside a GIN, concatenated, one linear head.

    The model of most of the paper's tables. Both branches have the same depth, width
    and jumping knowledge; the GIN sees x and the edges alone.
    """

    def encoders(self, options: ModelOptions) -> list[nn.Module]:
        return [
            HopEncoder(self.in_channels, options, self.encoding, self.edge_channels),
            gin_encoder(self.in_channels, options, self.edge_channels),
        ]


@register_model("sek-ppgn")
class SEKPPGN(GraphModel):
    r"""SEK-GNN of one GIN layer beside a PPGN, concatenated, one linear head.

    ``num_layers`` are the blocks of the PPGN. The paper has K = 3 or 5. With edge
    features the SEK layer is a GINE layer.
    """

    needs_pairs: ClassVar[bool] = True

    def encoders(self, options: ModelOptions) -> list[nn.Module]:
        message = "gine" if self.edge_channels else "gin"
        one = replace(options, num_layers=1, message=message, jump="sum")
        return [
            HopEncoder(self.in_channels, one, self.encoding, self.edge_channels),
            PairEncoder(self.in_channels, options, self.edge_channels),
        ]


@register_model("sek-gnn")
class SEKGNN(GraphModel):
    r"""Substructure-enhanced K-hop graph neural network of :class:`~sekgnn.nn.SEKConv`.

    Example:
        >>> from sekgnn import WalkEncoding
        >>> encoding = WalkEncoding(num_shells=1, walk_length=8, scope="internal")
        >>> model = SEKGNN(0, 1, encoding, hidden_channels=8, num_layers=2, num_hops=2)
        >>> model.num_parameters
        965
    """

    def encoders(self, options: ModelOptions) -> list[nn.Module]:
        return [HopEncoder(self.in_channels, options, self.encoding,
                           self.edge_channels)]  # fmt: skip


@register_model("k-gin")
class KHopGNN(GraphModel):
    """K-hop message passing without the encoding: the paper's K-GIN+."""

    def encoders(self, options: ModelOptions) -> list[nn.Module]:
        return [HopEncoder(self.in_channels, options, None, self.edge_channels)]


@register_model("gin")
class GIN(GraphModel):
    r"""Graph isomorphism network (Xu et al., 2019); GINE with edge features.

    .. math:: h'_v = \mathrm{MLP}\big((1 + \epsilon) h_v + \sum_{u \in N(v)} h_u\big)

    Hop 1 is the edges; batches of any loader will do.
    """

    def encoders(self, options: ModelOptions) -> list[nn.Module]:
        return [gin_encoder(self.in_channels, options, self.edge_channels)]


@register_model("ppgn")
class PPGN(GraphModel):
    r"""Provably powerful graph network (Maron et al., 2019), as strong as 2-FWL.

    Needs :math:`O(n^2)` memory and :math:`O(n^3)` time for a graph of n nodes.
    """

    needs_pairs: ClassVar[bool] = True

    def encoders(self, options: ModelOptions) -> list[nn.Module]:
        return [PairEncoder(self.in_channels, options, self.edge_channels)]


@register_model("ridge")
class Ridge(GraphModel):
    r"""A linear model of pooled encodings, solved instead of trained.

    The vector of a graph is that of :class:`~sekgnn.models.linear_skip.PooledFeatures`,
    with sums, means, standard deviations, maxima or minima as ``readout`` says. Ridge
    regression in float64 for numbers, regularised logistic regression for classes; the
    penalty is chosen on validation graphs.
    """

    learns: ClassVar[bool] = False

    def encoders(self, options: ModelOptions) -> list[nn.Module]:
        return []


def gin_encoder(
    in_channels: int, options: ModelOptions, edge_channels: int
) -> HopEncoder:
    """Return GIN layers: message passing with one hop, summed."""
    message = "gine" if edge_channels else "gin"
    options = replace(options, num_hops=1, message=message, combine="sum")
    return HopEncoder(in_channels, options, None, edge_channels)


class PairEncoder(nn.Module):
    r"""PPGN on all pairs of nodes, read out per node (Maron et al., 2019).

    A pair starts as :math:`[\,[v = u] \cdot (1 \,\|\, x_v) \,\|\, A_{vu} \,\|\,
    e_{uv}]` and runs through L blocks (:class:`~sekgnn.nn.PPGNBlock`). After each block
    a node takes :math:`W [X_{vv} \,\|\, \sum_{u \ne v} X_{vu}] + b`, and the L results
    are added: summed over the nodes, that reads the diagonal and the rest of a graph.

    Args:
        in_channels: Width of x; 0 for none.
        options: Width and number of the blocks, normalisation, dropout of the result.
        edge_channels: Width of edge features; 0 for none.
    """

    def __init__(
        self, in_channels: int, options: ModelOptions, edge_channels: int = 0
    ) -> None:
        super().__init__()
        channels, num_layers = options.hidden_channels, options.num_layers
        self.edge_channels = edge_channels
        width = 2 + in_channels + edge_channels
        more = options.norm, options.activation
        self.blocks = nn.ModuleList(
            PPGNBlock(width if step == 0 else channels, channels, *more)
            for step in range(num_layers)
        )
        self.outs = nn.ModuleList(
            nn.Linear(2 * channels, channels) for _ in range(num_layers)
        )
        self.dropout = nn.Dropout(options.dropout)

    def reset_parameters(self) -> None:
        reset_children(self)

    def forward(self, inputs: GraphInputs) -> Tensor:
        """Return ``[N, C]``."""
        if inputs.pairs is None:
            raise GraphInputError("PPGN needs the pairs of nodes in its inputs.")
        pairs = inputs.pairs
        x = self._first(inputs)  # [C_0, P]
        out: Tensor | None = None
        for block, lift in zip(self.blocks, self.outs, strict=True):
            x = block(x, pairs)  # [C, P]
            diagonal = x.index_select(1, pairs.diagonal)  # [C, N]
            others = pairs.row_sums(x) - diagonal  # [C, N]
            h = lift(torch.cat([diagonal, others]).t())  # [N, C]
            out = h if out is None else out + h
        dropped: Tensor = self.dropout(out)
        return dropped

    def _first(self, inputs: GraphInputs) -> Tensor:
        """Return the pairs before the first block, ``[C_0, P]``."""
        assert inputs.pairs is not None
        pairs, x = inputs.pairs, inputs.x
        weight = next(self.parameters())
        same = weight.new_ones(1, inputs.num_nodes)
        if x is not None:
            same = torch.cat([same, x.t()])  # [1 + F, N]
        near = weight.new_ones(1, pairs.adjacent.size(0))
        if self.edge_channels:
            if inputs.edges is None:
                raise GraphInputError("the batch needs edge_attr for edge_channels.")
            near = torch.cat([near, inputs.edges.attr.t()])  # [1 + D, M_1]
        parts = ((same, pairs.diagonal), (near, pairs.adjacent))
        return torch.cat([
            values.new_zeros(len(values), pairs.num_pairs).index_copy(1, place, values)
            for values, place in parts
        ])  # fmt: skip
