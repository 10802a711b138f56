"""Two linear layers with a normalisation and an activation between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import torch
from torch import Tensor, nn

from sekgnn.checks import check_choice
from sekgnn.nn.choices import Activation, Norm

if TYPE_CHECKING:
    from sekgnn.nn.pooling import RowPool

SINE_GAIN = 16.0
"""Of first layers before sines where small differences must not drown in rounding.

Near 0 a sine is linear; only with large weights does it see high frequencies.
"""


_NARROW = 32
"""Fewer columns than this, and no multiple of 16, make gradients slow; see Linear."""


class _NarrowLinear(torch.autograd.Function):
    """The gradients of a linear layer, with the narrow matrix on the left."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        (x, weight), (grad,) = ctx.saved_tensors, grads
        needs_x, needs_weight, needs_bias = ctx.needs_input_grad
        return (
            (weight.t() @ grad.t()).t() if needs_x else None,
            torch.empty_like(weight).copy_((x.t() @ grad).t())
            if needs_weight
            else None,
            grad.sum(0) if needs_bias else None,
        )


class Linear(nn.Linear):
    r"""PyTorch's linear layer, trained faster where it reads a few features only.

    With G the gradient of the output, :math:`(X^\top G)^\top` and
    :math:`(W^\top G^\top)^\top` take a third of the time of :math:`G^\top X` and
    :math:`G W` on CPUs if X has, say, 3 or 11 columns.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return ``[N, C_out]``."""
        narrow = self.in_features < _NARROW and self.in_features % 16
        if (
            narrow
            and input.is_cpu
            and input.dim() == 2
            and not torch.is_autocast_enabled("cpu")
            and not torch.compiler.is_compiling()
        ):
            out: Tensor = _NarrowLinear.apply(input, self.weight, self.bias)  # type: ignore[no-untyped-call]
            return out
        return super().forward(input)


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
        self.second = nn.Linear(hidden_channels, out_channels)

    def reset_parameters(self) -> None:
        reset_children(self)

    def forward(self, x: Tensor, pool: RowPool | None = None) -> Tensor:
        """Return ``[N, C_out]``, or pooled over the nodes of graphs, ``[G, C_out]``."""
        h = self.between(self.first(x))
        out: Tensor = self.second(h) if pool is None else pool([h], self.second)
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
