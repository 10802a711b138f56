r"""The sparse product behind every aggregation, differentiable, on any device.

One operator, ``sekgnn::csr_sum``, is registered with PyTorch: a compiled loop on the
CPU, PyTorch's own sparse product on every other device, and a shape rule for
``torch.compile``. ``docs/models.md`` says why.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sekgnn.parallel import run_chunks

_PARALLEL_WORK = 1 << 21  # additions below which threads cost more than they save


class Csr(NamedTuple):
    """A matrix in compressed sparse rows, and its transpose; 0/1 without weights.

    The transpose of a symmetric matrix is the matrix: then the same tensors stand
    twice, and nothing is stored or built for the backward pass.

    Attributes:
        indptr: Row starts, int32 ``[R + 1]``; need not begin at 0.
        indices: Columns, int32 ``[M]``.
        t_indptr: Row starts of the transpose, int32 ``[S + 1]``.
        t_indices: Its columns, int32 ``[M]``.
        weights: The entries, ``[M]``, or ``None`` where all are 1.
        t_weights: Those of the transpose.
    """

    indptr: Tensor
    indices: Tensor
    t_indptr: Tensor
    t_indices: Tensor
    weights: Tensor | None = None
    t_weights: Tensor | None = None

    def row_sizes(self) -> Tensor:
        """Return the number of entries of every row, int32 ``[R]``."""
        return self.indptr.diff()


def csr_sum(x: Tensor, csr: Csr) -> Tensor:
    r"""Return :math:`y_v = \sum_{u \in \mathrm{row}(v)} w_{vu} x_u`, w = 1 by default.

    The gradient is the same sum over the transpose. Half-precision input is summed in
    float32; under autocast the sum stays float32, else it returns to the input's type.

    Args:
        x: ``[S, C]``.
        csr: The matrix, R rows and S columns.

    Returns:
        ``[R, C]``.

    Example:
        >>> indptr, indices = torch.tensor([[0, 1, 2], [1, 0, 0]], dtype=torch.int32)
        >>> swap = Csr(indptr, indices[:2], indptr, indices[:2])
        >>> csr_sum(torch.tensor([[1.0], [5.0]]), swap).flatten().tolist()
        [5.0, 1.0]
    """
    if x.dtype in (torch.float32, torch.float64):
        return _apply(x, *csr)
    out = _apply(x.float(), *csr)
    return out if torch.is_autocast_enabled(x.device.type) else out.to(x.dtype)


def row_chunks(indptr: NDArray[np.int32], channels: int) -> list[tuple[int, int]]:
    """Cut the rows of a CSR into pieces of equal work; one piece if that is little.

    Args:
        indptr: Row starts, ``[R + 1]``.
        channels: Additions per entry.
    """
    rows, entries = indptr.size - 1, int(indptr[-1] - indptr[0])
    threads = torch.get_num_threads()
    if threads == 1 or entries * channels < _PARALLEL_WORK:
        return [(0, rows)]
    inner = np.linspace(int(indptr[0]), int(indptr[-1]), 4 * threads + 1)[1:-1]
    cuts = np.searchsorted(indptr, inner).tolist()
    return list(pairwise([0, *cuts, rows]))


def run_rows(
    work: Callable[[int, int, int], object], chunks: list[tuple[int, int]]
) -> None:
    """Call ``work(number, start, stop)`` for every chunk, on PyTorch's threads."""
    if len(chunks) == 1:
        work(0, *chunks[0])
        return
    run_chunks(
        lambda i, _: work(i, *chunks[i]),
        [(i, i + 1) for i in range(len(chunks))],
        torch.get_num_threads(),
    )


def _cpu_sum(
    x: Tensor, indptr: Tensor, indices: Tensor, weights: Tensor | None = None
) -> Tensor:
    """Sum by the compiled loop."""
    from sekgnn.lanes import row_sums

    out = x.new_empty((indptr.numel() - 1, x.size(1)))
    ptr = indptr.numpy()
    entries = x.new_empty(0) if weights is None else weights.to(x.dtype)
    args = ptr, indices.numpy(), entries.numpy(), x.contiguous().numpy(), out.numpy()
    run_rows(
        lambda _, start, stop: row_sums(*args, start, stop),
        row_chunks(ptr, x.size(1)),
    )
    return out


def _any_device_sum(
    x: Tensor, indptr: Tensor, indices: Tensor, weights: Tensor | None = None
) -> Tensor:
    """Sum by PyTorch's sparse product."""
    first, last = int(indptr[0]), int(indptr[-1])
    shape = (indptr.numel() - 1, x.size(0))
    if first == last or 0 in shape:
        return x.new_zeros((shape[0], x.size(1)))
    with warnings.catch_warnings():  # PyTorch calls the format beta, once per process
        warnings.filterwarnings("ignore", "Sparse CSR tensor support", UserWarning)
        matrix = torch.sparse_csr_tensor(
            indptr - first,
            indices[first:last],
            x.new_ones(last - first) if weights is None else weights[first:last].to(x),
            shape,
            check_invariants=False,
        )
    return matrix @ x


def _shape_of_sum(
    x: Tensor, indptr: Tensor, indices: Tensor, weights: Tensor | None = None
) -> Tensor:
    return x.new_empty((indptr.size(0) - 1, x.size(1)))


LIBRARY: Any = torch.library.Library("sekgnn", "FRAGMENT")  # type: ignore[no-untyped-call]
if not hasattr(torch.ops.sekgnn, "csr_sum"):
    LIBRARY.define(
        "csr_sum(Tensor x, Tensor indptr, Tensor indices, Tensor? weights=None)"
        " -> Tensor"
    )
    LIBRARY.impl("csr_sum", _any_device_sum, "CompositeExplicitAutograd")
    LIBRARY.impl("csr_sum", _cpu_sum, "CPU")
    torch.library.register_fake("sekgnn::csr_sum", _shape_of_sum, lib=LIBRARY)


def chosen(name: str, direct: Callable[..., Any], x: Tensor) -> Callable[..., Any]:
    """Return an operator, or on the CPU what it does there: to look it up costs time.

    Only ``torch.compile`` must see the operator itself.
    """
    if x.is_cpu and not torch.compiler.is_compiling():
        return direct
    operator: Callable[..., Any] = getattr(torch.ops.sekgnn, name)
    return operator


class _CsrSum(torch.autograd.Function):
    """The operator with its gradient; the gradient has one too."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        indptr: Tensor,
        indices: Tensor,
        t_indptr: Tensor,
        t_indices: Tensor,
        weights: Tensor | None,
        t_weights: Tensor | None,
    ) -> Tensor:
        ctx.save_for_backward(indptr, indices, weights, t_indptr, t_indices, t_weights)
        return chosen("csr_sum", _cpu_sum, x)(x, indptr, indices, weights)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        indptr, indices, weights, *transposed, t_weights = ctx.saved_tensors
        grad = _apply(grads[0], *transposed, indptr, indices, t_weights, weights)
        return grad, None, None, None, None, None, None


def _apply(x: Tensor, *csr: Tensor | None) -> Tensor:
    out: Tensor = _CsrSum.apply(x, *csr)  # type: ignore[no-untyped-call]
    return out
