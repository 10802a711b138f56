"""The one graph type of the library: small, immutable, CSR in numpy arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sekgnn.errors import GraphInputError
from sekgnn.graphs.cleaning import (
    SelfLoops,
    Undirected,
    check_num_nodes,
    clean_edges,
    edge_array,
)
from sekgnn.graphs.extras import require
from sekgnn.graphs.row_check import check_rows

if TYPE_CHECKING:
    import networkx as nx
    import scipy.sparse as sp

IntArray = NDArray[np.integer[Any]]


class CsrGraph(NamedTuple):
    """A graph as kernels take it: neighbours in compressed sparse rows."""

    indptr: NDArray[np.int64]  # row starts, [n + 1]
    indices: NDArray[np.int32]  # neighbours


class Graph:
    """A simple undirected graph :math:`G = (V, E)` in compressed sparse rows.

    Node ``v``'s neighbours are ``indices[indptr[v]:indptr[v + 1]]``, int32 and sorted;
    every edge is stored in both directions. The arrays cannot be written to.

    Build one with :meth:`from_edge_index` or the functions of :mod:`sekgnn.graphs`
    (``from_networkx``, ``from_pyg``, ...); this constructor takes arrays that are
    already in that form, which it checks in one pass.
    """

    __slots__ = ("indices", "indptr")

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]

    def __init__(self, indptr: IntArray, indices: IntArray) -> None:
        """Copy the arrays, check them and forbid writing to them."""
        ptr, idx = np.array(indptr), np.array(indices)
        for name, kind, array in (("indptr", "int64", ptr), ("indices", "int32", idx)):
            whole = not array.size or array.dtype.kind in "iu"
            if not whole or (array != array.astype(kind)).any():
                raise GraphInputError(f"{name} must hold integers that fit {kind}.")
        rows, entries = ptr.astype(np.int64), idx.astype(np.int32)
        check_rows(np.array([0, rows.size - 1]), rows, entries)
        self._hold(rows, entries)

    def _hold(self, indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> None:
        for name, array in (("indptr", indptr), ("indices", indices)):
            view = array.view()
            view.flags.writeable = False
            object.__setattr__(self, name, view)

    @classmethod
    def over(cls, indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> Graph:
        """Return a graph over arrays as they are, such as those of a mapped file.

        Nothing is copied or checked: they are known to be those of a graph, int64 and
        int32, and nobody may write to them. Kernels trust them blindly.
        """
        graph = cls.__new__(cls)
        graph._hold(indptr, indices)
        return graph

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Graph is immutable; cannot set {name!r}.")

    @classmethod
    def from_edge_index(
        cls,
        edge_index: Any,
        num_nodes: int | None,
        *,
        undirected: Undirected = "error",
        loops: SelfLoops = "drop",
    ) -> Graph:
        """Build a graph from an array of node pairs.

        Duplicate pairs are merged. Self-loops are dropped with a
        :class:`~sekgnn.errors.GraphInputWarning`, or rejected.

        Args:
            edge_index: ``[2, E]``, numpy, torch or nested lists.
            num_nodes: Number of nodes; never guessed, isolated nodes would be lost.
            undirected: What to do when a pair lacks its reverse: ``"error"``, or
                ``"add"`` the missing direction.
            loops: ``"drop"`` or ``"error"``.

        Raises:
            GraphInputError: If shape, dtype, node ids or symmetry are wrong.

        Example:
            >>> Graph.from_edge_index([[0, 1], [1, 2]], 4, undirected="add")
            Graph(num_nodes=4, num_edges=2)
        """
        edges = edge_array(edge_index)
        n = check_num_nodes(num_nodes)
        if edges.size and not 0 <= edges.min() <= edges.max() < n:
            raise GraphInputError(
                f"edge_index holds nodes {edges.min()}..{edges.max()}, but "
                f"num_nodes={n}; node ids must lie in [0, {n})."
            )
        row, col = edges
        return cls.over(*clean_edges(row, col, n, undirected=undirected, loops=loops))

    @property
    def csr(self) -> CsrGraph:
        """The arrays together."""
        return CsrGraph(self.indptr, self.indices)

    @property
    def num_nodes(self) -> int:
        """Number of nodes n."""
        return self.indptr.size - 1

    @property
    def num_edges(self) -> int:
        """Number of undirected edges m."""
        return self.indices.size // 2

    @property
    def degrees(self) -> NDArray[np.int64]:
        """Degree of every node, int64 ``[num_nodes]``."""
        return np.diff(self.indptr)

    def neighbors(self, node: int) -> NDArray[np.int32]:
        """Return the sorted neighbours of ``node``.

        Raises:
            GraphInputError: If there is no such node.
        """
        if not 0 <= node < self.num_nodes:
            raise GraphInputError(f"node {node} is not in [0, {self.num_nodes}).")
        return self.indices[self.indptr[node] : self.indptr[node + 1]]

    def edge_index(self) -> NDArray[np.int64]:
        """Return both directions of every edge, int64 ``[2, 2 * num_edges]``."""
        row = np.repeat(np.arange(self.num_nodes, dtype=np.int64), self.degrees)
        return np.stack([row, self.indices.astype(np.int64)])

    def adjacency(self) -> NDArray[np.int64]:
        """Return the dense 0/1 adjacency matrix, int64 ``[n, n]``."""
        dense = np.zeros((self.num_nodes, self.num_nodes), dtype=np.int64)
        row, col = self.edge_index()
        dense[row, col] = 1
        return dense

    def relabel(self, perm: Sequence[int] | IntArray) -> Graph:
        """Return the graph in which node ``v`` is called ``perm[v]``.

        Raises:
            GraphInputError: If ``perm`` is not a permutation of the nodes.
        """
        new = np.asarray(perm, dtype=np.int64).reshape(-1)
        if not np.array_equal(np.sort(new), np.arange(self.num_nodes)):
            raise GraphInputError(
                f"perm must hold each of 0..{self.num_nodes - 1} exactly once."
            )
        return Graph.from_edge_index(new[self.edge_index()], self.num_nodes)

    def induced(self, nodes: Sequence[int] | IntArray) -> Graph:
        """Return the subgraph induced on ``nodes``; node i of it is ``nodes[i]``.

        Raises:
            GraphInputError: If a node is missing from the graph or listed twice.
        """
        chosen = np.asarray(nodes, dtype=np.int64).reshape(-1)
        if np.unique(chosen).size != chosen.size:
            raise GraphInputError("nodes must not repeat.")
        if chosen.size and not 0 <= chosen.min() <= chosen.max() < self.num_nodes:
            raise GraphInputError(f"nodes must lie in [0, {self.num_nodes}).")
        place = np.full(self.num_nodes, -1, dtype=np.int64)
        place[chosen] = np.arange(chosen.size)
        edges = place[self.edge_index()]
        return Graph.from_edge_index(edges[:, (edges >= 0).all(0)], chosen.size)

    def disjoint_union(self, other: Graph) -> Graph:
        """Return this graph beside ``other``, whose nodes come after this one's."""
        check_num_nodes(self.num_nodes + other.num_nodes)
        return Graph.over(
            np.concatenate([self.indptr, self.indptr[-1] + other.indptr[1:]]),
            np.concatenate([self.indices, other.indices + np.int32(self.num_nodes)]),
        )

    def to_scipy(self) -> sp.csr_array:
        """Return the adjacency matrix as a ``scipy.sparse.csr_array`` of int8 ones."""
        import scipy.sparse as sp

        ones = np.ones(self.indices.size, dtype=np.int8)
        shape = (self.num_nodes, self.num_nodes)
        return sp.csr_array((ones, self.indices.copy(), self.indptr.copy()), shape)

    def to_networkx(self) -> nx.Graph:
        """Return a ``networkx.Graph`` with nodes ``0..n-1``."""
        graph = require("networkx", "dev").Graph()
        graph.add_nodes_from(range(self.num_nodes))
        row, col = self.edge_index()
        graph.add_edges_from(zip(row.tolist(), col.tolist(), strict=True))
        return graph

    def fingerprint(self) -> str:
        """Return the SHA-256 of the arrays, equal for equal graphs on any machine."""
        digest = hashlib.sha256(b"sekgnn.Graph.1")
        digest.update(self.indptr.astype("<i8").tobytes())
        digest.update(self.indices.astype("<i4").tobytes())
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        """Equal nodes and edges under the same names (not isomorphism)."""
        if not isinstance(other, Graph):
            return NotImplemented
        return np.array_equal(self.indptr, other.indptr) and np.array_equal(
            self.indices, other.indices
        )

    def __hash__(self) -> int:
        return hash((self.indptr.tobytes(), self.indices.tobytes()))

    def __reduce__(self) -> tuple[Callable[..., Graph], tuple[IntArray, IntArray]]:
        """Pickle by value."""
        return Graph.over, (self.indptr, self.indices)

    def __repr__(self) -> str:
        return f"Graph(num_nodes={self.num_nodes}, num_edges={self.num_edges})"
