"""Compiled sums over a node and its hops, weighted, with their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.kernel import kernel
from sekgnn.lanes import (
    added,
    filled,
    filled_as,
    floored,
    fused,
    load,
    store,
    stretches,
    where_above,
)

Ints = NDArray[np.int32]

_BLOCK = 256  # nodes; also how many products are added before they go to float64


@kernel
def _mix_forward(
    zero: Any,
    width: int,
    floor: float,
    indptr: Ints,
    indices: Ints,
    base: int,
    sources: NDArray[np.int64],
    which: NDArray[np.int64],
    weights: NDArray[Any],
    out: NDArray[Any],
    start: int,
    stop: int,
) -> None:
    """Do the work of :func:`mix_forward`, ``width`` lanes at a time."""
    n, channels = out.shape
    low, cuts = filled_as(zero, floor), stretches(channels, width)
    for v in range(start, stop):
        own, at = sources[which[0]], v * channels
        for i in range(cuts.size - 1):
            a, b = cuts[i], cuts[i + 1] - width
            left = fused(zero, load(zero, weights, a), load(zero, own, at + a))
            right = fused(zero, load(zero, weights, b), load(zero, own, at + b))
            for k in range(1, which.size):
                row, source = base + (k - 1) * n + v, sources[which[k]]
                first, second = zero, zero
                for p in range(indptr[row], indptr[row + 1]):
                    sender = indices[p] * channels
                    first = floored(first, load(zero, source, sender + a), low)
                    second = floored(second, load(zero, source, sender + b), low)
                left = fused(left, load(zero, weights, k * channels + a), first)
                right = fused(right, load(zero, weights, k * channels + b), second)
            store(left, out, at + a)
            store(right, out, at + b)


@kernel
def mix_forward(
    floor: float,
    indptr: Ints,
    indices: Ints,
    base: int,
    sources: NDArray[np.int64],
    which: NDArray[np.int64],
    weights: NDArray[Any],
    out: NDArray[Any],
    start: int,
    stop: int,
) -> None:
    """Write the weighted sum over nodes start..stop-1 themselves and their hops.

    Args:
        floor: Neighbours send the maximum of it and what they hold.
        indptr: Row starts of all hops, int32.
        indices: Nodes, int32 ``[M]``.
        base: The row of node 0 in the first hop that is read.
        sources: Addresses of the sources, each ``[N, C]``, int64 ``[S]``.
        which: The source of the node itself, and of every hop, int64 ``[1 + K]``.
        weights: ``[1 + K, C]``.
        out: Receives the sum, ``[N, C]``.
        start: First node.
        stop: Node after the last.
    """
    rest = (floor, indptr, indices, base, sources, which, weights, out, start, stop)
    if out.shape[1] >= 32:
        _mix_forward(filled(out, 32, 0), 32, *rest)
    elif out.shape[1] >= 8:
        _mix_forward(filled(out, 8, 0), 8, *rest)
    else:
        _mix_forward(filled(out, 1, 0), 1, *rest)


@kernel
def _mix_backward(
    zero: Any,
    width: int,
    floor: float,
    t_indptr: Ints,
    t_indices: Ints,
    base: int,
    sources: NDArray[np.int64],
    which: NDArray[np.int64],
    weights: NDArray[Any],
    grad: NDArray[Any],
    out: NDArray[Any],
    products: NDArray[Any],
    start: int,
    stop: int,
) -> None:
    """Do the work of :func:`mix_backward`, ``width`` lanes at a time."""
    n, channels = grad.shape
    low, cuts = filled_as(zero, floor), stretches(channels, width)
    for u in range(start, stop):
        at = u * channels
        for i in range(cuts.size - 1):
            a, b = cuts[i], cuts[i + 1] - width
            for s in range(sources.size):
                left, right = zero, zero
                x, y = load(zero, sources[s], at + a), load(zero, sources[s], at + b)
                if s == which[0]:
                    first, second = load(zero, grad, at + a), load(zero, grad, at + b)
                    left = fused(zero, load(zero, weights, a), first)
                    right = fused(zero, load(zero, weights, b), second)
                    first = fused(load(zero, products, a), x, first)
                    second = fused(load(zero, products, b), y, second)
                    store(first, products, a)
                    store(second, products, b)
                for k in range(1, which.size):
                    if which[k] != s:
                        continue
                    row, at_k = base + (k - 1) * n + u, k * channels
                    first, second = zero, zero
                    for p in range(t_indptr[row], t_indptr[row + 1]):
                        receiver = t_indices[p] * channels
                        first = added(first, load(zero, grad, receiver + a))
                        second = added(second, load(zero, grad, receiver + b))
                    weight = where_above(load(zero, weights, at_k + a), x, low)
                    left = fused(left, weight, first)
                    weight = where_above(load(zero, weights, at_k + b), y, low)
                    right = fused(right, weight, second)
                    sent = floored(zero, x, low)
                    first = fused(load(zero, products, at_k + a), sent, first)
                    sent = floored(zero, y, low)
                    second = fused(load(zero, products, at_k + b), sent, second)
                    store(first, products, at_k + a)
                    store(second, products, at_k + b)
                store(left, out, s * n * channels + at + a)
                store(right, out, s * n * channels + at + b)


@kernel
def mix_backward(
    floor: float,
    t_indptr: Ints,
    t_indices: Ints,
    base: int,
    sources: NDArray[np.int64],
    which: NDArray[np.int64],
    weights: NDArray[Any],
    grad: NDArray[Any],
    out: NDArray[Any],
    grad_weights: NDArray[np.float64],
    start: int,
    stop: int,
) -> None:
    r"""Write the gradients of :func:`mix_forward` with respect to its nodes.

    With :math:`t_u = \sum_{v : u \in \mathrm{row}(v)} g_v`, a row sum of the transpose,
    the gradient of what u sends is :math:`w \odot t_u` (where it is above the floor),
    and that of w is :math:`\sum_u x_u \odot t_u`: the sums of the forward pass are not
    needed again.

    Args are those of the forward pass, with the rows of the transposed hops, ``grad``
    ``[N, C]`` that of the sum, ``out`` ``[S, N, C]`` to receive those of the sources,
    and ``grad_weights``, float64 ``[1 + K, C]``, to be added to.
    """
    products = np.zeros_like(weights)
    for block in range(start, stop, _BLOCK):
        rest = (floor, t_indptr, t_indices, base, sources, which, weights, grad, out)
        ends = (products, block, min(block + _BLOCK, stop))
        if grad.shape[1] >= 32:
            _mix_backward(filled(grad, 32, 0), 32, *rest, *ends)
        elif grad.shape[1] >= 8:
            _mix_backward(filled(grad, 8, 0), 8, *rest, *ends)
        else:
            _mix_backward(filled(grad, 1, 0), 1, *rest, *ends)
        grad_weights += products
        products[:] = 0
