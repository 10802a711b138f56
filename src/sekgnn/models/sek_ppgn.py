"""SEK-PPGN: one SEK layer beside a PPGN."""

from __future__ import annotations

from typing import ClassVar

from sekgnn.checks import check_positive
from sekgnn.encoding.spec import WalkEncoding
from sekgnn.models.graph_model import GraphModel, Level
from sekgnn.models.hop_encoder import HopEncoder
from sekgnn.models.pair_encoder import PairEncoder
from sekgnn.models.parameters import check_dropout, check_spec
from sekgnn.nn import Combine, Fusion, Norm, Readout


class SEKPPGN(GraphModel):
    r"""SEK-GNN of one GIN layer beside a PPGN, concatenated, one linear head.

    Args:
        in_channels: Width of ``x``; 0 where graphs have no node features.
        out_channels: Width of the output.
        encoding: What ``sub_enc`` holds, the spec given to the transform.
        hidden_channels: Width of every layer and block.
        num_layers: Blocks of the PPGN; the SEK-GNN has one layer.
        num_hops: K, 3 or 5 in the paper.
        combine: ``"sum"`` (the paper) or ``"geometric"``.
        fusion: ``"concat"``, ``"mean"`` or ``"weighted"``.
        readout: ``"sum"``, ``"mean"`` or ``"attention"``.
        edge_channels: Width of ``edge_attr``; 0 where it is not read. With edge
            features the SEK layer is a GINE layer.
        norm: ``"batch"``, ``"layer"`` or ``"none"``.
        dropout: Probability of dropping, after every branch and before the head.
        level: One output per ``"graph"`` or per ``"node"``.

    Raises:
        ConfigError: If a parameter cannot work.
    """

    needs_pairs: ClassVar[bool] = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        encoding: WalkEncoding,
        *,
        hidden_channels: int = 64,
        num_layers: int = 3,
        num_hops: int = 3,
        combine: Combine = "sum",
        fusion: Fusion = "concat",
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
        self.encoding = check_spec(encoding)
        self.hidden_channels = check_positive("hidden_channels", hidden_channels)
        self.num_layers = check_positive("num_layers", num_layers)
        self.num_hops = check_positive("num_hops", num_hops)
        self.combine, self.fusion = combine, fusion
        self.readout, self.norm = readout, norm
        self.edge_channels = check_positive("edge_channels", edge_channels, 0)
        self.dropout = check_dropout(dropout)
        self.level = level
        sek = HopEncoder(
            in_channels,
            hidden_channels,
            1,
            num_hops,
            encoding,
            message="gine" if edge_channels else "gin",
            combine=combine,
            fusion=fusion,
            jump="sum",
            edge_channels=edge_channels,
            norm=norm,
            dropout=dropout,
        )
        ppgn = PairEncoder(
            in_channels,
            hidden_channels,
            num_layers,
            edge_channels=edge_channels,
            norm=norm,
            dropout=dropout,
        )
        self.finish([sek, ppgn], readout, dropout)
