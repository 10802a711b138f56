"""Nodes in an order in which neighbours are near each other in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.graphs.graph import CsrGraph
from sekgnn.kernel import kernel


def by_locality(graph: CsrGraph) -> tuple[NDArray[np.int32], CsrGraph]:
    """Return the nodes in breadth-first order, and the graph numbered so.

    Every row keeps the order of its neighbours, so that whatever reads rows from left
    to right meets the same nodes as before, under other numbers.

    Returns:
        order: Node ``order[i]`` is called i now, int32 ``[n]``.
        graph: With row starts in int32 where they fit, which halves what is read.
    """
    order = breadth_first(graph)
    small = graph.indices.size < 2**31
    indptr = np.zeros(order.size + 1, dtype=np.int32 if small else np.int64)
    indices = np.empty_like(graph.indices)
    renumber(graph, order, indptr, indices)
    indptr.flags.writeable = indices.flags.writeable = False
    return order, CsrGraph(indptr, indices)  # type: ignore[arg-type]


@kernel
def breadth_first(graph: CsrGraph) -> NDArray[np.int32]:
    """Return all nodes, component by component, each in breadth-first order."""
    indptr, indices = graph
    n = indptr.size - 1
    order = np.empty(n, dtype=np.int32)
    seen = np.zeros(n, dtype=np.uint8)
    begin = end = 0
    for first in range(n):
        if seen[first]:
            continue
        seen[first] = 1
        order[end] = first
        end += 1
        while begin < end:
            v = order[begin]
            begin += 1
            for e in range(indptr[v], indptr[v + 1]):
                if not seen[indices[e]]:
                    seen[indices[e]] = 1
                    order[end] = indices[e]
                    end += 1
    return order


@kernel
def renumber(
    graph: CsrGraph,
    order: NDArray[np.int32],
    indptr: NDArray[Any],
    indices: NDArray[np.int32],
) -> None:
    """Write the rows of the graph in which ``order[i]`` is called i."""
    place = np.empty(order.size, dtype=np.int32)
    for i in range(order.size):
        place[order[i]] = i
    for i in range(order.size):
        first, last = graph.indptr[order[i]], graph.indptr[order[i] + 1]
        for e in range(first, last):
            indices[indptr[i] + e - first] = place[graph.indices[e]]
        indptr[i + 1] = indptr[i] + last - first
