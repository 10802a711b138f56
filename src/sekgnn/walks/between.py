"""Walks between the two nodes of a pair, for link prediction."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sekgnn.graphs.graph import CsrGraph, Graph
from sekgnn.kernel import kernel
from sekgnn.walks.ball import new_table, slot_of

STEPS = (2, 3, 4)
"""Lengths of the walks; each end takes at most half of the steps."""


def walks_between(graph: Graph, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
    r"""Return how much more often walks lead from u to v than by chance.

    .. math:: z_t(u, v) = \log\big(1 + H_{uv}^{(t)} \tfrac{2 m}{d_v}\big),
              \quad t = 2, 3, 4,

    where :math:`H^{(t)} = (D^{-1} A)^t` and :math:`d_v / 2m` is where a long walk ends.
    Walks do not take an edge between u and v: the link to predict is never seen. At
    t = 2 they pass the common neighbours, each counted as one over its degree.
    Symmetric in u and v; 0 where no walk leads from one to the other.

    A walk of u meets one of v half way, :math:`H_{uv}^{(s+t)} / d_v = \sum_j
    H_{uj}^{(s)} H_{vj}^{(t)} / d_j`, so two steps from each end are enough.

    Args:
        graph: The graph, which may be mapped.
        pairs: Nodes u and v, ``[I, 2]``.

    Returns:
        float64 ``[I, 3]``.
    """
    ends = np.sort(np.asarray(pairs, dtype=np.int64), axis=1)
    out = np.zeros((len(ends), len(STEPS)))
    _meet(graph.csr, ends, out)
    return np.log1p(2.0 * graph.num_edges * out)


@kernel
def _meet(graph: CsrGraph, pairs: NDArray[np.int64], out: NDArray[np.float64]) -> None:
    """Add :math:`H_{uv}^{(t)} / d_v` of every pair to ``out``, ``[I, 3]``."""
    indptr, indices = graph
    table = new_table(0)
    slots = np.empty(table.shape[0] // 2, dtype=np.int64)
    chance = np.zeros((table.shape[0], 4))  # of u after 1 and 2 steps, of v likewise
    for i in range(len(pairs)):
        room, cut = 0, 0
        for end in range(2):
            other = pairs[i, 1 - end]
            for p in range(indptr[pairs[i, end]], indptr[pairs[i, end] + 1]):
                w = indices[p]
                room += 1 + indptr[w + 1] - indptr[w]
                cut = max(cut, int(w == other))
        if room > slots.size:
            table = new_table(room)
            slots = np.empty(table.shape[0] // 2, dtype=np.int64)
            chance = np.zeros((table.shape[0], 4))
        count = 0
        for end in range(2):
            start, other = pairs[i, end], pairs[i, 1 - end]
            first = 1.0 / max(indptr[start + 1] - indptr[start] - cut, 1)
            for p in range(indptr[start], indptr[start + 1]):
                w = indices[p]
                if w == other:
                    continue
                count = _add(table, slots, chance, count, w, 2 * end, first)
                second = first / (indptr[w + 1] - indptr[w])
                for q in range(indptr[w], indptr[w + 1]):
                    x = indices[q]
                    count = _add(table, slots, chance, count, x, 2 * end + 1, second)
        for a in range(count):
            slot = slots[a]
            j = table[slot, 0]
            degree = indptr[j + 1] - indptr[j]
            if j == pairs[i, 0] or j == pairs[i, 1]:
                degree -= cut
            u1, u2, v1, v2 = chance[slot]
            out[i, 0] += u1 * v1 / degree
            out[i, 1] += u2 * v1 / degree
            out[i, 2] += u2 * v2 / degree
        for a in range(count):  # all of them, so that no probe is cut short
            table[slots[a], 0] = -1
            chance[slots[a]] = 0.0


@kernel
def _add(
    table: NDArray[np.int32],
    slots: NDArray[np.int64],
    chance: NDArray[np.float64],
    count: int,
    node: int,
    column: int,
    value: float,
) -> int:
    """Add ``value`` to a chance of a node; return the number of nodes."""
    slot = slot_of(table, node)
    if table[slot, 0] < 0:
        table[slot, 0] = node
        slots[count] = slot
        count += 1
    chance[slot, column] += value
    return count
