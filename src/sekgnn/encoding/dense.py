r"""Raw sums in ``graph`` scope for small graphs, from explicit powers of P.

Landing nodes are taken in blocks of columns. For one block all steps are taken, and the
values are laid out so that all steps of one pair (i, j) are neighbours in memory:
summing a shell's pairs is then one vector addition per pair, whatever the walk length,
and a block's values stay in cache. Work
:math:`O(l\,q\,m_q + l \sum_v \sum_k |N_k(v)|^2)` on the quotient by twins, with q
classes and :math:`m_q` edges.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sekgnn.encoding.channels import DIAGONAL, OFF_DIAGONAL, RETURN, SQUARES, TO_SHELL
from sekgnn.kernel import kernel
from sekgnn.walks.powers import take_step
from sekgnn.walks.vector import WIDTH, add_rows, transpose_scaled

MAX_BLOCK = 64
PLANES = WIDTH + 1  # one unused, or rows would be 4 KiB apart and evict each other


@kernel
def fill_tile(
    rows: NDArray[np.int64],
    columns: NDArray[np.int32],
    sizes: NDArray[np.float64],
    degrees: NDArray[np.float64],
    inverses: NDArray[np.float64],
    first: int,
    width: int,
    steps: int,
    planes: NDArray[np.float64],
    tile: NDArray[np.float64],
    returns: NDArray[np.float64],
) -> None:
    r"""Walk to the landing classes ``first..first + width - 1``, all steps.

    Eight steps at a time of :math:`G^{(t)} = P^t D^{-1}` are taken side by side in
    ``planes``, ``[q, 9, width]``, and transposed into the tile.

    Args:
        rows: Row starts of :func:`~sekgnn.graphs.twins.quotient`.
        columns: Its neighbours.
        sizes: Nodes in each class, ``[q]``.
        degrees: ``[padded q]``, zero from q on.
        inverses: One over the degrees, 0 for a degree of 0, ``[q]``.
        first: j of the first column.
        width: Columns, a multiple of eight.
        steps: L, a multiple of eight.
        planes: Scratch, ``[q * 9 * width]``.
        tile: Written, flat ``[q - first, width, L]``: :math:`H_{ij} + H_{ji}` at row
            i - first, column j - first, for j < i.
        returns: :math:`H_{ii}`, written for the landing classes, flat ``[q, L]``.
    """
    q = sizes.size
    stride = PLANES * width
    start = (WIDTH - 1) * width  # the plane that the first step reads
    for c in range(q):
        for j in range(width):
            planes[c * stride + start + j] = 0.0
        if first <= c < first + width:  # of all nodes in a class, the walk ends at one
            planes[c * stride + start + c - first] = inverses[c] / sizes[c]
    for t in range(0, steps, WIDTH):
        for s in range(WIDTH):
            before = (s + WIDTH - 1) % WIDTH
            take_step(rows, columns, sizes, inverses, planes, PLANES, before, s, width)
        for i in range(first, q):
            if i < first + width:
                for s in range(WIDTH):
                    value = planes[i * stride + s * width + i - first]
                    returns[i * steps + t + s] = value * degrees[i]
            last = i - first if i - first < width else width
            for j in range(0, last, WIDTH):
                transpose_scaled(
                    tile,
                    ((i - first) * width + j) * steps + t,
                    steps,
                    planes,
                    i * stride + j,
                    width,
                    degrees[i],
                    degrees,
                    first + j,
                )


@kernel
def square_tile(
    degrees: NDArray[np.float64],
    first: int,
    width: int,
    q: int,
    steps: int,
    tile: NDArray[np.float64],
) -> None:
    r"""Replace :math:`H_{ij} + H_{ji}` by :math:`H_{ij}^2 + H_{ji}^2`."""
    for i in range(first, q):
        for j in range(first, i if i < first + width else first + width):
            both = degrees[i] + degrees[j]
            each = degrees[i] ** 2 + degrees[j] ** 2
            at = ((i - first) * width + j - first) * steps
            for t in range(at, at + steps):
                tile[t] = (tile[t] / both) ** 2 * each if both > 0 else 0.0


@kernel
def add_tile(
    tile: NDArray[np.float64],
    first: int,
    width: int,
    degrees: NDArray[np.float64],
    sizes: NDArray[np.float64],
    members: NDArray[np.int32],
    bounds: NDArray[np.int64],
    cursor: NDArray[np.int64],
    to_shell: int,
    off_diagonal: int,
    channels: int,
    steps: int,
    move: bool,
    share: NDArray[np.float64],
    raw: NDArray[np.float64],
) -> None:
    """Add the pairs of one tile to the shells they lie in.

    Args:
        tile: From :func:`fill_tile`, or :func:`square_tile`.
        first: j of its first column.
        width: Its columns.
        degrees: ``[padded q]``, or their squares.
        sizes: Nodes in each class, ``[q]``; as it was on return.
        members: From :func:`~sekgnn.hops.levels.class_shells`.
        bounds: Likewise.
        cursor: First member of each shell that is in this tile or a later one,
            ``[q, K]``.
        to_shell: First channel of that kind.
        off_diagonal: First channel of that kind.
        channels: C_raw.
        steps: L.
        move: Whether to move the cursor past this tile.
        share: Scratch, ``[q]``.
        raw: Flat ``[q, C_raw, L]``.
    """
    for v in range(sizes.size):
        sizes[v] -= 1  # v itself is in none of its shells
        here = first <= v < first + width
        for k in range(bounds.shape[1] - 1):
            low, high = cursor[v, k], bounds[v, k + 1]
            end = nearer = low
            while end < high and members[end] < first + width:
                nearer += members[end] < v
                end += 1
            stop = high if here else nearer
            for a in range(low, stop):
                c = members[a]
                share[c] = sizes[c] * degrees[c] / (degrees[c] + degrees[v])
            at = (v * channels + to_shell + k) * steps
            add_rows(
                raw, at, 1.0, 1.0,
                tile, ((v - first) * width - first) * steps, steps, steps,
                share, members, low, nearer,
            )  # fmt: skip
            if here:  # pairs (c, v) with c beyond v, skipping v's own class
                beyond = nearer + (nearer < high and members[nearer] == v)
                add_rows(
                    raw, at, 1.0, 1.0,
                    tile, (v - first * width - first) * steps, width * steps, steps,
                    share, members, beyond, high,
                )  # fmt: skip
            if low == end:
                continue
            at = (v * channels + off_diagonal + k) * steps
            for a in range(low + 1, high):
                i = members[a]
                add_rows(
                    raw, at, 1.0, sizes[i],
                    tile, ((i - first) * width - first) * steps, steps, steps,
                    sizes, members, low, a if a < end else end,
                )  # fmt: skip
            if move:
                cursor[v, k] = end
        sizes[v] += 1


@kernel
def add_returns(
    returns: NDArray[np.float64],
    sizes: NDArray[np.float64],
    members: NDArray[np.int32],
    bounds: NDArray[np.int64],
    to_shell: int,
    diagonal: int,
    off_diagonal: int,
    channels: int,
    steps: int,
    raw: NDArray[np.float64],
) -> None:
    """Add what needs only :math:`H_{ii}`: diagonals, and pairs of twins.

    Args:
        returns: Flat ``[q, L]``, or their squares.
        sizes: Nodes in each class, ``[q]``; as it was on return.
        members: From :func:`~sekgnn.hops.levels.class_shells`.
        bounds: Likewise.
        to_shell: First channel of that kind.
        diagonal: First channel of that kind.
        off_diagonal: First channel of that kind.
        channels: C_raw.
        steps: L.
        raw: Flat ``[q, C_raw, L]``.
    """
    for v in range(sizes.size):
        sizes[v] -= 1
        for k in range(bounds.shape[1] - 1):
            low, high = bounds[v, k], bounds[v, k + 1]
            at = (v * channels + diagonal + k) * steps
            add_rows(
                raw, at, 1.0, 1.0,
                returns, 0, steps, steps, sizes, members, low, high,
            )  # fmt: skip
            for a in range(low, high):
                c = members[a]
                if sizes[c] > 1:
                    at = (v * channels + off_diagonal + k) * steps
                    add_rows(
                        raw, at, 1.0, sizes[c] - 1,
                        returns, 0, steps, steps, sizes, members, a, a + 1,
                    )  # fmt: skip
                if c == v:
                    at = (v * channels + to_shell + k) * steps
                    add_rows(
                        raw, at, 1.0, 1.0,
                        returns, 0, steps, steps, sizes, members, a, a + 1,
                    )  # fmt: skip
        sizes[v] += 1


@kernel
def tile_size(q: int, width: int) -> int:
    """Return the pairs that are walked at a time, of q classes padded to ``width``."""
    return q * (width if width < MAX_BLOCK else MAX_BLOCK)


@kernel
def dense_sums(
    rows: NDArray[np.int64],
    columns: NDArray[np.int32],
    sizes: NDArray[np.float64],
    degrees: NDArray[np.float64],
    members: NDArray[np.int32],
    bounds: NDArray[np.int64],
    offsets: NDArray[np.int64],
    num_raw: int,
    steps: int,
    planes: NDArray[np.float64],
    tile: NDArray[np.float64],
    raw: NDArray[np.float64],
) -> None:
    """Write the raw sums of one graph, a row per twin class.

    Args:
        rows: Row starts of :func:`~sekgnn.graphs.twins.quotient`.
        columns: Its neighbours.
        sizes: Nodes in each class, ``[q]``.
        degrees: Degrees the walk sees, ``[W]`` with W the padded q, zero from q on.
        members: From :func:`~sekgnn.hops.levels.class_shells`.
        bounds: Likewise.
        offsets: Of the :class:`~sekgnn.encoding.channels.RawLayout`.
        num_raw: C_raw.
        steps: L, the walk length padded.
        planes: Scratch of at least :func:`tile_size` times ``PLANES``.
        tile: Scratch of at least :func:`tile_size` times ``steps``.
        raw: Written, zero before, flat ``[q, C_raw, L]``.
    """
    q, num_shells = sizes.size, bounds.shape[1] - 1
    span = degrees.size if degrees.size < MAX_BLOCK else MAX_BLOCK
    returns, share, inverses = np.empty(q * steps), np.empty(q), np.empty(q)
    squares = np.empty(degrees.size)
    cursor = np.empty((q, num_shells), dtype=np.int64)
    for v in range(q):
        inverses[v] = 1.0 / degrees[v] if degrees[v] > 0 else 0.0
        for k in range(num_shells):
            cursor[v, k] = bounds[v, k]
    for i in range(degrees.size):
        squares[i] = degrees[i] * degrees[i]
    passes = 1 if offsets[SQUARES] < 0 else 2
    for first in range(0, q, span):
        width = span if span < degrees.size - first else degrees.size - first
        fill_tile(
            rows, columns, sizes, degrees, inverses, first, width, steps,
            planes, tile, returns,
        )  # fmt: skip
        for power in range(passes):
            shift = power * offsets[SQUARES]
            if power:
                square_tile(degrees, first, width, q, steps, tile)
            add_tile(
                tile, first, width, squares if power else degrees, sizes, members,
                bounds, cursor, offsets[TO_SHELL] + shift,
                offsets[OFF_DIAGONAL] + shift,
                num_raw, steps, power == passes - 1, share, raw,
            )  # fmt: skip
    for v in range(q):
        for t in range(steps):
            raw[(v * num_raw + offsets[RETURN]) * steps + t] = returns[v * steps + t]
    for power in range(passes):
        shift = power * offsets[SQUARES]
        if power:
            for i in range(q * steps):
                returns[i] *= returns[i]
        add_returns(
            returns, sizes, members, bounds, offsets[TO_SHELL] + shift,
            offsets[DIAGONAL] + shift, offsets[OFF_DIAGONAL] + shift,
            num_raw, steps, raw,
        )  # fmt: skip
