"""The neighbourhood of one node as a small graph of its own."""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray


@nb.njit(cache=True, nogil=True)
def local_ball(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    centre: int,
    radius: int,
    with_centre: bool,
    loop: int,
    place: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """Return the subgraph induced on the nodes within ``radius`` of ``centre``.

    Args:
        indptr: Row starts.
        indices: Neighbours.
        centre: v.
        radius: h.
        with_centre: If false, the centre keeps its row 0 but loses its edges.
        loop: 1 to list every node among its own neighbours, else 0.
        place: Scratch, -1 everywhere, one per node of the graph; as it was on return.

    Returns:
        nodes: Node numbers, nearest first, int32 ``[s]``.
        bounds: Shell k is ``nodes[bounds[k]:bounds[k + 1]]``, int64 ``[h + 2]``.
        rows: Row starts, int64 ``[s + 1]``.
        columns: Neighbours as rows, int32.
    """
    nodes = np.empty(64, dtype=np.int32)
    nodes[0] = centre
    place[centre] = 0
    bounds = np.zeros(radius + 2, dtype=np.int64)
    bounds[1] = 1
    found = 1
    ends = indptr[centre + 1] - indptr[centre] + 1
    for k in range(1, radius + 1):
        for a in range(bounds[k - 1], bounds[k]):
            node = nodes[a]
            for e in range(indptr[node], indptr[node + 1]):
                u = indices[e]
                if place[u] < 0:
                    if found == nodes.size:
                        larger = np.empty(2 * found, dtype=np.int32)
                        larger[:found] = nodes
                        nodes = larger
                    place[u] = found
                    nodes[found] = u
                    found += 1
                    ends += indptr[u + 1] - indptr[u] + 1
        bounds[k + 1] = found
    rows = np.zeros(found + 1, dtype=np.int64)
    columns = np.empty(ends, dtype=np.int32)
    filled = 0
    for i in range(found):
        if loop:
            columns[filled] = i
            filled += 1
        if i > 0 or with_centre:
            for e in range(indptr[nodes[i]], indptr[nodes[i] + 1]):
                j = place[indices[e]]
                if j > 0 or (j == 0 and with_centre):
                    columns[filled] = j
                    filled += 1
        rows[i + 1] = filled
    for i in range(found):
        place[nodes[i]] = -1
    return nodes[:found], bounds, rows, columns[:filled]
