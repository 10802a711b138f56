"""SEK-GNN, and K-hop message passing without the encoding."""

from __future__ import annotations

from sekgnn.checks import check_positive
from sekgnn.encoding.spec import WalkEncoding
from sekgnn.models.graph_model import GraphModel, Level
from sekgnn.models.hop_encoder import EncoderMessage, HopEncoder, Inject
from sekgnn.models.parameters import check_dropout, check_spec
from sekgnn.nn import Combine, Fusion, Jump, Norm, Readout, Update


class SEKGNN(GraphModel):
    r"""Substructure-enhanced K-hop graph neural network (SEK paper, Eq. 6).

    Args:
        in_channels: Width of ``x``; 0 where graphs have no node features.
        out_channels: Width of the output.
        encoding: What ``sub_enc`` holds, the spec given to the transform.
        hidden_channels: Width of every layer.
        num_layers: L.
        num_hops: K, that of ``AddKHopEdges`` or ``HopLoader``.
        message: ``"gin"``, ``"gine"``, ``"gcn"`` or ``"gine_plus"``.
        update: ``"mlp"`` or ``"relu"``.
        combine: ``"geometric"`` or ``"sum"``.
        share_hops: One update for all hops of a layer.
        inject: f in ``"every"`` layer, or at the ``"input"`` alone.
        fusion: ``"concat"``, ``"mean"`` or ``"weighted"``.
        jump: Jumping knowledge: ``"last"``, ``"sum"``, ``"concat"``, ``"attention"``.
        readout: ``"sum"``, ``"mean"`` or ``"attention"``.
        edge_channels: Width of ``edge_attr``; 0 where it is not read.
        norm: ``"batch"``, ``"layer"`` or ``"none"``.
        dropout: Probability of dropping, after every layer and before the head.
        level: One output per ``"graph"`` or per ``"node"``.

    Raises:
        ConfigError: If parameters cannot work, alone or together.

    Example:
        >>> spec = WalkEncoding(num_shells=1, walk_length=8, scope="internal")
        >>> model = SEKGNN(0, 1, spec, hidden_channels=8, num_layers=2, num_hops=2)
        >>> model.num_parameters
        965
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
        message: EncoderMessage = "gin",
        update: Update = "mlp",
        combine: Combine = "geometric",
        share_hops: bool = False,
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
        self.message, self.update, self.combine = message, update, combine
        self.share_hops, self.inject, self.fusion = share_hops, inject, fusion
        self.jump, self.readout, self.norm = jump, readout, norm
        self.edge_channels = check_positive("edge_channels", edge_channels, 0)
        self.dropout = check_dropout(dropout)
        self.level = level
        encoder = HopEncoder(
            in_channels,
            hidden_channels,
            num_layers,
            num_hops,
            encoding,
            message=message,
            update=update,
            combine=combine,
            share_hops=share_hops,
            inject=inject,
            fusion=fusion,
            jump=jump,
            edge_channels=edge_channels,
            norm=norm,
            dropout=dropout,
        )
        self.finish([encoder], readout, dropout)


class KHopGNN(GraphModel):
    r"""K-hop message passing without the encoding: the paper's K-GIN+.

    Args:
        in_channels: Width of ``x``; 0 where graphs have no node features.
        out_channels: Width of the output.
        hidden_channels: Width of every layer.
        num_layers: L.
        num_hops: K.
        message: As for :class:`SEKGNN`; GINE+ by default.
        update: As for :class:`SEKGNN`.
        combine: As for :class:`SEKGNN`.
        share_hops: As for :class:`SEKGNN`.
        jump: As for :class:`SEKGNN`.
        readout: As for :class:`SEKGNN`.
        edge_channels: As for :class:`SEKGNN`.
        norm: As for :class:`SEKGNN`.
        dropout: As for :class:`SEKGNN`.
        level: As for :class:`SEKGNN`.

    Raises:
        ConfigError: If parameters cannot work, alone or together.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        hidden_channels: int = 64,
        num_layers: int = 3,
        num_hops: int = 3,
        message: EncoderMessage = "gine_plus",
        update: Update = "mlp",
        combine: Combine = "geometric",
        share_hops: bool = False,
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
        self.hidden_channels = check_positive("hidden_channels", hidden_channels)
        self.num_layers = check_positive("num_layers", num_layers)
        self.num_hops = check_positive("num_hops", num_hops)
        self.message, self.update, self.combine = message, update, combine
        self.share_hops = share_hops
        self.jump, self.readout, self.norm = jump, readout, norm
        self.edge_channels = check_positive("edge_channels", edge_channels, 0)
        self.dropout = check_dropout(dropout)
        self.level = level
        encoder = HopEncoder(
            in_channels,
            hidden_channels,
            num_layers,
            num_hops,
            message=message,
            update=update,
            combine=combine,
            share_hops=share_hops,
            jump=jump,
            edge_channels=edge_channels,
            norm=norm,
            dropout=dropout,
        )
        self.finish([encoder], readout, dropout)
