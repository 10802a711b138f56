"""Linear layers and batch normalisation on many narrow rows, fast on the CPU.

PyTorch leaves both to libraries that are made for wide matrices: a product with a 40 x
40 matrix runs at less than half the speed that a core with AVX-512 has, and batch
normalisation and ReLU pass through memory seven times in a step. Where the compiled
loops do not apply (other devices and types, ``torch.compile``, gradients of gradients),
PyTorch's own operations do the work.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from sekgnn.nn.sparse_sum import PARALLEL_WORK, run_rows

_ROWS, _COLUMNS = 8, 16  # the least that the loops take


def matmul(x: Tensor, w: Tensor) -> Tensor:
    """Return ``x w`` of ``[N, K]`` and ``[K, D]``, without a gradient if it is fast."""
    if not _fits(x, w, x.size(0), w.size(1)):
        return x @ w
    from sekgnn.nn.lane_kernels import product

    rows, inner, columns = x.size(0), x.size(1), w.size(1)
    x, w, out = x.contiguous(), w.contiguous(), x.new_empty(rows, columns)
    args = (x.data_ptr(), w.data_ptr(), out.data_ptr(), inner, columns)
    chunks = _chunks(rows, rows * inner * columns)
    run_rows(lambda _, start, stop: product(*args, start, stop), chunks)
    return out


def matmul_rows(x: Tensor, y: Tensor) -> Tensor:
    r"""Return :math:`x^\top y` of ``[N, K]`` and ``[N, D]``, otherwise likewise."""
    if not _fits(x, y, x.size(1), y.size(1)):
        return x.t() @ y
    from sekgnn.nn.lane_kernels import inner_product

    x, y = x.contiguous(), y.contiguous()
    chunks = _chunks(x.size(0), x.numel() * y.size(1))
    out = x.new_empty(len(chunks), x.size(1), y.size(1))
    args, shares = (x.data_ptr(), y.data_ptr()), out.numpy()
    run_rows(
        lambda i, start, stop: inner_product(*args, shares[i], start, stop), chunks
    )
    return out[0] if len(chunks) == 1 else out.sum(0)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return ``x weight^T + bias`` of ``[N, K]``, with its gradient."""
    if not _compiled(x, weight):
        return nn.functional.linear(x, weight, bias)
    out: Tensor = _Linear.apply(x, weight, bias)  # type: ignore[no-untyped-call]
    return out


