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
from torch import Tensor
from torch.autograd.function import once_differentiable

from sekgnn.nn.hop_matrices import HopCSR
from sekgnn.nn.kernels import mix_backward, mix_forward
from sekgnn.nn.sparse_sum import LIBRARY, csr_sum, row_chunks, run_rows


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
        weights: :math:`w_0, \dots, w_K`, ``[1 + K, C]``.
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
) -> tuple[Tensor, Tensor]:
    """Return y, and what the sources sent, ``[S, N, C]``, where it is new memory.

    An operator must not return its input: without a ReLU the second tensor is empty.
    """
    n, channels = sources[0].shape
    out = sources[0].new_empty((n, channels))
    sent = _sent(sources, rectify)
    base = (first_hop - 1) * n
    ptr = indptr.numpy()
    args = (
        ptr,
        indices.numpy(),
        base,
        sent.contiguous().numpy(),
        np.array(which[1:]),
        sources[which[0]].contiguous().numpy(),
        weights.contiguous().numpy(),
        out.numpy(),
    )
    run_rows(
        lambda _, start, stop: mix_forward(*args, start, stop),
        row_chunks(ptr[base : base + n + 1], channels * (len(which) - 1)),
    )
    return out, sent if rectify else sent.new_empty(0)


def _sent(sources: list[Tensor], rectify: bool) -> Tensor:
    """Return what neighbours send, by source, ``[S, N, C]``."""
    if not rectify:
        return sources[0].unsqueeze(0) if len(sources) == 1 else torch.stack(sources)
    sent = sources[0].new_empty((len(sources), *sources[0].shape))
    for i, source in enumerate(sources):
        torch.clamp_min(source, 0, out=sent[i])
    return sent


def _backward(
    grad: Tensor,
    sent: Tensor,
    own: Tensor,
    which: list[int],
    weights: Tensor,
    t_indptr: Tensor,
    t_indices: Tensor,
    first_hop: int,
    rectify: bool,
) -> tuple[Tensor, Tensor]:
    """Return the gradients of the sources, ``[S, N, C]``, and of the weights."""
    n, channels = grad.shape
    out = sent.new_empty(sent.shape)
    base = (first_hop - 1) * n
    ptr = t_indptr.numpy()
    chunks = row_chunks(ptr[base : base + n + 1], channels * (len(which) - 1))
    parts = np.zeros((len(chunks), len(which), channels))
    args = (
        ptr,
        t_indices.numpy(),
        base,
        grad.contiguous().numpy(),
        sent.contiguous().numpy(),
        np.array(which[1:]),
        own.contiguous().numpy(),
        which[0],
        weights.contiguous().numpy(),
        rectify,
        out.numpy(),
    )
    run_rows(lambda i, start, stop: mix_backward(*args, parts[i], start, stop), chunks)
    return out, torch.from_numpy(parts.sum(0)).to(grad.dtype)


def _shape_of_mix(
    sources: list[Tensor],
    which: list[int],
    weights: Tensor,
    indptr: Tensor,
    indices: Tensor,
    first_hop: int,
    rectify: bool,
) -> tuple[Tensor, Tensor]:
    shape = sources[0].shape
    first = sources[0]
    sent = first.new_empty((len(sources), *shape) if rectify else 0)
    return first.new_empty(shape), sent


def _shapes_of_gradients(
    grad: Tensor,
    sent: Tensor,
    own: Tensor,
    which: list[int],
    weights: Tensor,
    t_indptr: Tensor,
    t_indices: Tensor,
    first_hop: int,
    rectify: bool,
) -> tuple[Tensor, Tensor]:
    return sent.new_empty(sent.shape), weights.new_empty(weights.shape)


if not hasattr(torch.ops.sekgnn, "hop_mix"):
    LIBRARY.define(
        "hop_mix(Tensor[] sources, int[] which, Tensor weights, Tensor indptr, "
        "Tensor indices, int first_hop, bool rectify) -> (Tensor, Tensor)"
    )
    LIBRARY.define(
        "hop_mix_backward(Tensor grad, Tensor sent, Tensor own, int[] which, "
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
        out: Tensor
        out, sent = torch.ops.sekgnn.hop_mix(
            list(sources), which, weights, indptr, indices, first_hop, rectify
        )
        sent = sent if rectify else _sent(list(sources), rectify)
        own = sources[which[0]]
        ctx.save_for_backward(weights, t_indptr, t_indices, sent, own)
        ctx.rest = which, first_hop, rectify
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> Any:
        weights, t_indptr, t_indices, sent, own = ctx.saved_tensors
        which, first_hop, rectify = ctx.rest
        gx, gw = torch.ops.sekgnn.hop_mix_backward(
            grads[0],
            sent,
            own,
            which,
            weights,
            t_indptr,
            t_indices,
            first_hop,
            rectify,
        )
        return (gw, *[None] * 7, *gx.unbind(0))
