r"""Level by level outwards from a node: the loops that all hop kernels share.

* Shortest paths: breadth-first search. A node stays marked until the search from its
  source ends, so it is met once, in the hop of its distance. The levels lie one after
  another in ``queue`` (at most n nodes together), which also lists the marks to clear.
* Diffusion: u is in hop k of v iff :math:`(A^k)_{vu} > 0`, that is, if some walk of
  exactly k steps reaches it. A node may be in several hops, and v is in its own hop k
  whenever a closed walk of k steps exists (so in every even hop, unless v is isolated).
  Marks therefore last one hop only. The support of :math:`A^k` follows from that of
  :math:`A^{k-1}` alone: no numbers are multiplied and nothing can overflow or round to
  zero.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sekgnn.graphs.graph import CsrGraph
from sekgnn.kernel import kernel

_SHORT = 24


@kernel
def next_level(
    graph: CsrGraph,
    diffusion: bool,
    queue: NDArray[np.int32],
    begin: int,
    end: int,
    mark: NDArray[np.uint8],
) -> tuple[int, int]:
    """Write the next level to ``queue``; return its start and end.

    Args:
        graph: The graph, n nodes.
        diffusion: Clear all marks; two halves of ``queue`` then take turns, so it needs
            room for twice the nodes of the largest graph.
        queue: Holds the level in ``queue[begin:end]``; receives the next one.
        begin: Start of the level.
        end: End of the level.
        mark: 1 for nodes that must not be written, uint8 ``[n]``.
    """
    indptr, indices = graph
    head = end
    if diffusion:
        half = queue.size // 2
        head = half if begin < half else 0
    tail = head
    for i in range(begin, end):
        v = queue[i]
        for p in range(indptr[v], indptr[v + 1]):
            u = indices[p]
            if mark[u] == 0:
                mark[u] = 1
                queue[tail] = u
                tail += 1
    if diffusion:
        for i in range(head, tail):
            mark[queue[i]] = 0
    return head, tail


@kernel
def sort_range(values: NDArray[np.int32], begin: int, end: int) -> None:
    """Sort ``values[begin:end]`` in place; numba's sort is slow on short ranges."""
    if end - begin > _SHORT:
        values[begin:end].sort()
        return
    for i in range(begin + 1, end):
        value = values[i]
        j = i - 1
        while j >= begin and values[j] > value:
            values[j + 1] = values[j]
            j -= 1
        values[j + 1] = value


@kernel
def class_shells(
    sizes: NDArray[np.float64],
    rows: NDArray[np.int64],
    columns: NDArray[np.int32],
    num_hops: int,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    r"""Return the classes at distance k = 1..K from a node of every twin class.

    Twins are at distance 1, so a class of two or more nodes is in its own first shell.

    Args:
        sizes: Nodes in each class, ``[q]``.
        rows: Row starts of :func:`~sekgnn.graphs.twins.quotient`, ``[q + 1]``.
        columns: Its neighbours.
        num_hops: K.

    Returns:
        members: int32 ``[q * q]``; within a shell the classes increase.
        bounds: int64 ``[q, K + 1]``: shell k of class c is
            ``members[bounds[c, k - 1]:bounds[c, k]]``.
    """
    q = sizes.size
    members = np.empty(q * q, dtype=np.int32)
    bounds = np.empty((q, num_hops + 1), dtype=np.int64)
    seen = np.empty(q, dtype=np.int32)
    for c in range(q):
        seen[c] = -1
    for c in range(q):
        seen[c] = c
        first = end = c * q
        bounds[c, 0] = end
        for k in range(1, num_hops + 1):
            last = end
            if k == 1 and sizes[c] > 1:
                members[end] = c
                end += 1
            # for k = 1 the class itself is searched, whether or not it is listed
            for a in range(first - (k == 1), last):
                centre = members[a] if k > 1 else c
                for e in range(rows[centre], rows[centre + 1]):
                    u = columns[e]
                    if seen[u] != c:
                        seen[u] = c
                        members[end] = u
                        end += 1
            sort_range(members, last, end)
            bounds[c, k] = end
            first = last
    return members, bounds
