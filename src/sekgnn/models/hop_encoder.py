"""K-hop message passing in layers: one representation per node."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from sekgnn.checks import check_choice, check_positive
from sekgnn.encoding.spec import WalkEncoding
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.models.graph_inputs import GraphInputs
from sekgnn.models.node_embedding import NodeEmbedding
from sekgnn.nn import (
    Combine,
    EncodingFusion,
    Fusion,
    GINEPlusConv,
    Jump,
    JumpingKnowledge,
    Norm,
    SEKConv,
    Update,
)
from sekgnn.nn.mlp import reset_children
from sekgnn.nn.norms import make_norm

Inject = Literal["input", "every"]
INJECTS: tuple[Inject, ...] = ("input", "every")
EncoderMessage = Literal["gin", "gine", "gcn", "gine_plus"]
ENCODER_MESSAGES: tuple[EncoderMessage, ...] = ("gin", "gine", "gcn", "gine_plus")


class HopEncoder(nn.Module):
    r"""L layers of K-hop message passing with the substructure encoding f.

    :math:`h^0` is the embedded x plus f, fused to the hidden width. In front of every
    further layer f is added through a linear layer (``inject="every"``) or not again
    (``"input"``). Without f the layers other than GINE+ read x as it is.
    Every layer is followed by normalisation, ReLU and dropout; with ``jump="last"``, as
    in PyG, the last one by dropout alone. Jumping knowledge pools the L results.

    Args:
        in_channels: Width of x; 0 for none.
        channels: Hidden width.
        num_layers: L.
        num_hops: K.
        encoding: What f is; ``None`` for K-hop message passing without it.
        message: ``"gin"``, ``"gine"``, ``"gcn"`` (:class:`~sekgnn.nn.SEKConv`) or
            ``"gine_plus"`` (:class:`~sekgnn.nn.GINEPlusConv`).
        update: ``"mlp"`` or ``"relu"``; GINE+ has an MLP.
        combine: ``"sum"`` or ``"geometric"``.
        share_hops: One update for all hops; GINE+ has one anyway.
        inject: ``"every"`` or ``"input"``.
        fusion: ``"concat"``, ``"mean"`` or ``"weighted"``.
        jump: ``"last"``, ``"sum"``, ``"concat"`` or ``"attention"``.
        edge_channels: Width of edge features; 0 for none.
        norm: ``"batch"``, ``"layer"`` or ``"none"``.
        dropout: Probability of dropping, after every layer.

    Raises:
        ConfigError: If parameters cannot work, alone or together.
    """

    def __init__(
        self,
        in_channels: int,
        channels: int,
        num_layers: int,
        num_hops: int,
        encoding: WalkEncoding | None = None,
        *,
        message: EncoderMessage = "gin",
        update: Update = "mlp",
        combine: Combine = "geometric",
        share_hops: bool = False,
        inject: Inject = "every",
        fusion: Fusion = "concat",
        jump: Jump = "attention",
        edge_channels: int = 0,
        norm: Norm = "batch",
        dropout: float = 0.0,
    ) -> None:
        """Check the parameters and make the layers."""
        super().__init__()
        check_positive("num_layers", num_layers)
        check_choice("message", message, ENCODER_MESSAGES)
        check_choice("inject", inject, INJECTS)
        if message == "gine_plus" and (update != "mlp" or share_hops):
            raise ConfigError(
                'message="gine_plus" has one MLP for all hops; leave update and '
                "share_hops as they are."
            )
        if edge_channels and message not in ("gine", "gine_plus"):
            raise ConfigError(
                f"message={message!r} does not read edge features; use "
                'message="gine" or "gine_plus", or edge_channels=0.'
            )
        plain = encoding is None and in_channels > 0 and message != "gine_plus"
        self.embedding = None if plain else NodeEmbedding(in_channels, channels)
        self.fusion: nn.Module | None = None
        injections = 0
        if encoding is not None:
            self.fusion = EncodingFusion(
                encoding.num_channels, encoding.walk_length, channels, fusion, norm
            )
            injections = num_layers - 1 if inject == "every" else 0
        self.injections = nn.ParameterList(
            torch.empty(channels, channels) for _ in range(injections)
        )
        self.convs = nn.ModuleList()
        for step in range(num_layers):
            conv: nn.Module
            if message == "gine_plus":
                conv = GINEPlusConv(
                    channels,
                    num_hops,
                    combine=combine,
                    edge_channels=edge_channels,
                    norm=norm,
                )
            else:
                conv = SEKConv(
                    in_channels if plain and step == 0 else channels,
                    channels,
                    num_hops,
                    message=message,
                    update=update,
                    combine=combine,
                    share_hops=share_hops,
                    edge_channels=edge_channels,
                    norm=norm,
                )
            self.convs.append(conv)
        # nothing follows the last layer if it alone is the result
        between = num_layers - (jump == "last")
        self.norms = nn.ModuleList(make_norm(norm, channels) for _ in range(between))
        self.dropout = nn.Dropout(dropout)
        self.jump = JumpingKnowledge(channels, num_layers, jump)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        reset_children(self)
        for weight in self.injections:
            nn.init.kaiming_uniform_(weight, a=5**0.5)  # as a linear layer

    def forward(self, inputs: GraphInputs) -> Tensor:
        """Return ``[N, C]``."""
        hops = inputs.hops
        z = self._first(inputs)  # [N, C]
        f = None if self.fusion is None else self.fusion(inputs.encoding)  # [N, C]
        z = z if f is None else z + f
        history: list[Tensor] = []
        layers: list[Tensor] = []
        for step, conv in enumerate(self.convs):
            if f is not None and 0 < step <= len(self.injections):
                z = torch.addmm(z, f, self.injections[step - 1].t())
            history.append(z)
            if isinstance(conv, GINEPlusConv):
                h = conv(history, hops, edge_attr=inputs.edges)
            else:
                h = conv(z, hops, edge_attr=inputs.edges)
            if step < len(self.norms):
                norm = self.norms[step]
                h = h.relu() if isinstance(norm, nn.Identity) else norm(h).relu_()
            z = self.dropout(h)
            layers.append(z)
        out: Tensor = self.jump(layers)
        return out

    def _first(self, inputs: GraphInputs) -> Tensor:
        """Return the embedded x, or x itself where the layers take it so."""
        if self.embedding is not None:
            out: Tensor = self.embedding(inputs.x, inputs.hops.num_nodes)
            return out
        if inputs.x is None:
            raise GraphInputError(
                "this encoder was made with in_channels: x is needed."
            )
        return inputs.x
