"""Where the nodes of a graph are drawn: distances on paper as in the graph."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sekgnn.graphs.graph import Graph

_ITERATIONS = 150
_STARTS = ((-1, -2), (-1, -3), (-2, -3))


def positions(graph: Graph) -> NDArray[np.float64]:
    r"""Return a place in :math:`[-1, 1]^2` for every node, ``[n, 2]``.

    Minimises :math:`\sum_{i<j} d_{ij}^{-2} (\lVert x_i - x_j\rVert - d_{ij})^2` by
    majorisation (Gansner et al. 2004). Of the results from several axes of the
    classical solution the best is kept; nothing is random, so the same graph always
    gets the same picture. Nodes that cannot reach each other are one further apart than
    any that can.
    """
    from scipy.sparse.csgraph import shortest_path

    n = graph.num_nodes
    if n < 2:
        return np.zeros((n, 2))
    d = shortest_path(graph.to_scipy(), unweighted=True)
    reached = d[np.isfinite(d)]
    d[~np.isfinite(d)] = max(reached.max(), np.sqrt(n) / 2) + 1
    weights = (d + np.eye(n)) ** -2.0 - np.eye(n)
    centred = d**2 - (d**2).mean(axis=0)
    _, axes = np.linalg.eigh(-(centred - centred.mean(axis=1)[:, None]) / 2)
    angle = 2.4 * np.arange(n)  # no two nodes begin in the same place
    apart = 0.1 * np.sqrt(np.arange(n) + 0.5) / np.sqrt(n)
    jitter = (apart * np.stack([np.cos(angle), np.sin(angle)])).T
    starts = [axes[:, list(pair)] for pair in _STARTS if n >= -min(pair)]
    found = [
        _majorised(d, weights, x * np.sqrt(n) * d.max() / 3 + jitter) for x in starts
    ]
    _, x = min(found, key=lambda result: result[0])
    x -= (x.max(axis=0) + x.min(axis=0)) / 2
    return np.asarray(x / max(np.abs(x).max(), 1e-9))


def _majorised(
    d: NDArray[np.float64], weights: NDArray[np.float64], x: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """Return the remaining stress, rounded, and the places."""
    inverse = np.linalg.pinv(np.diag(weights.sum(axis=1)) - weights)
    for _ in range(_ITERATIONS):
        ratio = weights * d / np.maximum(_distances(x), 1e-9)
        np.fill_diagonal(ratio, 0)
        x = inverse @ ((np.diag(ratio.sum(axis=1)) - ratio) @ x)
    return round(float((weights * (_distances(x) - d) ** 2).sum()), 6), x


def _distances(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.linalg.norm(x[:, None] - x[None], axis=2))
