"""Provably powerful graph networks."""

from __future__ import annotations

from typing import ClassVar

from sekgnn.checks import check_positive
from sekgnn.models.graph_model import GraphModel, Level
from sekgnn.models.pair_encoder import PairEncoder
from sekgnn.models.parameters import check_dropout
from sekgnn.nn import Norm, Readout


class PPGN(GraphModel):
    r"""Provably powerful graph network (Maron et al., 2019), as strong as 2-FWL.

    Needs :math:`O(n^2)` memory and :math:`O(n^3)` time for a graph of n nodes.

    Args:
        in_channels: Width of ``x``; 0 where graphs have no node features.
        out_channels: Width of the output.
        hidden_channels: Width of every block.
        num_layers: Blocks.
        readout: ``"sum"``, ``"mean"`` or ``"attention"``.
        edge_channels: Width of ``edge_attr``; 0 where it is not read.
        norm: ``"batch"``, ``"layer"`` or ``"none"``.
        dropout: Probability of dropping, before readout and head.
        level: One output per ``"graph"`` or per ``"node"``.

    Raises:
        ConfigError: If a parameter cannot work.
    """

    needs_pairs: ClassVar[bool] = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        hidden_channels: int = 64,
        num_layers: int = 3,
        readout: Readout = "sum",
        edge_channels: int = 0,
        norm: Norm = "batch",
        dropout: float = 0.0,
        level: Level = "graph",
    ) -> None:
        """Check the parameters and make the layers."""
        super().__init__()
        self.in_channels = check_positive("in_channels", in_channels, 0)
        self.out_channels = check_positive("out_channels", out_channels)
        self.hidden_channels = check_positive("hidden_channels", hidden_channels)
        self.num_layers = check_positive("num_layers", num_layers)
        self.readout, self.norm = readout, norm
        self.edge_channels = check_positive("edge_channels", edge_channels, 0)
        self.dropout = check_dropout(dropout)
        self.level = level
        encoder = PairEncoder(
            in_channels,
            hidden_channels,
            num_layers,
            edge_channels=edge_channels,
            norm=norm,
            dropout=dropout,
        )
        self.finish([encoder], readout, dropout)
