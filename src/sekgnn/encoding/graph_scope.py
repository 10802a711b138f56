r"""``graph`` scope for many small graphs in one compiled call.

Two methods on the quotient by twins, of q classes and :math:`m_q` edges, each compiled
when it is first needed.

*Explicit powers of P* (:func:`encode_dense`), :math:`O(l\,q\,m_q + l \sum_v \sum_k
|N_k(v)|^2)`. Landing nodes are taken in blocks of columns. All steps of one block are
computed, and laid out so that the steps of one pair (i, j) are contiguous in memory:
summing a shell's pairs is then one vector addition per pair, whatever the walk length,
and a block's values stay in cache.

*One eigendecomposition* (:func:`encode_spectral`). With class sizes μ and degrees d,
the matrix
:math:`S_{cc'} = \sqrt{\mu_c \mu_{c'}}\,\tilde A_{cc'} / \sqrt{d_c d_{c'}}` is
symmetric, :math:`S = U \Lambda U^\top`. With :math:`Q = (\mu d)^{-1/2}\,U` the landing
probabilities are :math:`H^{(t)}_{ij} = \sum_r Q_{ir} \lambda_r^t Q_{jr} d_j`, so every
sum over pairs of two node sets is
:math:`\sum_r (\sum_i Q_{ir})(\sum_j d_j Q_{jr}) \lambda_r^t`: one :math:`O(q^3)` step
for all t. Squares of probabilities have no such form.
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
    Output,
    Plan,
    finish,
)
from sekgnn.graphs.graph import CsrGraph
from sekgnn.graphs.packed import write_rows
from sekgnn.graphs.twins import copy_to_twins, find_twins, find_twins_apart, quotient
from sekgnn.hops.levels import class_shells
from sekgnn.kernel import kernel
from sekgnn.walks.vector import WIDTH, add_rows, padded, transpose_scaled

MAX_BLOCK = 64
PLANES = WIDTH + 1  # one is unused: rows 4 KiB apart would evict each other


class Classes(NamedTuple):
    """A graph on its q twin classes, and the shells around each of them."""

    nodes: NDArray[np.int32]  # one of each class, [q]
    sizes: NDArray[np.float64]  # nodes in each class, [q]
    rows: NDArray[np.int64]  # row starts of graphs.twins.quotient, [q + 1]
    columns: NDArray[np.int32]  # its neighbours
    degrees: NDArray[np.float64]  # of the walk, [padded q], zero from q on
    members: NDArray[np.int32]  # of hops.levels.class_shells
    bounds: NDArray[np.int64]  # likewise, [q, K + 1]


class Tile(NamedTuple):
    r"""All steps of walks to a block of landing classes j.

    ``pairs`` holds :math:`H_{ij} + H_{ji}` at row i - first, column j - first, for
    j < i; or :math:`H_{ij}^2 + H_{ji}^2`.
    """

    first: int  # first class of the block
    width: int  # of the block, a multiple of eight
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
            total = degrees[i] + degrees[j]
            squared = degrees[i] ** 2 + degrees[j] ** 2
            at = ((i - first) * width + j - first) * steps
            for t in range(at, at + steps):
                pairs[t] = (pairs[t] / total) ** 2 * squared if total > 0 else 0.0


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
        in_tile = first <= v < first + width
        for k in range(plan.num_shells):
            low, high = cursor[v, k], bounds[v, k + 1]
            end = nearer = low
            while end < high and members[end] < first + width:
                nearer += members[end] < v
                end += 1
            stop = high if in_tile else nearer
            for a in range(low, stop):
                c = members[a]
                share[c] = sizes[c] * degrees[c] / (degrees[c] + degrees[v])
            at = (v * plan.num_raw + to_shell + k) * steps
            add_rows(
                raw, at, 1.0, 1.0,
                pairs, ((v - first) * width - first) * steps, steps, steps,
                share, members, low, nearer,
            )  # fmt: skip
            if in_tile:  # pairs (c, v) with c beyond v, skipping v's own class
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
    """Add the sums that need only :math:`H_{ii}`: diagonals, and pairs of twins."""
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
    """Return the number of pairs in a tile of q classes, padded to ``width``."""
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


@kernel
def classes_of(
    graph: CsrGraph, twin_of: NDArray[np.int32], first: int, stop: int, plan: Plan
) -> Classes:
    """Return the classes and shells of the graph of nodes ``first..stop - 1``."""
    nodes, sizes, rows, columns = quotient(
        graph, twin_of, first, stop - first, plan.loop
    )
    degrees = np.zeros(padded(nodes.size))
    for c in range(nodes.size):
        v = first + nodes[c]
        degrees[c] = graph.indptr[v + 1] - graph.indptr[v] + plan.loop
    members, bounds = class_shells(sizes, rows, columns, plan.num_shells)
    return Classes(nodes, sizes, rows, columns, degrees, members, bounds)


@kernel
def finish_classes(
    classes: Classes,
    plan: Plan,
    steps: int,
    raw: NDArray[np.float64],
    first: int,
    out: Output,
) -> None:
    """Write the values of the first node of every class; ``first`` is the graph's."""
    nodes, sizes, members = classes.nodes, classes.sizes, classes.members
    counts = np.empty(plan.num_shells, dtype=np.int64)
    for c in range(nodes.size):
        for k in range(plan.num_shells):
            total = 0
            for a in range(classes.bounds[c, k], classes.bounds[c, k + 1]):
                total += np.int64(sizes[members[a]]) - (members[a] == c)
            counts[k] = total
        at = c * plan.num_raw * steps
        finish(raw, at, steps, counts, plan.terms, first + nodes[c], out)


