"""The shells of every twin class of one small graph."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sekgnn.hops.frontier import sort_level
from sekgnn.kernel import kernel


@kernel
def class_shells(
    sizes: NDArray[np.float64],
    rows: NDArray[np.int64],
    columns: NDArray[np.int32],
    num_hops: int,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    r"""Return the classes at distance k = 1..K from a node of every class.

    The node's own twins are at distance 1, so its class is listed there if it has any.

    Args:
        sizes: Nodes in each class, ``[q]``.
        rows: Row starts of :func:`~sekgnn.graphs.twins.quotient`, ``[q + 1]``.
        columns: Its neighbours.
        num_hops: K.

    Returns:
        members: int32 ``[q, q]``; within a shell the classes increase.
        bounds: int64 ``[q, K + 1]``: shell k is
            ``members[c, bounds[c, k - 1]:bounds[c, k]]``.
    """
    q = sizes.size
    members = np.empty((q, q), dtype=np.int32)
    bounds = np.zeros((q, num_hops + 1), dtype=np.int64)
    seen = np.full(q, -1, dtype=np.int32)
    for c in range(q):
        row = members[c]
        seen[c] = c
        found = 0
        if sizes[c] > 1:
            row[0] = c
            found = 1
        for e in range(rows[c], rows[c + 1]):
            u = columns[e]
            if seen[u] != c:
                seen[u] = c
                row[found] = u
                found += 1
        sort_level(row[:found])
        bounds[c, 1] = found
        for k in range(2, num_hops + 1):
            low, high = bounds[c, k - 2], bounds[c, k - 1]
            for a in range(low, high):
                for e in range(rows[row[a]], rows[row[a] + 1]):
                    u = columns[e]
                    if seen[u] != c:
                        seen[u] = c
                        row[found] = u
                        found += 1
            sort_level(row[high:found])
            bounds[c, k] = found
    return members, bounds


@kernel
def shell_sizes(
    sizes: NDArray[np.float64],
    members: NDArray[np.int32],
    bounds: NDArray[np.int64],
    out: NDArray[np.int64],
) -> None:
    """Write :math:`|N_k|`, counted in nodes, for every class, int64 ``[q, K]``."""
    for c in range(out.shape[0]):
        for k in range(out.shape[1]):
            count = 0
            for a in range(bounds[c, k], bounds[c, k + 1]):
                u = members[c, a]
                count += np.int64(sizes[u]) - (u == c)
            out[c, k] = count
