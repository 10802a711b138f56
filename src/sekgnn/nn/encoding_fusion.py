"""From a substructure encoding of numbers to one vector per node."""

from __future__ import annotations

from typing import get_args

import torch
from torch import Tensor, nn

from sekgnn.checks import check_choice, check_positive
from sekgnn.errors import ConfigError
from sekgnn.nn.choices import Activation, Fusion, Norm, Standardize
from sekgnn.nn.mlp import MLP, Linear, reset_children
from sekgnn.nn.standardizer import Rows, Standardizer


class EncodingFusion(nn.Module):
    r"""Fuse the parts of f (COMBINE of the SEK paper) and bring them to a width.

    * ``"concat"``: :math:`\mathrm{MLP}([f_1 \,\|\, f_2 \,\|\, \dots])`, nothing lost;
    * ``"mean"``: :math:`W\, \frac{1}{C} \sum_c f_c`;
    * ``"weighted"``: :math:`W \sum_c w_c f_c` with :math:`w = \mathrm{softmax}(a)`
      learned, equal at the start.

    With ``WalkEncoding(merge="parts")`` the channels are the f1, f2, f3 of the paper;
    with ``merge="concat"`` there is one for every hop and kind.

    Args:
        num_channels: C, the parts.
        length: L, the numbers in each.
        out_channels: Width of the result.
        fusion: ``"concat"``, ``"mean"`` or ``"weighted"``.
        norm: Normalisation inside the MLP of ``"concat"``.
        activation: Inside that MLP.
        standardize: How the numbers are brought to a common scale before, see
            :class:`~sekgnn.nn.Standardizer`; ``"rotate"`` needs ``"concat"``.

    Shapes:
        - **input:** :math:`(N, C, L)`
        - **output:** :math:`(N, C_{out})`
    """

    def __init__(
        self,
        num_channels: int,
        length: int,
        out_channels: int,
        fusion: Fusion = "concat",
        norm: Norm = "batch",
        activation: Activation = "relu",
        standardize: Standardize = "none",
    ) -> None:
        super().__init__()
        self.num_channels = check_positive("num_channels", num_channels)
        self.length = check_positive("length", length)
        self.fusion = check_choice("fusion", fusion, get_args(Fusion))
        self.register_parameter("logits", None)
        self.lift: MLP | nn.Linear
        width = num_channels * length
        if standardize == "rotate" and fusion != "concat":
            raise ConfigError(
                f'standardize="rotate" mixes the channels that fusion={fusion!r} '
                'weighs; use fusion="concat", or standardize="scale".'
            )
        self.standardizer = Standardizer(width, standardize)
        if fusion == "concat":
            self.lift = MLP(width, out_channels, out_channels, norm, activation)
            return
        self.lift = Linear(length, out_channels)
        if fusion == "weighted":
            self.logits = nn.Parameter(torch.zeros(num_channels))

    def reset_parameters(self) -> None:
        """Reset the layers, and make the weights equal."""
        reset_children(self)
        if self.logits is not None:
            nn.init.zeros_(self.logits)

    def weights(self) -> Tensor:
        """Return the weight of every channel in the average, ``[C]``."""
        if self.logits is not None:
            return self.logits.softmax(0)
        weight = next(self.lift.parameters())
        return weight.new_full((self.num_channels,), 1 / self.num_channels)

    def fit(self, encodings: Rows) -> None:
        """Fit the common scale to encodings ``[N, C, L]``, given in pieces."""
        self.standardizer.fit(
            lambda: (part.flatten(start_dim=1) for part in encodings())
        )

    def forward(self, encoding: Tensor) -> Tensor:
        """Return ``[N, C_out]``."""
        flat = self.standardizer(encoding.flatten(start_dim=1))  # [N, C * L]
        if isinstance(self.lift, MLP):
            out: Tensor = self.lift(flat)
            return out
        parts = flat.view(-1, self.num_channels, self.length).unbind(1)
        weights = self.weights()
        average = parts[0] * weights[0]  # [N, L]
        for part, weight in zip(parts[1:], weights[1:], strict=True):
            average = torch.addcmul(average, part, weight)
        out = self.lift(average)
        return out

    def extra_repr(self) -> str:
        return f"{self.num_channels}, {self.length}, fusion={self.fusion!r}"
