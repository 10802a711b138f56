"""Compiled loop over common neighbours: how much ego-nets overlap."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sekgnn.kernel import kernel

Ints = NDArray[np.int32]


@kernel
def overlap_sizes(indptr: Ints, indices: Ints, out: NDArray[np.int64]) -> None:
    """Write how many nodes and edges the ego-nets of both ends of every edge share.

    Args:
        indptr: Row starts of the edges, ``[N + 1]``.
        indices: Neighbours, without loops.
        out: Receives the nodes and edges of the subgraph induced by both ends and their
            common neighbours, ``[M, 2]``.
    """
    n = indptr.size - 1
    near, common = np.full(n, -1, np.int32), np.full(n, -1, np.int64)
    shared = np.empty(n, np.int32)
    for v in range(n):
        for p in range(indptr[v], indptr[v + 1]):
            near[indices[p]] = v
        for p in range(indptr[v], indptr[v + 1]):
            u = indices[p]
            count, inside = 0, 0
            for q in range(indptr[u], indptr[u + 1]):
                w = indices[q]
                if near[w] == v:
                    common[w] = p
                    shared[count] = w
                    count += 1
            for i in range(count):
                w = shared[i]
                for q in range(indptr[w], indptr[w + 1]):
                    inside += common[indices[q]] == p
            out[p, 0] = count + 2
            out[p, 1] = 1 + 2 * count + inside // 2
