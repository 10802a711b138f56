r"""``graph`` scope for many small graphs in one compiled call.

Two methods, each compiled when it is first needed: explicit powers of P, in
:mod:`sekgnn.encoding.dense`, and one eigendecomposition, here.

On the quotient by twins, with class sizes μ and degrees d, the matrix
:math:`S_{cc'} = \sqrt{\mu_c \mu_{c'}}\,\tilde A_{cc'} / \sqrt{d_c d_{c'}}` is
symmetric, :math:`S = U \Lambda U^\top`. With :math:`Q = (\mu d)^{-1/2}\,U` the landing
probabilities are :math:`H^{(t)}_{ij} = \sum_r Q_{ir} \lambda_r^t Q_{jr} d_j`, so every
sum over pairs of two node sets is
:math:`\sum_r (\sum_i Q_{ir})(\sum_j d_j Q_{jr}) \lambda_r^t`: one :math:`O(q^3)` step
for all t. Squares of probabilities have no such form.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sekgnn.encoding.channels import (
    DIAGONAL,
    OFF_DIAGONAL,
    RETURN,
    TO_SHELL,
    finish,
)
from sekgnn.encoding.dense import PLANES, dense_sums, tile_size
from sekgnn.graphs.twins import quotient
from sekgnn.hops.levels import class_shells
from sekgnn.kernel import kernel
from sekgnn.walks.vector import WIDTH, add_rows, padded


@kernel
def prepare(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    twin_of: NDArray[np.int32],
    first: int,
    count: int,
    loop: int,
    num_shells: int,
) -> tuple[
    NDArray[np.int32],
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.int64],
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.int64],
    NDArray[np.int64],
]:
    """Return what both methods need of the graph of ``count`` nodes from ``first`` on.

    Returns:
        ``nodes``, ``sizes``, ``rows`` and ``columns`` of
        :func:`~sekgnn.graphs.twins.quotient`, with the padded ``degrees`` third;
        ``members`` and ``bounds`` of :func:`~sekgnn.hops.levels.class_shells`; and
        :math:`|N_k|` of each class, int64 ``[q, K]``.
    """
    nodes, sizes, rows, columns = quotient(indptr, indices, twin_of, first, count, loop)
    q = nodes.size
    degrees = np.zeros(padded(q))
    for c in range(q):
        v = first + nodes[c]
        degrees[c] = indptr[v + 1] - indptr[v] + loop
    members, bounds = class_shells(sizes, rows, columns, num_shells)
    counts = np.empty((q, num_shells), dtype=np.int64)
    for c in range(q):
        for k in range(num_shells):
            total = 0
            for a in range(bounds[c, k], bounds[c, k + 1]):
                total += np.int64(sizes[members[a]]) - (members[a] == c)
            counts[c, k] = total
    return nodes, sizes, degrees, rows, columns, members, bounds, counts


@kernel
def encode_dense(
    node_ptr: NDArray[np.int64],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    twin_of: NDArray[np.int32],
    start: int,
    stop: int,
    loop: int,
    num_shells: int,
    offsets: NDArray[np.int64],
    num_raw: int,
    terms: NDArray[np.int64],
    left_over: NDArray[np.bool_],
    out: NDArray[np.float64],
) -> None:
    """Encode graphs ``start..stop - 1`` by explicit powers.

    Args:
        node_ptr: First node of each graph, ``[G + 1]``.
        indptr: Row starts.
        indices: Neighbours.
        twin_of: From :func:`~sekgnn.graphs.twins.find_twins`, or each node itself.
        start: First graph.
        stop: One past the last graph.
        loop: 1 with self-loops, else 0.
        num_shells: K.
        offsets: Of the :class:`~sekgnn.encoding.channels.RawLayout`.
        num_raw: C_raw.
        terms: Of the :class:`~sekgnn.encoding.channels.OutputMap`.
        left_over: Set for graphs that :func:`encode_spectral` does faster, ``[stop -
            start]``; if empty, no graph is left to it.
        out: ``[N, C, L]``, added to for the first twin of each class of these graphs.
    """
    steps = padded(out.shape[2])
    planes, tile = np.empty(0), np.empty(0)  # kept: fresh memory is slow to touch
    for g in range(start, stop):
        first = node_ptr[g]
        nodes, sizes, degrees, rows, columns, members, bounds, counts = prepare(
            indptr, indices, twin_of, first, node_ptr[g + 1] - first, loop, num_shells
        )
        q = nodes.size
        if q == 0:
            continue
        if left_over.size:  # rough costs in nanoseconds, fitted once on a 2.3 GHz core
            walking = 1.3 * q * columns.size + 1.0 * q * q
            for c in range(q):
                for k in range(num_shells):
                    size = bounds[c, k + 1] - bounds[c, k]
                    walking += 1.5 * size * (size - 1)
            if 3e4 + 1.5 * q * q * q < walking * steps / WIDTH:
                left_over[g - start] = True
                continue
        pairs = tile_size(q, degrees.size)
        if tile.size < pairs * steps:
            planes, tile = np.empty(pairs * PLANES), np.empty(pairs * steps)
        raw = np.zeros(q * num_raw * steps)
        dense_sums(
            rows, columns, sizes, degrees, members, bounds, offsets,
            num_raw, steps, planes, tile, raw,
        )  # fmt: skip
        for c in range(q):
            at = c * num_raw * steps
            finish(raw, at, steps, counts[c], terms, first + nodes[c], out)


@kernel
def eigenvectors(
    rows: NDArray[np.int64],
    columns: NDArray[np.int32],
    sizes: NDArray[np.float64],
    degrees: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the eigenvalues of S, ``[q]``, and Q, ``[q, q]``."""
    q = sizes.size
    matrix = np.zeros((q, q))
    for c in range(q):
        for e in range(rows[c], rows[c + 1]):
            u = columns[e]
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
    rows: NDArray[np.int64],
    columns: NDArray[np.int32],
    sizes: NDArray[np.float64],
    degrees: NDArray[np.float64],
    members: NDArray[np.int32],
    bounds: NDArray[np.int64],
    offsets: NDArray[np.int64],
    num_raw: int,
    steps: int,
    flat: NDArray[np.float64],
) -> None:
    """Do what :func:`~sekgnn.encoding.dense.dense_sums` does, but without squares."""
    q = sizes.size
    raw = flat.reshape((q, num_raw, steps))
    width = degrees.size
    values, scaled = eigenvectors(rows, columns, sizes, degrees)
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
    for k in range(bounds.shape[1] - 1):
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
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    twin_of: NDArray[np.int32],
    start: int,
    stop: int,
    loop: int,
    num_shells: int,
    offsets: NDArray[np.int64],
    num_raw: int,
    terms: NDArray[np.int64],
    chosen: NDArray[np.bool_],
    out: NDArray[np.float64],
) -> None:
    """Encode those of the graphs ``start..stop - 1`` that are ``chosen``.

    By one eigendecomposition each; the arguments are those of :func:`encode_dense`.
    """
    steps = padded(out.shape[2])
    for g in range(start, stop):
        if not chosen[g - start]:
            continue
        first = node_ptr[g]
        nodes, sizes, degrees, rows, columns, members, bounds, counts = prepare(
            indptr, indices, twin_of, first, node_ptr[g + 1] - first, loop, num_shells
        )
        raw = np.zeros(nodes.size * num_raw * steps)
        spectral_sums(
            rows, columns, sizes, degrees, members, bounds, offsets,
            num_raw, steps, raw,
        )  # fmt: skip
        for c in range(nodes.size):
            at = c * num_raw * steps
            finish(raw, at, steps, counts[c], terms, first + nodes[c], out)
