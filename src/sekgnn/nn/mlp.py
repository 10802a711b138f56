"""Two linear layers with a normalisation and an activation between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import torch
from torch import Tensor, nn

from sekgnn.checks import check_choice
from sekgnn.nn.choices import Activation, Norm
from sekgnn.nn.dense import linear, norm_relu

if TYPE_CHECKING:
    from sekgnn.nn.pooling import RowPool

SINE_GAIN = 16.0
"""Of first layers before sines where small differences must not drown in rounding.

Near 0 a sine is linear; only with large weights does it see high frequencies.
"""


class Linear(nn.Linear):
    """PyTorch's linear layer, faster on many narrow rows; see ``dense.py``."""

    def forward(self, input: Tensor) -> Tensor:
        """Return ``[..., C_out]``."""
        return linear(input, self.weight, self.bias)


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
        super().__init__()
        # a bias before a normalisation over rows is taken away by it again
        self.first = Linear(in_channels, hidden_channels, bias=norm != "batch")
        self.norm = make_norm(norm, hidden_channels)
        check_choice("activation", activation, get_args(Activation))
        self.activation: Activation = activation
        self.second = Linear(hidden_channels, out_channels)

    def reset_parameters(self) -> None:
        reset_children(self)

    def forward(self, x: Tensor, pool: RowPool | None = None) -> Tensor:
        """Return ``[N, C_out]``, or pooled over the nodes of graphs, ``[G, C_out]``."""
        h = self.between(self.first(x))
        out: Tensor = self.second(h) if pool is None else pool([h], self.second)
        return out

    def between(self, x: Tensor) -> Tensor:
        """Return what the second layer reads, from the result of the first."""
        return normalised(x, self.norm, self.activation)


def activate(x: Tensor, activation: Activation) -> Tensor:
    """Return ``x`` after an activation, which may overwrite it."""
    if activation == "relu":
        return x.relu_()
    return nn.functional.silu(x) if activation == "silu" else x.sin()


def normalised(x: Tensor, norm: nn.Module, activation: Activation) -> Tensor:
    """Return the activation of a normalisation; ``x`` may be overwritten by it."""
    if activation == "relu" and isinstance(norm, RowBatchNorm):
        out = norm_relu(x, norm)
        if out is not None:
            return out
    return activate(norm(x), activation)


def slope(grad: Tensor, x: Tensor, activation: Activation) -> Tensor:
    """Return the gradient before an activation of ``x`` from that after it."""
    if activation == "relu":
        return torch.ops.aten.threshold_backward(grad, x, 0)
    if activation == "silu":
        return torch.ops.aten.silu_backward(grad, x)
    return grad * x.cos()


def reset_children(module: nn.Module) -> None:
    """Call ``reset_parameters`` of every child that has one, and descend otherwise."""
    for child in module.children():
        reset = getattr(child, "reset_parameters", None)
        if callable(reset):
            reset()
        else:
            reset_children(child)


LIMIT = 100.0
"""Standard deviations in training beyond which an evaluated channel is cut off.

More than those of any of 10,000 rows can be in training. A channel that is constant in
training stays so: the mean it had there lags behind the weights, and would be divided
by next to nothing, layer after layer.
"""


class RowBatchNorm(nn.BatchNorm1d):
    r"""Batch normalisation for any rows, those unlike the training ones included.

    PyTorch refuses a single row in training, which has no variance; here such a batch
    is normalised by the running statistics and leaves them as they are. Evaluated
    channels are cut off at :data:`LIMIT` of the standard deviations that they had in
    training; ordinary rows are far from it.
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
        if not self.training:
            input = self._limited(input)
        return super().forward(input)

    def columns(self, input: Tensor) -> Tensor:
        """Normalise ``[C, N]`` over its columns, without turning it round."""
        if self.training and input.size(1) > 1:
            return super().forward(input.unsqueeze(0)).squeeze(0)
        rows: Tensor = self(input.t())
        return rows.t()

    def _limited(self, input: Tensor) -> Tensor:
        r"""Return rows that are no further from the mean than the limit.

        After t batches the running variance is :math:`b + (1 - b) v` with
        :math:`b = (1 - m)^t` for momentum m: it began at 1, and v is what was seen.
        """
        mean, var, seen = self.running_mean, self.running_var, self.num_batches_tracked
        if mean is None or var is None or seen is None or self.momentum is None:
            return input
        began = (1 - self.momentum) ** seen.to(var.dtype)
        rounding = 4 * torch.finfo(var.dtype).eps * began
        spread = (((var - began).clamp(min=0) + rounding) / (1 - began)).sqrt()
        most = LIMIT * spread  # infinite before training
        return input.clamp(mean - most, mean + most)


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
