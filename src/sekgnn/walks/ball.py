"""The neighbourhood of one node as a small graph of its own.

:func:`local_ball` is the induced subgraph, closed off; :func:`grow_ball` keeps every
edge of all but the outermost nodes and works in memory that is used again for the next
node.
"""

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


def search_marks(indptr: NDArray[np.int64], self_loops: bool) -> NDArray[np.int32]:
    """Return the scratch memory of :func:`grow_ball` for one thread, ``[N, 2]``.

    Column 0 is -1; column 1 holds the degree the walk sees. A search needs both of
    every node that it meets, so they share a cache line.
    """
    marks = np.full((indptr.size - 1, 2), -1, dtype=np.int32)
    marks[:, 1] = np.diff(indptr) + int(self_loops)
    return marks


@nb.njit(cache=True, nogil=True)
def grow_ball(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    centre: int,
    loop: int,
    bounds: NDArray[np.int64],
    nodes: NDArray[np.int32],
    degrees: NDArray[np.float64],
    rows: NDArray[np.int64],
    columns: NDArray[np.int32],
    marks: NDArray[np.int32],
) -> tuple[
    NDArray[np.int32], NDArray[np.float64], NDArray[np.int64], NDArray[np.int32]
]:
    """Search to the depth that ``bounds`` has room for, remembering the edges met.

    Args:
        indptr: Row starts.
        indices: Neighbours.
        centre: v.
        loop: 1 to list every node among its own neighbours, else 0.
        bounds: Written: level k is ``nodes[bounds[k]:bounds[k + 1]]``, ``[depth + 2]``.
        nodes: Written, nearest first; replaced if it is too small.
        degrees: Written, the degree of each; likewise.
        rows: Written: row starts of all nodes but those of the last level; likewise.
        columns: Written: neighbours, by their place in ``nodes``; likewise.
        marks: From :func:`search_marks`; as it was on return.

    Returns:
        ``nodes``, ``degrees``, ``rows`` and ``columns``.
    """
    nodes[0] = centre
    degrees[0] = marks[centre, 1]
    marks[centre, 0] = 0
    bounds[0], bounds[1] = 0, 1
    found, filled = 1, 0
    rows[0] = 0
    for level in range(1, bounds.size - 1):
        low, high = bounds[level - 1], bounds[level]
        more = 1
        for a in range(low, high):
            more += np.int64(degrees[a]) + 1
        if found + more > nodes.size:
            size = 2 * (found + more)
            larger, numbers = np.empty(size, dtype=np.int32), np.empty(size)
            larger[:found], numbers[:found] = nodes[:found], degrees[:found]
            nodes, degrees = larger, numbers
            starts = np.empty(size + 1, dtype=np.int64)
            starts[: low + 1] = rows[: low + 1]
            rows = starts
        if filled + more > columns.size:
            longer = np.empty(2 * (filled + more), dtype=np.int32)
            longer[:filled] = columns[:filled]
            columns = longer
        for a in range(low, high):
            if loop:
                columns[filled] = a
                filled += 1
            for e in range(indptr[nodes[a]], indptr[nodes[a] + 1]):
                # no branch on what memory holds: a wrong guess would wait for it
                u = indices[e]
                known = marks[u, 0]
                new = known < 0
                at = found if new else known
                marks[u, 0] = at
                nodes[found] = u
                degrees[found] = marks[u, 1]
                found += new
                columns[filled] = at
                filled += 1
            rows[a + 1] = filled
        bounds[level + 1] = found
    for a in range(found):
        marks[nodes[a], 0] = -1
    return nodes, degrees, rows, columns
