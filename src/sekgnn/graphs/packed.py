"""Many graphs in one pair of arrays, so that one compiled call serves a dataset.

They are packed from graphs, from one array of edges, or from an ``.npz`` file.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_memory, gib
from sekgnn.errors import GraphInputError
from sekgnn.graphs.cleaning import (
    SelfLoops,
    Undirected,
    check_num_nodes,
    check_rows,
    check_rules,
    check_size,
    check_starts,
    clean_edges,
    edge_array,
    located,
    without_torch,
)
from sekgnn.graphs.graph import CsrGraph, Graph
from sekgnn.graphs.table import read_bytes
from sekgnn.kernel import kernel
from sekgnn.parallel import even_chunks, run_chunks

_GRAPHS = 64  # graphs packed in one chunk
_NPZ_ARRAYS = ("edge_index", "edge_ptr", "node_ptr")
_MOST_UNPACKED = 1 << 28  # bytes up to which any compression is accepted
_MOST_TIMES = 200  # beyond: largest ratio; edges of real graphs compress much less
_TIMES_WORK = 6  # memory to sort and check the arrays, relative to their size

GRAPH_ARRAYS = ("node_ptr", "indptr", "indices")
"""The arrays of packed graphs."""


@dataclass(frozen=True, eq=False)
class PackedGraphs:
    """The disjoint union of G graphs, and the first node of each.

    The arrays are checked in one pass, and are read-only, so that one compiled version
    of a kernel serves all.

    Attributes:
        node_ptr: Graph g owns nodes ``node_ptr[g]:node_ptr[g + 1]``, int64 ``[G + 1]``.
        indptr: Row starts of the union, int64 ``[N + 1]``.
        indices: Neighbours as node numbers of the union, int32 ``[2 M]``.
    """

    node_ptr: NDArray[np.int64]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]

    def __post_init__(self) -> None:
        check_rows(self.node_ptr, self.indptr, self.indices)
        self._hold(self.node_ptr, self.indptr, self.indices)

    def _hold(self, *arrays: NDArray[Any]) -> None:
        for name, array in zip(GRAPH_ARRAYS, arrays, strict=True):
            locked = np.ascontiguousarray(array).view()
            locked.flags.writeable = False
            object.__setattr__(self, name, locked)

    @classmethod
    def over(
        cls,
        node_ptr: NDArray[np.int64],
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
    ) -> PackedGraphs:
        """Return graphs over valid arrays, unchecked; kernels trust them blindly."""
        packed = cls.__new__(cls)
        packed._hold(node_ptr, indptr, indices)
        return packed

    @property
    def csr(self) -> CsrGraph:
        """The union."""
        return CsrGraph(self.indptr, self.indices)

    @property
    def num_graphs(self) -> int:
        """Number of graphs G."""
        return self.node_ptr.size - 1

    @property
    def num_nodes(self) -> int:
        """Number of nodes N of all graphs together."""
        return self.indptr.size - 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of nodes of every graph, int64 ``[G]``."""
        return np.diff(self.node_ptr)

    def graph(self, number: int) -> Graph:
        """Return one of the graphs."""
        begin, end = self.node_ptr[number : number + 2].tolist()
        indptr = self.indptr[begin : end + 1]
        neighbors = self.indices[indptr[0] : indptr[-1]]
        return Graph.over(indptr - indptr[0], neighbors - np.int32(begin))

    def take(
        self, numbers: Sequence[int] | NDArray[np.int64]
    ) -> tuple[PackedGraphs, NDArray[np.int64], NDArray[np.int64]]:
        """Return some graphs by number, with positions of their nodes and ``indices``.

        Example:
            >>> from sekgnn.graphs.families import path_graph
            >>> packed = pack([path_graph(2), path_graph(1), path_graph(3)])
            >>> some, nodes, _ = packed.take([2, 0])
            >>> some.node_ptr.tolist(), nodes.tolist()
            ([0, 3, 5], [3, 4, 5, 0, 1])
        """
        chosen = np.asarray(numbers, dtype=np.int64)
        begin, end = self.node_ptr[chosen], self.node_ptr[chosen + 1]
        first, last = self.indptr[begin], self.indptr[end]
        nodes, entries = _ranges(begin, end), _ranges(first, last)
        degrees = self.indptr[nodes + 1] - self.indptr[nodes]
        node_ptr = np.concatenate([[0], np.cumsum(end - begin)])
        indptr = np.concatenate([[0], np.cumsum(degrees)])
        shift = np.repeat(node_ptr[:-1] - begin, last - first)
        indices = (self.indices[entries] + shift).astype(np.int32)
        return PackedGraphs.over(node_ptr, indptr, indices), nodes, entries

    @staticmethod
    def join(packs: Sequence[PackedGraphs]) -> PackedGraphs:
        """Return the graphs of several packs, one after the other."""
        union = pack(packs)
        starts = zip(packs, union.node_ptr, strict=False)
        node_ptr = [packed.node_ptr[1:] + first for packed, first in starts]
        whole = np.concatenate([np.zeros(1, np.int64), *node_ptr])
        return PackedGraphs.over(whole, union.indptr, union.indices)


