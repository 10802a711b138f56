"""``graph`` scope for many small graphs in one compiled call.

Two methods, each compiled when it is first needed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sekgnn.encoding.channels import finish
from sekgnn.encoding.dense import dense_sums
from sekgnn.encoding.spectral import spectral_sums
from sekgnn.graphs.twins import quotient
from sekgnn.hops.levels import class_shells
from sekgnn.kernel import kernel
from sekgnn.walks.vector import WIDTH, padded


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
        raw = np.zeros(q * num_raw * steps)
        dense_sums(
            rows, columns, sizes, degrees, members, bounds, offsets,
            num_raw, steps, raw,
        )  # fmt: skip
        for c in range(q):
            at = c * num_raw * steps
            finish(raw, at, steps, counts[c], terms, first + nodes[c], out)


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
