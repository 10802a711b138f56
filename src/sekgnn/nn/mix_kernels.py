"""Compiled loops of the fused message: all hops of a block of nodes at a time.

The graphs of a batch stand one after the other, so what a block of nodes reads is near
it: with the hops inside the loop over blocks, it is read from memory once and from the
cache for every further hop.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.kernel import kernel

Ints = NDArray[np.int32]

_BLOCK = 256  # nodes; also how many products are added before they go to float64


@kernel
def mix_forward(
    indptr: Ints,
    indices: Ints,
    base: int,
    sent: NDArray[Any],
    which: NDArray[np.int64],
    own: NDArray[Any],
    weights: NDArray[Any],
    out: NDArray[Any],
    start: int,
    stop: int,
) -> None:
    """Write the weighted sum over nodes start..stop-1 themselves and their hops.

    Args:
        indptr: Row starts of all hops, int32.
        indices: Nodes, int32 ``[M]``.
        base: The row of node 0 in the first hop that is read.
        sent: What neighbours send, by source, ``[S, N, C]``.
        which: The source of every hop, int64 ``[K]``.
        own: What a node keeps, ``[N, C]``.
        weights: ``[1 + K, C]``.
        out: Receives the sum, ``[N, C]``.
        start: First node.
        stop: Node after the last.
    """
    n, channels = own.shape
    total = np.empty(channels, dtype=own.dtype)
    for block in range(start, stop, _BLOCK):
        end = min(block + _BLOCK, stop)
        weight = weights[0]
        for v in range(block, end):
            kept, target = own[v], out[v]
            for i in range(channels):
                target[i] = weight[i] * kept[i]
        for k in range(which.size):
            x, weight = sent[which[k]], weights[k + 1]
            shift = base + k * n
            for v in range(block, end):
                first, last = indptr[shift + v], indptr[shift + v + 1]
                if first == last:
                    continue
                total[:] = 0
                fours = (last - first) // 4
                for q in range(fours):
                    p = first + 4 * q
                    a, b = x[indices[p]], x[indices[p + 1]]
                    c, d = x[indices[p + 2]], x[indices[p + 3]]
                    for i in range(channels):
                        total[i] += (a[i] + b[i]) + (c[i] + d[i])
                for p in range(first + 4 * fours, last):
                    a = x[indices[p]]
                    for i in range(channels):
                        total[i] += a[i]
                target = out[v]
                for i in range(channels):
                    target[i] += weight[i] * total[i]


@kernel
def mix_backward(
    t_indptr: Ints,
    t_indices: Ints,
    base: int,
    grad: NDArray[Any],
    sent: NDArray[Any],
    which: NDArray[np.int64],
    own: NDArray[Any],
    own_source: int,
    weights: NDArray[Any],
    rectify: bool,
    grad_sent: NDArray[Any],
    grad_weights: NDArray[np.float64],
    start: int,
    stop: int,
) -> None:
    r"""Write the gradients of :func:`mix_forward` with respect to its nodes.

    With :math:`t_u = \sum_{v : u \in \mathrm{row}(v)} g_v`, a row sum of the transpose,
    the gradient of what u sends is :math:`w \odot t_u` (where it is positive, if it was
    rectified), and that of w is :math:`\sum_u x_u \odot t_u`: the sums of the forward
    pass are not needed again.

    Args:
        t_indptr: Row starts of the transposed hops, int32.
        t_indices: Their nodes, int32 ``[M]``.
        base: The row of node 0 in the first hop that is read.
        grad: Gradient of the sum, ``[N, C]``.
        sent: As in the forward pass, ``[S, N, C]``.
        which: The source of every hop, int64 ``[K]``.
        own: What a node keeps, ``[N, C]``.
        own_source: Its source.
        weights: ``[1 + K, C]``.
        rectify: Whether ``sent`` was rectified.
        grad_sent: Receives the gradients of the sources, ``[S, N, C]``.
        grad_weights: Added to, float64 ``[1 + K, C]``.
        start: First node.
        stop: Node after the last.
    """
    n, channels = own.shape
    total = np.empty(channels, dtype=own.dtype)
    product = np.empty(channels, dtype=own.dtype)
    zero = own.dtype.type(0)
    for block in range(start, stop, _BLOCK):
        end = min(block + _BLOCK, stop)
        for s in range(sent.shape[0]):
            if s != own_source:
                grad_sent[s, block:end] = 0
        product[:] = 0
        weight = weights[0]
        for u in range(block, end):
            row, value, target = grad[u], own[u], grad_sent[own_source, u]
            for i in range(channels):
                target[i] = weight[i] * row[i]
                product[i] += value[i] * row[i]
        for i in range(channels):
            grad_weights[0, i] += product[i]
        for k in range(which.size):
            source, weight = which[k], weights[k + 1]
            shift = base + k * n
            product[:] = 0
            for u in range(block, end):
                first, last = t_indptr[shift + u], t_indptr[shift + u + 1]
                if first == last:
                    continue
                total[:] = 0
                fours = (last - first) // 4
                for q in range(fours):
                    p = first + 4 * q
                    a, b = grad[t_indices[p]], grad[t_indices[p + 1]]
                    c, d = grad[t_indices[p + 2]], grad[t_indices[p + 3]]
                    for i in range(channels):
                        total[i] += (a[i] + b[i]) + (c[i] + d[i])
                for p in range(first + 4 * fours, last):
                    a = grad[t_indices[p]]
                    for i in range(channels):
                        total[i] += a[i]
                value, target = sent[source, u], grad_sent[source, u]
                for i in range(channels):
                    product[i] += value[i] * total[i]
                if rectify:
                    for i in range(channels):
                        total[i] = total[i] if value[i] > zero else zero
                for i in range(channels):
                    target[i] += weight[i] * total[i]
            for i in range(channels):
                grad_weights[k + 1, i] += product[i]
