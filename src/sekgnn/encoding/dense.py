r"""Raw sums in ``graph`` scope for small graphs, from explicit powers of P.

The powers are interleaved so that all steps of one pair (i, j) are neighbours in memory:
summing a shell's pairs is then one vector addition per pair, whatever the walk length.
Work :math:`O(l\,q\,m_q + l \sum_v \sum_k |N_k(v)|^2)` on the quotient by twins, with q
classes and :math:`m_q` edges; memory :math:`O(q^2)`.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

from sekgnn.encoding.channels import DIAGONAL, OFF_DIAGONAL, RETURN, SQUARES, TO_SHELL
from sekgnn.walks.powers import take_step
from sekgnn.walks.vector import WIDTH, add_rows, transpose_scaled

TILE_NUMBERS = 1 << 19  # 4 MiB, so that a tile stays in cache


@nb.njit(cache=True, nogil=True)
def interleave(
    planes: NDArray[np.float64],
    degrees: NDArray[np.float64],
    column: int,
    tile: NDArray[np.float64],
    returns: NDArray[np.float64],
) -> None:
    """Write the steps of planes 1..8 to columns ``column..column + 7``.

    Args:
        planes: ``[9, q, W]``, flat, W padded; G of one step each.
        degrees: ``[W]``, zero from q on.
        column: First column to write.
        tile: ``[q (q - 1) / 2 + 8, T]``, row i (i - 1) / 2 + j: H_ij + H_ji for j < i.
            A block may spill over into rows of the next i, which are written later, and
            into the eight spare rows.
        returns: ``[q, T]``: H_ii.
    """
    q, steps = returns.shape
    width = degrees.size
    flat = tile.reshape(-1)
    for i in range(q):
        for s in range(WIDTH):
            value = planes[((s + 1) * q + i) * width + i]
            returns[i, column + s] = value * degrees[i]
        first = i * (i - 1) // 2
        for j in range(0, i, WIDTH):
            transpose_scaled(
                flat,
                (first + j) * steps + column,
                steps,
                planes,
                (q + i) * width + j,
                q * width,
                degrees[i],
                degrees,
                j,
            )


@nb.njit(cache=True, nogil=True, fastmath=True)
def add_shells(
    tile: NDArray[np.float64],
    returns: NDArray[np.float64],
    degrees: NDArray[np.float64],
    sizes: NDArray[np.float64],
    members: NDArray[np.int32],
    bounds: NDArray[np.int64],
    offsets: NDArray[np.int64],
    shift: int,
    start: int,
    raw: NDArray[np.float64],
) -> None:
    """Add the shell sums of one tile to ``raw``.

    Args:
        tile: From :func:`interleave`, or its entries H_ij² + H_ji².
        returns: Likewise.
        degrees: ``[q]``, or their squares.
        sizes: Nodes in each class, ``[q]``; as it was on return.
        members: From :func:`~sekgnn.hops.class_shells.class_shells`.
        bounds: Likewise.
        offsets: Of the :class:`~sekgnn.encoding.channels.RawLayout`.
        shift: 0, or ``offsets[SQUARES]``.
        start: First step of the tile.
        raw: ``[q, C_raw, >= start + T]``.
    """
    q, width = returns.shape
    flat_raw, flat_tile, flat_returns = (
        raw.reshape(-1),
        tile.reshape(-1),
        returns.reshape(-1),
    )
    flat_members = members.reshape(-1)
    for v in range(q):
        sizes[v] -= 1  # v itself is in none of its shells
        for k in range(bounds.shape[1] - 1):
            low, high = v * q + bounds[v, k], v * q + bounds[v, k + 1]
            if low == high:
                continue
            to_shell = raw[v, offsets[TO_SHELL] + shift + k, start : start + width]
            for a in range(low, high):
                c = flat_members[a]
                if c == v:
                    weight = sizes[v]
                    row = returns[v]
                else:
                    weight = sizes[c] * degrees[c] / (degrees[c] + degrees[v])
                    i, j = max(c, v), min(c, v)
                    row = tile[i * (i - 1) // 2 + j]
                for t in range(width):
                    to_shell[t] += weight * row[t]
            at = (v * raw.shape[1] + offsets[DIAGONAL] + shift + k) * raw.shape[2]
            add_rows(
                flat_raw,
                at + start,
                1.0,
                1.0,
                flat_returns,
                0,
                width,
                sizes,
                flat_members,
                low,
                high,
            )
            at = (v * raw.shape[1] + offsets[OFF_DIAGONAL] + shift + k) * raw.shape[2]
            off_diagonal = raw[v, offsets[OFF_DIAGONAL] + shift + k, start:]
            for a in range(low, high):
                i = flat_members[a]
                add_rows(
                    flat_raw,
                    at + start,
                    1.0,
                    sizes[i],
                    flat_tile,
                    i * (i - 1) // 2 * width,
                    width,
                    sizes,
                    flat_members,
                    low,
                    a,
                )
                if sizes[i] > 1:
                    pairs = sizes[i] * (sizes[i] - 1)
                    for t in range(width):
                        off_diagonal[t] += pairs * returns[i, t]
        sizes[v] += 1


@nb.njit(cache=True, nogil=True)
def dense_sums(
    rows: NDArray[np.int64],
    columns: NDArray[np.int32],
    sizes: NDArray[np.float64],
    degrees: NDArray[np.float64],
    members: NDArray[np.int32],
    bounds: NDArray[np.int64],
    offsets: NDArray[np.int64],
    raw: NDArray[np.float64],
    scratch: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Write the raw sums of one graph, a row per twin class.

    Args:
        rows: Row starts of :func:`~sekgnn.graphs.twins.quotient`.
        columns: Its neighbours.
        sizes: Nodes in each class, ``[q]``.
        degrees: Degrees the walk sees, ``[W]`` with W the padded q, zero from q on.
        members: From :func:`~sekgnn.hops.class_shells.class_shells`.
        bounds: Likewise.
        offsets: Of the :class:`~sekgnn.encoding.channels.RawLayout`.
        raw: Written, zero before, ``[q, C_raw, padded l]``.
        scratch: Memory to work in; replaced if it is too small.

    Returns:
        The scratch memory, for the next call.
    """
    q, _, steps = raw.shape
    width = degrees.size
    room = q * (q - 1) // 2 + WIDTH
    span = min(max(TILE_NUMBERS // room // WIDTH * WIDTH, WIDTH), steps)
    if scratch.size < room * span + (WIDTH + 1) * q * width:
        scratch = np.empty(room * span + (WIDTH + 1) * q * width)
    planes = scratch[: (WIDTH + 1) * q * width]
    planes[:] = 0.0
    tiles = scratch[planes.size :]
    returns = np.empty((q, span))
    last = WIDTH * q * width
    for c in range(q):
        if degrees[c] > 0:  # of all nodes in a class, the walk starts at one
            planes[last + c * width + c] = 1.0 / (degrees[c] * sizes[c])
    for start in range(0, steps, span):
        stop = min(start + span, steps)
        tile = tiles[: room * (stop - start)].reshape(room, stop - start)
        if stop - start < span:
            returns = np.empty((q, stop - start))
        for column in range(0, stop - start, WIDTH):
            planes[: q * width] = planes[last:]
            for s in range(WIDTH):
                take_step(rows, columns, sizes, degrees, planes, s, s + 1, width)
            interleave(planes, degrees, column, tile, returns)
        raw[:, offsets[RETURN], start:stop] = returns
        add_shells(
            tile, returns, degrees, sizes, members, bounds, offsets, 0, start, raw
        )
        if offsets[SQUARES] >= 0:
            for i in range(q):
                for j in range(i):
                    both = degrees[i] + degrees[j]
                    each = degrees[i] ** 2 + degrees[j] ** 2
                    row = tile[i * (i - 1) // 2 + j]
                    for t in range(stop - start):
                        row[t] = (row[t] / both) ** 2 * each if both > 0 else 0.0
            add_shells(
                tile,
                returns**2,
                degrees**2,
                sizes,
                members,
                bounds,
                offsets,
                offsets[SQUARES],
                start,
                raw,
            )
    return scratch
