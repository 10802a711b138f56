"""The recursion of the graph neural tangent kernel, compiled."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sekgnn.graphs.graph import CsrGraph
from sekgnn.kernel import kernel


@kernel
def sum_neighbours(
    graph: CsrGraph,
    scale: NDArray[np.float64],
    first: int,
    second: int,
    values: NDArray[np.float64],
    rows: NDArray[np.float64],
) -> None:
    r"""Replace values by :math:`c_u c_w \sum_{v \in u \cup N(u), z \in w \cup N(w)}`.

    ``values`` and the workspace ``rows`` are ``[n, m]``; node 0 of the rows is node
    ``first`` of ``graph``, that of the columns is ``second``.
    """
    n, m = values.shape
    for u in range(n):
        for w in range(m):
            rows[u, w] = values[u, w]
        for e in range(graph.indptr[first + u], graph.indptr[first + u + 1]):
            v = graph.indices[e] - first
            for w in range(m):
                rows[u, w] += values[v, w]
    for u in range(n):
        for w in range(m):
            total = rows[u, w]
            for e in range(graph.indptr[second + w], graph.indptr[second + w + 1]):
                total += rows[u, graph.indices[e] - second]
            values[u, w] = total * scale[first + u] * scale[second + w]


@kernel
def tangent_pair(
    graph: CsrGraph,
    scale: NDArray[np.float64],
    x: NDArray[np.float64],
    node_ptr: NDArray[np.int64],
    i: int,
    j: int,
    layers: int,
    spread: NDArray[np.float64],
    space: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    r"""Write :math:`\sum_{u, w} \Theta^{(\ell)}` of graphs i and j for every block.

    Args:
        graph: The union of all graphs.
        scale: c of every node, ``[N]``.
        x: Features, ``[N, F]``.
        node_ptr: Where graphs begin, ``[G + 1]``.
        i: A graph.
        j: Another; if it is the same, its part of ``spread`` is found and written.
        layers: R, of the perceptron of a block.
        spread: :math:`\sqrt{\Sigma(u, u)}` before every layer, ``[B R, N]``.
        space: Workspace, ``[3, >= n m]``.
        out: ``[B + 1]``; the first is the sum of :math:`x_u \cdot x_w`.
    """
    a, b = node_ptr[i], node_ptr[j]
    n, m = node_ptr[i + 1] - a, node_ptr[j + 1] - b
    sigma = space[0, : n * m].reshape((n, m))
    theta = space[1, : n * m].reshape((n, m))
    rows = space[2, : n * m].reshape((n, m))
    total = 0.0
    for u in range(n):
        for w in range(m):
            dot = 0.0
            for f in range(x.shape[1]):
                dot += x[a + u, f] * x[b + w, f]
            sigma[u, w] = dot
            total += dot
    out[0] = total
    for block in range(out.size - 1):
        sum_neighbours(graph, scale, a, b, sigma, rows)
        if block == 0:
            theta[:] = sigma
        else:
            sum_neighbours(graph, scale, a, b, theta, rows)
        for layer in range(layers):
            stage = block * layers + layer
            if i == j:
                for u in range(n):
                    spread[stage, a + u] = math.sqrt(max(sigma[u, u], 0.0))
            for u in range(n):
                for w in range(m):
                    size = spread[stage, a + u] * spread[stage, b + w]
                    s = sigma[u, w] / size if size > 0 else 0.0
                    s = min(max(s, -1.0), 1.0)
                    share = 1.0 - math.acos(s) / math.pi
                    value = (s * share + math.sqrt(1.0 - s * s) / math.pi) * size
                    sigma[u, w] = value
                    theta[u, w] = theta[u, w] * share + value
        total = 0.0
        for u in range(n):
            for w in range(m):
                total += theta[u, w]
        out[block + 1] = total


@kernel
def tangent_pairs(
    graph: CsrGraph,
    scale: NDArray[np.float64],
    x: NDArray[np.float64],
    node_ptr: NDArray[np.int64],
    layers: int,
    spread: NDArray[np.float64],
    pairs: NDArray[np.int64],
    start: int,
    stop: int,
    out: NDArray[np.float64],
) -> None:
    """Write the values of the graphs of pairs ``start..stop - 1``.

    ``pairs`` is ``[P, 2]``, ``out`` is ``[P, B + 1]``; every graph is paired with
    itself in an earlier call. The rest is as for :func:`tangent_pair`.
    """
    largest = 0
    for g in range(node_ptr.size - 1):
        largest = max(largest, node_ptr[g + 1] - node_ptr[g])
    space = np.empty((3, largest * largest))
    for p in range(start, stop):
        i, j = pairs[p, 0], pairs[p, 1]
        tangent_pair(graph, scale, x, node_ptr, i, j, layers, spread, space, out[p])
