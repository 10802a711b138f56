r"""Sums over sparse rows, behind every aggregation: differentiable, on any device.

``csr_sum`` is one sparse product. ``hop_mix`` is the message of several hops in one
pass; on the CPU it reads the sources and writes the result, without the ReLU, the sums
per hop or the scaled sums in between, which otherwise pass through memory one by one,
forward and backward. Both are operators of PyTorch: a compiled loop on the CPU,
PyTorch's sparse product on every other device, and a shape rule for ``torch.compile``.
``docs/models.md`` says why.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd.function import once_differentiable

from sekgnn.parallel import run_chunks

PARALLEL_WORK = 1 << 21  # additions below which threads cost more than they save


class Csr(NamedTuple):
    r"""A matrix in compressed sparse rows, or one per hop, and their transposes.

    The hops of a batch are the 0/1 matrices :math:`B_k`, ``B_k[v, u] = 1`` iff
    :math:`u \in N_k(v)`. They stand one after the other in the same tensors: row v of
    hop k is row ``(k - 1) N + v``, and hop k alone is a view (:meth:`hop`). The
    transpose of a symmetric matrix is the matrix: then the same tensors stand twice,
    and nothing is stored or built for the backward pass.

    Attributes:
        indptr: Row starts, int32 ``[K R + 1]``; need not begin at 0.
        indices: Columns, int32 ``[M]``.
        t_indptr: Row starts of the transposes, int32 ``[K S + 1]``.
        t_indices: Their columns, int32 ``[M]``.
        num_hops: K.
        weights: The entries, ``[M]``, or ``None`` where all are 1.
        t_weights: Those of the transposes.
    """

    indptr: Tensor
    indices: Tensor
    t_indptr: Tensor
    t_indices: Tensor
    num_hops: int = 1
    weights: Tensor | None = None
    t_weights: Tensor | None = None

    @property
    def num_nodes(self) -> int:
        """Rows of one matrix, of hops the number of nodes N."""
        return (self.indptr.size(0) - 1) // self.num_hops

    def row_sizes(self) -> Tensor:
        """Return the number of entries of every row, int32 ``[K R]``."""
        return self.indptr.diff()

    def hop(self, k: int) -> Csr:
        """Return :math:`B_k`, k in 1..K, without a copy."""
        n = self.num_nodes
        start = (k - 1) * n
        return Csr(
            self.indptr.narrow(0, start, n + 1),
            self.indices,
            self.t_indptr.narrow(0, start, n + 1),
            self.t_indices,
        )

    def sum(self, x: Tensor, k: int) -> Tensor:
        r"""Return :math:`\sum_{u \in N_k(v)} x_u` for every node v, ``[N, C]``."""
        return csr_sum(x, self.hop(k))

    def sizes(self, k: int) -> Tensor:
        """Return :math:`|N_k(v)|` for every node v, int32 ``[N]``."""
        return self.hop(k).row_sizes()

    def pairs(self, k: int) -> tuple[Tensor, Tensor]:
        """Return hop k as ``(row, col)``, each int64 ``[M_k]``, row by row."""
        indptr = self.hop(k).indptr.long()
        nodes = torch.arange(self.num_nodes, device=indptr.device)
        row = torch.repeat_interleave(nodes, indptr.diff())
        return row, self.indices[int(indptr[0]) : int(indptr[-1])].long()


def csr_sum(x: Tensor, csr: Csr) -> Tensor:
    r"""Return :math:`y_v = \sum_{u \in \mathrm{row}(v)} w_{vu} x_u`, w = 1 by default.

    The gradient is the same sum over the transpose. Half-precision input is summed in
    float32; under autocast the sum stays float32, else it returns to the input's type.

    Args:
        x: ``[S, C]``.
        csr: One matrix, R rows and S columns.

    Returns:
        ``[R, C]``.

    Example:
        >>> indptr, indices = torch.tensor([[0, 1, 2], [1, 0, 0]], dtype=torch.int32)
        >>> swap = Csr(indptr, indices[:2], indptr, indices[:2])
        >>> csr_sum(torch.tensor([[1.0], [5.0]]), swap).flatten().tolist()
        [5.0, 1.0]
    """
    if x.dtype in (torch.float32, torch.float64):
        return _apply(x, csr)
    return returned(_apply(x.float(), csr), x)


def hop_mix(
    sources: Sequence[Tensor],
    which: Sequence[int],
    weights: Tensor,
    hops: Csr,
    *,
    first_hop: int = 1,
    rectify: bool,
) -> Tensor:
    r"""Return the weighted sum over a node itself and its hops.

    .. math:: y_v = w_0 \odot x^{(0)}_v + \sum_{k=1}^{K} w_k \odot
              \sum_{u \in N_k(v)} \rho(x^{(k)}_u), \qquad \rho = \mathrm{ReLU}
              \text{ or the identity}

    Half precision is treated as by :func:`csr_sum`. There is a first gradient only.

    Args:
        sources: The distinct :math:`x^{(k)}`, each ``[N, C]``.
        which: The source of the node itself, and of each hop, ``[1 + K]``.
        weights: :math:`w_0, \dots, w_K`, ``[1 + K, C]``, or ``[1 + K, 1]`` for all
            channels alike.
        hops: At least ``first_hop + K - 1`` hops.
        first_hop: The hop of :math:`w_1`; those after it follow.
        rectify: Whether :math:`\rho` is ReLU.

    Returns:
        ``[N, C]``.
    """
    kind = sources[0].dtype
    if kind not in (torch.float32, torch.float64):
        out = hop_mix(
            [x.float() for x in sources],
            which,
            weights.float(),
            hops,
            first_hop=first_hop,
            rectify=rectify,
        )
        return returned(out, sources[0])
    sources = [x.to(kind) for x in sources]
    weights = weights.to(kind)
    if len(which) == 1:  # no hop at all
        return weights[0] * sources[which[0]]
    if not sources[0].is_cpu:
        return _composed(sources, which, weights, hops, first_hop, rectify)
    mixed: Tensor = _HopMix.apply(  # type: ignore[no-untyped-call]
        weights, *hops[:4], list(which), first_hop, rectify, *sources
    )
    return mixed


def _composed(
    sources: Sequence[Tensor],
    which: Sequence[int],
    weights: Tensor,
    hops: Csr,
    first_hop: int,
    rectify: bool,
) -> Tensor:
    """Return the same from the sum of one hop at a time."""
    out = weights[0] * sources[which[0]]
    sent = [x.relu() if rectify else x for x in sources]
    for k in range(1, len(which)):
        received = csr_sum(sent[which[k]], hops.hop(first_hop + k - 1))
        out = torch.addcmul(out, weights[k], received)
    return out


def returned(out: Tensor, x: Tensor) -> Tensor:
    """Return a sum in the type of its input, unless that is cast automatically."""
    return out if torch.is_autocast_enabled(x.device.type) else out.to(x.dtype)


def row_chunks(indptr: NDArray[np.int32], channels: int) -> list[tuple[int, int]]:
    """Cut rows into pieces of equal work, ``channels`` additions per entry."""
    rows, entries = indptr.size - 1, int(indptr[-1] - indptr[0])
    threads = torch.get_num_threads()
    if threads == 1 or entries * channels < PARALLEL_WORK:
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


def _mix(
    sources: list[Tensor],
    which: list[int],
    weights: Tensor,
    indptr: Tensor,
    indices: Tensor,
    first_hop: int,
    rectify: bool,
) -> Tensor:
    """Return y by the compiled loop."""
    from sekgnn.nn.lane_kernels import mix_forward

    kept = [x.contiguous() for x in sources]  # alive as long as their addresses
    out = kept[0].new_empty(kept[0].shape)
    chunks, args = _read(kept, which, weights, indptr, indices, first_hop, rectify)
    args.append(out.numpy())
    run_rows(lambda _, start, stop: mix_forward(*[*args, start, stop]), chunks)
    return out


def _mix_backward(
    grad: Tensor,
    sources: list[Tensor],
    which: list[int],
    weights: Tensor,
    t_indptr: Tensor,
    t_indices: Tensor,
    first_hop: int,
    rectify: bool,
) -> tuple[Tensor, Tensor]:
    """Return the gradients of the sources, ``[S, N, C]``, and of the weights."""
    from sekgnn.nn.lane_kernels import mix_backward

    kept = [x.contiguous() for x in sources]
    out = grad.new_empty((len(kept), *grad.shape))
    chunks, args = _read(kept, which, weights, t_indptr, t_indices, first_hop, rectify)
    args += [grad.contiguous().numpy(), out.numpy()]
    parts = np.zeros((len(chunks), len(which), grad.size(1)))
    run_rows(
        lambda i, start, stop: mix_backward(*[*args, parts[i], start, stop]), chunks
    )
    return out, torch.from_numpy(parts.sum(0)).to(grad.dtype)


def _read(
    sources: list[Tensor],
    which: list[int],
    weights: Tensor,
    indptr: Tensor,
    indices: Tensor,
    first_hop: int,
    rectify: bool,
) -> tuple[list[tuple[int, int]], list[Any]]:
    """Return chunks of nodes, and what both loops read."""
    (n, channels), ptr = sources[0].shape, indptr.numpy()
    base = (first_hop - 1) * n
    floor = 0.0 if rectify else -np.inf
    addresses = np.array([x.data_ptr() for x in sources])
    args = [floor, ptr, indices.numpy(), base, addresses, np.array(which),
            weights.contiguous().numpy()]  # fmt: skip
    return row_chunks(ptr[base : base + n + 1], channels * (len(which) - 1)), args


_operator = torch.library.custom_op("sekgnn::csr_sum", _any_device_sum, mutates_args=())
_operator.register_kernel("cpu", _cpu_sum)
_operator.register_fake(
    lambda x, indptr, *_: x.new_empty((indptr.size(0) - 1, x.size(1)))
)
torch.library.custom_op("sekgnn::hop_mix", _mix, mutates_args=()).register_fake(
    lambda sources, *_: sources[0].new_empty(sources[0].shape)
)
torch.library.custom_op(
    "sekgnn::hop_mix_backward", _mix_backward, mutates_args=()
).register_fake(
    lambda grad, sources, which, weights, *_: (
        grad.new_empty((len(sources), *grad.shape)),
        weights.new_empty(weights.shape),
    )
)


def sum_rows(
    x: Tensor, indptr: Tensor, indices: Tensor, weights: Tensor | None = None
) -> Tensor:
    """Return the sum of :func:`csr_sum` from its tensors, without a gradient."""
    out: Tensor = chosen("csr_sum", _cpu_sum, x)(x, indptr, indices, weights)
    return out


def chosen(name: str, direct: Callable[..., Any], x: Tensor) -> Callable[..., Any]:
    """Return an operator, or on the CPU what it does there: to look it up costs time.

    Only ``torch.compile`` must see the operator itself.
    """
    if x.is_cpu and not torch.compiler.is_compiling():
        return direct
    operator: Callable[..., Any] = getattr(torch.ops.sekgnn, name)
    return operator


class _CsrSum(torch.autograd.Function):
    """The sum with its gradient; the gradient has one too."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        indptr: Tensor,
        indices: Tensor,
        weights: Tensor | None,
        t_indptr: Tensor,
        t_indices: Tensor,
        t_weights: Tensor | None,
    ) -> Tensor:
        ctx.save_for_backward(indptr, indices, weights, t_indptr, t_indices, t_weights)
        return sum_rows(x, indptr, indices, weights)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        indptr, indices, weights, t_indptr, t_indices, t_weights = ctx.saved_tensors
        transpose = Csr(t_indptr, t_indices, indptr, indices, 1, t_weights, weights)
        return _apply(grads[0], transpose), None, None, None, None, None, None


