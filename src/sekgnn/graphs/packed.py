"""Many graphs in one pair of arrays, so that one compiled call serves a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sekgnn.graphs.graph import Graph


@dataclass(frozen=True, eq=False)
class PackedGraphs:
    """The disjoint union of G graphs, and where each begins.

    Attributes:
        node_ptr: Graph g owns nodes ``node_ptr[g]:node_ptr[g + 1]``, int64 ``[G + 1]``.
        indptr: Row starts of the union, int64 ``[N + 1]``.
        indices: Neighbours as node numbers of the union, int32 ``[2 M]``.
    """

    node_ptr: NDArray[np.int64]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]

    @property
    def num_graphs(self) -> int:
        """Number of graphs G."""
        return self.node_ptr.size - 1

    @property
    def num_nodes(self) -> int:
        """Number of nodes N of all graphs together."""
        return self.indptr.size - 1


def pack(graphs: Sequence[Graph]) -> PackedGraphs:
    """Concatenate ``graphs``.

    Example:
        >>> g = Graph.from_edge_index([[0, 1], [1, 0]], 2)
        >>> pack([g, g]).indices.tolist()
        [1, 0, 3, 2]
    """
    node_ptr = np.zeros(len(graphs) + 1, dtype=np.int64)
    edge_ptr = np.zeros(len(graphs) + 1, dtype=np.int64)
    np.cumsum([g.num_nodes for g in graphs], out=node_ptr[1:])
    np.cumsum([g.indices.size for g in graphs], out=edge_ptr[1:])
    indptr = np.zeros(node_ptr[-1] + 1, dtype=np.int64)
    indices = np.empty(edge_ptr[-1], dtype=np.int32)
    for i, g in enumerate(graphs):
        indptr[node_ptr[i] + 1 : node_ptr[i + 1] + 1] = edge_ptr[i] + g.indptr[1:]
        indices[edge_ptr[i] : edge_ptr[i + 1]] = g.indices + np.int32(node_ptr[i])
    return PackedGraphs(node_ptr, indptr, indices)
