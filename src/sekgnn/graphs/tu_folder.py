"""Folders in the format of the TU Dortmund collection of graph datasets."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_claim, check_memory
from sekgnn.errors import GraphInputError, GraphInputWarning
from sekgnn.graphs.cleaning import located
from sekgnn.graphs.graph import Graph
from sekgnn.graphs.graph_record import NO_NAMES, FeatureNames, GraphRecord
from sekgnn.graphs.packed import pack_union, unpack
from sekgnn.graphs.read_options import DEFAULTS, ReadOptions
from sekgnn.graphs.table import text_lines

IntArray = NDArray[np.int64]
Features = Sequence[NDArray[np.float32] | None]
Names = tuple[str, ...] | None

_FILES: dict[str, tuple[str, type, int]] = {
    # name: objects of the rows, type of the values, columns (0: as the first row)
    "A": ("edges", np.int64, 2),
    "graph_indicator": ("nodes", np.int64, 1),
    "graph_labels": ("graphs", object, 0),
    "graph_attributes": ("graphs", object, 0),
    "node_labels": ("nodes", np.float64, 0),
    "node_attributes": ("nodes", np.float64, 0),
    "edge_labels": ("edges", np.int64, 1),
}
_TARGETS = ("graph_labels", "graph_attributes")  # in order of preference
_VALUES: dict[Any, str] = {
    np.int64: "integer",
    np.float64: "finite number",
    object: "value",
}
_BLOCK = 1 << 14  # rows in memory as text
_PIECE = 1 << 22  # rows of nodes and edges read together, about
_LINE_BYTES = 8  # of a row of edges, about
_ALL = 1 << 62


class _File:
    """Rows of values separated by commas, read a few at a time."""

    def __init__(self, path: Path, dtype: type, columns: int) -> None:
        self.path, self.dtype, self.columns = path, dtype, columns
        self.lines = filter(str.strip, text_lines(path))
        self.first = self.count = 0  # first row of the last read; rows read so far

    def blocks(self, count: int = _ALL) -> Iterator[NDArray[Any]]:
        """Yield the next ``count`` rows, or all that remain, a few at a time."""
        while count and (text := list(islice(self.lines, min(count, _BLOCK)))):
            self.first, self.count = self.count, self.count + len(text)
            yield self._table(text)
            count -= len(text)

    def read(self, count: int = _ALL) -> NDArray[Any]:
        """Return the next ``count`` rows, or all that remain, ``[rows, columns]``."""
        start = self.count
        blocks = list(self.blocks(count))
        self.first = start
        return np.concatenate(blocks) if blocks else np.zeros((0, 1), self.dtype)

    def location(self, row: int) -> str:
        """Return file and line of a row, numbered from the first of the last read."""
        return f"{self.path}, line {self.first + row + 1}"

    def _table(self, text: list[str]) -> NDArray[Any]:
        """Return the values of lines; an error names the one that is wrong."""
        width = self.columns = self.columns or text[0].count(",") + 1
        table = _values(text, self.dtype)
        if table is not None and table.shape[1] == width:
            return table
        expected = f"{width} {_VALUES[self.dtype]}" + "s" * (width > 1)
        for row, line in enumerate(text):
            table = _values([line], self.dtype)
            if table is None or table.shape[1] != width:
                raise GraphInputError(
                    f"{self.location(row)}: a line must hold {expected}, got "
                    f"{line.strip()!r}."
                )
        raise GraphInputError(f"{self.path}: every line must hold {expected}.")


def _values(lines: list[str], dtype: type) -> NDArray[Any] | None:
    """Return a table of values, or ``None`` if a line holds anything else."""
    if dtype is object:
        rows = [[field.strip() for field in line.split(",")] for line in lines]
        alike = len({len(row) for row in rows}) == 1
        return np.array(rows, dtype=object) if alike else None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            table: NDArray[Any] = np.loadtxt(
                lines, dtype, delimiter=",", comments=None, ndmin=2
            )
    except (ValueError, OverflowError, Warning):
        return None
    return table if np.isfinite(table).all() else None


class _Piece(NamedTuple):
    """Consecutive graphs, and their number of rows of edges."""

    start: int
    stop: int
    edges: int


class _Folder:
    """The files of a dataset, read in step."""

    def __init__(self, edge_file: Path) -> None:
        self.edge_file = edge_file
        paths = {name: _path(edge_file, name) for name in _FILES}
        self.files = {
            name: _File(path, *_FILES[name][1:])
            for name, path in paths.items()
            if path.is_file()
        }
        self.node_ptr = _node_ptr(edge_file)
        self.totals = {
            "graphs": self.node_ptr.size - 1,
            "nodes": int(self.node_ptr[-1]),
        }
        self.opened: set[str] = set()
        self.first_node = 0  # of the piece being read

    def read(self, name: str, count: int) -> NDArray[Any]:
        """Return the next ``count`` rows of a file, or raise if it is cut short."""
        self.opened.add(name)
        table = self.files[name].read(count)
        if len(table) < count and _FILES[name][0] in self.totals:
            self._check_count(name)
        return table

    def check_ends(self) -> None:
        """Refuse files with more rows than graphs, nodes or edges."""
        for name in sorted(self.opened):
            self.files[name].count += sum(1 for _ in self.files[name].lines)
            self._check_count(name)

    def _check_count(self, name: str) -> None:
        count, what = self.files[name].count, _FILES[name][0]
        if count != self.totals[what]:
            raise GraphInputError(
                f"{self.files[name].path} has {count} lines for {self.totals[what]} "
                f"{what}; a file is cut short."
            )


def tu_records(
    path: str | Path, options: ReadOptions = DEFAULTS, *, features: bool = True
) -> Iterator[GraphRecord]:
    """Read a TU folder: structure, features and targets.

    ``NAME_A.txt`` holds one edge ``u, v`` per line, nodes numbered from 1 through the
    whole dataset; line v of ``NAME_graph_indicator.txt`` is the graph of node v.
    ``x`` joins the numbers of ``NAME_node_attributes.txt`` and the one-hot labels of
    ``NAME_node_labels.txt``; ``edge_attr`` is the one-hot label of
    ``NAME_edge_labels.txt``. The target ``y`` is ``NAME_graph_labels.txt``; or else the
    targets are the columns of ``NAME_graph_attributes.txt``. Any may be absent.

    Args:
        path: The folder that holds these files, or its parent if they are in ``raw``.
        options: How to read it.
        features: Read features and targets, not only the structure.

    A folder of more than about four million nodes and edges is read in pieces, its
    files in step, so memory does not grow with it; its edges are counted before, and
    its labels collected, since each gets a column of features. If edges are not sorted
    by graph, it is read whole, with a warning.

    Raises:
        GraphInputError: If a file is missing, cut short or malformed, or an edge joins
            two graphs; names file and line.
    """
    folder = _Folder(find_tu_edges(path))
    pieces = _pieces(folder)
    if len(pieces) > 1 and features:
        options = replace(
            options,
            node_labels=_labels(folder, "node_labels", options.node_labels),
            edge_labels=_labels(folder, "edge_labels", options.edge_labels),
        )
    for piece in pieces:
        records = _read(folder, piece, options, features)
        if piece.stop == pieces[-1].stop:
            folder.check_ends()
        yield from records


def _read(
    folder: _Folder, piece: _Piece, options: ReadOptions, features: bool
) -> Iterator[GraphRecord]:
    """Return the records of a piece."""
    graphs, pairs = _structure(folder, piece, options)
    x: Features = [None] * len(graphs)
    edge_attr = x
    targets: list[dict[str, str]] = [{} for _ in graphs]
    names = NO_NAMES
    if features:
        x, node_names = _node_features(folder, graphs, options.node_labels)
        edge_attr, edge_names = _edge_features(
            folder, graphs, pairs, options.edge_labels
        )
        names = FeatureNames(node_names, edge_names)
        targets = _targets(folder, len(graphs))
    elif "graph_labels" in folder.files:  # reveals lost graphs
        folder.read("graph_labels", len(graphs))
    rows = zip(graphs, x, edge_attr, targets, strict=True)
    return (
        GraphRecord(graph, f"graph {i}", i, of_nodes, of_edges, y, names=names)
        for i, (graph, of_nodes, of_edges, y) in enumerate(rows, piece.start + 1)
    )


def tu_target_file(path: str | Path) -> Path | None:
    """Return the file that holds the targets of a TU folder, if there is one."""
    edges = find_tu_edges(path)
    files = (_path(edges, name) for name in _TARGETS)
    return next((file for file in files if file.is_file()), None)


def find_tu_edges(path: str | Path) -> Path:
    """Return the one ``NAME_A.txt`` in ``path`` or ``path/raw``, or raise."""
    folder = Path(path)
    if not folder.is_dir():
        raise GraphInputError(f"{path} is not a folder; check the path.")
    files = sorted(folder.glob("*_A.txt")) or sorted(folder.glob("raw/*_A.txt"))
    if not files:
        raise GraphInputError(
            f"{path} is not a TU folder: neither it nor its subfolder raw holds a file "
            "NAME_A.txt."
        )
    if len(files) > 1:
        names = ", ".join(file.name for file in files)
        raise GraphInputError(f"{path} holds several datasets: {names}; keep one.")
    return files[0]


def _path(edge_file: Path, name: str) -> Path:
    return edge_file.with_name(f"{edge_file.name.removesuffix('_A.txt')}_{name}.txt")


def _node_ptr(edge_file: Path) -> IntArray:
    """Return the first node of every graph, ``[G + 1]``."""
    file = _File(_path(edge_file, "graph_indicator"), np.int64, 1)
    if not file.path.is_file():
        raise GraphInputError(
            f"{file.path} is missing; without it the nodes of {edge_file.name} cannot "
            "be divided into graphs."
        )
    sizes, last = [], 0
    for block in file.blocks():
        graph = block[:, 0] - 1
        if graph[0] < 0:
            raise GraphInputError(f"{file.location(0)}: graphs are numbered from 1.")
        before = np.concatenate([[last], graph[:-1]])
        falls = np.flatnonzero(graph < before)
        if falls.size:
            raise GraphInputError(
                f"{file.location(falls[0])}: graph {graph[falls[0]] + 1} after graph "
                f"{before[falls[0]] + 1}; the nodes of a graph must follow each other."
            )
        last = int(graph[-1])
        if last >= 2**31:
            raise GraphInputError(f"{file.path}: graph number {last + 1} is too large.")
        sizes.append(np.unique(graph, return_counts=True))
    if not sizes:
        raise GraphInputError(f"{file.path} is empty; there are no graphs.")
    with located(file.path):
        check_claim(last + 1, "graphs", file.count, "nodes", 1 << 16)
    node_ptr = np.zeros(last + 2, np.int64)
    for numbers, counts in sizes:
        node_ptr[numbers + 1] += counts
    return np.cumsum(node_ptr, out=node_ptr)


def _pieces(folder: _Folder) -> list[_Piece]:
    """Cut the graphs into pieces of about ``_PIECE`` nodes and edges."""
    node_ptr, count = folder.node_ptr, folder.node_ptr.size - 1
    whole = [_Piece(0, count, _ALL)]
    size = node_ptr[-1] + folder.edge_file.stat().st_size // _LINE_BYTES
    if size <= _PIECE:
        return whole
    edge_ptr, last = np.zeros(count + 1, np.int64), 0
    file = _File(folder.edge_file, np.int64, 2)
    for block in file.blocks():
        owner = _checked_edges(file, block, node_ptr)[1]
        if (np.diff(owner, prepend=last) < 0).any():
            warnings.warn(
                f"{folder.edge_file}: edges are not sorted by graph, so the folder is "
                "read whole; sort the lines, together with those of "
                f"{_path(folder.edge_file, 'edge_labels').name} if there are any.",
                GraphInputWarning,
                stacklevel=4,
            )
            return whole
        last = int(owner[-1])
        numbers, counts = np.unique(owner, return_counts=True)
        edge_ptr[numbers + 1] += counts
    np.cumsum(edge_ptr, out=edge_ptr)
    folder.totals["edges"] = int(edge_ptr[-1])
    piece = (node_ptr + edge_ptr) // _PIECE  # of each graph
    ends = [0, *(np.flatnonzero(piece[1:-1] != piece[:-2]) + 1).tolist(), count]
    return [
        _Piece(start, stop, int(edge_ptr[stop] - edge_ptr[start]))
        for start, stop in pairwise(ends)
    ]


def _checked_edges(
    file: _File, table: IntArray, node_ptr: IntArray
) -> tuple[IntArray, IntArray]:
    """Return the edges with nodes from 0, ``[2, E]``, and their graphs, ``[E]``."""
    edges = table.T - 1
    outside = np.flatnonzero(((edges < 0) | (edges >= node_ptr[-1])).any(axis=0))
    if outside.size:
        u, v = edges[:, outside[0]] + 1
        raise GraphInputError(
            f"{file.location(outside[0])}: edge {u}, {v}, but nodes are numbered from "
            f"1 to {node_ptr[-1]}."
        )
    owner, other = np.searchsorted(node_ptr, edges, side="right") - 1
    across = np.flatnonzero(owner != other)
    if across.size:
        u, v = edges[:, across[0]] + 1
        raise GraphInputError(
            f"{file.location(across[0])}: edge {u}, {v} joins graphs "
            f"{owner[across[0]] + 1} and {other[across[0]] + 1}; an edge must stay in "
            "one graph."
        )
    return edges, owner


def _structure(
    folder: _Folder, piece: _Piece, options: ReadOptions
) -> tuple[list[Graph], IntArray]:
    """Return graphs, and their edges with nodes from 0, ``[2, E]``."""
    first = folder.first_node = int(folder.node_ptr[piece.start])
    table = folder.read("A", piece.edges).reshape(-1, 2)
    edges, _ = _checked_edges(folder.files["A"], table, folder.node_ptr)
    pairs = edges - first
    folder.totals.setdefault("edges", pairs.shape[1])
    with located(folder.edge_file):
        packed = pack_union(
            pairs[0],
            pairs[1],
            folder.node_ptr[piece.start : piece.stop + 1] - first,
            options.undirected,
            options.loops,
            before=piece.start,
        )
    return unpack(packed), pairs


def _labels(
    folder: _Folder, name: str, labels: Sequence[float] | None
) -> Sequence[float] | None:
    """Return the labels that get a column, by default those in the file, sorted."""
    if labels is not None or name not in folder.files:
        return labels
    values = np.zeros(0, np.int64)
    for block in _File(folder.files[name].path, *_FILES[name][1:]).blocks():
        values = np.union1d(values, block[:, 0])
    return tuple(values.tolist())


def _node_features(
    folder: _Folder, graphs: Sequence[Graph], labels: Sequence[float] | None
) -> tuple[Features, Names]:
    """Return attributes and one-hot labels per graph, and names of the columns."""
    sizes = [graph.num_nodes for graph in graphs]
    blocks: list[NDArray[np.float32]] = []
    names: list[str] = []
    if "node_attributes" in folder.files:
        blocks.append(folder.read("node_attributes", sum(sizes)).astype(np.float32))
        names += [f"attribute {i}" for i in range(blocks[0].shape[1])]
    if "node_labels" in folder.files:
        values = folder.read("node_labels", sum(sizes))[:, 0]
        columns, block = _one_hot(folder.files["node_labels"], "node", values, labels)
        blocks.append(block)
        names += [f"label {value:g}" for value in columns]
    if not blocks:
        return [None] * len(graphs), None
    return np.split(np.concatenate(blocks, 1), np.cumsum(sizes)[:-1]), tuple(names)


def _edge_features(
    folder: _Folder,
    graphs: Sequence[Graph],
    pairs: IntArray,
    labels: Sequence[float] | None,
) -> tuple[Features, Names]:
    """Return one-hot edge labels ``[2 m, C]`` per graph, and names of the columns."""
    if "edge_labels" not in folder.files:
        return [None] * len(graphs), None
    values = folder.read("edge_labels", pairs.shape[1])[:, 0]
    columns, block = _one_hot(folder.files["edge_labels"], "edge", values, labels)
    table = block[_rows_of_edges(folder, pairs, values, graphs)]
    cuts = np.cumsum([2 * g.num_edges for g in graphs])[:-1]
    return np.split(table, cuts), tuple(f"label {label}" for label in columns)


def _one_hot(
    file: _File,
    what: str,
    values: NDArray[np.generic],
    labels: Sequence[float] | None,
) -> tuple[list[float], NDArray[np.float32]]:
    """Return the labels that get a column, and their one-hot columns."""
    columns = np.unique(values) if labels is None else np.array(labels, values.dtype)
    unknown = np.flatnonzero(~np.isin(values, columns))
    if unknown.size:
        shown = ", ".join(f"{value:g}" for value in columns.tolist())
        raise GraphInputError(
            f"{file.location(unknown[0])}: {what} label {values[unknown[0]]:g} is "
            f"unknown; the labels are {shown}."
        )
    size = 8 * values.size * columns.size  # as bytes, then as numbers
    check_memory(
        size, f"{file.path}: a column for each of {columns.size:,} {what} labels"
    )
    return columns.tolist(), (values[:, None] == columns).astype(np.float32)


def _rows_of_edges(
    folder: _Folder, pairs: IntArray, labels: IntArray, graphs: Sequence[Graph]
) -> IntArray:
    """Return a row of ``NAME_A.txt`` for every stored direction, graph after graph."""
    starts = np.cumsum([0, *(graph.num_nodes for graph in graphs)])
    size = int(starts[-1])
    keys = pairs.min(axis=0) * size + pairs.max(axis=0)
    edge, first, row_of = np.unique(keys, return_index=True, return_inverse=True)
    differ = np.flatnonzero(labels != labels[first][row_of])
    if differ.size:
        u, v = pairs[:, differ[0]] + folder.first_node + 1
        file = folder.files["edge_labels"]
        other = file.location(first[row_of[differ[0]]]).rpartition(", ")[2]
        raise GraphInputError(
            f"{file.location(differ[0])}: edge {u}, {v} has another label in {other}; "
            "an undirected edge has one."
        )
    stored = [g.edge_index() + start for g, start in zip(graphs, starts, strict=False)]
    row, col = np.concatenate(stored, axis=1)
    stored_keys = np.minimum(row, col) * size + np.maximum(row, col)
    result: IntArray = first[np.searchsorted(edge, stored_keys)]
    return result


def _targets(folder: _Folder, count: int) -> list[dict[str, str]]:
    """Return the targets of every graph, as in the files."""
    name = next((name for name in _TARGETS if name in folder.files), None)
    if name is None:
        return [{} for _ in range(count)]
    rows = folder.read(name, count).tolist()
    width = 1 if name == "graph_labels" else folder.files[name].columns
    names = ["y"] if width == 1 else [f"y{i}" for i in range(width)]
    return [dict(zip(names, row, strict=False)) for row in rows]