@kernel
def encode_dense(
    node_ptr: NDArray[np.int64],
    graph: CsrGraph,
    twin_of: NDArray[np.int32],
    start: int,
    stop: int,
    plan: Plan,
    left_over: NDArray[np.bool_],
    out: Output,
) -> None:
    """Add the values of graphs ``start..stop - 1`` by explicit powers.

    ``left_over``, ``[stop - start]``, is set for graphs that :func:`encode_spectral`
    encodes faster; if it is empty, all are encoded here. Values are added to ``out``,
    ``[N, C, L]``, for the smallest twin of each class.
    """
    steps = padded(out.double.shape[2])
    planes, pairs = np.empty(0), np.empty(0)  # reused: fresh memory is slow to touch
    for g in range(start, stop):
        first = node_ptr[g]
        classes = classes_of(graph, twin_of, first, node_ptr[g + 1], plan)
        q, bounds = classes.nodes.size, classes.bounds
        if q == 0:
            continue
        if left_over.size:  # rough costs in nanoseconds, fitted once on a 2.3 GHz core
            walking = 1.3 * q * classes.columns.size + 1.0 * q * q
            for c in range(q):
                for k in range(plan.num_shells):
                    size = bounds[c, k + 1] - bounds[c, k]
                    walking += 1.5 * size * (size - 1)
            if 3e4 + 1.5 * q * q * q < walking * steps / WIDTH:
                left_over[g - start] = True
                continue
        room = tile_size(q, classes.degrees.size)
        if pairs.size < room * steps:
            planes, pairs = np.empty(room * PLANES), np.empty(room * steps)
        raw = np.zeros(q * plan.num_raw * steps)
        dense_sums(classes, plan, steps, planes, pairs, raw)
        finish_classes(classes, plan, steps, raw, first, out)


@kernel
def encode_one(
    edges: NDArray[np.int64],
    edge_ptr: NDArray[np.int64],
    node_ptr: NDArray[np.int64],
    graph: CsrGraph,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    plan: Plan,
    out: Output,
) -> bool:
    """Add the values of one graph; return whether ``out`` is valid.

    It is not if a pair breaks a rule, or :func:`encode_spectral` is faster. ``graph``
    is a view of ``indptr`` and ``indices``, which are filled; the other arguments are
    those of :func:`~sekgnn.graphs.packed.write_rows` and :func:`encode_dense`.
    """
    if not write_rows(edges, node_ptr, edge_ptr, 0, 1, indptr, indices):
        return False
    n = node_ptr[1]
    twin_of, alike = np.empty(n, np.int32), np.empty(n, np.int32)
    find_twins(graph, 0, n, twin_of)
    find_twins_apart(graph, 0, n, twin_of, alike)
    if plan.loop == 0:
        twin_of[:] = np.arange(n)
    left_over = np.full(int(plan.offsets[SQUARES] < 0), False)
    encode_dense(node_ptr, graph, twin_of, 0, 1, plan, left_over, out)
    if out.double.shape[0]:
        copy_to_twins(alike, 0, n, out.double.reshape(n, -1))
    else:
        copy_to_twins(alike, 0, n, out.single.reshape(n, -1))
    return not left_over.any()


