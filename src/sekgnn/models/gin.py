"""Message passing on edges alone, the baseline."""

from __future__ import annotations

from sekgnn.checks import check_positive
from sekgnn.models.graph_model import GraphModel, Level
from sekgnn.models.hop_encoder import HopEncoder
from sekgnn.models.parameters import check_dropout
from sekgnn.nn import Jump, Norm, Readout


class GIN(GraphModel):
    r"""Graph isomorphism network (Xu et al., 2019); GINE with edge features.

    .. math:: h'_v = \mathrm{MLP}\big((1 + \epsilon) h_v + \sum_{u \in N(v)} h_u\big)

    Hop 1 is the edges; batches of any loader will do.

    Args:
        in_channels: Width of ``x``; 0 where graphs have no node features.
        out_channels: Width of the output.
        hidden_channels: Width of every layer.
        num_layers: L.
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
        *,
        hidden_channels: int = 64,
        num_layers: int = 3,
        jump: Jump = "last",
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
        self.jump, self.readout, self.norm = jump, readout, norm
        self.edge_channels = check_positive("edge_channels", edge_channels, 0)
        self.dropout = check_dropout(dropout)
        self.level = level
        encoder = gin_encoder(
            in_channels, hidden_channels, num_layers, jump, edge_channels, norm, dropout
        )
        self.finish([encoder], readout, dropout)


def gin_encoder(
    in_channels: int,
    channels: int,
    num_layers: int,
    jump: Jump,
    edge_channels: int,
    norm: Norm,
    dropout: float,
) -> HopEncoder:
    """Return GIN layers: message passing with one hop, summed."""
    return HopEncoder(
        in_channels,
        channels,
        num_layers,
        1,
        message="gine" if edge_channels else "gin",
        combine="sum",
        jump=jump,
        edge_channels=edge_channels,
        norm=norm,
        dropout=dropout,
    )
