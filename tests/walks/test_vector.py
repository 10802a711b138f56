"""The vector primitives against numpy, at every row length and offset."""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
import pytest

from sekgnn.walks.vector import WIDTH, add_rows, prefetch, transpose_scaled


@nb.njit
def call_add_rows(
    out: Any, at: int, keep: float, scale: float, matrix: Any, matrix_at: int,
    stride: int, width: int, weights: Any, ids: Any, start: int, stop: int,
) -> None:  # fmt: skip
    add_rows(
        out, at, keep, scale, matrix, matrix_at,
        stride, width, weights, ids, start, stop,
    )  # fmt: skip


@nb.njit
def call_transpose(
    out: Any, at: int, stride: int, matrix: Any, matrix_at: int, matrix_stride: int,
    scale: float, weights: Any, weights_at: int,
) -> None:  # fmt: skip
    transpose_scaled(
        out, at, stride, matrix, matrix_at, matrix_stride, scale, weights, weights_at
    )


@nb.njit
def call_prefetch(array: Any, at: int) -> None:
    prefetch(array, at)


def test_prefetch_reads_and_writes_nothing() -> None:
    """Neither inside nor outside; what is not contiguous has no flat places."""
    for array in (np.arange(6.0).reshape(2, 3), np.empty(0, dtype=np.int8)):
        before = array.copy()
        for at in (-(2**40), -1, 0, 5, 2**40):
            call_prefetch(array, at)
        np.testing.assert_array_equal(array, before)
    with pytest.raises(nb.TypingError, match="contiguous"):
        call_prefetch(np.arange(6)[::2], 0)


@pytest.mark.parametrize("width", range(0, 10 * WIDTH, WIDTH))
def test_add_rows_adds_these_rows_and_touches_nothing_else(width: int) -> None:
    rng = np.random.default_rng(width)
    stride, rows = width + 3, 6
    matrix, weights = rng.random(2 + rows * stride), rng.random(rows)
    ids = rng.integers(0, rows, 9).astype(np.int32)
    for keep, scale, start, stop in [(0, 1, 0, 9), (1, 0.5, 2, 7), (0.25, 2, 4, 4)]:
        out = rng.random(5 + width + 8)
        expected = out.copy()
        total = np.zeros(width)
        for i in ids[start:stop]:
            total += weights[i] * matrix[2 + i * stride :][:width]
        expected[5 : 5 + width] = keep * expected[5 : 5 + width] + scale * total
        call_add_rows(
            out, 5, float(keep), float(scale), matrix, 2,
            stride, width, weights, ids, start, stop,
        )  # fmt: skip
        np.testing.assert_allclose(out, expected, rtol=1e-13)


def test_transpose_scaled_is_a_scaled_transpose() -> None:
    rng = np.random.default_rng(0)
    matrix, weights, out = rng.random(3 + 8 * 11), rng.random(2 + 8), np.zeros(200)
    call_transpose(out, 7, 13, matrix, 3, 11, 0.5, weights, 2)
    expected = np.zeros(200)
    for r in range(WIDTH):
        for c in range(WIDTH):
            value = matrix[3 + r * 11 + c] * (0.5 + weights[2 + c])
            expected[7 + c * 13 + r] = value
    np.testing.assert_allclose(out, expected, rtol=1e-15)
