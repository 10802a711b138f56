"""Compiled sums over rows, with running sums in vector registers.

Numba keeps a running sum of rows in memory, and leaves the last few columns to scalar
code. Here a stretch of columns is a value of its own, :class:`Lanes`, so that the sum
over a node's neighbours, weighted and added over the hops, touches memory to read rows
and to write the result. A pass takes two stretches, which may overlap: nothing counts
twice, as both are read before they are written. Arrays are contiguous and positions are
those in flat memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model
from numpy.typing import NDArray

from sekgnn.kernel import kernel

Ints = NDArray[np.int32]

_BLOCK = 256  # nodes; also how many products are added before they go to float64
_INT64 = ir.IntType(64)


# stretches of columns


class Lanes(types.Type):
    """So many numbers side by side, in registers."""

    def __init__(self, dtype: Any, width: int) -> None:
        """Name the type."""
        self.dtype, self.width = dtype, width
        super().__init__(name=f"Lanes({dtype}, {width})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    """A vector of LLVM."""

    def __init__(self, dmm: Any, kind: Lanes) -> None:
        number = ir.FloatType() if kind.dtype == types.float32 else ir.DoubleType()
        super().__init__(dmm, kind, ir.VectorType(number, kind.width))


def _filled(builder: Any, vector: Any, value: Any) -> Any:
    """Return a vector of equal numbers."""
    start = ir.Constant(vector, ir.Undefined)
    one = builder.insert_element(start, value, ir.Constant(ir.IntType(32), 0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), None)
    return builder.shuffle_vector(one, start, mask)


def _place(builder: Any, base: Any, at: Any, vector: Any) -> Any:
    """Return the pointer to the vector at ``base[at]``."""
    return builder.bitcast(builder.gep(base, [at]), vector.as_pointer())


@intrinsic(prefer_literal=True)
def filled(context: Any, like: Any, width: Any, value: Any) -> Any:
    """Return ``width`` lanes of one number, of the type of an array."""
    lanes = Lanes(like.dtype, width.literal_value)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _filled(builder, context.get_value_type(lanes), args[2])

    return lanes(like, width, like.dtype), generate


@intrinsic
def filled_as(context: Any, lanes: Any, value: Any) -> Any:
    """Return as many lanes of one number."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _filled(builder, context.get_value_type(lanes), args[1])

    return lanes(lanes, lanes.dtype), generate


@intrinsic
def load(context: Any, lanes: Any, array: Any, at: Any) -> Any:
    """Return the lanes at ``array[at:]``, or at an address; ``lanes`` says how many."""
    flat = isinstance(array, types.Array)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        vector = context.get_value_type(lanes)
        if flat:
            base = context.make_array(array)(context, builder, args[1]).data
        else:
            base = builder.inttoptr(args[1], vector.element.as_pointer())
        value = builder.load(_place(builder, base, args[2], vector))
        value.align = lanes.dtype.bitwidth // 8
        return value

    return lanes(lanes, array if flat else types.int64, types.int64), generate


@intrinsic
def store(context: Any, lanes: Any, array: Any, at: Any) -> Any:
    """Write lanes to ``array[at:]``."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        base = context.make_array(array)(context, builder, args[1]).data
        place = _place(builder, base, args[2], context.get_value_type(lanes))
        builder.store(args[0], place).align = lanes.dtype.bitwidth // 8
        return context.get_dummy_value()

    return types.void(lanes, array, types.int64), generate


def _by_lanes(work: Callable[..., Any]) -> Any:
    """Return the intrinsic that does ``work(builder, *lanes)``."""

    def typed(context: Any, a: Any, b: Any, c: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return work(builder, *args)

        return a(a, a, a), generate

    return intrinsic(typed)


@intrinsic
def added(context: Any, a: Any, b: Any) -> Any:
    """Return a + b."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.fadd(*args)

    return a(a, a), generate


