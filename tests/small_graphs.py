"""Small graphs that many tests share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

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


def write_npz(path: Path, graphs: Sequence[Graph]) -> None:
    """Write graphs as :func:`~sekgnn.graphs.read_graphs` reads them from ``.npz``."""
    edges = [np.zeros((2, 0), np.int64), *(g.edge_index() for g in graphs)]
    with path.open("wb") as file:
        np.savez(
            file,
            edge_index=np.concatenate(edges, axis=1),
            edge_ptr=np.cumsum([e.shape[1] for e in edges]),
            node_ptr=np.cumsum([0, *(g.num_nodes for g in graphs)]),
        )
