r"""Self-return probabilities by half walks: no matrix over all pairs ever exists.

P is reversible, so :math:`H^{(a+b)}_{vv} = d_v \sum_w d_w\, g^{(a)}_w g^{(b)}_w` with
:math:`g^{(t)} = P^t D^{-1} e_v`: l returns need ⌈l/2⌉ steps, which stay within ⌈l/2⌉ of
v.
"""

from __future__ import annotations

import threading

import numba as nb
import numpy as np
from numpy.typing import NDArray

from sekgnn.graphs.graph import Graph
from sekgnn.parallel import Progress, even_chunks, run_chunks


@nb.njit(cache=True, nogil=True)
def half_walk_returns(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    start: int,
    stop: int,
    loop: int,
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    nodes: NDArray[np.int32],
    known: NDArray[np.bool_],
    out: NDArray[np.float64],
) -> None:
    """Write the returns of nodes ``start..stop - 1``.

    Args:
        indptr: Row starts.
        indices: Neighbours.
        start: First node.
        stop: One past the last node.
        loop: 1 with self-loops, else 0.
        before: Scratch, zero, ``[N]``; as it was on return.
        after: Scratch, zero, ``[N]``; as it was on return.
        nodes: Scratch, ``[N]``.
        known: Scratch, false, ``[N]``; as it was on return.
        out: ``[N, L]``, written for these nodes.
    """
    steps = out.shape[1]
    for v in range(start, stop):
        own_degree = indptr[v + 1] - indptr[v] + loop
        if own_degree == 0:
            out[v] = 0.0
            continue
        nodes[0] = v
        known[v] = True
        before[v] = 1.0 / own_degree
        reached = 1
        for s in range(1, (steps + 1) // 2 + 1):
            for a in range(reached):
                w = nodes[a]
                mass = before[w]
                if mass == 0.0:
                    continue
                after[w] += loop * mass
                for e in range(indptr[w], indptr[w + 1]):
                    u = indices[e]
                    if not known[u]:
                        known[u] = True
                        nodes[reached] = u
                        reached += 1
                    after[u] += mass
            odd = even = 0.0
            for a in range(reached):
                w = nodes[a]
                d = indptr[w + 1] - indptr[w] + loop
                mass = after[w] / d
                odd += d * before[w] * mass
                even += d * mass * mass
                after[w] = mass
                before[w] = 0.0
            out[v, 2 * s - 2] = own_degree * odd
            if 2 * s - 1 < steps:
                out[v, 2 * s - 1] = own_degree * even
            before, after = after, before
        for a in range(reached):
            before[nodes[a]] = 0.0
            known[nodes[a]] = False


def all_returns(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    walk_length: int,
    self_loops: bool,
    workers: int | None,
    progress: Progress | None = None,
) -> NDArray[np.float64]:
    """Run :func:`half_walk_returns` over all nodes, float64 ``[N, l]``."""
    n = indptr.size - 1
    out = np.empty((n, walk_length))
    scratch = threading.local()

    def work(start: int, stop: int) -> None:
        if not hasattr(scratch, "arrays"):
            scratch.arrays = (
                np.zeros(n),
                np.zeros(n),
                np.empty(n, dtype=np.int32),
                np.zeros(n, dtype=np.bool_),
            )
        half_walk_returns(
            indptr, indices, start, stop, int(self_loops), *scratch.arrays, out
        )

    run_chunks(work, even_chunks(n, 1024), workers, progress)
    return out


def return_probabilities(
    graph: Graph,
    walk_length: int,
    *,
    self_loops: bool = True,
    workers: int | None = None,
    progress: Progress | None = None,
) -> NDArray[np.float64]:
    r"""Return :math:`H^{(t)}_{vv}` for t = 1..l, exact on graphs of any size.

    Args:
        graph: n nodes.
        walk_length: l.
        self_loops: Walk on A + I or on A.
        workers: Threads; ``None`` for all usable cores.
        progress: Called with (done, total) nodes.

    Returns:
        float64 ``[n, l]``.

    Example:
        >>> edge = Graph.from_edge_index([[0, 1], [1, 0]], 2)
        >>> return_probabilities(edge, 3).round(3).tolist()
        [[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]]
    """
    return all_returns(
        graph.indptr, graph.indices, walk_length, self_loops, workers, progress
    )
