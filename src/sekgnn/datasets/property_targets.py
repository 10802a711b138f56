"""Properties of a graph and of its nodes, as the PNA benchmark defines them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sekgnn.datasets.same_size import same_size_stacks
from sekgnn.errors import GraphInputError
from sekgnn.graphs import Graph

GRAPH_PROPERTIES = ("is_connected", "diameter", "spectral_radius")
NODE_PROPERTIES = ("sssp", "eccentricity", "laplacian_features")

Stack = NDArray[np.float64]


def graph_properties(graphs: Sequence[Graph]) -> NDArray[np.float64]:
    r"""Return ``GRAPH_PROPERTIES`` of every graph.

    - ``is_connected``: 1 if the graph is connected **and not bipartite**. The benchmark
      tests :math:`\min A^{2^k} > 0`, which fails on every bipartite graph, connected or
      not; it is kept for comparability.
    - ``diameter``: the largest finite distance.
    - ``spectral_radius``: the largest eigenvalue of the adjacency matrix.

    Shapes:
        - **output:** float64 :math:`(G, 3)`

    Example:
        >>> from sekgnn.graphs import cycle_graph
        >>> graph_properties([cycle_graph(5), cycle_graph(6)]).round(9).tolist()
        [[1.0, 2.0, 2.0], [0.0, 3.0, 2.0]]
    """
    out = np.zeros((len(graphs), 3))
    for places, a in same_size_stacks(graphs):
        if a.shape[1] == 0:
            continue
        distance = _distances(a)
        connected = np.isfinite(distance).all((1, 2))
        start = distance[:, 0]  # an edge within one layer closes an odd cycle
        odd = ((start[:, :, None] == start[:, None, :]) & (a > 0)).any((1, 2))
        out[places, 0] = connected & odd
        out[places, 1] = _finite(distance).max((1, 2))
        out[places, 2] = np.linalg.eigvalsh(a)[:, -1]
    return out


def node_properties(
    graphs: Sequence[Graph], features: NDArray[np.floating]
) -> NDArray[np.float64]:
    """Return ``NODE_PROPERTIES`` of every node of every graph, one after the other.

    - ``sssp``: distance to the source, 0 where it cannot be reached.
    - ``eccentricity``: the largest finite distance to another node.
    - ``laplacian_features``: (D - A) times the node's value.

    Args:
        graphs: The graphs.
        features: Per node, whether it is its graph's source, and its value; ``[N, 2]``.

    Shapes:
        - **output:** float64 :math:`(N, 3)`

    Raises:
        GraphInputError: If ``features`` has another shape.
    """
    sizes = np.array([g.num_nodes for g in graphs], dtype=np.int64)
    ptr = np.concatenate([[0], np.cumsum(sizes)])
    if features.shape != (ptr[-1], 2):
        raise GraphInputError(
            f"features must have shape [{ptr[-1]}, 2], got {list(features.shape)}."
        )
    out = np.zeros((int(ptr[-1]), 3))
    for places, a in same_size_stacks(graphs):
        if a.shape[1] == 0:
            continue
        rows = ptr[places][:, None] + np.arange(a.shape[1])  # [B, n]
        source, value = np.moveaxis(features[rows].astype(np.float64), 2, 0)
        distance = _finite(_distances(a))
        at_source = distance[np.arange(len(a)), source.argmax(1)]
        neighbours = (a @ value[:, :, None])[:, :, 0]
        laplacian = a.sum(2) * value - neighbours
        out[rows] = np.stack([at_source, distance.max(2), laplacian], axis=2)
    return out


def _distances(a: Stack) -> Stack:
    """Return all shortest-path lengths of a stack, infinite where there is no path."""
    reached = np.broadcast_to(np.eye(a.shape[1], dtype=np.bool_), a.shape).copy()
    distance = np.where(reached, 0.0, np.inf)
    frontier = reached.copy()
    step = 0
    while frontier.any():
        step += 1
        frontier = ((frontier.astype(np.float64) @ a) > 0) & ~reached
        distance[frontier] = step
        reached |= frontier
    return distance


def _finite(distance: Stack) -> Stack:
    """Return the distances with 0 where there is no path."""
    return np.where(np.isfinite(distance), distance, 0.0)
