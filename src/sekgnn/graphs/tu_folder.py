"""Folders in the format of the TU Dortmund collection of graph datasets."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sekgnn.errors import GraphInputError, GraphInputWarning
from sekgnn.graphs.cleaning import located
from sekgnn.graphs.graph import Graph
from sekgnn.graphs.graph_record import NO_NAMES, FeatureNames, GraphRecord
from sekgnn.graphs.packed import pack_union, unpack
from sekgnn.graphs.read_options import DEFAULTS, ReadOptions
from sekgnn.graphs.table import text_lines
from sekgnn.memory import check_claim, check_memory

IntArray = NDArray[np.int64]
Features = Sequence[NDArray[np.float32] | None]
Names = tuple[str, ...] | None

_FILES = {  # what has a line in each
    "A": "edges",
    "graph_indicator": "nodes",
    "graph_labels": "graphs",
    "graph_attributes": "graphs",
    "node_labels": "nodes",
    "node_attributes": "nodes",
    "edge_labels": "edges",
}
_BLOCK = 1 << 14  # lines held as text
_PIECE = 1 << 22  # lines of nodes and edges that are read together, about
_LINE_BYTES = 8  # of a line of edges, about
_ALL = 1 << 62


@dataclass(frozen=True)
class _Lines:
    """Lines of a file that follow each other; blank ones are left out."""

    file: Path
    text: list[str]
    before: int  # lines before them

    def place(self, number: int) -> str:
        """Return where line ``number`` of these, from 0, stands in the file."""
        return f"{self.file}, line {self.before + number + 1}"


class _File:
    """A file of a dataset, read on from where it was left."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines = filter(str.strip, text_lines(path))  # those that are not blank
        self.taken = 0  # lines so far
        self.before = 0  # lines before those that were taken last
        self.fields = 0  # in each line; 0 before the first

    def take(self, count: int = _ALL) -> Iterator[_Lines]:
        """Yield the next ``count`` lines, or as many as there are, a few at a time."""
        self.before = self.taken
        while count and (text := list(islice(self.lines, min(count, _BLOCK)))):
            yield _Lines(self.path, text, self.taken)
            self.taken += len(text)
            count -= len(text)

    def place(self, number: int) -> str:
        """Return where line ``number``, from 0, of those taken last stands."""
        return _Lines(self.path, [], self.before).place(number)


class _Folder:
    """The files of a dataset, which are read in step."""

    def __init__(self, edge_file: Path) -> None:
        self.edge_file = edge_file
        self.node_ptr = _node_ptr(edge_file)
        self.totals = {
            "graphs": self.node_ptr.size - 1,
            "nodes": int(self.node_ptr[-1]),
        }
        self.first_node = 0  # of the graphs that are being read
        self._files: dict[str, _File] = {}

    def path(self, name: str) -> Path:
        return _file(self.edge_file, name)

    def has(self, name: str) -> bool:
        return self.path(name).is_file()

    def file(self, name: str) -> _File:
        if name not in self._files:
            self._files[name] = _File(self.path(name))
        return self._files[name]

    def take(self, name: str, count: int) -> Iterator[_Lines]:
        """Yield the next ``count`` lines of a file, a few at a time."""
        file = self.file(name)
        last = file.taken + count
        yield from file.take(count)
        if file.taken < last and _FILES[name] in self.totals:
            self.check_count(name)

    def take_table(self, name: str, count: int) -> Iterator[_Lines]:
        """Do the same for a file whose lines must have equally many fields."""
        file = self.file(name)
        for lines in self.take(name, count):
            file.fields = _check_fields(lines, file.fields)
            yield lines

    def check_ends(self) -> None:
        """Refuse files that have more lines than what they describe."""
        for name, file in self._files.items():
            file.taken += sum(1 for _ in file.lines)
            self.check_count(name)

    def check_count(self, name: str) -> None:
        """Refuse a file with more or fewer lines than there are things described."""
        count, what = self.file(name).taken, _FILES[name]
        if count != self.totals[what]:
            raise GraphInputError(
                f"{self.path(name)} has {count} lines for {self.totals[what]} {what}; "
                "a file is cut short."
            )


