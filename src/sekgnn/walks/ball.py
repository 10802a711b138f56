"""The neighbourhood of one node as a small graph of its own.

:func:`local_ball` is the induced subgraph, closed off; :func:`grow_ball` keeps every
edge of all but the outermost nodes and works in memory that is used again for the next
node.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sekgnn.graphs.graph import CsrGraph
from sekgnn.kernel import kernel

_AHEAD = 8  # rows that are being fetched while one is read


class _Prefetch:
    """:func:`~sekgnn.walks.vector.prefetch`; numba is loaded when kernels compile."""

    @property
    def _numba_type_(self) -> Any:
        from numba.core.registry import cpu_target

        from sekgnn.walks.vector import prefetch

        cpu_target.typing_context.refresh()
        return cpu_target.typing_context.resolve_value_type(prefetch)


prefetch: Any = _Prefetch()


@kernel
def search_level(
    graph: CsrGraph,
    nodes: NDArray[np.int32],
    low: int,
    high: int,
    level: int,
    distance: NDArray[Any],
) -> tuple[NDArray[np.int32], int]:
    """Append the unvisited neighbours of ``nodes[low:high]``.

    There is no branch on whether a node is new: half of the predictions would be wrong,
    and each of those waits for memory.

    Args:
        graph: The graph, n nodes.
        nodes: Visited nodes, ``high`` of them.
        low: Start of the previous level.
        high: Its end.
        level: Distance of the new level.
        distance: -1 for unvisited nodes, ``[n]``; set to ``level`` for new ones.

    Returns:
        nodes: In a larger array if the given one was too small.
        count: Number of visited nodes.
    """
    indptr, indices = graph
    count = high
    for a in range(low, high):
        if a + 2 * _AHEAD < high:
            prefetch(indptr, nodes[a + 2 * _AHEAD])
        if a + _AHEAD < high:
            prefetch(indices, indptr[nodes[a + _AHEAD]])
        first, last = indptr[nodes[a]], indptr[nodes[a] + 1]
        if count + last - first > nodes.size:
            larger = np.empty(2 * (count + last - first), dtype=np.int32)
            larger[:count] = nodes[:count]
            nodes = larger
        for e in range(first, last):
            u = indices[e]
            previous = distance[u]
            nodes[count] = u
            distance[u] = level if previous < 0 else previous
            count += previous < 0
    return nodes, count


@kernel
def ball_nodes(
    graph: CsrGraph, centre: int, radius: int, position: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the nodes within ``radius``, nearest first, with unused room at the end.

    Shell k is ``nodes[bounds[k]:bounds[k + 1]]``; ``bounds``, ``[h + 2]``, comes
    second. ``position`` is -1 everywhere on entry and holds the position of every
    returned node on return; the caller resets it.
    """
    nodes = np.empty(64, dtype=np.int32)
    bounds = np.empty(radius + 2, dtype=np.int64)
    nodes[0], position[centre] = centre, 0
    bounds[0], bounds[1] = 0, 1
    for k in range(1, radius + 1):
        low, high = bounds[k - 1], bounds[k]
        nodes, count = search_level(graph, nodes, low, high, k, position)
        bounds[k + 1] = count
    for i in range(bounds[radius + 1]):
        position[nodes[i]] = i
    return nodes, bounds


