"""Compiled loops of layers: sums over hops, products with narrow matrices, norms.

Each with its gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
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


# products with narrow matrices

TILE_ROWS, TILE_LANES = 8, 16
"""A tile has eight rows and up to three times sixteen columns: 24 vector registers."""
_GROUP = 3 * TILE_LANES


def _tile(vectors: int) -> Any:
    """Return the intrinsic that multiplies one tile of so many vectors per row."""

    @intrinsic
    def tile(
        context: Any, x: Any, x_at: Any, x_row: Any, x_step: Any,
        w: Any, w_at: Any, w_step: Any, first: Any, last: Any, count: Any,
        out: Any, out_at: Any, out_row: Any,
    ) -> Any:  # fmt: skip
        """``out[r, c] = sum over k < count of x[r, k] w[k, c]``, 8 rows, first..last.

        ``x``, ``w`` and ``out`` are addresses of float32; ``x[r, k]`` is ``x[x_at + r
        x_row + k x_step]``, and so on. The last vector may overlap the one before it.
        """
        signature = types.void(*[types.int64] * 13)
        kind = ir.VectorType(ir.FloatType(), TILE_LANES)
        rows = range(TILE_ROWS)

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            def integer(value: int) -> Any:
                return ir.Constant(ir.IntType(64), value)

            def data(position: int) -> Any:
                return builder.inttoptr(args[position], kind.element.as_pointer())

            def vector(base: Any, at: Any) -> Any:
                return builder.bitcast(builder.gep(base, [at]), kind.as_pointer())

            x, w, out = data(0), data(4), data(10)
            columns = [
                builder.add(args[7], integer(i * TILE_LANES))
                for i in range(vectors - 1)
            ]
            columns.append(builder.sub(args[8], integer(TILE_LANES)))
            totals = [[cgutils.alloca_once(builder, kind) for _ in columns]
                      for _ in rows]  # fmt: skip
            for row in totals:
                for total in row:
                    builder.store(ir.Constant(kind, [0.0] * TILE_LANES), total)
            starts = [
                builder.add(args[1], builder.mul(args[2], integer(r))) for r in rows
            ]
            undefined = ir.Constant(kind, ir.Undefined)
            equal = ir.Constant(ir.VectorType(ir.IntType(32), TILE_LANES), None)
            with cgutils.for_range(builder, args[9]) as loop:
                at = builder.add(args[5], builder.mul(loop.index, args[6]))
                step = builder.mul(loop.index, args[3])
                factors = []
                for column in columns:
                    factors.append(builder.load(vector(w, builder.add(at, column))))
                    factors[-1].align = 4
                for r in rows:
                    place = builder.gep(x, [builder.add(starts[r], step)])
                    lane = builder.insert_element(
                        undefined, builder.load(place), ir.Constant(ir.IntType(32), 0)
                    )
                    value = builder.shuffle_vector(lane, undefined, equal)
                    for factor, total in zip(factors, totals[r], strict=True):
                        product = builder.fmul(value, factor, flags=["contract"])
                        more = builder.fadd(
                            builder.load(total), product, flags=["contract"]
                        )
                        builder.store(more, total)
            for r in rows:
                at = builder.add(args[11], builder.mul(args[12], integer(r)))
                for column, total in zip(columns, totals[r], strict=True):
                    target = vector(out, builder.add(at, column))
                    builder.store(builder.load(total), target).align = 4
            return context.get_dummy_value()

        return signature, generate

    return tile


_tile_1, _tile_2, _tile_3 = (_tile(vectors) for vectors in (1, 2, 3))


@kernel
def _tiles(
    x: int, x_row: int, x_step: int, w: int, count: int, out: int,
    rows: int, columns: int,
) -> None:  # fmt: skip
    """Multiply tile by tile; the last tile of rows may overlap the one before it."""
    groups = -(-columns // _GROUP)
    for i in range(groups):
        a, b = i * columns // groups, (i + 1) * columns // groups
        for v in range(0, rows, TILE_ROWS):
            r = min(v, rows - TILE_ROWS)
            if b - a <= TILE_LANES:
                _tile_1(x, r * x_row, x_row, x_step, w, 0, columns, a, b, count,
                        out, r * columns, columns)  # fmt: skip
            elif b - a <= 2 * TILE_LANES:
                _tile_2(x, r * x_row, x_row, x_step, w, 0, columns, a, b, count,
                        out, r * columns, columns)  # fmt: skip
            else:
                _tile_3(x, r * x_row, x_row, x_step, w, 0, columns, a, b, count,
                        out, r * columns, columns)  # fmt: skip


@kernel
def product(
    x: int, w: int, out: int, inner: int, columns: int, start: int, stop: int
) -> None:
    """Write rows start..stop-1 of ``x w``, at least 8 of them and 16 columns.

    Args:
        x: Address of a contiguous float32 matrix, ``[N, K]``.
        w: Likewise, ``[K, D]``.
        out: Likewise, ``[N, D]``.
        inner: K.
        columns: D.
        start: First row.
        stop: Row after the last.
    """
    x, out = x + 4 * start * inner, out + 4 * start * columns
    _tiles(x, inner, 1, w, inner, out, stop - start, columns)


@kernel
def inner_product(
    x: int, y: int, out: NDArray[np.float32], start: int, stop: int
) -> None:
    """Write the sum over rows start..stop-1 of ``x[v] y[v]^T``, at least ``[8, 16]``.

    Args:
        x: Address of a contiguous float32 matrix, ``[N, K]``.
        y: Likewise, ``[N, D]``.
        out: Receives the sum, ``[K, D]``; of blocks of rows, one after the other.
        start: First row.
        stop: Row after the last.
    """
    rows, columns = out.shape
    share = np.empty_like(out)
    out[:] = 0
    for low in range(start, stop, _BLOCK):
        count = min(_BLOCK, stop - low)
        _tiles(
            x + 4 * low * rows, 1, rows, y + 4 * low * columns, count,
            share.ctypes.data, rows, columns,
        )  # fmt: skip
        out += share


# batch normalisation and ReLU


@kernel
def _norm_forward(
    zero: Any,
    width: int,
    x: int,
    n: int,
    weight: NDArray[Any],
    bias: NDArray[Any],
    eps: float,
    out: int,
    mean: NDArray[Any],
    inverse: NDArray[Any],
    var: NDArray[Any],
) -> None:
    """Do the work of :func:`norm_forward`, ``width`` columns at a time."""
    channels, sums = weight.size, np.empty_like(weight)
    minus, scale = np.empty_like(weight), np.empty_like(weight)
    for i in range(-(-channels // width)):
        a = min(i * width, channels - width)
        total = np.zeros(width)
        for low in range(0, n, _BLOCK):
            lanes = zero
            for v in range(low, min(low + _BLOCK, n)):
                lanes = added(lanes, load(zero, x, v * channels + a))
            store(lanes, sums, a)
            total += sums[a : a + width]
        for c in range(width):
            mean[a + c] = total[c] / n
            minus[a + c] = -mean[a + c]
        shift = load(zero, minus, a)
        total[:] = 0
        for low in range(0, n, _BLOCK):
            lanes = zero
            for v in range(low, min(low + _BLOCK, n)):
                away = added(load(zero, x, v * channels + a), shift)
                lanes = fused(lanes, away, away)
            store(lanes, sums, a)
            total += sums[a : a + width]
        for c in range(width):
            var[a + c] = total[c] / n
            inverse[a + c] = 1 / np.sqrt(total[c] / n + eps)
            scale[a + c] = weight[a + c] * inverse[a + c]
        factor, level = load(zero, scale, a), load(zero, bias, a)
        for v in range(n):
            away = added(load(zero, x, v * channels + a), shift)
            y = fused(level, away, factor)
            store(floored(zero, y, zero), out, v * channels + a)


@kernel
def norm_forward(
    x: int,
    n: int,
    weight: NDArray[Any],
    bias: NDArray[Any],
    eps: float,
    out: int,
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Write ``relu(weight (x - mean) / sqrt(var + eps) + bias)``.

    ``x`` and ``out`` are addresses of contiguous matrices, ``[N, C]``.

    Returns:
        Mean, 1 / sqrt(var + eps) and var of every column.
    """
    mean, inverse = np.empty_like(weight), np.empty_like(weight)
    var = np.empty_like(weight)
    rest = (x, n, weight, bias, eps, out, mean, inverse, var)
    if weight.size >= 32:
        _norm_forward(filled(weight, 32, 0), 32, *rest)
    elif weight.size >= 8:
        _norm_forward(filled(weight, 8, 0), 8, *rest)
    else:
        _norm_forward(filled(weight, 1, 0), 1, *rest)
    return mean, inverse, var


