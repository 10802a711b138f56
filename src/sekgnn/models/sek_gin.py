"""SEK-GIN: SEK-GNN with GINE+ beside a GIN."""

from __future__ import annotations

from sekgnn.checks import check_positive
from sekgnn.encoding.spec import WalkEncoding
from sekgnn.models.gin import gin_encoder
from sekgnn.models.graph_model import GraphModel, Level
from sekgnn.models.hop_encoder import HopEncoder, Inject
from sekgnn.models.parameters import check_dropout, check_spec
from sekgnn.nn import Combine, Fusion, Jump, Norm, Readout


class SEKGIN(GraphModel):
    r"""SEK-GNN with GINE+ beside a GIN, concatenated, one linear head.

    The model of most of the paper's tables. Both branches have the same depth, width
    and jumping knowledge; the GIN sees x and the edges alone.

    Args:
        in_channels: Width of ``x``; 0 where graphs have no node features.
        out_channels: Width of the output.
        encoding: What ``sub_enc`` holds, the spec given to the transform.
        hidden_channels: Width of every layer.
        num_layers: L.
        num_hops: K, that of ``AddKHopEdges`` or ``HopLoader``.
        combine: ``"geometric"`` or ``"sum"``.
        inject: f in ``"every"`` layer, or at the ``"input"`` alone.
        fusion: ``"concat"``, ``"mean"`` or ``"weighted"``.
        jump: Jumping knowledge: ``"last"``, ``"sum"``, ``"concat"``, ``"attention"``.
        readout: ``"sum"``, ``"mean"`` or ``"attention"``.
        edge_channels: Width of ``edge_attr``; 0 where it is not read.
        norm: ``"batch"``, ``"layer"`` or ``"none"``.
        dropout: Probability of dropping, after every layer and before the head.
        level: One output per ``"graph"`` or per ``"node"``.

    Raises:
        ConfigError: If a parameter cannot work.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        encoding: WalkEncoding,
        *,
        hidden_channels: int = 64,
        num_layers: int = 3,
        num_hops: int = 3,
        combine: Combine = "geometric",
        inject: Inject = "every",
        fusion: Fusion = "concat",
        jump: Jump = "attention",
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
        self.combine, self.inject, self.fusion = combine, inject, fusion
        self.jump, self.readout, self.norm = jump, readout, norm
        self.edge_channels = check_positive("edge_channels", edge_channels, 0)
        self.dropout = check_dropout(dropout)
        self.level = level
        sek = HopEncoder(
            in_channels,
            hidden_channels,
            num_layers,
            num_hops,
            encoding,
            message="gine_plus",
            combine=combine,
            inject=inject,
            fusion=fusion,
            jump=jump,
            edge_channels=edge_channels,
            norm=norm,
            dropout=dropout,
        )
        gin = gin_encoder(
            in_channels, hidden_channels, num_layers, jump, edge_channels, norm, dropout
        )
        self.finish([sek, gin], readout, dropout)
