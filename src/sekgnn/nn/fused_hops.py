r"""The message of several hops in one pass, differentiable, on any device.

.. math:: y_v = w_0 \odot x^{(0)}_v + \sum_{k=1}^{K} w_k \odot
          \sum_{u \in N_k(v)} \rho(x^{(k)}_u), \qquad \rho = \mathrm{ReLU}
          \text{ or the identity}

On the CPU a compiled loop reads the sources and writes y, without the ReLU, the sums
per hop or the scaled sums in between, which otherwise pass through memory one by one,
forward and backward. On other devices the same is composed of
:func:`~sekgnn.nn.csr_sum`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd.function import once_differentiable

from sekgnn.nn.hop_matrices import HopCSR
from sekgnn.nn.sparse_sum import LIBRARY, chosen, csr_sum, row_chunks, run_rows


def hop_mix(
    sources: Sequence[Tensor],
    which: Sequence[int],
    weights: Tensor,
    hops: HopCSR,
    *,
    first_hop: int = 1,
    rectify: bool,
) -> Tensor:
    r"""Return the weighted sum over a node itself and its hops.

    Args:
        sources: The distinct :math:`x^{(k)}`, each ``[N, C]``.
        which: The source of the node itself, and of each hop, ``[1 + K]``.
        weights: :math:`w_0, \dots, w_K`, ``[1 + K, C]``, or ``[1 + K, 1]`` for all
            channels alike.
        hops: At least ``first_hop + K - 1`` hops.
        first_hop: The hop of :math:`w_1`; those after it follow.
        rectify: Whether :math:`\rho` is ReLU.

    Returns:
        ``[N, C]``; float32 under autocast, else of the sources' type.
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
        inside = torch.is_autocast_enabled(sources[0].device.type)
        return out if inside else out.to(kind)
    sources = [x.to(kind) for x in sources]
    weights = weights.to(kind)
    if len(which) == 1:  # no hop at all
        return weights[0] * sources[which[0]]
    if not sources[0].is_cpu:
        return _composed(sources, which, weights, hops, first_hop, rectify)
    out = _HopMix.apply(  # type: ignore[no-untyped-call]
        weights,
        hops.indptr,
        hops.indices,
        hops.t_indptr,
        hops.t_indices,
        list(which),
        first_hop,
        rectify,
        *sources,
    )
    mixed: Tensor = out
    return mixed


def _composed(
    sources: Sequence[Tensor],
    which: Sequence[int],
    weights: Tensor,
    hops: HopCSR,
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


def _forward(
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
    ptr = indptr.numpy()
    n, base, args = _common(kept, which, weights, ptr, indices, first_hop, rectify)
    args.append(out.numpy())
    run_rows(
        lambda _, start, stop: mix_forward(*[*args, start, stop]),
        row_chunks(ptr[base : base + n + 1], out.size(1) * (len(which) - 1)),
    )
    return out


def _backward(
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
    ptr, channels = t_indptr.numpy(), grad.size(1)
    n, base, args = _common(kept, which, weights, ptr, t_indices, first_hop, rectify)
    args += [grad.contiguous().numpy(), out.numpy()]
    chunks = row_chunks(ptr[base : base + n + 1], channels * (len(which) - 1))
    parts = np.zeros((len(chunks), len(which), channels))
    run_rows(
        lambda i, start, stop: mix_backward(*[*args, parts[i], start, stop]), chunks
    )
    return out, torch.from_numpy(parts.sum(0)).to(grad.dtype)


def _common(
    sources: list[Tensor],
    which: list[int],
    weights: Tensor,
    indptr: NDArray[np.int32],
    indices: Tensor,
    first_hop: int,
    rectify: bool,
) -> tuple[int, int, list[Any]]:
    """Return nodes, first row, and what both loops read."""
    n = sources[0].size(0)
    base = (first_hop - 1) * n
    return (
        n,
        base,
        [
            0.0 if rectify else -np.inf,
            indptr,
            indices.numpy(),
            base,
            np.array([x.data_ptr() for x in sources]),
            np.array(which),
            weights.contiguous().numpy(),
        ],
    )


def _shape_of_mix(
    sources: list[Tensor],
    which: list[int],
    weights: Tensor,
    indptr: Tensor,
    indices: Tensor,
    first_hop: int,
    rectify: bool,
) -> Tensor:
    return sources[0].new_empty(sources[0].shape)


def _shapes_of_gradients(
    grad: Tensor,
    sources: list[Tensor],
    which: list[int],
    weights: Tensor,
    t_indptr: Tensor,
    t_indices: Tensor,
    first_hop: int,
    rectify: bool,
) -> tuple[Tensor, Tensor]:
    shape = (len(sources), *grad.shape)
    return grad.new_empty(shape), weights.new_empty(weights.shape)


if not hasattr(torch.ops.sekgnn, "hop_mix"):
    LIBRARY.define(
        "hop_mix(Tensor[] sources, int[] which, Tensor weights, Tensor indptr, "
        "Tensor indices, int first_hop, bool rectify) -> Tensor"
    )
    LIBRARY.define(
        "hop_mix_backward(Tensor grad, Tensor[] sources, int[] which, "
        "Tensor weights, Tensor t_indptr, Tensor t_indices, int first_hop, "
        "bool rectify) -> (Tensor, Tensor)"
    )
    LIBRARY.impl("hop_mix", _forward, "CPU")
    LIBRARY.impl("hop_mix_backward", _backward, "CPU")
    torch.library.register_fake("sekgnn::hop_mix", _shape_of_mix, lib=LIBRARY)
    torch.library.register_fake(
        "sekgnn::hop_mix_backward", _shapes_of_gradients, lib=LIBRARY
    )


class _HopMix(torch.autograd.Function):
    """The compiled loops with their gradient, which has none itself."""

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
        work = chosen("hop_mix", _forward, weights)
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
        work = chosen("hop_mix_backward", _backward, weights)
        spread = weights.expand(-1, sources[0].size(1))
        gx, gw = work(
            grads[0], sources, which, spread, t_indptr, t_indices, first_hop, rectify
        )
        if gw.size(1) > weights.size(1):
            gw = gw.sum(1, keepdim=True)
        return (gw, *[None] * 7, *gx.unbind(0))
