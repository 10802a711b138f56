"""Explicit powers of the transition matrix, on small graphs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_positive
from sekgnn.graphs.graph import Graph


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