class _Piece(NamedTuple):
    """Graphs that follow each other, and their lines."""

    start: int  # the first graph
    stop: int  # one beyond the last
    edges: int  # lines of edges


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

    A folder of more than some four million nodes and edges is read in pieces, its files
    in step, so memory does not grow with it; before, its edges are counted and labels
    looked through, since a column of features stands for each. If edges are not sorted
    by graph, it is read whole, with a warning.

    Raises:
        GraphInputError: If a file is missing, cut short or malformed, or an edge joins
            two graphs; names file and line.
    """
    folder = _Folder(find_tu_edges(path))
    pieces = _pieces(folder)
    if len(pieces) > 1 and features:
        nodes, edges = options.node_labels, options.edge_labels
        if nodes is None:
            nodes = _distinct(folder.path("node_labels"), _numbers)
        if edges is None:
            edges = _distinct(folder.path("edge_labels"), _integers)
        options = replace(options, node_labels=nodes, edge_labels=edges)
    for piece in pieces:
        records = _read(folder, piece, options, features)
        if piece.stop == pieces[-1].stop:
            folder.check_ends()
        yield from records


def _read(
    folder: _Folder, piece: _Piece, options: ReadOptions, features: bool
) -> Iterator[GraphRecord]:
    """Read a piece, and return its records."""
    graphs, pairs = _structure(folder, piece, options)
    x: Features = [None] * len(graphs)
    edge_attr = x
    targets: list[dict[str, str]] = [{} for _ in graphs]
    names = NO_NAMES
    if features:
        x, node_names = _node_features(folder, graphs, options.node_labels)
        known = options.edge_labels
        edge_attr, edge_names = _edge_features(folder, graphs, pairs, known)
        names = FeatureNames(node_names, edge_names)
        targets = _targets(folder, len(graphs))
    elif folder.has("graph_labels"):  # tells of graphs that are lost
        list(folder.take("graph_labels", len(graphs)))
    rows = zip(graphs, x, edge_attr, targets, strict=True)
    return (
        GraphRecord(graph, f"graph {i}", i, of_nodes, of_edges, known, names=names)
        for i, (graph, of_nodes, of_edges, known) in enumerate(rows, piece.start + 1)
    )


def tu_target_file(path: str | Path) -> Path | None:
    """Return the file that holds the targets of a TU folder, if there is one."""
    edges = find_tu_edges(path)
    name = _target_name(edges)
    return None if name is None else _file(edges, name)


def _target_name(edge_file: Path) -> str | None:
    names = ("graph_labels", "graph_attributes")
    return next((n for n in names if _file(edge_file, n).is_file()), None)


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


def _file(edge_file: Path, name: str) -> Path:
    """Return the file of a dataset that holds ``name``."""
    return edge_file.with_name(f"{edge_file.name.removesuffix('_A.txt')}_{name}.txt")


def _node_ptr(edge_file: Path) -> IntArray:
    """Return where the nodes of every graph begin, ``[G + 1]``."""
    file = _file(edge_file, "graph_indicator")
    if not file.is_file():
        raise GraphInputError(
            f"{file} is missing; without it the nodes of {edge_file.name} cannot be "
            "divided into graphs."
        )
    sizes = []
    num_nodes = last = 0
    for lines in _File(file).take():
        graph = _integers(lines, 1)[:, 0] - 1
        if graph[0] < 0:
            raise GraphInputError(f"{lines.place(0)}: graphs are numbered from 1.")
        before = np.concatenate([[last], graph[:-1]])
        falls = np.flatnonzero(graph < before)
        if falls.size:
            raise GraphInputError(
                f"{lines.place(falls[0])}: graph {graph[falls[0]] + 1} after graph "
                f"{before[falls[0]] + 1}; the nodes of a graph must follow each other."
            )
        last = int(graph[-1])
        if last >= 2**31:
            raise GraphInputError(f"{file}: graph number {last + 1} is too large.")
        num_nodes += graph.size
        sizes.append(np.unique(graph, return_counts=True))
    if not sizes:
        raise GraphInputError(f"{file} is empty; there are no graphs.")
    with located(file):
        check_claim(last + 1, "graphs", num_nodes, "nodes", 1 << 16)
    node_ptr = np.zeros(last + 2, np.int64)
    for numbers, counts in sizes:
        node_ptr[numbers + 1] += counts
    return np.cumsum(node_ptr, out=node_ptr)


def _pieces(folder: _Folder) -> list[_Piece]:
    """Cut the graphs where they bring nodes and edges to ``_PIECE``."""
    node_ptr, count = folder.node_ptr, folder.node_ptr.size - 1
    whole = [_Piece(0, count, _ALL)]
    size = node_ptr[-1] + folder.edge_file.stat().st_size // _LINE_BYTES
    if size <= _PIECE:
        return whole
    edge_ptr, last = np.zeros(count + 1, np.int64), 0
    for lines in _File(folder.edge_file).take():
        owner = _checked_edges(lines, node_ptr)[1]
        if (np.diff(owner, prepend=last) < 0).any():
            warnings.warn(
                f"{folder.edge_file}: edges are not sorted by graph, so the folder is "
                "read whole; sort the lines, together with those of "
                f"{folder.path('edge_labels').name} if there are any.",
                GraphInputWarning,
                stacklevel=4,
            )
            return whole
        last = int(owner[-1])
        numbers, counts = np.unique(owner, return_counts=True)
        edge_ptr[numbers + 1] += counts
    np.cumsum(edge_ptr, out=edge_ptr)
    folder.totals["edges"] = int(edge_ptr[-1])
    piece = (node_ptr + edge_ptr) // _PIECE  # that a graph which begins there is in
    ends = [0, *(np.flatnonzero(piece[1:-1] != piece[:-2]) + 1).tolist(), count]
    return [
        _Piece(start, stop, int(edge_ptr[stop] - edge_ptr[start]))
        for start, stop in pairwise(ends)
    ]


def _checked_edges(lines: _Lines, node_ptr: IntArray) -> tuple[IntArray, IntArray]:
    """Return edges between nodes numbered from 0, ``[2, E]``, and their graphs."""
    edges = _integers(lines, 2).T - 1
    outside = np.flatnonzero(((edges < 0) | (edges >= node_ptr[-1])).any(axis=0))
    if outside.size:
        u, v = edges[:, outside[0]] + 1
        raise GraphInputError(
            f"{lines.place(outside[0])}: edge {u}, {v}, but nodes are numbered from 1 "
            f"to {node_ptr[-1]}."
        )
    owner, other = np.searchsorted(node_ptr, edges, side="right") - 1
    across = np.flatnonzero(owner != other)
    if across.size:
        u, v = edges[:, across[0]] + 1
        raise GraphInputError(
            f"{lines.place(across[0])}: edge {u}, {v} joins graphs "
            f"{owner[across[0]] + 1} and {other[across[0]] + 1}; an edge must stay in "
            "one graph."
        )
    return edges, owner


def _structure(
    folder: _Folder, piece: _Piece, options: ReadOptions
) -> tuple[list[Graph], IntArray]:
    """Return graphs, and their edges between nodes numbered from 0, ``[2, E]``."""
    first = folder.first_node = int(folder.node_ptr[piece.start])
    node_ptr = folder.node_ptr[piece.start : piece.stop + 1] - first
    blocks = [np.zeros((2, 0), np.int64)]
    for lines in folder.take("A", piece.edges):
        blocks.append(_checked_edges(lines, folder.node_ptr)[0])
    pairs = np.concatenate(blocks, axis=1) - first
    folder.totals.setdefault("edges", pairs.shape[1])
    with located(folder.edge_file):
        packed = pack_union(
            pairs[0],
            pairs[1],
            node_ptr,
            options.undirected,
            options.loops,
            before=piece.start,
        )
    return unpack(packed), pairs


def _distinct(
    file: Path, read: Callable[[_Lines], NDArray[Any]]
) -> tuple[float, ...] | None:
    """Return the numbers of a file, each once, sorted; ``None`` if it is missing."""
    if not file.is_file():
        return None
    values = np.zeros(0, np.int64)
    for lines in _File(file).take():
        values = np.union1d(values, read(lines)[:, 0])
    return tuple(values.tolist())


def _node_features(
    folder: _Folder, graphs: Sequence[Graph], known: Sequence[float] | None
) -> tuple[Features, Names]:
    """Return attributes and one-hot labels per graph, and names of the columns."""
    sizes = [graph.num_nodes for graph in graphs]
    blocks: list[NDArray[np.float32]] = []
    names: list[str] = []
    if folder.has("node_attributes"):
        table = _table(folder, "node_attributes", _numbers, sum(sizes))
        blocks.append(table.astype(np.float32))
        names += [f"attribute {i}" for i in range(blocks[0].shape[1])]
    if folder.has("node_labels"):
        labels = _table(folder, "node_labels", _numbers, sum(sizes))[:, 0]
        columns, block = _one_hot(folder, "node", labels, known)
        blocks.append(block)
        names += [f"label {value:g}" for value in columns]
    if not blocks:
        return [None] * len(graphs), None
    return np.split(np.concatenate(blocks, 1), np.cumsum(sizes)[:-1]), tuple(names)


def _edge_features(
    folder: _Folder,
    graphs: Sequence[Graph],
    pairs: IntArray,
    known: Sequence[float] | None,
) -> tuple[Features, Names]:
    """Return one-hot edge labels ``[2 m, C]`` per graph, and names of the columns."""
    if not folder.has("edge_labels"):
        return [None] * len(graphs), None
    labels = _table(folder, "edge_labels", _integers, pairs.shape[1])[:, 0]
    columns, block = _one_hot(folder, "edge", labels, known)
    table = block[_lines_of_edges(folder, pairs, labels, graphs)]
    cuts = np.cumsum([2 * g.num_edges for g in graphs])[:-1]
    return np.split(table, cuts), tuple(f"label {label}" for label in columns)


def _table(
    folder: _Folder,
    name: str,
    read: Callable[[_Lines], NDArray[Any]],
    count: int,
) -> NDArray[Any]:
    """Return the numbers of a file, ``[count, columns]``."""
    blocks = [read(lines) for lines in folder.take_table(name, count)]
    return np.concatenate(blocks) if blocks else np.zeros((0, 1), np.int64)


def _one_hot(
    folder: _Folder,
    what: str,
    labels: NDArray[np.generic],
    known: Sequence[float] | None,
) -> tuple[list[float], NDArray[np.float32]]:
    """Return the labels that have a column, and the columns of every line."""
    columns = np.unique(labels) if known is None else np.array(known, labels.dtype)
    strange = np.flatnonzero(~np.isin(labels, columns))
    name = f"{what}_labels"
    if strange.size:
        shown = ", ".join(f"{value:g}" for value in columns.tolist())
        raise GraphInputError(
            f"{folder.file(name).place(strange[0])}: {what} label "
            f"{labels[strange[0]]:g} is unknown; the labels are {shown}."
        )
    size = 8 * labels.size * columns.size  # as bytes, then as numbers
    asked = f"a column for each of {columns.size:,} {what} labels"
    check_memory(size, f"{folder.path(name)}: {asked}")
    return columns.tolist(), (labels[:, None] == columns).astype(np.float32)


def _lines_of_edges(
    folder: _Folder, pairs: IntArray, labels: IntArray, graphs: Sequence[Graph]
) -> IntArray:
    """Return a line of ``NAME_A.txt`` for every stored direction, graph after graph."""
    size = sum(graph.num_nodes for graph in graphs)
    keys = pairs.min(axis=0) * size + pairs.max(axis=0)
    edge, first, line = np.unique(keys, return_index=True, return_inverse=True)
    differ = np.flatnonzero(labels != labels[first][line])
    if differ.size:
        u, v = pairs[:, differ[0]] + folder.first_node + 1
        place, other = (
            folder.file("edge_labels").place(number)
            for number in (differ[0], first[line[differ[0]]])
        )
        raise GraphInputError(
            f"{place}: edge {u}, {v} has another label in {other.rpartition(', ')[2]}; "
            "an undirected edge has one."
        )
    starts = np.cumsum([0, *(graph.num_nodes for graph in graphs)])
    stored = [g.edge_index() + start for g, start in zip(graphs, starts, strict=False)]
    row, col = np.concatenate(stored, axis=1)
    wanted = np.minimum(row, col) * size + np.maximum(row, col)
    result: IntArray = first[np.searchsorted(edge, wanted)]
    return result


def _targets(folder: _Folder, count: int) -> list[dict[str, str]]:
    """Return the targets of every graph, as they stand in the files."""
    name = _target_name(folder.edge_file)
    if name is None:
        return [{} for _ in range(count)]
    rows: list[list[str]] = []
    for lines in folder.take_table(name, count):
        rows += ([field.strip() for field in line.split(",")] for line in lines.text)
    width = 1 if name == "graph_labels" else folder.file(name).fields
    names = ["y"] if width == 1 else [f"y{i}" for i in range(width)]
    return [dict(zip(names, row, strict=False)) for row in rows]


def _integers(lines: _Lines, columns: int = 1) -> IntArray:
    """Return comma-separated integers, ``[lines, columns]``."""
    table = _parsed(lines.text, np.int64)
    if table is not None and table.shape[1] == columns:
        return table
    form = "1 integer" if columns == 1 else f"{columns} integers"
    for number, line in enumerate(lines.text):
        fields = _parsed([line], np.int64)
        if fields is None or fields.shape[1] != columns:
            raise GraphInputError(
                f"{lines.place(number)}: a line must hold {form}, got {line.strip()!r}."
            )
    raise GraphInputError(f"{lines.file}: every line must hold {form}.")


def _numbers(lines: _Lines) -> NDArray[np.float64]:
    """Return comma-separated finite numbers, ``[lines, columns]``."""
    table = _parsed(lines.text, np.float64)
    if table is not None and np.isfinite(table).all():
        return table
    fields = _check_fields(lines)
    for number, line in enumerate(lines.text):
        for field in map(str.strip, line.split(",")):
            value = _parsed([field], np.float64)
            if value is None or not np.isfinite(value).all():
                raise GraphInputError(
                    f"{lines.place(number)}: {field!r} is not a finite number."
                )
    raise GraphInputError(
        f"{lines.file}: every line must hold {fields} finite numbers."
    )


def _parsed(lines: list[str], dtype: type[np.generic]) -> NDArray[Any] | None:
    """Return a table of numbers, or ``None`` if it is not one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return np.loadtxt(lines, dtype, delimiter=",", comments=None, ndmin=2)
    except (ValueError, OverflowError, Warning):
        return None


def _check_fields(lines: _Lines, fields: int = 0) -> int:
    """Return how many fields lines have, which is ``fields`` or that of the first."""
    commas = [line.count(",") for line in lines.text]
    if not commas:
        return fields
    fields = fields or commas[0] + 1
    if set(commas) != {fields - 1}:
        number = next(i for i, count in enumerate(commas) if count != fields - 1)
        raise GraphInputError(
            f"{lines.place(number)}: {commas[number] + 1} fields, but {fields} in the "
            "lines before."
        )
    return fields
