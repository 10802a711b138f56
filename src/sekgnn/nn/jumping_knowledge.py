"""One node representation from those of all layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from sekgnn.checks import check_choice, check_positive
from sekgnn.nn.mlp import reset_children

Jump = Literal["last", "sum", "concat", "attention"]
JUMPS: tuple[Jump, ...] = ("last", "sum", "concat", "attention")


class JumpingKnowledge(nn.Module):
    r"""Pool the layers of a network, node by node (Xu et al., 2018).

    * ``"last"``: :math:`h^L`;
    * ``"sum"``: :math:`\sum_l h^l`;
    * ``"concat"``: :math:`W [h^1 \,\|\, \dots \,\|\, h^L] + b`;
    * ``"attention"``: :math:`\sum_l a^l h^l`,
      :math:`a = \mathrm{softmax}_l(w^\top h^l)`.

    Args:
        channels: C, the width of every layer and of the result.
        num_layers: L.
        jump: One of the four.

    Shapes:
        - **input:** L tensors :math:`(N, C)`
        - **output:** :math:`(N, C)`
    """

    def __init__(
        self, channels: int, num_layers: int, jump: Jump = "attention"
    ) -> None:
        """Check the parameters and make the layers."""
        super().__init__()
        self.channels = check_positive("channels", channels)
        self.num_layers = check_positive("num_layers", num_layers)
        self.jump = check_choice("jump", jump, JUMPS)
        self.merge: nn.Module | None = None
        if jump == "concat":
            self.merge = nn.Linear(channels * num_layers, channels)
        elif jump == "attention" and num_layers > 1:  # one layer needs no weights
            # a bias would shift all scores of a node alike and change nothing
            self.merge = nn.Linear(channels, 1, bias=False)

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        reset_children(self)

    def forward(self, layers: Sequence[Tensor]) -> Tensor:
        """Return ``[N, C]``."""
        if self.jump == "concat" and self.merge is not None:
            out: Tensor = self.merge(torch.cat(list(layers), dim=1))
            return out
        if self.jump == "last" or len(layers) == 1:
            return layers[-1]
        if self.merge is None:
            out = layers[0]
            for layer in layers[1:]:
                out = out + layer
            return out
        stacked = torch.stack(list(layers))  # [L, N, C]
        scores: Tensor = self.merge(stacked)  # [L, N, 1]
        return (scores.softmax(0) * stacked).sum(0)

    def extra_repr(self) -> str:
        """Show the parameters."""
        return f"{self.channels}, num_layers={self.num_layers}, jump={self.jump!r}"