@kernel
def local_ball(
    graph: CsrGraph,
    centre: int,
    radius: int,
    with_centre: bool,
    loop: int,
    position: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """Return the subgraph induced on the nodes within ``radius`` of ``centre``.

    Without the centre, row 0 stays but has no edges. With ``loop`` = 1 every node is
    listed among its own neighbours. ``position`` is scratch, one entry per node of the
    graph, -1 everywhere on entry and on return.

    Returns:
        nodes: Node numbers, nearest first, int32 ``[s]``.
        bounds: Shell k is ``nodes[bounds[k]:bounds[k + 1]]``, int64 ``[h + 2]``.
        rows: Row starts, int64 ``[s + 1]``.
        columns: Neighbours as rows, int32.
    """
    nodes, bounds = ball_nodes(graph, centre, radius, position)
    size = bounds[radius + 1]
    rows, columns = induced(graph, nodes, size, with_centre, loop, position)
    return nodes[:size], bounds, rows, columns


@kernel
def induced(
    graph: CsrGraph,
    nodes: NDArray[np.int32],
    size: int,
    with_centre: bool,
    loop: int,
    position: NDArray[np.int32],
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return row starts and columns of the subgraph on the first ``size`` nodes.

    ``position`` holds their positions and -1 for all other nodes; it is -1 everywhere
    on return. The other arguments are those of :func:`local_ball`.
    """
    indptr, indices = graph
    ends = size
    for i in range(size):
        ends += indptr[nodes[i] + 1] - indptr[nodes[i]]
    rows = np.empty(size + 1, dtype=np.int64)
    columns = np.empty(ends, dtype=np.int32)
    filled = 0
    rows[0] = 0
    for i in range(size):
        if loop:
            columns[filled] = i
            filled += 1
        if i > 0 or with_centre:
            for e in range(indptr[nodes[i]], indptr[nodes[i] + 1]):
                j = position[indices[e]]
                if j > 0 or (j == 0 and with_centre):
                    columns[filled] = j
                    filled += 1
        rows[i + 1] = filled
    for i in range(size):
        position[nodes[i]] = -1
    return rows, columns[:filled]


class WalkScope(NamedTuple):
    """Where a walk lives."""

    whole: bool  # the whole graph, or else the ego-net
    radius: int  # of the ego-net, or the number of shells
    with_centre: bool  # whether the walk may step on the centre
    loop: int  # 1 with self-loops, else 0


@kernel
def walk_graph(
    graph: CsrGraph,
    start: int,
    stop: int,
    v: int,
    scope: WalkScope,
    position: NDArray[np.int32],
) -> tuple[
    NDArray[np.int32],
    NDArray[np.int64],
    NDArray[np.int32],
    NDArray[np.int64],
    NDArray[np.int32],
]:
    """Return the shells around v, and the small graph on which its walks live.

    With the scope of a whole graph, its nodes are ``start..stop - 1``. They share one
    small graph, which is returned for the first of them only.

    Returns:
        members: Rows of that graph, shell by shell, the centre first, int32.
        bounds: Shell k is ``members[bounds[k]:bounds[k + 1]]``, int64 ``[h + 2]``.
        nodes: The node of each row, int32 ``[s]``; s = 0: the graph returned before.
        rows: Row starts, int64 ``[s + 1]``.
        columns: Neighbours as rows, int32.
    """
    members, bounds = ball_nodes(graph, v, scope.radius, position)
    size = bounds[scope.radius + 1]
    nodes = members[:size].copy()
    if scope.whole:
        nodes = np.empty(stop - start if v == start else 0, dtype=np.int32)
        for i in range(size):
            position[members[i]] = -1
            members[i] -= start
        for i in range(nodes.size):
            nodes[i], position[start + i] = start + i, i
    else:
        for i in range(size):
            members[i] = i
    rows, columns = induced(
        graph, nodes, nodes.size, scope.with_centre, scope.loop, position
    )
    return members, bounds, nodes, rows, columns


def with_degrees(graph: CsrGraph, loop: int) -> CsrGraph:
    """Return the graph with the walk's degree beside each neighbour, ``[E, 2]``.

    A search needs the degree of every node it visits; beside the node it costs no
    further access to memory.
    """
    degrees = (np.diff(graph.indptr) + loop).astype(np.int32)
    edges = np.stack([graph.indices, degrees[graph.indices]], axis=1)
    edges.flags.writeable = False
    return CsrGraph(graph.indptr, edges)


class Ball(NamedTuple):
    """A ball of :func:`grow_ball`, in memory that its next search uses again."""

    bounds: NDArray[np.int64]  # level k is nodes[bounds[k]:bounds[k + 1]]
    nodes: NDArray[np.int32]  # nearest first, with unused room at the end
    degrees: NDArray[np.float64]  # of each node, as the walk sees them
    rows: NDArray[np.int64]  # row starts of all nodes but those of the last level
    columns: NDArray[np.int32]  # neighbours, by their position in nodes
    table: NDArray[np.int32]  # empty, from new_table


@kernel
def new_ball(depth: int, room: int) -> Ball:
    """Return memory for balls of ``depth`` levels, at first with room for few nodes."""
    return Ball(
        np.zeros(depth + 2, dtype=np.int64),
        np.empty(room, dtype=np.int32),
        np.empty(room),
        np.zeros(room + 1, dtype=np.int64),
        np.empty(room, dtype=np.int32),
        new_table(room),
    )


@kernel
def new_table(size: int) -> NDArray[np.int32]:
    """Return an empty hash table of (node, position) rows for ``size`` nodes."""
    capacity = 64
    while capacity < 2 * size:
        capacity *= 2
    table = np.empty((capacity, 2), dtype=np.int32)
    for slot in range(capacity):
        table[slot, 0] = table[slot, 1] = -1
    return table


@kernel
def slot_of(table: NDArray[np.int32], node: int) -> int:
    """Return the row of ``table`` that holds ``node``, or where it belongs."""
    mask = table.shape[0] - 1
    mixed = np.uint64(node) * np.uint64(0x9E3779B97F4A7C15)
    slot = int(mixed >> np.uint64(32)) & mask
    while table[slot, 0] >= 0 and table[slot, 0] != node:
        slot = (slot + 1) & mask
    return slot


@kernel
def fetch_row(graph: CsrGraph, node: int, degree: float) -> None:
    """Fetch both ends of a row of a graph from :func:`with_degrees`."""
    first = 2 * graph.indptr[node]
    prefetch(graph.indices, first)
    prefetch(graph.indices, first + 2 * int(degree) - 1)


@kernel
def grow_ball(graph: CsrGraph, centre: int, loop: int, ball: Ball) -> Ball:
    """Search to the depth of ``ball``, and keep the edges.

    Visited nodes are in a hash table as large as the ball, which stays in cache where
    an array over all nodes of a large graph would not.

    ``graph`` is from :func:`with_degrees`; with ``loop`` = 1 every node is listed among
    its own neighbours. Arrays of the ball that are too small are replaced by larger
    ones.
    """
    indptr, edges = graph
    bounds, nodes, degrees, rows, columns, table = ball
    nodes[0] = centre
    degrees[0] = indptr[centre + 1] - indptr[centre] + loop
    slot = slot_of(table, centre)
    table[slot, 0], table[slot, 1] = centre, 0
    bounds[0], bounds[1] = 0, 1
    count, filled = 1, 0
    rows[0] = 0
    for level in range(1, bounds.size - 1):
        low, high = bounds[level - 1], bounds[level]
        last = level == bounds.size - 2
        more = 1
        for a in range(low, high):
            more += int(degrees[a]) + 1
        if count + more > nodes.size:
            size = 2 * (count + more)
            larger, numbers = np.empty(size, dtype=np.int32), np.empty(size)
            starts = np.empty(size + 1, dtype=np.int64)
            for a in range(count):
                larger[a], numbers[a] = nodes[a], degrees[a]
            for a in range(low + 1):
                starts[a] = rows[a]
            nodes, degrees, rows = larger, numbers, starts
        if filled + more > columns.size:
            longer = np.empty(2 * (filled + more), dtype=np.int32)
            for e in range(filled):
                longer[e] = columns[e]
            columns = longer
        for a in range(low, min(low + _AHEAD, high)):
            fetch_row(graph, nodes[a], degrees[a])
        for a in range(low, high):
            if a + _AHEAD < high:
                fetch_row(graph, nodes[a + _AHEAD], degrees[a + _AHEAD])
            if 2 * (count + degrees[a]) > table.shape[0]:
                table = new_table(2 * (count + int(degrees[a])))
                for b in range(count):
                    slot = slot_of(table, nodes[b])
                    table[slot, 0], table[slot, 1] = nodes[b], b
            if loop:
                columns[filled] = a
                filled += 1
            for e in range(indptr[nodes[a]], indptr[nodes[a] + 1]):
                u = edges[e, 0]
                slot = slot_of(table, u)
                if table[slot, 0] < 0:
                    table[slot, 0], table[slot, 1] = u, count
                    nodes[count] = u
                    degrees[count] = edges[e, 1]
                    count += 1
                    if not last:
                        prefetch(indptr, u)
                columns[filled] = table[slot, 1]
                filled += 1
            rows[a + 1] = filled
        bounds[level + 1] = count
    if count > table.shape[0] // 8:
        for slot in range(table.shape[0]):
            table[slot, 0] = table[slot, 1] = -1
    else:
        for a in range(count - 1, -1, -1):  # last in, first out: no probe is cut short
            table[slot_of(table, nodes[a]), 0] = -1
    return Ball(bounds, nodes, degrees, rows, columns, table)
