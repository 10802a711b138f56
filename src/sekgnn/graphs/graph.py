"""The one graph type of the library: small, immutable, CSR in numpy arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import require
from sekgnn.errors import GraphInputError
from sekgnn.graphs.cleaning import (
    SelfLoops,
    Undirected,
    check_ids,
    check_num_nodes,
    check_rows,
    clean_edges,
    edge_array,
    located,
    without_torch,
)

if TYPE_CHECKING:
    import networkx as nx
    import scipy.sparse as sp

IntArray = NDArray[np.integer[Any]]
Labels = NDArray[np.int64] | None
_ARRAYS = ("indptr", "indices", "node_labels", "edge_labels")
_NO_NAMES: Mapping[int, str] = MappingProxyType({})


class CsrGraph(NamedTuple):
    """A graph for kernels: neighbours in compressed sparse rows."""

    indptr: NDArray[np.int64]  # row starts, [n + 1]
    indices: NDArray[np.int32]  # neighbours


class Graph:
    """A simple undirected graph :math:`G = (V, E)` in compressed sparse rows.

    Node ``v``'s neighbours are ``indices[indptr[v]:indptr[v + 1]]``, int32 and sorted;
    every edge is stored in both directions. The arrays are read-only.

    Build one with :meth:`from_edge_index` or the functions of :mod:`sekgnn.graphs`
    (``from_networkx``, ``from_pyg``, ...); this constructor takes arrays in that form,
    and checks them in one pass.

    Nodes, edges, both or neither may carry labels, for tests that respect them; a
    :class:`~sekgnn.graphs.LabelledGraph` is made with labels.

    Attributes:
        indptr: Row starts, int64 ``[n + 1]``.
        indices: Neighbours, int32 ``[2 m]``.
        node_labels: One label per node, int64 ``[n]``, or ``None``.
        edge_labels: One label per entry of ``indices``, int64 ``[2 m]``, or ``None``.
        label_names: Names of node labels; not part of the graph's value.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    node_labels: Labels
    edge_labels: Labels
    label_names: Mapping[int, str]

    def __init__(self, indptr: IntArray, indices: IntArray) -> None:
        """Copy the arrays, check them and forbid writing to them."""
        ptr, idx = np.array(indptr), np.array(indices)
        for name, kind, array in (("indptr", "int64", ptr), ("indices", "int32", idx)):
            whole = not array.size or array.dtype.kind in "iu"
            if not whole or (array != array.astype(kind)).any():
                raise GraphInputError(f"{name} must hold integers that fit {kind}.")
        rows, entries = ptr.astype(np.int64), idx.astype(np.int32)
        with located("no rows of a graph; for edges see Graph.from_edge_index"):
            check_rows(np.array([0, rows.size - 1]), rows, entries)
        self._hold(rows, entries)

    def _hold(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        node_labels: Labels = None,
        edge_labels: Labels = None,
        label_names: Mapping[int, str] = _NO_NAMES,
    ) -> None:
        arrays = indptr, indices, node_labels, edge_labels
        for name, array in zip(_ARRAYS, arrays, strict=True):
            view = None if array is None else array.view()
            if view is not None:
                view.flags.writeable = False
            object.__setattr__(self, name, view)
        names = MappingProxyType(dict(label_names))
        object.__setattr__(self, "label_names", names)

    @classmethod
    def over(
        cls,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        node_labels: Labels = None,
        edge_labels: Labels = None,
        label_names: Mapping[int, str] = _NO_NAMES,
    ) -> Graph:
        """Return a graph over existing arrays, such as those of a mapped file.

        Nothing is copied or checked: the arrays must be those of a graph, and nobody
        may write to them. Kernels trust them blindly.
        """
        graph = Graph.__new__(Graph)
        graph._hold(indptr, indices, node_labels, edge_labels, label_names)
        return graph

    def __setattr__(self, name: str, value: object) -> None:
        kind = type(self).__name__
        raise AttributeError(f"{kind} is immutable; cannot set {name!r}.")

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
        if edges.size:
            check_ids(int(edges.min()), int(edges.max()), n)
        row, col = edges
        return cls.over(*clean_edges(row, col, n, undirected=undirected, loops=loops))

    @property
    def csr(self) -> CsrGraph:
        """The arrays together."""
        return CsrGraph(self.indptr, self.indices)

    @property
    def graph(self) -> Graph:
        """The structure alone, without labels."""
        return Graph.over(self.indptr, self.indices)

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
        """Return the graph in which node ``v``, with its label, becomes ``perm[v]``.

        Raises:
            GraphInputError: If ``perm`` is not a permutation of the nodes.
        """
        new = np.asarray(perm, dtype=np.int64).reshape(-1)
        if not np.array_equal(np.sort(new), np.arange(self.num_nodes)):
            raise GraphInputError(
                f"perm must hold each of 0..{self.num_nodes - 1} exactly once."
            )
        return self._renamed(new, np.argsort(new))

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
        new = np.full(self.num_nodes, -1, dtype=np.int64)
        new[chosen] = np.arange(chosen.size)
        return self._renamed(new, chosen)

    def _renamed(self, new: NDArray[np.int64], old: NDArray[np.int64]) -> Graph:
        """Return the graph whose node ``new[v]`` is v, and whose node i is ``old[i]``.

        Nodes that get the number -1 are left out.
        """
        row, col = new[self.edge_index()]
        order = np.lexsort((col, row))
        order = order[(row[order] >= 0) & (col[order] >= 0)]
        indptr = np.zeros(old.size + 1, dtype=np.int64)
        np.cumsum(np.bincount(row[order], minlength=old.size), out=indptr[1:])
        nodes, edges = self.node_labels, self.edge_labels
        return Graph.over(
            indptr,
            col[order].astype(np.int32),
            None if nodes is None else nodes[old],
            None if edges is None else edges[order],
            self.label_names,
        )

    def disjoint_union(self, other: Graph) -> Graph:
        """Return this graph beside ``other``, whose nodes follow.

        Raises:
            GraphInputError: If only one of them carries labels.
        """
        check_num_nodes(self.num_nodes + other.num_nodes)
        both = self, other
        return Graph.over(
            np.concatenate([self.indptr, self.indptr[-1] + other.indptr[1:]]),
            np.concatenate([self.indices, other.indices + np.int32(self.num_nodes)]),
            join_labels("node", [g.node_labels for g in both]),
            join_labels("edge", [g.edge_labels for g in both]),
            {**self.label_names, **other.label_names},
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
        """Return the SHA-256 of the structure, the same on any machine."""
        digest = hashlib.sha256(b"sekgnn.Graph.1")
        digest.update(self.indptr.astype("<i8").tobytes())
        digest.update(self.indices.astype("<i4").tobytes())
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        """Equal nodes, edges and labels under the same names (not isomorphism)."""
        if not isinstance(other, Graph):
            return NotImplemented
        return all(
            b is None if a is None else b is not None and np.array_equal(a, b)
            for a, b in zip(self._arrays(), other._arrays(), strict=True)
        )

    def __hash__(self) -> int:
        return hash(tuple(a is None or a.tobytes() for a in self._arrays()))

    def _arrays(self) -> tuple[NDArray[Any] | None, ...]:
        return tuple(getattr(self, name) for name in _ARRAYS)

    def __reduce__(self) -> tuple[Callable[..., Graph], tuple[Any, ...]]:
        """Pickle by value."""
        return Graph.over, (*self._arrays(), dict(self.label_names))

    def __repr__(self) -> str:
        labels = [f", {n}=True" for n in _ARRAYS[2:] if getattr(self, n) is not None]
        counts = f"num_nodes={self.num_nodes}, num_edges={self.num_edges}"
        return f"Graph({counts}{''.join(labels)})"


def join_labels(what: str, labels: Sequence[Labels]) -> Labels:
    """Concatenate the labels of all graphs; ``None`` if none has any.

    Raises:
        GraphInputError: If some of them carry labels and others do not.
    """
    present = [array for array in labels if array is not None]
    if not present:
        return None
    if len(present) < len(labels):
        has = next(i for i, array in enumerate(labels) if array is not None)
        lacks = next(i for i, array in enumerate(labels) if array is None)
        raise GraphInputError(
            f"graph {has} has {what} labels, but graph {lacks} has none; label all "
            "graphs or none."
        )
    return np.concatenate(present)


class LabelledGraph(Graph):
    """The :class:`Graph` of a structure and labels of its nodes, edges, or both.

    Labels are compared, never ordered or added. Integers stand for themselves; anything
    else (text, floats, rows of features) is replaced by 64 bits of its BLAKE2b digest,
    the same on every machine.

    Args:
        graph: The structure; its own labels are dropped.
        node_labels: One label, or one row of numbers, per node; kept as int64 ``[n]``.
            ``None`` for none.
        edge_labels: One label per entry of ``graph.indices``, both directions of an
            edge alike; or a mapping ``{(u, v): label}`` that names each edge in at
            least one direction; kept as int64 ``[2 m]``. ``None`` for none.
        label_names: Names of node labels, such as ``{6: "C"}``, not part of the graph's
            value; a label that is text is its own name.

    Raises:
        GraphInputError: If a label is missing, or the two directions of an edge differ.

    Example:
        >>> edge = Graph.from_edge_index([[0, 1], [1, 0]], 2)
        >>> LabelledGraph(edge, [6, 8], {(0, 1): 2})
        Graph(num_nodes=2, num_edges=1, node_labels=True, edge_labels=True)
    """

    def __init__(
        self,
        graph: Graph,
        node_labels: Any = None,
        edge_labels: Any = None,
        label_names: Mapping[int, str] | None = None,
    ) -> None:
        nodes = None if node_labels is None else as_labels("node_labels", node_labels)
        if nodes is not None and nodes.size != graph.num_nodes:
            raise GraphInputError(
                f"node_labels has {nodes.size} entries, but the graph has "
                f"{graph.num_nodes} nodes; give one label per node."
            )
        edges = None if edge_labels is None else _edge_labels(graph, edge_labels)
        names = dict(label_names or {})
        if nodes is not None and nodes.size:
            if isinstance(next(iter(node_labels)), str):
                names |= zip(nodes.tolist(), map(str, node_labels), strict=True)
        self._hold(graph.indptr, graph.indices, nodes, edges, names)


def as_labels(name: str, values: Any) -> NDArray[np.int64]:
    """Return labels as int64 ``[n]``: integers as they are, all else digested.

    Raises:
        GraphInputError: If a label is NaN, an integer too large to be one of a row,
            or not an integer, a string, a number or a row of numbers.

    Example:
        >>> as_labels("labels", [3, 1]).tolist()
        [3, 1]
        >>> as_labels("labels", ["C", "O"]).tolist() == as_labels("l", "CO").tolist()
        True
    """
    values = without_torch(values)
    try:
        array = np.array(list(values) if isinstance(values, str) else values)
    except ValueError as error:
        raise GraphInputError(f"{name} must be rows of one length: {error}") from error
    if array.dtype.kind in "biu" and array.ndim == 1:
        return array.astype(np.int64)
    if array.size == 0:
        return np.zeros(array.shape[0] if array.ndim else 0, dtype=np.int64)
    if array.dtype.kind == "U" and array.ndim == 1:
        # of values, not array: numpy drops zero bytes at the end of a string
        return np.array([_digest(str(v).encode()) for v in values], dtype=np.int64)
    if array.dtype.kind not in "biuf" or array.ndim not in (1, 2):
        raise GraphInputError(
            f"{name} must be integers, strings, numbers or rows of numbers, got "
            f"{array.dtype} of shape {list(array.shape)}."
        )
    if array.dtype.kind in "iu" and (np.abs(array.astype("<f8")) >= 2**53).any():
        raise GraphInputError(
            f"{name} holds integers beyond 2^53 in rows of numbers, which are compared "
            "as floats; give one integer per label instead."
        )
    rows = array.astype("<f8").reshape(array.shape[0], -1) + 0.0  # no negative zero
    if np.isnan(rows).any():
        raise GraphInputError(f"{name} holds NaN, which equals nothing; replace it.")
    return np.array([_digest(row.tobytes()) for row in rows], dtype=np.int64)


def _digest(content: bytes) -> int:
    """Return 64 bits of BLAKE2b as a signed integer."""
    code = hashlib.blake2b(content, digest_size=8).digest()
    return int.from_bytes(code, "little", signed=True)


def _edge_labels(graph: Graph, labels: Any) -> NDArray[np.int64]:
    """Return labels in the order of ``graph.indices``, checked for symmetry."""
    row, col = graph.edge_index()
    if isinstance(labels, Mapping):
        coded = as_labels("edge_labels", list(labels.values()))
        label_of: dict[tuple[int, int], int] = {}
        for (u, v), label in zip(labels, coded.tolist(), strict=True):
            for pair in ((int(u), int(v)), (int(v), int(u))):
                if label_of.setdefault(pair, label) != label:
                    raise GraphInputError(
                        f"edge {u} - {v} has two different labels; an undirected edge "
                        "has one."
                    )
        pairs = list(zip(row.tolist(), col.tolist(), strict=True))
        missing = next((pair for pair in pairs if pair not in label_of), None)
        if missing is not None:
            raise GraphInputError(f"edge {missing[0]} - {missing[1]} has no label.")
        if len(label_of) > len(pairs):
            u, v = min(set(label_of) - set(pairs))
            raise GraphInputError(
                f"there is a label for {u} - {v}, which is not an edge."
            )
        return np.array([label_of[pair] for pair in pairs], dtype=np.int64)
    array = as_labels("edge_labels", labels)
    if array.size != row.size:
        raise GraphInputError(
            f"edge_labels has {array.size} entries, but the graph stores {row.size} "
            "directed edges; give one label per entry of graph.indices."
        )
    reverse = np.lexsort((row, col))  # position of each edge's other direction
    differ = np.flatnonzero(array != array[reverse])
    if differ.size:
        raise GraphInputError(
            f"edge {row[differ[0]]} - {col[differ[0]]} has different labels in its two "
            "directions; an undirected edge has one."
        )
    return array
