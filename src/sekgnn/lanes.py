"""Compiled sums over rows, with running sums in vector registers.

Numba keeps a running sum of rows in memory, and leaves the last few columns to scalar
code. Here a stretch of columns is one value, :class:`Lanes`, so that a sum of rows
accesses memory only to read them and to write the result. A pass takes two stretches,
which may overlap: nothing counts twice, as both are read before they are written.
Arrays are contiguous and positions are flat.
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

_INT64 = ir.IntType(64)


# stretches of columns


class Lanes(types.Type):
    """A vector of numbers in registers."""

    def __init__(self, dtype: Any, width: int) -> None:
        self.dtype, self.width = dtype, width
        super().__init__(name=f"Lanes({dtype}, {width})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    """Lanes as a vector of LLVM."""

    def __init__(self, dmm: Any, kind: Lanes) -> None:
        number = ir.FloatType() if kind.dtype == types.float32 else ir.DoubleType()
        super().__init__(dmm, kind, ir.VectorType(number, kind.width))


def _filled(builder: Any, vector: Any, value: Any) -> Any:
    """Return a vector of equal numbers."""
    start = ir.Constant(vector, ir.Undefined)
    first_lane = builder.insert_element(start, value, ir.Constant(ir.IntType(32), 0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), None)
    return builder.shuffle_vector(first_lane, start, mask)


def _address(builder: Any, base: Any, at: Any, vector: Any) -> Any:
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
    """Return lanes of one number, as many as in ``lanes``."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _filled(builder, context.get_value_type(lanes), args[1])

    return lanes(lanes, lanes.dtype), generate


@intrinsic
def load(context: Any, lanes: Any, array: Any, at: Any) -> Any:
    """Return lanes like ``lanes`` at ``array[at:]``, or at an address."""
    flat = isinstance(array, types.Array)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        vector = context.get_value_type(lanes)
        if flat:
            base = context.make_array(array)(context, builder, args[1]).data
        else:
            base = builder.inttoptr(args[1], vector.element.as_pointer())
        value = builder.load(_address(builder, base, args[2], vector))
        value.align = lanes.dtype.bitwidth // 8
        return value

    return lanes(lanes, array if flat else types.int64, types.int64), generate


@intrinsic
def store(context: Any, lanes: Any, array: Any, at: Any) -> Any:
    """Write lanes to ``array[at:]``, or to an address."""
    flat = isinstance(array, types.Array)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        vector = context.get_value_type(lanes)
        if flat:
            base = context.make_array(array)(context, builder, args[1]).data
        else:
            base = builder.inttoptr(args[1], vector.element.as_pointer())
        address = _address(builder, base, args[2], vector)
        builder.store(args[0], address).align = lanes.dtype.bitwidth // 8
        return context.get_dummy_value()

    return types.void(lanes, array if flat else types.int64, types.int64), generate


def _by_lanes(work: Callable[..., Any]) -> Any:
    """Return the intrinsic of ``work(builder, *lanes)``."""

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


_FREE = ["contract"]  # may fuse a product with an addition
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
def stretches(channels: int, width: int) -> NDArray[np.int64]:
    """Return the bounds of passes, each of ``width`` to ``2 width`` columns.

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
    indptr: NDArray[Any],
    indices: Ints,
    weights: NDArray[Any],
    x: NDArray[Any],
    out: NDArray[Any],
    start: int,
    stop: int,
) -> None:
    """Write the sums of :func:`row_sums`, ``width`` lanes at a time."""
    channels = x.shape[1]
    cuts = stretches(channels, width)
    for v in range(start, stop):
        for i in range(cuts.size - 1):
            a, b = cuts[i], cuts[i + 1] - width
            first_sum, second_sum = zero, zero
            if weights.size:
                for p in range(indptr[v], indptr[v + 1]):
                    at, weight = indices[p] * channels, filled_as(zero, weights[p])
                    first_sum = fused(first_sum, load(zero, x, at + a), weight)
                    second_sum = fused(second_sum, load(zero, x, at + b), weight)
            else:
                for p in range(indptr[v], indptr[v + 1]):
                    at = indices[p] * channels
                    first_sum = added(first_sum, load(zero, x, at + a))
                    second_sum = added(second_sum, load(zero, x, at + b))
            store(first_sum, out, v * channels + a)
            store(second_sum, out, v * channels + b)


@kernel
def row_sums(
    indptr: NDArray[Any],
    indices: Ints,
    weights: NDArray[Any],
    x: NDArray[Any],
    out: NDArray[Any],
    start: int,
    stop: int,
) -> None:
    """Write ``out[v] = sum of weights[p] x[indices[p]], p in row v``.

    Args:
        indptr: Row starts, int32 or int64.
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
