"""Positions that show a graph as one of its nodes sees it: shells on rings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sekgnn.graphs import Graph
from sekgnn.reports.neighbourhoods import neighbour_components


def shells(graph: Graph, centre: int) -> list[list[int]]:
    """Return the nodes at distance 0, 1, 2, ... of ``centre``; unreached ones last.

    The first shell is ordered by the connected parts that it has without the centre,
    so that what is joined stands together.
    """
    known = {centre}
    found = [[centre]]
    while True:
        begins = graph.indptr[found[-1]]
        ends = graph.indptr[np.asarray(found[-1]) + 1]
        reached = [
            int(u)
            for begin, end in zip(begins, ends, strict=True)
            for u in graph.indices[begin:end]
        ]
        shell = [u for u in dict.fromkeys(reached) if u not in known]
        if not shell:
            break
        known.update(shell)
        found.append(shell)
    if len(found) > 1:
        found[1] = [v for part in neighbour_components(graph, centre) for v in part]
    unreached = [v for v in range(graph.num_nodes) if v not in known]
    return found + ([unreached] if unreached else [])


def ring_positions(graph: Graph, centre: int = 0) -> NDArray[np.float64]:
    """Return a place for every node, ``[n, 2]``: the centre, and rings around it.

    Ring k holds the nodes at distance k; from the second on they are sorted by the mean
    direction of their neighbours one ring further in, to cross few edges.
    """
    place = np.zeros((graph.num_nodes, 2))
    rings = shells(graph, centre)
    for k in range(1, len(rings)):
        keys = [_direction(graph, place, rings[k - 1], v) for v in rings[k]]
        nodes = [v for _, v in sorted(zip(keys, rings[k], strict=True))]
        if k == 1:
            nodes = rings[k]
        # from the top, clockwise; later rings turned by half a place
        turn = (np.arange(len(nodes)) + (k > 1) / 2) / len(nodes)
        angle = np.pi / 2 - 2 * np.pi * turn
        place[nodes] = k * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return place


def _direction(
    graph: Graph, place: NDArray[np.float64], inner: list[int], node: int
) -> float:
    """Return where the neighbours in ``inner`` lie, clockwise from the top."""
    near = graph.indices[graph.indptr[node] : graph.indptr[node + 1]]
    x, y = place[np.intersect1d(near, inner)].sum(axis=0)
    return float(np.arctan2(x, y) % (2 * np.pi))
