"""LLVM intrinsics for what fast kernels need and numba cannot express.

A walk step, the sum over a shell's pairs and the sum over a shell's returns all add up
rows of a matrix (:func:`add_rows`); gathering all steps of one pair is a transposition
(:func:`transpose_scaled`). Plain numba keeps a running sum in memory and transposes
number by number; these emit eight-wide vectors that stay in registers.
:func:`prefetch` loads memory into the cache before it is needed.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

from sekgnn.kernel import kernel

WIDTH = 8
"""Row lengths must be a multiple of this."""

_INT32, _INT64 = ir.IntType(32), ir.IntType(64)
_BYTES = ir.IntType(8).as_pointer()
_NUMBERS = ["contract", "nnan", "ninf", "nsz"]  # every value is a finite number


@kernel
def padded(length: int) -> int:
    """Return the smallest multiple of :data:`WIDTH` that is at least ``length``."""
    return -(-length // WIDTH) * WIDTH


def _check_flat(**arrays: Any) -> None:
    """Refuse to compile for anything but contiguous float64 (int32 for ``ids``)."""
    for name, array in arrays.items():
        number = types.int32 if name == "ids" else types.float64
        if not (isinstance(array, types.Array) and array.ndim == 1):
            raise TypingError(f"{name} must be a flat array, got {array}.")
        if array.layout != "C" or array.dtype != number:
            raise TypingError(f"{name} must be contiguous {number}, got {array}.")


class _Vectors:
    """Code generation shared by the intrinsics."""

    type = ir.VectorType(ir.DoubleType(), WIDTH)

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any) -> None:
        self.context, self.builder = context, builder
        self.signature, self.args = signature, args

    def data(self, position: int) -> Any:
        """Return the data pointer of the array argument at ``position``."""
        array = self.context.make_array(self.signature.args[position])
        return array(self.context, self.builder, self.args[position]).data

    def splat(self, value: Any) -> Any:
        """Return a vector whose lanes all hold ``value``."""
        undefined = ir.Constant(self.type, ir.Undefined)
        lane = self.builder.insert_element(undefined, value, ir.Constant(_INT32, 0))
        return self.shuffle(lane, undefined, [0] * WIDTH)

    def shuffle(self, first: Any, second: Any, lanes: list[int]) -> Any:
        """Return the chosen lanes of ``first`` (0..7) and ``second`` (8..15)."""
        mask = ir.Constant(ir.VectorType(_INT32, WIDTH), lanes)
        return self.builder.shuffle_vector(first, second, mask)

    def load(self, base: Any, offset: Any) -> Any:
        """Return the vector at ``base[offset]``."""
        value = self.builder.load(self._pointer(base, offset))
        value.align = 8
        return value

    def store(self, value: Any, base: Any, offset: Any) -> None:
        """Write ``value`` to ``base[offset]``."""
        self.builder.store(value, self._pointer(base, offset)).align = 8

    def _pointer(self, base: Any, offset: Any) -> Any:
        address = self.builder.gep(base, [offset])
        return self.builder.bitcast(address, self.type.as_pointer())

    def multiply(self, a: Any, b: Any) -> Any:
        """Return a · b, free to fuse with an addition."""
        return self.builder.fmul(a, b, flags=_NUMBERS)

    def add(self, a: Any, b: Any) -> Any:
        """Return a + b, free to fuse with a multiplication."""
        return self.builder.fadd(a, b, flags=_NUMBERS)


@intrinsic  # type: ignore[untyped-decorator]
def prefetch(typing_context: Any, array: Any, at: Any) -> Any:
    """Begin to fetch an element of an array into the cache, without waiting for it.

    Nothing is read: an address outside the array is harmless, and so is memory that was
    never touched.

    Args:
        typing_context: Passed by numba.
        array: Contiguous, of any shape and type.
        at: Flat index of the element.
    """
    if not (isinstance(array, types.Array) and array.layout == "C"):
        raise TypingError(f"a prefetched array must be contiguous, got {array}.")
    signature = types.void(array, types.int64)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        data = _Vectors(context, builder, sig, args).data(0)
        address = builder.bitcast(builder.gep(data, [args[1]]), _BYTES)
        kinds = [_BYTES, _INT32, _INT32, _INT32]
        function = builder.module.declare_intrinsic(
            "llvm.prefetch", (_BYTES,), ir.FunctionType(ir.VoidType(), kinds)
        )
        read, near, data_cache = (ir.Constant(_INT32, i) for i in (0, 3, 1))
        builder.call(function, [address, read, near, data_cache])
        return context.get_dummy_value()

    return signature, generate


@intrinsic  # type: ignore[untyped-decorator]
def add_rows(
    typing_context: Any,
    out: Any,
    out_at: Any,
    keep: Any,
    scale: Any,
    matrix: Any,
    matrix_at: Any,
    stride: Any,
    width: Any,
    weights: Any,
    ids: Any,
    start: Any,
    stop: Any,
) -> Any:
    """``out = keep * out + scale * Σ_e weights[ids[e]] * row(ids[e])``.

    All arrays are flat and contiguous, ``ids`` int32, the others float64: ``row(i)`` is
    ``matrix[matrix_at + i * stride:][:width]`` and the result is
    ``out[out_at:][:width]``, the width a multiple of :data:`WIDTH`. If ``keep`` is 0,
    ``out`` is not read at all. Nothing is checked.
    """
    _check_flat(out=out, matrix=matrix, weights=weights, ids=ids)
    signature = types.void(
        out,
        types.int64,
        types.float64,
        types.float64,
        matrix,
        types.int64,
        types.int64,
        types.int64,
        weights,
        ids,
        types.int64,
        types.int64,
    )

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        v = _Vectors(context, builder, sig, args)
        flat = [v.data(i) if i in (0, 4, 8, 9) else arg for i, arg in enumerate(args)]
        builder.call(_add_rows_function(builder.module), flat)
        return context.get_dummy_value()

    return signature, generate


def _add_rows_function(module: Any) -> Any:
    """Return the code of :func:`add_rows`, made once per module."""
    name = "sekgnn.add_rows"
    if name in module.globals:
        return module.globals[name]
    numbers = ir.DoubleType().as_pointer()
    kinds = [numbers, _INT64, ir.DoubleType(), ir.DoubleType(), numbers, _INT64, _INT64]
    kinds += [_INT64, numbers, _INT32.as_pointer(), _INT64, _INT64]
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), kinds), name)
    function.linkage = "linkonce_odr"
    function.attributes.add("alwaysinline")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    args = function.args
    v = _Vectors(None, builder, None, args)
    out_data, out_start, matrix_data, matrix_start = args[0], args[1], args[4], args[5]
    row_stride, row_width, weight_data, id_data = args[6:10]
    keep_all, scale_all = v.splat(args[2]), v.splat(args[3])
    drop = builder.fcmp_ordered("==", args[2], ir.Constant(ir.DoubleType(), 0.0))
    zero, one = ir.Constant(_INT64, 0), ir.Constant(_INT64, 1)

    def sum_columns(begin: Any, end: Any, vectors: int) -> None:
        """Sum columns ``begin`` to ``end``, ``vectors`` of eight at a time."""
        totals = [cgutils.alloca_once(builder, v.type) for _ in range(vectors)]
        shifts = [ir.Constant(_INT64, i * WIDTH) for i in range(vectors)]
        leap = ir.Constant(_INT64, vectors * WIDTH)
        loop = cgutils.for_range_slice(builder, begin, end, leap, inc=True)
        with loop as (column, _):
            for total in totals:
                builder.store(ir.Constant(v.type, [0.0] * WIDTH), total)
            origin = builder.add(matrix_start, column)
            rows = cgutils.for_range_slice(builder, args[10], args[11], one, inc=True)
            with rows as (e, _):
                row = builder.sext(builder.load(builder.gep(id_data, [e])), _INT64)
                weight = v.splat(builder.load(builder.gep(weight_data, [row])))
                offset = builder.add(origin, builder.mul(row, row_stride))
                for total, shift in zip(totals, shifts, strict=True):
                    value = v.load(matrix_data, builder.add(offset, shift))
                    product = v.multiply(weight, value)
                    builder.store(v.add(builder.load(total), product), total)
            row_start = builder.add(out_start, column)
            for total, shift in zip(totals, shifts, strict=True):
                target = builder.add(row_start, shift)
                old = v.multiply(keep_all, v.load(out_data, target))
                old = builder.select(drop, ir.Constant(v.type, [0.0] * WIDTH), old)
                added = v.multiply(scale_all, builder.load(total))
                v.store(v.add(old, added), out_data, target)

    bulk = builder.and_(row_width, ir.Constant(_INT64, -4 * WIDTH))
    sum_columns(zero, bulk, 4)
    remaining = builder.sub(row_width, bulk)
    for vectors in (3, 2, 1):
        size = ir.Constant(_INT64, vectors * WIDTH)
        fits = builder.icmp_signed("==", remaining, size)
        sum_columns(bulk, builder.select(fits, row_width, bulk), vectors)
    builder.ret_void()
    return function


@intrinsic  # type: ignore[untyped-decorator]
def transpose_scaled(
    typing_context: Any,
    out: Any,
    out_at: Any,
    out_stride: Any,
    matrix: Any,
    matrix_at: Any,
    matrix_stride: Any,
    scale: Any,
    weights: Any,
    weights_at: Any,
) -> Any:
    """``out[c, r] = matrix[r, c] * (scale + weights[c])`` for an 8 x 8 block.

    All arrays are flat, contiguous float64; ``matrix[r, c]`` is ``matrix[matrix_at + r
    * matrix_stride + c]`` and so on. Nothing is checked.
    """
    _check_flat(out=out, matrix=matrix, weights=weights)
    signature = types.void(
        out,
        types.int64,
        types.int64,
        matrix,
        types.int64,
        types.int64,
        types.float64,
        weights,
        types.int64,
    )

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        v = _Vectors(context, builder, sig, args)
        out_data, matrix_data, weight_data = map(v.data, (0, 3, 7))
        factor = v.add(v.splat(args[6]), v.load(weight_data, args[8]))
        block = []
        offset = args[4]
        for _ in range(WIDTH):
            block.append(v.multiply(v.load(matrix_data, offset), factor))
            offset = builder.add(offset, args[5])
        half = WIDTH // 2
        while half:  # swap the off-diagonal quarters of ever smaller blocks
            for r in range(WIDTH):
                if r & half:
                    continue
                upper, lower = block[r], block[r + half]
                lanes = range(WIDTH)
                block[r] = v.shuffle(
                    upper, lower, [c + WIDTH - half if c & half else c for c in lanes]
                )
                block[r + half] = v.shuffle(
                    upper, lower, [c + WIDTH if c & half else c + half for c in lanes]
                )
            half //= 2
        offset = args[1]
        for row in block:
            v.store(row, out_data, offset)
            offset = builder.add(offset, args[2])
        return context.get_dummy_value()

    return signature, generate
