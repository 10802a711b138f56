r"""Landing probabilities, and returns by half walks, which need no matrix of pairs.

P is reversible, so :math:`H^{(a+b)}_{vv} = d_v \sum_w d_w\, g^{(a)}_w g^{(b)}_w` with
:math:`g^{(t)} = P^t D^{-1} e_v`: l returns need ⌈l/2⌉ steps, which stay within ⌈l/2⌉ of
v.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_positive
from sekgnn.graphs.graph import CsrGraph, Graph
from sekgnn.graphs.packed import pack
from sekgnn.graphs.twins import find_alike
from sekgnn.kernel import kernel
from sekgnn.parallel import Progress, even_chunks, run_chunks
from sekgnn.walks.ball import grow_ball, new_ball, with_degrees


def landing_probabilities(
    graph: Graph, walk_length: int, *, self_loops: bool = True
) -> NDArray[np.float64]:
    r"""Return :math:`H^{(t)} = P^t` for t = 1..l, float64 ``[l, n, n]``.

    Example:
        >>> triangle = Graph.from_edge_index(
        ...     [[0, 1, 2], [1, 2, 0]], 3, undirected="add"
        ... )
        >>> landing_probabilities(triangle, 1)[0, 0].round(3).tolist()
        [0.333, 0.333, 0.333]
    """
    check_positive("walk_length", walk_length)
    degrees = np.maximum(graph.degrees + int(self_loops), 1)[:, None]
    adjacency = graph.to_scipy().astype(np.float64)
    out = np.empty((walk_length, graph.num_nodes, graph.num_nodes))
    before = np.eye(graph.num_nodes)
    for t in range(walk_length):
        total = adjacency @ before + int(self_loops) * before
        before = out[t] = total / degrees
    return out


@kernel
def half_walk_returns(
    graph: CsrGraph,
    twin_of: NDArray[np.int32],
    start: int,
    stop: int,
    loop: int,
    out: NDArray[np.float64],
) -> None:
    """Write the returns of every node of ``start..stop - 1`` that is its smallest twin.

    ``graph`` is from :func:`~sekgnn.walks.ball.with_degrees`, ``loop`` is 1 with
    self-loops, else 0, ``out`` is ``[N, L]``.
    """
    steps = out.shape[1]
    half = (steps + 1) // 2
    before, after = np.empty(0), np.empty(0)
    ball = new_ball(half, 64)
    for v in range(start, stop):
        if twin_of[v] != v:
            continue
        ball = grow_ball(graph, v, loop, ball)
        bounds, _, degrees, rows, columns, _ = ball
        size = bounds[half + 1]
        if before.size < size:
            before, after = np.empty(2 * size), np.empty(2 * size)
        for a in range(size):
            before[a] = after[a] = 0.0
        if degrees[0] == 0:
            for t in range(steps):
                out[v, t] = 0.0
            continue
        before[0] = 1.0 / degrees[0]
        for s in range(1, half + 1):
            inner, outer = bounds[s], bounds[s + 1]
            for a in range(outer):
                after[a] = 0.0
            for a in range(inner):
                for e in range(rows[a], rows[a + 1]):
                    after[columns[e]] += before[a]
            odd = even = 0.0
            for a in range(outer):
                odd += before[a] * after[a]
                after[a] /= degrees[a]
                even += degrees[a] * after[a] * after[a]
            out[v, 2 * s - 2] = degrees[0] * odd
            if 2 * s - 1 < steps:
                out[v, 2 * s - 1] = degrees[0] * even
            before, after = after, before


def return_probabilities(
    graph: Graph,
    walk_length: int,
    *,
    self_loops: bool = True,
    threads: int | None = None,
    progress: Progress | None = None,
) -> NDArray[np.float64]:
    """Return :math:`H^{(t)}_{vv}` for t = 1..l, exact on graphs of any size.

    The walk is on A + I, or with ``self_loops=False`` on A; progress counts nodes.

    Returns:
        float64 ``[n, l]``.

    Example:
        >>> edge = Graph.from_edge_index([[0, 1], [1, 0]], 2)
        >>> return_probabilities(edge, 3).round(3).tolist()
        [[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]]
    """
    check_positive("walk_length", walk_length)
    n, loop = graph.num_nodes, int(self_loops)
    edges = with_degrees(graph.csr, loop)
    twin_of = find_alike(pack([graph]), threads)[1]
    out = np.empty((n, walk_length))

    def work(start: int, stop: int) -> None:
        half_walk_returns(edges, twin_of, start, stop, loop, out)

    run_chunks(work, even_chunks(n, 1024), threads, progress)
    return out[twin_of]
