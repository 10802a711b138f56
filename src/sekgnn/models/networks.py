"""SEK-GNN and the networks it is compared with; their arguments are in ``options``."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from torch import nn

from sekgnn.models.graph_model import GraphModel, register_model
from sekgnn.models.hop_encoder import HopEncoder
from sekgnn.models.options import ModelOptions
from sekgnn.models.pair_encoder import PairEncoder


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
