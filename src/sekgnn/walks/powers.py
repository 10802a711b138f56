r"""Explicit powers of the transition matrix on small graphs, compiled.

With d the (self-looped) degrees, :math:`P = D^{-1}(A + I)` is reversible, so
:math:`G^{(t)} = P^t D^{-1}` is symmetric and :math:`H^{(t)}_{ij} = G^{(t)}_{ij} d_j`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_positive
from sekgnn.graphs.graph import Graph
from sekgnn.graphs.twins import quotient
from sekgnn.kernel import kernel
from sekgnn.walks.vector import add_rows, padded


@kernel
def inverse_or_zero(degrees: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Return 1/d of the first ``count`` degrees, and 0 for a degree of 0."""
    out = np.zeros(count)
    for i in range(count):
        if degrees[i] > 0:
            out[i] = 1.0 / degrees[i]
    return out


@kernel
def take_step(
    rows: NDArray[np.int64],
    columns: NDArray[np.int32],
    sizes: NDArray[np.float64],
    inverses: NDArray[np.float64],
    planes: NDArray[np.float64],
    num_planes: int,
    source: int,
    target: int,
    width: int,
) -> None:
    """Write plane ``target`` = P @ plane ``source`` on a quotient graph.

    Args:
        rows: Row starts of :func:`~sekgnn.graphs.twins.quotient`, ``[q + 1]``.
        columns: Its neighbours, the class itself among them if the walk has loops.
        sizes: Nodes in each class, ``[q]``.
        inverses: One over the degrees the walk sees; 0 gives a zero row, ``[q]``.
        planes: Flat ``[q, num_planes, width]``.
        num_planes: Steps side by side in a row of ``planes``.
        source: Number of the plane to read.
        target: Number of the plane to write.
        width: Row length, padded.
    """
    stride = num_planes * width
    for c in range(sizes.size):
        add_rows(
            planes,
            c * stride + target * width,
            0.0,
            inverses[c],
            planes,
            source * width,
            stride,
            width,
            sizes,
            columns,
            rows[c],
            rows[c + 1],
        )


@kernel
def _powers(
    rows: NDArray[np.int64],
    columns: NDArray[np.int32],
    degrees: NDArray[np.float64],
    steps: int,
    width: int,
) -> NDArray[np.float64]:
    n = degrees.size
    ones, inverses = np.ones(n), inverse_or_zero(degrees, n)
    planes = np.zeros(n * (steps + 1) * width)
    for i in range(n):
        planes[i * (steps + 1) * width + i] = 1.0
    for t in range(steps):
        take_step(rows, columns, ones, inverses, planes, steps + 1, t, t + 1, width)
    return planes


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
    n, loop = graph.num_nodes, int(self_loops)
    alone = np.arange(n, dtype=np.int32)
    _, _, rows, columns = quotient(graph.indptr, graph.indices, alone, 0, n, loop)
    width = padded(n)
    degrees = graph.degrees.astype(np.float64) + loop
    planes = _powers(rows, columns, degrees, walk_length, width)
    steps = planes.reshape(n, walk_length + 1, width).transpose(1, 0, 2)
    return steps[1:, :, :n].copy()
