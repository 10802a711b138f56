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
    SQUARES,
    TO_SHELL,
    Plan,
    Values,
    finish,
)
from sekgnn.encoding.dense import PLANES, Classes, dense_sums, tile_size
from sekgnn.graphs.graph import CsrGraph
from sekgnn.graphs.packed import write_rows
from sekgnn.graphs.twins import copy_to_twins, find_twins, find_twins_apart, quotient
from sekgnn.hops.levels import class_shells
from sekgnn.kernel import kernel
from sekgnn.walks.vector import WIDTH, add_rows, padded


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
    out: Values,
) -> None:
    """Write the first node of every class, of a graph from node ``first`` on."""
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
    out: Values,
) -> None:
    """Add the values of graphs ``start..stop - 1`` by explicit powers.

    ``left_over`` is set for graphs that :func:`encode_spectral` does faster, ``[stop -
    start]``; if it is empty, no graph is left to it. ``out``, ``[N, C, L]``, is added
    to for the smallest twin of each class.
    """
    steps = padded(out.double.shape[2])
    planes, pairs = np.empty(0), np.empty(0)  # kept: fresh memory is slow to touch
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
    out: Values,
) -> bool:
    """Add the values of one graph, and return whether that was possible here.

    It is not if a pair breaks a rule, or :func:`encode_spectral` is faster; what was
    written is then of no use. ``graph`` is a view of ``indptr`` and ``indices``, which
    are filled; for the rest see :func:`~sekgnn.graphs.packed.write_rows` and
    :func:`encode_dense`.
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
    """Do what :func:`~sekgnn.encoding.dense.dense_sums` does, but without squares."""
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
    out: Values,
) -> None:
    """Encode those of the graphs ``start..stop - 1`` that are ``chosen``.

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