@kernel
def eigenvectors(
    classes: Classes,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the eigenvalues of S, ``[q]``, and Q, ``[q, q]``."""
    sizes, degrees, rows = classes.sizes, classes.degrees, classes.rows
    q = sizes.size
    matrix = np.zeros((q, q))
    for c in range(q):
        for e in range(rows[c], rows[c + 1]):
            u = classes.columns[e]
            matrix[c, u] = np.sqrt(sizes[c] * sizes[u] / (degrees[c] * degrees[u]))
    values, vectors = np.linalg.eigh(matrix)
    scaled = np.zeros((q, q))
    for c in range(q):
        if degrees[c] > 0:
            factor = 1.0 / np.sqrt(sizes[c] * degrees[c])
            for r in range(q):
                scaled[c, r] = factor * vectors[c, r]
    return values, scaled


@kernel
def spectral_sums(
    classes: Classes, plan: Plan, steps: int, flat: NDArray[np.float64]
) -> None:
    """Write the raw sums as :func:`dense_sums`, but without squares."""
    sizes, degrees, offsets = classes.sizes, classes.degrees, plan.offsets
    members, bounds = classes.members, classes.bounds
    q, width = sizes.size, degrees.size
    raw = flat.reshape((q, plan.num_raw, steps))
    values, scaled = eigenvectors(classes)
    powers = np.ones((q, steps))
    for r in range(q):
        power = 1.0
        for t in range(steps):
            power *= values[r]
            powers[r, t] = power
    table = np.zeros((q, width))
    table[:, :q] = scaled
    flat_table = table.reshape(-1)
    returns = np.dot(scaled * scaled, powers)
    for v in range(q):
        for t in range(steps):
            returns[v, t] *= degrees[v]
            raw[v, offsets[RETURN], t] = returns[v, t]
    starts, ends = np.zeros(q * width), np.zeros(q * width)
    for k in range(plan.num_shells):
        present = False
        for v in range(q):
            low, high = bounds[v, k], bounds[v, k + 1]
            present = present or low < high
            sizes[v] -= 1  # v itself is in none of its shells
            add_rows(
                starts, v * width, 0.0, 1.0,
                flat_table, 0, width, width, sizes, members, low, high,
            )  # fmt: skip
            weights = sizes * degrees[:q]
            add_rows(
                ends, v * width, 0.0, 1.0,
                flat_table, 0, width, width, weights, members, low, high,
            )  # fmt: skip
            for a in range(low, high):
                u = members[a]
                for t in range(steps):
                    raw[v, offsets[DIAGONAL] + k, t] += sizes[u] * returns[u, t]
            sizes[v] += 1
        if not present:
            break
        from_shell = starts.reshape(q, width)[:, :q]
        to_shell = ends.reshape(q, width)[:, :q]
        landing = np.dot(scaled * to_shell, powers)
        total = np.dot(from_shell * to_shell, powers)
        for v in range(q):
            if bounds[v, k + 1] == bounds[v, k]:
                continue
            alone = bounds[v, k + 1] - bounds[v, k] == 1
            u = members[bounds[v, k]]
            alone = alone and sizes[u] - (u == v) == 1
            for t in range(steps):
                raw[v, offsets[TO_SHELL] + k, t] = landing[v, t]
                if not alone:  # one node has no pairs: exactly zero, not a rounding
                    raw[v, offsets[OFF_DIAGONAL] + k, t] = (
                        total[v, t] - raw[v, offsets[DIAGONAL] + k, t]
                    )


@kernel
def encode_spectral(
    node_ptr: NDArray[np.int64],
    graph: CsrGraph,
    twin_of: NDArray[np.int32],
    start: int,
    stop: int,
    plan: Plan,
    chosen: NDArray[np.bool_],
    out: Output,
) -> None:
    """Encode the ``chosen`` of the graphs ``start..stop - 1``.

    By one eigendecomposition each; the arguments are those of :func:`encode_dense`.
    """
    steps = padded(out.double.shape[2])
    for g in range(start, stop):
        if not chosen[g - start]:
            continue
        classes = classes_of(graph, twin_of, node_ptr[g], node_ptr[g + 1], plan)
        raw = np.zeros(classes.nodes.size * plan.num_raw * steps)
        spectral_sums(classes, plan, steps, raw)
        finish_classes(classes, plan, steps, raw, node_ptr[g], out)
