"""Small graphs that many tests share."""

from __future__ import annotations

from sekgnn.graphs import Graph, cycle_graph

HEXAGON = cycle_graph(6)
TRIANGLES = cycle_graph(3).disjoint_union(cycle_graph(3))
"""As many nodes and the same degrees as a hexagon: 1-WL sees no difference."""


def empty_graph(num_nodes: int) -> Graph:
    return Graph.from_edge_index([[], []], num_nodes)


def star(leaves: int) -> Graph:
    """Return node 0 with neighbours 1, 2, ..."""
    ends = [[0] * leaves, list(range(1, leaves + 1))]
    return Graph.from_edge_index(ends, leaves + 1, undirected="add")
