"""``graph`` scope for many small graphs in one compiled call."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sekgnn.encoding.channels import SQUARES, finish
from sekgnn.encoding.dense import dense_sums
from sekgnn.encoding.spectral import spectral_sums
from sekgnn.graphs.twins import quotient
from sekgnn.hops.class_shells import class_shells, shell_sizes
from sekgnn.kernel import kernel
from sekgnn.walks.vector import WIDTH, padded

CHEAPER, DENSE, SPECTRAL = range(3)


@kernel
def spectral_is_cheaper(
    q: int, entries: int, bounds: NDArray[np.int64], steps: int
) -> bool:
    """Compare rough costs in nanoseconds, fitted once on a 2.3 GHz core."""
    pairs = 0.0
    for v in range(q):
        for k in range(bounds.shape[1] - 1):
            size = bounds[v, k + 1] - bounds[v, k]
            pairs += size * (size - 1) / 2
    walking = 1.3 * q * entries + 1.0 * q * q + 3.0 * pairs
    return 3e4 + 1.5 * q**3 < walking * steps / WIDTH


@kernel
def encode_small_graphs(
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
    method: int,
    out: NDArray[np.float64],
) -> None:
    """Encode graphs ``start..stop - 1``.

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
        method: ``DENSE``, ``SPECTRAL`` or ``CHEAPER``, by graph.
        out: ``[N, C, L]``, added to for the first twin of each class of these graphs.
    """
    steps = padded(out.shape[2])
    scratch = np.empty(0)
    for g in range(start, stop):
        first, count = node_ptr[g], node_ptr[g + 1] - node_ptr[g]
        nodes, sizes, rows, columns = quotient(
            indptr, indices, twin_of, first, count, loop
        )
        q = nodes.size
        degrees = np.zeros(padded(q))
        places = np.empty(q, dtype=np.int64)
        for c in range(q):
            v = first + nodes[c]
            places[c] = v
            degrees[c] = indptr[v + 1] - indptr[v] + loop
        members, bounds = class_shells(sizes, rows, columns, num_shells)
        counts = np.empty((q, num_shells), dtype=np.int64)
        shell_sizes(sizes, members, bounds, counts)
        raw = np.zeros((q, num_raw, steps))
        spectral = method == SPECTRAL
        if method == CHEAPER and offsets[SQUARES] < 0:
            spectral = spectral_is_cheaper(q, columns.size, bounds, steps)
        if spectral:
            spectral_sums(rows, columns, sizes, degrees, members, bounds, offsets, raw)
        else:
            scratch = dense_sums(
                rows, columns, sizes, degrees, members, bounds, offsets, raw, scratch
            )
        finish(raw, counts, terms, places, out)
