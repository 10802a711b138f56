r"""Raw sums in ``graph`` scope for small graphs, from explicit powers of P.

Landing nodes are taken in blocks of columns. For one block all steps are taken, and the
values are laid out so that all steps of one pair (i, j) are neighbours in memory:
summing a shell's pairs is then one vector addition per pair, whatever the walk length,
and a block's values stay in cache. Work
:math:`O(l\,q\,m_q + l \sum_v \sum_k |N_k(v)|^2)` on the quotient by twins, with q
classes and :math:`m_q` edges.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sekgnn.encoding.channels import (
    DIAGONAL,
    OFF_DIAGONAL,
    RETURN,
    SQUARES,
    TO_SHELL,
    Plan,
)
from sekgnn.kernel import kernel
from sekgnn.walks.vector import WIDTH, add_rows, transpose_scaled

MAX_BLOCK = 64
PLANES = WIDTH + 1  # one unused, or rows would be 4 KiB apart and evict each other


class Classes(NamedTuple):
    """A graph on its q twin classes, and the shells around each of them."""

    nodes: NDArray[np.int32]  # one of each class, [q]
    sizes: NDArray[np.float64]  # nodes in each class, [q]
    rows: NDArray[np.int64]  # row starts of graphs.twins.quotient, [q + 1]
    columns: NDArray[np.int32]  # its neighbours
    degrees: NDArray[np.float64]  # that the walk sees, [padded q], zero from q on
    members: NDArray[np.int32]  # of hops.levels.class_shells
    bounds: NDArray[np.int64]  # likewise, [q, K + 1]


class Tile(NamedTuple):
    r"""All steps of walks to a block of landing classes j.

    ``pairs`` holds :math:`H_{ij} + H_{ji}` at row i - first, column j - first, for
    j < i; or :math:`H_{ij}^2 + H_{ji}^2`.
    """

    first: int  # class of the block
    width: int  # how many, a multiple of eight
    steps: int  # L, a multiple of eight
    planes: NDArray[np.float64]  # scratch, flat [q, 9, width]
    pairs: NDArray[np.float64]  # flat [q - first, width, L]
    returns: NDArray[np.float64]  # H_ii of all classes, flat [q, L]


@kernel
def fill_tile(classes: Classes, inverses: NDArray[np.float64], tile: Tile) -> None:
    r"""Walk to the landing classes of the tile; ``inverses`` are 1/d, or 0.

    Eight steps at a time of :math:`G^{(t)} = P^t D^{-1}`, which is symmetric as P is
    reversible, with :math:`H^{(t)}_{ij} = G^{(t)}_{ij} d_j`, are taken side by side in
    ``planes`` and transposed into ``pairs``.
    """
    rows, columns, sizes = classes.rows, classes.columns, classes.sizes
    degrees = classes.degrees
    first, width, steps, planes, pairs, returns = tile
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
            before = (s + WIDTH - 1) % WIDTH * width
            for c in range(q):
                add_rows(
                    planes, c * stride + s * width, 0.0, inverses[c],
                    planes, before, stride, width, sizes, columns, rows[c], rows[c + 1],
                )  # fmt: skip
        for i in range(first, q):
            if i < first + width:
                for s in range(WIDTH):
                    value = planes[i * stride + s * width + i - first]
                    returns[i * steps + t + s] = value * degrees[i]
            last = i - first if i - first < width else width
            for j in range(0, last, WIDTH):
                transpose_scaled(
                    pairs, ((i - first) * width + j) * steps + t, steps,
                    planes, i * stride + j, width, degrees[i], degrees, first + j,
                )  # fmt: skip


@kernel
def square_tile(degrees: NDArray[np.float64], q: int, tile: Tile) -> None:
    r"""Replace :math:`H_{ij} + H_{ji}` by :math:`H_{ij}^2 + H_{ji}^2`."""
    first, width, steps, _, pairs, _ = tile
    for i in range(first, q):
        for j in range(first, i if i < first + width else first + width):
            both = degrees[i] + degrees[j]
            each = degrees[i] ** 2 + degrees[j] ** 2
            at = ((i - first) * width + j - first) * steps
            for t in range(at, at + steps):
                pairs[t] = (pairs[t] / both) ** 2 * each if both > 0 else 0.0


@kernel
def add_tile(
    classes: Classes,
    tile: Tile,
    degrees: NDArray[np.float64],  # [padded q], or their squares
    plan: Plan,
    shift: int,  # 0, or the offset of squares
    cursor: NDArray[np.int64],  # first member of a shell from this tile on, [q, K]
    move: bool,  # the cursor past this tile
    share: NDArray[np.float64],  # scratch, [q]
    raw: NDArray[np.float64],  # flat [q, C_raw, L]
) -> None:
    """Add the pairs of one tile to the shells they lie in."""
    sizes, members, bounds = classes.sizes, classes.members, classes.bounds
    first, width, steps, _, pairs, _ = tile
    to_shell = plan.offsets[TO_SHELL] + shift
    off_diagonal = plan.offsets[OFF_DIAGONAL] + shift
    for v in range(sizes.size):
        sizes[v] -= 1  # v itself is in none of its shells
        here = first <= v < first + width
        for k in range(plan.num_shells):
            low, high = cursor[v, k], bounds[v, k + 1]
            end = nearer = low
            while end < high and members[end] < first + width:
                nearer += members[end] < v
                end += 1
            stop = high if here else nearer
            for a in range(low, stop):
                c = members[a]
                share[c] = sizes[c] * degrees[c] / (degrees[c] + degrees[v])
            at = (v * plan.num_raw + to_shell + k) * steps
            add_rows(
                raw, at, 1.0, 1.0,
                pairs, ((v - first) * width - first) * steps, steps, steps,
                share, members, low, nearer,
            )  # fmt: skip
            if here:  # pairs (c, v) with c beyond v, skipping v's own class
                beyond = nearer + (nearer < high and members[nearer] == v)
                add_rows(
                    raw, at, 1.0, 1.0,
                    pairs, (v - first * width - first) * steps, width * steps, steps,
                    share, members, beyond, high,
                )  # fmt: skip
            if low == end:
                continue
            at = (v * plan.num_raw + off_diagonal + k) * steps
            for a in range(low + 1, high):
                i = members[a]
                add_rows(
                    raw, at, 1.0, sizes[i],
                    pairs, ((i - first) * width - first) * steps, steps, steps,
                    sizes, members, low, a if a < end else end,
                )  # fmt: skip
            if move:
                cursor[v, k] = end
        sizes[v] += 1


@kernel
def add_returns(
    classes: Classes,
    returns: NDArray[np.float64],  # flat [q, L], or their squares
    plan: Plan,
    shift: int,  # as in add_tile
    steps: int,
    raw: NDArray[np.float64],
) -> None:
    """Add what needs only :math:`H_{ii}`: diagonals, and pairs of twins."""
    sizes, members, bounds = classes.sizes, classes.members, classes.bounds
    for v in range(sizes.size):
        sizes[v] -= 1
        for k in range(plan.num_shells):
            low, high = bounds[v, k], bounds[v, k + 1]
            row = v * plan.num_raw + shift + k
            at = (row + plan.offsets[DIAGONAL]) * steps
            add_rows(
                raw, at, 1.0, 1.0,
                returns, 0, steps, steps, sizes, members, low, high,
            )  # fmt: skip
            for a in range(low, high):
                c = members[a]
                if sizes[c] > 1:
                    at = (row + plan.offsets[OFF_DIAGONAL]) * steps
                    add_rows(
                        raw, at, 1.0, sizes[c] - 1,
                        returns, 0, steps, steps, sizes, members, a, a + 1,
                    )  # fmt: skip
                if c == v:
                    at = (row + plan.offsets[TO_SHELL]) * steps
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
    classes: Classes,
    plan: Plan,
    steps: int,  # L, the walk length padded
    planes: NDArray[np.float64],  # scratch, at least tile_size() times PLANES
    pairs: NDArray[np.float64],  # scratch, at least tile_size() times L
    raw: NDArray[np.float64],  # zero, flat [q, C_raw, L]
) -> None:
    """Write the raw sums of one graph, a row per twin class."""
    q, degrees = classes.sizes.size, classes.degrees
    span = degrees.size if degrees.size < MAX_BLOCK else MAX_BLOCK
    returns, share, inverses = np.empty(q * steps), np.empty(q), np.empty(q)
    squares = np.empty(degrees.size)
    cursor = np.empty((q, plan.num_shells), dtype=np.int64)
    for v in range(q):
        inverses[v] = 1.0 / degrees[v] if degrees[v] > 0 else 0.0
        for k in range(plan.num_shells):
            cursor[v, k] = classes.bounds[v, k]
    for i in range(degrees.size):
        squares[i] = degrees[i] * degrees[i]
    second = plan.offsets[SQUARES]
    passes = 1 if second < 0 else 2
    for first in range(0, q, span):
        width = span if span < degrees.size - first else degrees.size - first
        tile = Tile(first, width, steps, planes, pairs, returns)
        fill_tile(classes, inverses, tile)
        for power in range(passes):
            if power:
                square_tile(degrees, q, tile)
            add_tile(
                classes, tile, squares if power else degrees, plan, power * second,
                cursor, power == passes - 1, share, raw,
            )  # fmt: skip
    for v in range(q):
        at = (v * plan.num_raw + plan.offsets[RETURN]) * steps
        for t in range(steps):
            raw[at + t] = returns[v * steps + t]
    for power in range(passes):
        if power:
            for i in range(q * steps):
                returns[i] *= returns[i]
        add_returns(classes, returns, plan, power * second, steps, raw)
