"""Two linear layers with a normalisation and an activation between them."""

from __future__ import annotations

from typing import get_args

import torch
from torch import Tensor, nn

from sekgnn.checks import check_choice
from sekgnn.nn.choices import Activation, Norm

SINE_GAIN = 16.0
"""Of first layers before sines where small differences must not drown in rounding.

Near 0 a sine is linear; only with large weights does it see high frequencies.
"""


class MLP(nn.Module):
    r"""``Linear -> norm -> activation -> Linear``.

    Args:
        in_channels: Width of the input.
        hidden_channels: Width between the layers.
        out_channels: Width of the output.
        norm: ``"batch"``, ``"layer"`` or ``"none"``.
        activation: ``"relu"``, ``"silu"`` or ``"sine"``.

    Shapes:
        - **input:** :math:`(N, C_{in})`
        - **output:** :math:`(N, C_{out})`
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        norm: Norm = "batch",
        activation: Activation = "relu",
    ) -> None:
        """Make the layers."""
        super().__init__()
        # a bias before a normalisation over rows is taken away by it again
        self.first = nn.Linear(in_channels, hidden_channels, bias=norm != "batch")
        self.norm = make_norm(norm, hidden_channels)
        check_choice("activation", activation, get_args(Activation))
        self.activation: Activation = activation
        self.second = nn.Linear(hidden_channels, out_channels)

    def reset_parameters(self) -> None:
        """Reset all parameters."""
        reset_children(self)

    def forward(self, x: Tensor) -> Tensor:
        """Return ``[N, C_out]``."""
        out: Tensor = self.second(self.between(self.first(x)))
        return out

    def between(self, x: Tensor) -> Tensor:
        """Return what the second layer reads, from the result of the first."""
        return activate(self.norm(x), self.activation)


def activate(x: Tensor, activation: Activation) -> Tensor:
    """Return ``x`` after an activation, which may overwrite it."""
    if activation == "relu":
        return x.relu_()
    return nn.functional.silu(x) if activation == "silu" else x.sin()


def reset_children(module: nn.Module) -> None:
    """Call ``reset_parameters`` of every child that has one, and descend otherwise."""
    for child in module.children():
        reset = getattr(child, "reset_parameters", None)
        if callable(reset):
            reset()
        else:
            reset_children(child)


class RowBatchNorm(nn.BatchNorm1d):
    """Batch normalisation that also trains on a batch of one row or none.

    PyTorch refuses a single row, which has no variance; here such a batch is normalised
    by the running statistics and leaves them as they are.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Normalise ``[N, C]`` over its rows."""
        if self.training and input.size(0) < 2:
            return torch.nn.functional.batch_norm(
                input,
                self.running_mean,
                self.running_var,
                self.weight,
                self.bias,
                training=False,
                eps=self.eps,
            )
        return super().forward(input)


def make_norm(norm: Norm, channels: int) -> nn.Module:
    """Return the normalisation of that name for ``[N, channels]``.

    Raises:
        ConfigError: If there is none.
    """
    check_choice("norm", norm, get_args(Norm))
    if norm == "batch":
        return RowBatchNorm(channels)
    if norm == "layer":
        return nn.LayerNorm(channels)
    return nn.Identity()