def _apply(x: Tensor, csr: Csr) -> Tensor:
    rows = csr.indptr, csr.indices, csr.weights
    columns = csr.t_indptr, csr.t_indices, csr.t_weights
    out: Tensor = _CsrSum.apply(x, *rows, *columns)  # type: ignore[no-untyped-call]
    return out


class _HopMix(torch.autograd.Function):
    """The fused sum with its gradient, which has none itself."""

    @staticmethod
    def forward(
        ctx: Any,
        weights: Tensor,
        indptr: Tensor,
        indices: Tensor,
        t_indptr: Tensor,
        t_indices: Tensor,
        which: list[int],
        first_hop: int,
        rectify: bool,
        *sources: Tensor,
    ) -> Tensor:
        work = chosen("hop_mix", _mix, weights)
        spread = weights.expand(-1, sources[0].size(1))
        ctx.save_for_backward(weights, t_indptr, t_indices, *sources)
        ctx.rest = which, first_hop, rectify
        out: Tensor = work(
            list(sources), which, spread, indptr, indices, first_hop, rectify
        )
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> Any:
        weights, t_indptr, t_indices, *sources = ctx.saved_tensors
        which, first_hop, rectify = ctx.rest
        work = chosen("hop_mix_backward", _mix_backward, weights)
        spread = weights.expand(-1, sources[0].size(1))
        gx, gw = work(
            grads[0], sources, which, spread, t_indptr, t_indices, first_hop, rectify
        )
        if gw.size(1) > weights.size(1):
            gw = gw.sum(1, keepdim=True)
        return (gw, *[None] * 7, *gx.unbind(0))
