r"""One graph of any size in one file, mapped into memory when it is used.

Packing an edge list takes memory that does not grow with the number of edges. The pairs
are written to a temporary file as integers; counting them gives the row starts. Then,
range by range of nodes, the pairs are read again, and those of the range are put into
their rows, sorted, freed of duplicates and appended.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sekgnn.array_file import ArrayWriter, DamagedFileError, read_arrays
from sekgnn.checks import check_claim, check_memory
from sekgnn.errors import GraphInputError
from sekgnn.files import atomic_path
from sekgnn.graphs.cleaning import (
    SelfLoops,
    Undirected,
    check_ids,
    check_num_nodes,
    check_rows,
    check_rules,
    checked_once,
    located,
    one_way_error,
    report_loops,
)
from sekgnn.graphs.edge_list import EdgeChunks, count_nodes
from sekgnn.graphs.graph import Graph
from sekgnn.kernel import kernel
from sekgnn.parallel import Progress, within

SUFFIX = ".csr"
_ABOUT = {"kind": "graph"}
_NODE = "node/"  # prefix of the names of arrays of nodes, so that they come last

ROWS_BUFFER = 1 << 25
"""Neighbours sorted at a time: 384 MiB."""

_CHUNK = 1 << 21  # pairs read, or rows of arrays copied, at a time


@dataclass(frozen=True, eq=False)
class GraphFile:
    """A graph that is mapped from its file, with arrays of its nodes.

    Attributes:
        graph: The graph; its arrays are read as they are used.
        nodes: Arrays with one row per node, mapped likewise: ``x`` (features), targets
            such as ``y``, ``train_mask``, ``val_mask``, ``test_mask``, ...
        fingerprint: SHA-256 of the content.
    """

    path: Path
    graph: Graph
    nodes: Mapping[str, NDArray[Any]]
    fingerprint: str


def read_graph_file(path: str | Path, *, check: bool = True) -> GraphFile:
    """Return the graph in a file of :func:`pack_edge_list`.

    Its rows are checked when the file is first read; with ``check`` all bytes are
    compared with their digest, too, at half a second per GiB.

    Raises:
        GraphInputError: If there is no such file, or it is damaged.
    """
    try:
        header, arrays = read_arrays(path, _ABOUT, check=check)
        indptr, indices = arrays.pop("indptr"), arrays.pop("indices")
        nodes = {name.removeprefix(_NODE): array for name, array in arrays.items()}
        checked_arrays(nodes, indptr.size - 1)
        whole = np.array([0, indptr.size - 1])
        checked_once(Path(path), lambda: check_rows(whole, indptr, indices))
    except FileNotFoundError:
        raise GraphInputError(f"{path} does not exist; check the path.") from None
    except (DamagedFileError, KeyError, GraphInputError) as error:
        raise GraphInputError(
            f"{path} is not a usable graph file, {str(error).rstrip('.')}; pack it "
            "again with sekgnn graph pack."
        ) from None
    return GraphFile(Path(path), Graph.over(indptr, indices), nodes, header["sha256"])


def pack_edge_list(
    source: str | Path,
    output: str | Path,
    *,
    arrays: Mapping[str, ArrayLike] | None = None,
    num_nodes: int | None = None,
    undirected: Undirected = "error",
    loops: SelfLoops = "drop",
    progress: Progress | None = None,
) -> GraphFile:
    """Make a graph file of an edge list of any length.

    Memory is 24 bytes per node and about half a GiB, whatever the number of edges; the
    disk of ``output`` needs room for 8 bytes per line besides the file itself, which
    takes 8 bytes per edge and per node.

    Args:
        source: Two ids per line, as :func:`~sekgnn.graphs.read_graphs` reads them.
        output: The file to write; it appears when it is complete.
        arrays: Arrays with one row per node, by name.
        num_nodes: Number of nodes; by default that of a line ``# nodes: N``, or else of
            the arrays, or else the largest id plus one.
        undirected: ``"error"``, or ``"add"`` the reverse of edges listed once.
        loops: ``"drop"`` (with a warning) or ``"error"``.
        progress: Called with (done, total) units of work.

    Raises:
        GraphInputError: If a line is malformed (named in the message), a rule is broken
            or an array does not fit.
        OutputError: If the disk is full or the file cannot be written.
    """
    chunks = EdgeChunks(source, within(progress, 0, 50, 100))
    node_arrays = checked_arrays(arrays or {}, None)
    with _Pairs(Path(output), loops) as pairs:
        for chunk in chunks:
            pairs.add(chunk)
        counts = [num_nodes, chunks.num_nodes, *map(len, node_arrays.values())]
        n = count_nodes(source, counts, chunks.largest)
        with located(source):
            pairs.write(n, node_arrays, undirected, within(progress, 50, 50, 100))
    return read_graph_file(output, check=False)


def pack_pairs(
    chunks: Iterable[NDArray[np.integer[Any]]],
    num_nodes: int,
    output: str | Path,
    *,
    arrays: Mapping[str, ArrayLike] | None = None,
    undirected: Undirected = "error",
    loops: SelfLoops = "drop",
) -> GraphFile:
    """Make a graph file of node pairs, in chunks ``[E, 2]``.

    The rest is as for :func:`pack_edge_list`.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     pairs = [np.array([[0, 1], [1, 2]])]
        ...     pack_pairs(pairs, 4, f"{folder}/g.csr", undirected="add").graph
        Graph(num_nodes=4, num_edges=2)
    """
    n = check_num_nodes(num_nodes)
    node_arrays = checked_arrays(arrays or {}, n)
    with _Pairs(Path(output), loops) as pairs:
        for chunk in chunks:
            if chunk.size:
                check_ids(int(chunk.min()), int(chunk.max()), n)
            pairs.add(chunk.astype(np.int32, copy=False))
        pairs.write(n, node_arrays, undirected, None)
    return read_graph_file(output, check=False)


def checked_arrays(
    arrays: Mapping[str, ArrayLike], num_nodes: int | None
) -> dict[str, NDArray[Any]]:
    """Return arrays of numbers with one row per node, or refuse them."""
    out = {}
    for name, values in arrays.items():
        array = np.asanyarray(values)
        if array.ndim == 0 or array.dtype.kind not in "biuf":
            raise GraphInputError(
                f"array {name!r} must hold numbers, one row per node, got "
                f"{array.dtype} of shape {list(array.shape)}."
            )
        if num_nodes is not None and len(array) != num_nodes:
            raise GraphInputError(
                f"array {name!r} has {len(array)} rows, but the graph has {num_nodes} "
                "nodes; one row per node is needed."
            )
        out[name] = array
    return out


class _Pairs:
    """Node pairs in a temporary file beside the graph file made from them."""

    def __init__(self, output: Path, loops: SelfLoops) -> None:
        check_rules("add", loops)
        self.output, self.loops = output, loops
        self.count, self.num_loops, self.first_loop = 0, 0, -1
        self._stack = atomic_path(output)  # raises at once if it cannot be written

    def __enter__(self) -> _Pairs:
        self.draft = self._stack.__enter__()
        self.file: IO[bytes] = TemporaryFile(dir=self.output.absolute().parent)
        return self

    def __exit__(self, *error: Any) -> None:
        with suppress(OSError):  # a failed write was reported already
            self.file.close()
        self._stack.__exit__(*error)

    def add(self, pairs: NDArray[np.int32]) -> None:
        """Append pairs ``[E, 2]``, without loops."""
        looped = pairs[:, 0] == pairs[:, 1]
        if looped.any():
            if not self.num_loops:
                self.first_loop = int(pairs[looped][0, 0])
            self.num_loops += int(looped.sum())
            pairs = pairs[~looped]
        self.file.write(np.ascontiguousarray(pairs, np.int32).data)
        self.count += len(pairs)

    def _read(self) -> Iterator[NDArray[np.int32]]:
        self.file.seek(0)
        while content := self.file.read(8 * _CHUNK):
            yield np.frombuffer(content, np.int32).reshape(-1, 2)

    def write(
        self,
        num_nodes: int,
        arrays: Mapping[str, NDArray[Any]],
        undirected: Undirected,
        progress: Progress | None,
    ) -> None:
        """Write the graph file."""
        check_rules(undirected, self.loops)
        check_claim(num_nodes, "nodes", self.count, "edges", spare=1 << 24)
        check_memory(24 * num_nodes + 12 * ROWS_BUFFER, "packing the graph")
        if self.num_loops:
            report_loops(self.num_loops, str(self.first_loop), self.loops, 5)
        self.file.flush()
        starts = np.zeros(num_nodes + 1, dtype=np.int64)
        for pairs in self._read():
            count_ends(pairs, starts)
        np.cumsum(starts, out=starts)
        indptr = np.zeros(num_nodes + 1, dtype=np.int64)

        def rows() -> Iterator[NDArray[np.int32]]:
            low = 0
            while low < num_nodes:
                fits = np.searchsorted(starts, starts[low] + ROWS_BUFFER, "right") - 1
                high = min(max(int(fits), low + 1), num_nodes)
                yield self._rows(starts[low : high + 1], low, undirected, indptr)
                low = high
                if progress is not None:
                    progress(low, num_nodes)

        with self.draft.open("wb") as file:
            writer = ArrayWriter(file)
            writer.add("indices", np.int32, rows())
            np.cumsum(indptr, out=indptr)
            writer.add("indptr", np.int64, [indptr])
            for name, array in sorted(arrays.items()):
                kind = np.float32 if array.dtype == np.float16 else array.dtype
                pieces = (array[i : i + _CHUNK] for i in range(0, num_nodes, _CHUNK))
                writer.add(_NODE + name, kind, pieces, array.shape[1:])
            writer.finish(_ABOUT)

    def _rows(
        self,
        offsets: NDArray[np.int64],
        low: int,
        undirected: Undirected,
        indptr: NDArray[np.int64],
    ) -> NDArray[np.int32]:
        """Return the rows of a range of nodes; write their sizes to ``indptr``."""
        starts = offsets - offsets[0]
        ends = starts[:-1].copy()
        entries = np.empty(starts[-1], dtype=np.int64)
        for pairs in self._read():
            put_ends(pairs, low, ends, entries)
        out = np.empty(entries.size, dtype=np.int32)
        strict = undirected == "error"
        filled, node, lacks = settle_rows(starts, entries, strict, low, indptr, out)
        if node >= 0:
            u, v = (node, lacks >> 1) if lacks & 1 == 0 else (lacks >> 1, node)
            raise one_way_error("some", str(u), str(v))
        return out[:filled]


@kernel
def count_ends(pairs: NDArray[np.int32], counts: NDArray[np.int64]) -> None:
    """Add 1 to ``counts[v + 1]`` for both ends v of every pair."""
    for i in range(pairs.shape[0]):
        counts[pairs[i, 0] + 1] += 1
        counts[pairs[i, 1] + 1] += 1


@kernel
def put_ends(
    pairs: NDArray[np.int32],
    low: int,
    ends: NDArray[np.int64],
    entries: NDArray[np.int64],
) -> None:
    """Append neighbours to the rows of nodes from ``low`` on, which end at ``ends``.

    The entry is ``2 v`` if the pair leads to v, and ``2 v + 1`` if it leads back.
    """
    for i in range(pairs.shape[0]):
        for end in range(2):
            node = pairs[i, end] - low
            if 0 <= node < ends.size:
                entries[ends[node]] = 2 * np.int64(pairs[i, 1 - end]) + end
                ends[node] += 1


@kernel
def settle_rows(
    starts: NDArray[np.int64],
    entries: NDArray[np.int64],
    strict: bool,
    low: int,
    indptr: NDArray[np.int64],
    out: NDArray[np.int32],
) -> tuple[int, int, int]:
    """Sort rows of entries of :func:`put_ends` and drop duplicates.

    Rows begin at ``starts``, ``[R + 1]``; the first is that of the node ``low``.
    ``out`` receives them, and ``indptr[v + 1]`` the size of the row of v.

    Returns:
        The number of neighbours, and with ``strict`` the first node and entry without
        their reverse; -1 if there are none.
    """
    filled = 0
    for r in range(starts.size - 1):
        row = entries[starts[r] : starts[r + 1]]
        row.sort()
        first = filled
        i = 0
        while i < row.size:
            entry, last = row[i], row[i]
            while i < row.size and row[i] >> 1 == entry >> 1:
                last = row[i]
                i += 1
            if strict and last == entry:
                return filled, low + r, entry
            out[filled] = entry >> 1
            filled += 1
        indptr[low + r + 1] = filled - first
    return filled, -1, -1


def load_arrays(paths: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Return arrays named on a command line: ``FILE.npz`` or ``NAME=FILE.npy``."""
    out: dict[str, NDArray[Any]] = {}
    for text in paths:
        name, named, path = text.rpartition("=")
        try:
            if not named and not os.path.exists(path):
                raise FileNotFoundError(path)
            plain = path.endswith(".npy")
            loaded = np.load(path, mmap_mode="r" if plain else None, allow_pickle=False)
            content = {name: loaded} if isinstance(loaded, np.ndarray) else dict(loaded)
        except FileNotFoundError:
            raise GraphInputError(f"{path} does not exist; check the path.") from None
        except Exception as error:  # numpy and zipfile raise anything on damaged bytes
            raise GraphInputError(f"{path} cannot be read ({error}).") from error
        if "" in content or (named and len(content) > 1):
            raise GraphInputError(
                f"{text!r} is not understood; give NAME=FILE.npy, such as x={path}, or "
                "FILE.npz, whose arrays have names."
            )
        for key, array in content.items():
            if key in out:
                raise GraphInputError(f"array {key!r} is given twice.")
            out[key] = array
    return out