_FREE = ["contract"]  # to fuse a product with an addition
fused = _by_lanes(
    lambda build, a, b, c: build.fadd(a, build.fmul(b, c, "", _FREE), "", _FREE)
)
"""a + b c."""
floored = _by_lanes(
    lambda build, a, b, floor: build.fadd(
        a, build.select(build.fcmp_ordered("<", b, floor), floor, b)
    )
)
"""a + max(b, floor)."""
where_above = _by_lanes(
    lambda build, a, b, floor: build.select(
        build.fcmp_ordered(">", b, floor), a, ir.Constant(a.type, None)
    )
)
"""a where b > floor, else 0."""


# sums over the rows of a compressed sparse matrix


@kernel
def _cuts(channels: int, width: int) -> NDArray[np.int64]:
    """Return where passes begin and end: each has ``width`` to twice as many columns.

    Args:
        channels: C, at least ``width``.
        width: Lanes in a stretch.
    """
    passes = -(-channels // (2 * width))
    cuts = np.empty(passes + 1, dtype=np.int64)
    for i in range(passes + 1):
        cuts[i] = i * channels // max(passes, 1)
    return cuts


@kernel
def _row_sums(
    zero: Any,
    width: int,
    indptr: Ints,
    indices: Ints,
    weights: NDArray[Any],
    x: NDArray[Any],
    out: NDArray[Any],
    start: int,
    stop: int,
) -> None:
    """Do the work of :func:`row_sums`, ``width`` lanes at a time."""
    channels = x.shape[1]
    cuts = _cuts(channels, width)
    for v in range(start, stop):
        for i in range(cuts.size - 1):
            a, b = cuts[i], cuts[i + 1] - width
            left, right = zero, zero
            if weights.size:
                for p in range(indptr[v], indptr[v + 1]):
                    at, weight = indices[p] * channels, filled_as(zero, weights[p])
                    left = fused(left, load(zero, x, at + a), weight)
                    right = fused(right, load(zero, x, at + b), weight)
            else:
                for p in range(indptr[v], indptr[v + 1]):
                    at = indices[p] * channels
                    left = added(left, load(zero, x, at + a))
                    right = added(right, load(zero, x, at + b))
            store(left, out, v * channels + a)
            store(right, out, v * channels + b)


@kernel
def row_sums(
    indptr: Ints,
    indices: Ints,
    weights: NDArray[Any],
    x: NDArray[Any],
    out: NDArray[Any],
    start: int,
    stop: int,
) -> None:
    """Write ``out[v] = sum of weights[p] x[indices[p]], p in row v``.

    Args:
        indptr: Row starts, int32.
        indices: Columns, int32 ``[M]``.
        weights: ``[M]``; empty where all are 1.
        x: ``[S, C]``.
        out: Receives the sums, ``[R, C]``.
        start: First row.
        stop: Row after the last.
    """
    rest = (indptr, indices, weights, x, out, start, stop)
    if x.shape[1] >= 32:
        _row_sums(filled(x, 32, 0), 32, *rest)
    elif x.shape[1] >= 8:
        _row_sums(filled(x, 8, 0), 8, *rest)
    else:
        _row_sums(filled(x, 1, 0), 1, *rest)


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
    low, cuts = filled_as(zero, floor), _cuts(channels, width)
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
    low, cuts = filled_as(zero, floor), _cuts(channels, width)
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

    Args:
        floor: As in the forward pass.
        t_indptr: Row starts of the transposed hops, int32.
        t_indices: Their nodes, int32 ``[M]``.
        base: The row of node 0 in the first hop that is read.
        sources: As in the forward pass.
        which: As in the forward pass.
        weights: ``[1 + K, C]``.
        grad: Gradient of the sum, ``[N, C]``.
        out: Receives the gradients of the sources, ``[S, N, C]``.
        grad_weights: Added to, float64 ``[1 + K, C]``.
        start: First node.
        stop: Node after the last.
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