class _Linear(torch.autograd.Function):
    """A linear layer of the loops above."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        out = matmul(x, weight.t())
        return out if bias is None else out.add_(bias)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        (x, weight), (grad,) = ctx.saved_tensors, grads
        needs_x, needs_weight, needs_bias = ctx.needs_input_grad
        if weight.size(1) >= _COLUMNS:
            grad_x = matmul(grad, weight) if needs_x else None
            grad_weight = matmul_rows(grad, x) if needs_weight else None
        else:  # BLAS is faster with the narrow matrix on the left
            grad_x = (weight.t() @ grad.t()).t() if needs_x else None
            grad_weight = None
            if needs_weight:
                grad_weight = torch.empty_like(weight).copy_((x.t() @ grad).t())
        return grad_x, grad_weight, grad.sum(0) if needs_bias else None


def mix_channels(weight: Tensor, x: Tensor) -> Tensor:
    """Return ``weight x`` of ``[D, C]`` and ``[C, P]``, with its gradient."""
    if not _compiled(x, weight):
        return weight @ x
    out: Tensor = _MixChannels.apply(weight, x)  # type: ignore[no-untyped-call]
    return out


class _MixChannels(torch.autograd.Function):
    """A linear layer whose rows stand as columns."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, x: Tensor) -> Tensor:
        ctx.save_for_backward(weight, x)
        return matmul(weight, x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        (weight, x), (grad,) = ctx.saved_tensors, grads
        needs_weight, needs_x = ctx.needs_input_grad
        return (
            grad @ x.t() if needs_weight else None,
            matmul(weight.t(), grad) if needs_x else None,
        )


def norm_relu(x: Tensor, norm: nn.BatchNorm1d) -> Tensor | None:
    """Return the ReLU of a batch normalisation in training, where a loop does both."""
    weight, bias, momentum = norm.weight, norm.bias, norm.momentum
    if (
        not norm.training
        or not norm.track_running_stats
        or momentum is None
        or weight is None
        or x.size(0) < 2
        or x.dtype not in (torch.float32, torch.float64)
        or not _compiled(x, weight)
        or len(_chunks(x.size(0), x.numel())) > 1
    ):
        return None
    out, mean, var = _NormReLU.apply(x, weight, bias, norm.eps)  # type: ignore[no-untyped-call]
    with torch.no_grad():
        assert norm.running_mean is not None
        assert norm.running_var is not None
        assert norm.num_batches_tracked is not None
        norm.running_mean.lerp_(mean, momentum)
        norm.running_var.lerp_(var, momentum)
        norm.num_batches_tracked.add_(1)
    normed: Tensor = out
    return normed


class _NormReLU(torch.autograd.Function):
    """The result; mean and variance of the columns, which have no gradient."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, eps: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        from sekgnn.nn.lane_kernels import norm_forward

        x, out = x.contiguous(), torch.empty_like(x)
        columns = (weight.numpy(), bias.numpy(), eps)
        moments = norm_forward(x.data_ptr(), len(x), *columns, out.data_ptr())
        mean, inverse, var = map(torch.from_numpy, moments)
        ctx.save_for_backward(x, weight, bias, mean, inverse)
        ctx.eps = eps
        var *= len(x) / (len(x) - 1)
        ctx.mark_non_differentiable(mean, var)
        return out, mean, var

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        x, weight, bias, mean, inverse = ctx.saved_tensors
        if torch.is_grad_enabled():  # its gradient is asked for
            inputs = (x, weight, bias)
            y = nn.functional.batch_norm(
                x, None, None, weight, bias, training=True, eps=ctx.eps
            ).relu()
            asked = [each for each in inputs if each.requires_grad]
            slopes = iter(torch.autograd.grad(y, asked, grads[0], create_graph=True))
            return (*(next(slopes) if i.requires_grad else None for i in inputs), None)
        from sekgnn.nn.lane_kernels import norm_backward

        grad, out = grads[0].contiguous(), torch.empty_like(x)
        columns = [each.numpy() for each in (weight, bias, mean, inverse)]
        addresses = [grad.data_ptr(), x.data_ptr(), len(x)]
        more = norm_backward(*[*addresses, *columns, out.data_ptr()])
        return (out, *map(torch.from_numpy, more), None)


@cache
def _wide_registers() -> bool:
    """Return whether a tile fits the registers of this processor."""
    capability: str = torch.backends.cpu.get_cpu_capability()
    return capability.startswith("AVX512")


def _compiled(x: Tensor, w: Tensor) -> bool:
    """Return whether loops may be called for these tensors at all."""
    return (
        x.is_cpu
        and x.dim() == 2
        and x.dtype == w.dtype
        and not torch.compiler.is_compiling()
        and not torch.is_autocast_enabled("cpu")
    )


def _fits(x: Tensor, w: Tensor, rows: int, columns: int) -> bool:
    """Return whether the loops take a product with so many rows and columns."""
    return (
        rows >= _ROWS
        and columns >= _COLUMNS
        and x.dtype == torch.float32 == w.dtype
        and x.is_cpu
        and not torch.compiler.is_compiling()
        and not (torch.is_grad_enabled() and (x.requires_grad or w.requires_grad))
        and _wide_registers()
    )


def _chunks(rows: int, work: int) -> list[tuple[int, int]]:
    """Cut rows into a piece per thread, if there is work enough for several."""
    if work < PARALLEL_WORK:
        return [(0, rows)]
    pieces = max(1, min(torch.get_num_threads(), rows // _ROWS))
    cuts = [rows * i // pieces for i in range(pieces + 1)]
    return list(pairwise(cuts))