@kernel
def _norm_backward(
    zero: Any,
    width: int,
    grad: int,
    x: int,
    n: int,
    weight: NDArray[Any],
    bias: NDArray[Any],
    mean: NDArray[Any],
    inverse: NDArray[Any],
    out: int,
    grad_weight: NDArray[Any],
    grad_bias: NDArray[Any],
) -> None:
    """Do the work of :func:`norm_backward`, ``width`` columns at a time."""
    channels, minus, scale = weight.size, -mean, weight * inverse
    first, second = np.empty_like(mean), np.empty_like(mean)
    for i in range(-(-channels // width)):
        a = min(i * width, channels - width)
        shift, factor = load(zero, minus, a), load(zero, scale, a)
        level = load(zero, bias, a)
        sums, products = np.zeros(width), np.zeros(width)
        for low in range(0, n, _BLOCK):
            left, right = zero, zero
            for v in range(low, min(low + _BLOCK, n)):
                at = v * channels + a
                away = added(load(zero, x, at), shift)
                y = fused(level, away, factor)
                g = where_above(load(zero, grad, at), y, zero)
                left = added(left, g)
                right = fused(right, g, away)
            store(left, first, a)
            store(right, second, a)
            sums += first[a : a + width]
            products += second[a : a + width]
        for c in range(width):
            grad_bias[a + c] = sums[c]
            grad_weight[a + c] = products[c] * inverse[a + c]
            first[a + c] = -sums[c] / n
            second[a + c] = -products[c] * inverse[a + c] * inverse[a + c] / n
        centre, slope = load(zero, first, a), load(zero, second, a)
        for v in range(n):
            at = v * channels + a
            away = added(load(zero, x, at), shift)
            y = fused(level, away, factor)
            g = where_above(load(zero, grad, at), y, zero)
            g = fused(added(g, centre), away, slope)
            store(fused(zero, g, factor), out, at)


@kernel
def norm_backward(
    grad: int,
    x: int,
    n: int,
    weight: NDArray[Any],
    bias: NDArray[Any],
    mean: NDArray[Any],
    inverse: NDArray[Any],
    out: int,
) -> tuple[NDArray[Any], NDArray[Any]]:
    r"""Write the gradient of x; return those of weight and bias.

    With g the gradient where the ReLU let it pass, and :math:`\hat x` the normalised x,
    :math:`w \, (g - \bar g - \hat x\, \overline{g \hat x}) / \sigma`.
    """
    grad_weight, grad_bias = np.empty_like(weight), np.empty_like(bias)
    rest = (grad, x, n, weight, bias, mean, inverse, out, grad_weight, grad_bias)
    if weight.size >= 32:
        _norm_backward(filled(weight, 32, 0), 32, *rest)
    elif weight.size >= 8:
        _norm_backward(filled(weight, 8, 0), 8, *rest)
    else:
        _norm_backward(filled(weight, 1, 0), 1, *rest)
    return grad_weight, grad_bias
