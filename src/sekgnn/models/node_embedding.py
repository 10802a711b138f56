"""The first layer: from node features, or none, to the hidden width."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sekgnn.nn.mlp import reset_children


class NodeEmbedding(nn.Module):
    """Bring node features to a width; without features, one learned vector for all.

    Args:
        in_channels: Width of x, or 0.
        channels: Width of the result.
    """

    constant: nn.Parameter | None

    def __init__(self, in_channels: int, channels: int) -> None:
        """Make the layer."""
        super().__init__()
        self.lift = nn.Linear(in_channels, channels) if in_channels else None
        self.register_parameter(
            "constant", None if in_channels else nn.Parameter(torch.empty(channels))
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        reset_children(self)
        if self.constant is not None:
            nn.init.normal_(self.constant)

    def forward(self, x: Tensor | None, num_nodes: int) -> Tensor:
        """Return ``[N, C]``."""
        if self.constant is not None:
            return self.constant.expand(num_nodes, -1)
        assert self.lift is not None
        out: Tensor = self.lift(x)
        return out