def _ranges(begin: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers of all ranges, one range after the other."""
    lengths = end - begin
    before = np.cumsum(lengths) - lengths
    return np.repeat(begin - before, lengths) + np.arange(int(lengths.sum()))


def pack(graphs: Sequence[Graph | PackedGraphs]) -> PackedGraphs:
    """Concatenate ``graphs``; packed graphs count as one graph.

    Raises:
        GraphInputError: If there are 2^31 nodes or more together.

    Example:
        >>> g = Graph.from_edge_index([[0, 1], [1, 0]], 2)
        >>> pack([g, g]).indices.tolist()
        [1, 0, 3, 2]
    """
    node_ptr = np.cumsum([0, *(g.num_nodes for g in graphs)], dtype=np.int64)
    edge_ptr = np.cumsum([0, *(g.indices.size for g in graphs)], dtype=np.int64)
    check_num_nodes(int(node_ptr[-1]))
    if len(graphs) == 1:  # it may be larger than memory
        return PackedGraphs.over(node_ptr, graphs[0].indptr, graphs[0].indices)
    indptr = np.zeros(node_ptr[-1] + 1, dtype=np.int64)
    indices = np.empty(edge_ptr[-1], dtype=np.int32)
    for i, g in enumerate(graphs):
        indptr[node_ptr[i] + 1 : node_ptr[i + 1] + 1] = edge_ptr[i] + g.indptr[1:]
        indices[edge_ptr[i] : edge_ptr[i + 1]] = g.indices + np.int32(node_ptr[i])
    return PackedGraphs.over(node_ptr, indptr, indices)


def whole_graph_ranges(node_ptr: NDArray[np.int64], size: int) -> list[tuple[int, int]]:
    """Cut the nodes into ranges of about ``size`` that cut no graph in two.

    Example:
        >>> whole_graph_ranges(np.array([0, 2, 3, 9, 10]), 3)
        [(0, 3), (3, 9), (9, 10)]
    """
    if 0 < node_ptr[-1] <= size:
        return [(0, int(node_ptr[-1]))]
    marks = np.arange(0, node_ptr[-1] + size, size).clip(max=node_ptr[-1])
    cuts = node_ptr[np.searchsorted(node_ptr, marks)]
    return list(pairwise(np.unique(cuts).tolist()))


def unpack(packed: PackedGraphs) -> list[Graph]:
    """Return the graphs of ``packed`` one by one, the inverse of :func:`pack`."""
    return [packed.graph(number) for number in range(packed.num_graphs)]


def pack_edge_indices(
    edge_index: Any,
    node_ptr: Any,
    edge_ptr: Any,
    *,
    undirected: Undirected = "error",
    loops: SelfLoops = "drop",
    threads: int | None = None,
) -> PackedGraphs:
    """Build a whole dataset from one concatenated ``edge_index``.

    The rules are those of :meth:`Graph.from_edge_index`; messages name the graph.

    Args:
        edge_index: Node pairs of all graphs, ``[2, E]``; the ids are local, graph g's
            run from 0 to ``node_ptr[g + 1] - node_ptr[g] - 1``.
        node_ptr: Graph g has ``node_ptr[g + 1] - node_ptr[g]`` nodes, ``[G + 1]``.
        edge_ptr: Graph g owns columns ``edge_ptr[g]:edge_ptr[g + 1]``, ``[G + 1]``.
        undirected: ``"error"`` or ``"add"`` when a pair lacks its reverse.
        loops: ``"drop"`` (with a warning) or ``"error"``.
        threads: Threads; ``None`` for all usable cores.

    Raises:
        GraphInputError: If shapes, pointers, node ids or symmetry are wrong.

    Example:
        >>> packed = pack_edge_indices(
        ...     [[0, 1, 0, 1], [1, 0, 1, 0]], [0, 2, 5], [0, 2, 4]
        ... )
        >>> packed.indices.tolist()
        [1, 0, 3, 2]
    """
    edges = edge_array(edge_index)
    nodes = _starts("node_ptr", node_ptr)
    columns = _starts("edge_ptr", edge_ptr)
    if nodes.size != columns.size:
        raise GraphInputError(
            f"node_ptr describes {nodes.size - 1} graphs, "
            f"edge_ptr {columns.size - 1}; both need one entry more than graphs."
        )
    if columns[-1] != edges.shape[1]:
        raise GraphInputError(
            f"edge_ptr ends at {columns[-1]}, but edge_index has {edges.shape[1]} "
            "columns; the file or array may be cut short."
        )
    check_rules(undirected, loops)
    packed = _pack_clean(edges, nodes, columns, threads)
    if packed is not None:
        return packed
    graph = np.repeat(np.arange(nodes.size - 1), np.diff(columns))  # [E]
    size = np.diff(nodes)[graph]  # [E]
    outside = (edges < 0) | (edges >= size)
    if outside.any():
        first = int(np.flatnonzero(outside.any(axis=0))[0])
        n = int(size[first])
        raise GraphInputError(
            f"graph {graph[first]}: edge {edges[0, first]} -> {edges[1, first]}, but "
            f"it has {n} nodes; ids are local to each graph and lie in [0, {n})."
        )
    row, col = edges + nodes[:-1][graph]
    return pack_union(row, col, nodes, undirected, loops, stacklevel=4)


def _pack_clean(
    edges: NDArray[np.int64],
    node_ptr: NDArray[np.int64],
    edge_ptr: NDArray[np.int64],
    threads: int | None,
) -> PackedGraphs | None:
    """Pack graphs whose pairs break no rule, or return ``None``."""
    num_nodes = check_num_nodes(int(node_ptr[-1]))
    check_size(num_nodes, edges.shape[1])
    indptr = np.zeros(num_nodes + 1, dtype=np.int64)
    indices = np.empty(edges.shape[1], dtype=np.int32)
    clean = []

    def work(start: int, stop: int) -> None:
        clean.append(
            write_rows(edges, node_ptr, edge_ptr, start, stop, indptr, indices)
        )

    run_chunks(work, even_chunks(node_ptr.size - 1, _GRAPHS), threads)
    return PackedGraphs.over(node_ptr, indptr, indices) if all(clean) else None


@kernel
def write_rows(
    edges: NDArray[np.int64],
    node_ptr: NDArray[np.int64],
    edge_ptr: NDArray[np.int64],
    start: int,
    stop: int,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
) -> bool:
    """Write the rows of graphs ``start..stop - 1``, and return whether they are simple.

    If not (a foreign node, a loop, a duplicate, a pair without its reverse), the rows
    are invalid. The arguments are those of :func:`pack_edge_indices` and the arrays of
    :class:`PackedGraphs`.

    Pairs are sorted by their second node, then appended in this order to the rows of
    the first, so rows are sorted. A pass over sorted rows meets the neighbours of each
    node in order: in a symmetric graph these are its row.
    """
    for g in range(start, stop):
        first, n = node_ptr[g], node_ptr[g + 1] - node_ptr[g]
        low, high = edge_ptr[g], edge_ptr[g + 1]
        leaving, entering = np.zeros(n, np.int64), np.zeros(n, np.int64)
        for e in range(low, high):
            u, v = edges[0, e], edges[1, e]
            if u < 0 or u >= n or v < 0 or v >= n or u == v:
                return False
            leaving[u] += 1
            entering[v] += 1
        rows = np.empty(n + 1, np.int64)
        rows[0] = low
        for v in range(n):
            if leaving[v] != entering[v]:
                return False
            rows[v + 1] = indptr[first + v + 1] = rows[v] + leaving[v]
        sources, free = np.empty(high - low, np.int64), rows.copy()
        for e in range(low, high):
            u, v = edges[0, e], edges[1, e]
            sources[free[v] - low] = u
            free[v] += 1
        free[:] = rows
        for v in range(n):
            for e in range(rows[v], rows[v + 1]):
                u = sources[e - low]
                if free[u] > rows[u] and indices[free[u] - 1] == first + v:
                    return False
                indices[free[u]] = first + v
                free[u] += 1
        free[:] = rows
        for u in range(n):
            for e in range(rows[u], rows[u + 1]):
                v = indices[e] - first
                if indices[free[v]] != first + u:
                    return False
                free[v] += 1
    return True


def pack_union(
    row: NDArray[np.int64],
    col: NDArray[np.int64],
    node_ptr: NDArray[np.int64],
    undirected: Undirected,
    loops: SelfLoops,
    *,
    before: int = 0,
    stacklevel: int = 3,
) -> PackedGraphs:
    """Pack pairs of node numbers of the union, in any order.

    Both nodes of a pair are of one graph, whose nodes ``node_ptr`` ``[G + 1]`` bounds;
    messages count graphs from ``before``. The rest is as for
    :func:`~sekgnn.graphs.cleaning.clean_edges`.
    """

    def describe(node: int) -> tuple[str, str]:
        graph = int(np.searchsorted(node_ptr, node, side="right")) - 1
        return str(node - int(node_ptr[graph])), f" of graph {before + graph}"

    indptr, indices = clean_edges(
        row,
        col,
        check_num_nodes(int(node_ptr[-1])),
        undirected=undirected,
        loops=loops,
        describe=describe,
        stacklevel=stacklevel,
    )
    return PackedGraphs.over(node_ptr, indptr, indices)


def _starts(name: str, values: Any) -> NDArray[np.int64]:
    """Return a user's row starts as an int64 array, or raise."""
    array = np.asarray(without_torch(values))
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "iu":
        raise GraphInputError(
            f"{name} must be a list of integers with one entry more than graphs, "
            f"got {array.dtype} of shape {list(array.shape)}."
        )
    array = array.astype(np.int64)
    check_starts(name, array, int(array[-1]))
    return array


def read_npz(
    path: str | Path,
    *,
    undirected: Undirected = "error",
    loops: SelfLoops = "drop",
) -> list[Graph]:
    """Read the graphs of an ``.npz`` file.

    The arrays are those of :func:`~sekgnn.graphs.pack_edge_indices`: ``edge_index``,
    ``edge_ptr`` and ``node_ptr``. Others are ignored.

    Raises:
        GraphInputError: If the file is damaged, or an array missing or malformed.
    """
    arrays = _load(path)
    with located(path):
        packed = pack_edge_indices(
            arrays["edge_index"],
            arrays["node_ptr"],
            arrays["edge_ptr"],
            undirected=undirected,
            loops=loops,
        )
    return unpack(packed)


def _load(path: str | Path) -> dict[str, NDArray[Any]]:
    """Return the three arrays."""
    content = io.BytesIO(read_bytes(path))
    try:
        file = np.load(content, allow_pickle=False)
        names = list(getattr(file, "files", ()))  # none in a plain array
        if all(key in names for key in _NPZ_ARRAYS):
            _check_sizes(file)
            return {key: file[key] for key in _NPZ_ARRAYS}
    except GraphInputError as error:
        raise GraphInputError(f"{path}: {error}") from None
    except Exception as error:  # numpy and zipfile raise anything on damaged bytes
        raise GraphInputError(
            f"{path} is not a readable .npz file ({error}); it may be cut short."
        ) from error
    missing = ", ".join(key for key in _NPZ_ARRAYS if key not in names)
    raise GraphInputError(
        f"{path} lacks {missing}; it holds {', '.join(names) or 'no named arrays'}."
    )


def _check_sizes(file: Any) -> None:
    """Refuse arrays that would fill the memory, before they are unpacked."""
    members = [file.zip.getinfo(f"{key}.npy") for key in _NPZ_ARRAYS]
    unpacked = sum(member.file_size for member in members)
    stored = sum(member.compress_size for member in members)
    if unpacked > _MOST_UNPACKED and unpacked > _MOST_TIMES * stored:
        raise GraphInputError(
            f"its arrays take {gib(unpacked)} unpacked, {unpacked // max(1, stored)} "
            "times as much as in the file; if that is intended, save them with "
            "numpy.savez, which does not compress."
        )
    check_memory(_TIMES_WORK * unpacked, "reading its arrays")
