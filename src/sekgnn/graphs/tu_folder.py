"""Folders in the format of the TU Dortmund collection of graph datasets."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.errors import GraphInputError, GraphInputWarning
from sekgnn.graphs.cleaning import SelfLoops, Undirected, located
from sekgnn.graphs.graph import Graph
from sekgnn.graphs.graph_record import NO_NAMES, FeatureNames, GraphRecord
from sekgnn.graphs.packed import pack_union, unpack
from sekgnn.graphs.table import Part, text_lines, text_start
from sekgnn.memory import check_claim, check_memory

IntArray = NDArray[np.int64]
Features = Sequence[NDArray[np.float32] | None]
Names = tuple[str, ...] | None

_FILES = {  # what has a line in each, in the order of Part.files
    "A": "edges",
    "graph_indicator": "nodes",
    "graph_labels": "graphs",
    "graph_attributes": "graphs",
    "node_labels": "nodes",
    "node_attributes": "nodes",
    "edge_labels": "edges",
}
_BLOCK = 1 << 14  # lines held as text
_LINE_BYTES = 16  # of a line of nodes or edges, about


@dataclass(frozen=True)
class _Lines:
    """Lines of a file that follow each other; blank ones are left out."""

    file: Path
    text: list[str]
    before: int  # lines before them

    def place(self, number: int) -> str:
        """Return where line ``number`` of these, from 0, stands in the file."""
        return f"{self.file}, line {self.before + number + 1}"


class _Folder:
    """The files of a dataset, or those of their lines that are of a part."""

    def __init__(self, edge_file: Path, part: Part | None = None) -> None:
        self.edge_file = edge_file
        places = dict(zip(_FILES, part.files if part else (), strict=False))
        self.places: dict[str, Part] = places
        self.first_graph = part.start if part else 0
        self.first_node = places["graph_indicator"].row if part else 0
        self.labels = part.labels if part else (None, None)

    def file(self, name: str) -> Path:
        return self.edge_file.with_name(
            f"{self.edge_file.name.removesuffix('_A.txt')}_{name}.txt"
        )

    def has(self, name: str) -> bool:
        return self.file(name).is_file()

    def target_name(self) -> str | None:
        found = filter(self.has, ("graph_labels", "graph_attributes"))
        return next(found, None)

    def place(self, name: str, number: int) -> str:
        """Return where line ``number``, from 0, of these lines stands."""
        place = self.places.get(name, Part(0, 0))
        return _Lines(self.file(name), [], place.row).place(number)

    def blocks(self, name: str) -> Iterator[_Lines]:
        """Yield the lines of a file, a few at a time."""
        file, place = self.file(name), self.places.get(name)
        filled = filter(str.strip, text_lines(file, part=place))
        before = place.row if place else 0
        while text := list(islice(filled, _BLOCK)):
            yield _Lines(file, text, before)
            before += len(text)

    def lines(self, name: str, count: int) -> _Lines:
        """Return all lines of a file, of which there must be ``count``."""
        blocks = list(self.blocks(name))
        text = [line for block in blocks for line in block.text]
        self.check_count(name, len(text), count)
        return _Lines(self.file(name), text, blocks[0].before if blocks else 0)

    def check_count(self, name: str, found: int, count: int) -> None:
        """Refuse a file that has more or fewer lines than what it describes."""
        if found != count:
            raise GraphInputError(
                f"{self.file(name)} has {found} lines for {count} {_FILES[name]}; a "
                "file is cut short."
            )


def tu_records(
    path: str | Path,
    *,
    undirected: Undirected = "error",
    loops: SelfLoops = "drop",
    node_labels: Sequence[int] | None = None,
    edge_labels: Sequence[int] | None = None,
    features: bool = True,
    part: Part | None = None,
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
        undirected: As the next three in :class:`~sekgnn.graphs.records.ReadOptions`.
        loops: See there.
        node_labels: See there.
        edge_labels: See there.
        features: Read features and targets, not only the structure.
        part: One of :func:`tu_parts`, to read no more than that.

    Raises:
        GraphInputError: If a file is missing, cut short or malformed, or an edge joins
            two graphs; names file and line.
    """
    folder = _Folder(find_tu_edges(path), part)
    count = part.stop - part.start if part else None
    graphs, pairs = _structure(folder, count, undirected, loops)
    x: Features = [None] * len(graphs)
    edge_attr = x
    targets: list[dict[str, str]] = [{} for _ in graphs]
    names = NO_NAMES
    if features:
        x, node_names = _node_features(folder, graphs, node_labels)
        edge_attr, edge_names = _edge_features(folder, graphs, pairs, edge_labels)
        names = FeatureNames(node_names, edge_names)
        targets = _targets(folder, len(graphs))
    rows = zip(graphs, x, edge_attr, targets, strict=True)
    for i, (graph, of_nodes, of_edges, known) in enumerate(
        rows, start=folder.first_graph + 1
    ):
        yield GraphRecord(
            graph, f"graph {i}", i, of_nodes, of_edges, known, names=names
        )


def tu_parts(
    path: str | Path,
    size: int,
    limit: int,
    *,
    node_labels: Sequence[int] | None = None,
    edge_labels: Sequence[int] | None = None,
) -> list[tuple[Part, str]] | None:
    """Cut a TU folder into parts of ``size`` graphs, each with a SHA-256.

    A part also ends with the graph that brings its nodes and edges to about ``limit``
    bytes of text. The files are read in step, a block of lines at a time; labels are
    looked through before, since a column of features stands for each.

    Returns:
        Parts for :func:`tu_records`; ``None``, with a warning, if the edges are not
        sorted by graph, so that a part of the graphs is not a part of the file.

    Raises:
        GraphInputError: As :func:`tu_records`, for all but single attributes, targets
            and pairs that lack their reverse.
    """
    folder = _Folder(find_tu_edges(path))
    sizes = _part_sizes(folder, size, limit // _LINE_BYTES)
    if sizes is None:
        warnings.warn(
            f"{folder.edge_file}: edges are not sorted by graph, so the folder is read "
            "whole, by every process; sort the lines, together with those of "
            f"{folder.file('edge_labels').name} if there are any.",
            GraphInputWarning,
            stacklevel=3,
        )
        return None
    labels = (
        _distinct(folder, "node_labels", _numbers) if node_labels is None else None,
        _distinct(folder, "edge_labels", _integers) if edge_labels is None else None,
    )
    counts = np.array(sizes).T.tolist()
    cuts = [
        _cut(folder, name, counts[("graphs", "nodes", "edges").index(what)])
        for name, what in _FILES.items()
    ]
    ends = pairwise(np.cumsum([0, *counts[0]]).tolist())
    parts = []
    for (start, stop), *pieces in zip(ends, *cuts, strict=True):
        places, digests = zip(*pieces, strict=True)
        digest = hashlib.sha256("".join(digests).encode()).hexdigest()
        parts.append((Part(start, stop, start, 0, places, labels), digest))
    return parts


def tu_target_file(path: str | Path) -> Path | None:
    """Return the file that holds the targets of a TU folder, if there is one."""
    folder = _Folder(find_tu_edges(path))
    name = folder.target_name()
    return None if name is None else folder.file(name)


def find_tu_edges(path: str | Path) -> Path:
    """Return the one ``NAME_A.txt`` in ``path`` or ``path/raw``, or raise."""
    folder = Path(path)
    if not folder.is_dir():
        raise GraphInputError(f"{path} is not a folder; check the path.")
    found = sorted(folder.glob("*_A.txt")) or sorted(folder.glob("raw/*_A.txt"))
    if not found:
        raise GraphInputError(
            f"{path} is not a TU folder: neither it nor its subfolder raw holds a file "
            "NAME_A.txt."
        )
    if len(found) > 1:
        names = ", ".join(file.name for file in found)
        raise GraphInputError(f"{path} holds several datasets: {names}; keep one.")
    return found[0]


def _structure(
    folder: _Folder, count: int | None, undirected: Undirected, loops: SelfLoops
) -> tuple[list[Graph], IntArray]:
    """Return ``count`` graphs, or all, and their edges numbered from 0, ``[2, E]``."""
    owners = [np.zeros(0, np.int64), *_owners(folder)]
    graph = np.concatenate(owners) - folder.first_graph
    if count is None:
        count = _check_graphs(folder, graph.size, graph[-1:].tolist())
    if folder.has("graph_labels"):
        folder.lines("graph_labels", count)
    node_ptr = np.searchsorted(graph, np.arange(count + 1)).astype(np.int64)
    blocks = []
    for lines, edges in _edges(folder, graph.size):
        across = np.flatnonzero(graph[edges[0]] != graph[edges[1]])
        if across.size:
            raise _across(folder, lines.place(across[0]), edges[:, across[0]])
        blocks.append(edges)
    pairs = np.concatenate([np.zeros((2, 0), np.int64), *blocks], axis=1)
    with located(folder.edge_file):
        packed = pack_union(
            pairs[0], pairs[1], node_ptr, undirected, loops, before=folder.first_graph
        )
    return unpack(packed), pairs


def _owners(folder: _Folder) -> Iterator[IntArray]:
    """Yield the graph of every node, from 0, block after block."""
    if not folder.has("graph_indicator"):
        raise GraphInputError(
            f"{folder.file('graph_indicator')} is missing; without it the nodes of "
            f"{folder.edge_file.name} cannot be divided into graphs."
        )
    last = 0
    for lines in folder.blocks("graph_indicator"):
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
            raise GraphInputError(
                f"{lines.file}: graph number {last + 1} is too large."
            )
        yield graph


def _check_graphs(folder: _Folder, num_nodes: int, last: list[int]) -> int:
    """Return the number of graphs, if the number of the last one can be believed."""
    file = folder.file("graph_indicator")
    if not last:
        raise GraphInputError(f"{file} is empty; there are no graphs.")
    with located(file):
        check_claim(last[0] + 1, "graphs", num_nodes, "nodes", 1 << 16)
    return last[0] + 1


def _edges(folder: _Folder, num_nodes: int) -> Iterator[tuple[_Lines, IntArray]]:
    """Yield the edges between the nodes, numbered from 0, ``[2, E]``, in blocks."""
    first = folder.first_node
    for lines in folder.blocks("A"):
        edges = _integers(lines, 2).T - 1 - first
        outside = np.flatnonzero(((edges < 0) | (edges >= num_nodes)).any(axis=0))
        if outside.size:
            u, v = edges[:, outside[0]] + first + 1
            raise GraphInputError(
                f"{lines.place(outside[0])}: edge {u}, {v}, but nodes are numbered "
                f"from {first + 1} to {first + num_nodes}."
            )
        yield lines, edges


def _across(folder: _Folder, place: str, edge: IntArray) -> GraphInputError:
    """Return the error for an edge between two graphs, whose numbers are looked up."""
    owners = [
        int(next(islice(chain.from_iterable(_owners(folder)), node, None))) + 1
        for node in edge.tolist()
    ]
    u, v = edge + folder.first_node + 1
    return GraphInputError(
        f"{place}: edge {u}, {v} joins graphs {owners[0]} and {owners[1]}; an edge "
        "must stay in one graph."
    )


def _part_sizes(
    folder: _Folder, size: int, most: int
) -> list[tuple[int, int, int]] | None:
    """Return graphs, nodes and edges of every part, or ``None`` if it cannot be cut.

    A part ends at ``size`` graphs, or with the one that brings it to ``most`` lines.
    """
    num_nodes, last = 0, []
    for graph in _owners(folder):
        num_nodes, last = num_nodes + graph.size, [int(graph[-1])]
    _check_graphs(folder, num_nodes, last)
    sizes = []
    graphs = nodes = edges = 0  # of the part that is not complete
    for block in _graph_sizes(folder, num_nodes):
        if block is None:
            return None
        for n, m in block.T.tolist():
            graphs, nodes, edges = graphs + 1, nodes + n, edges + m
            if graphs == size or nodes + edges >= most:
                sizes.append((graphs, nodes, edges))
                graphs = nodes = edges = 0
    if graphs:
        sizes.append((graphs, nodes, edges))
    return sizes


def _graph_sizes(folder: _Folder, num_nodes: int) -> Iterator[IntArray | None]:
    """Yield nodes and edges of graphs that follow each other, ``[2, G]``, in blocks.

    Yields ``None`` at last if an edge comes after edges of later graphs.
    """
    blocks = _edges(folder, num_nodes)
    none = _Lines(folder.edge_file, [], 0), np.zeros((2, 0), np.int64)
    lines, edges = next(blocks, none)
    done = 0  # of these edges
    first_graph, first_node = 0, 0  # that are not complete
    open_graph = np.zeros(0, np.int64)  # owners from that node on
    for block in chain(_owners(folder), [None]):
        owners = open_graph if block is None else np.concatenate([open_graph, block])
        last = int(owners[-1]) + (block is None)
        node_ptr = first_node + np.searchsorted(
            owners, np.arange(first_graph, last + 1)
        )
        count = np.zeros(last - first_graph, np.int64)
        while edges.size:
            later = np.flatnonzero(edges[0, done:] >= node_ptr[-1])
            stop = done + int(later[0]) if later.size else edges.shape[1]
            owner = np.searchsorted(node_ptr, edges[:, done:stop], side="right") - 1
            across = np.flatnonzero(owner[0] != owner[1])
            if across.size:
                wrong = done + int(across[0])
                raise _across(folder, lines.place(wrong), edges[:, wrong])
            if (np.diff(owner[0], prepend=0) < 0).any():
                yield None
                return
            count += np.bincount(owner[0], minlength=count.size)
            done = stop
            if later.size:
                break
            (lines, edges), done = next(blocks, none), 0
        yield np.stack([np.diff(node_ptr), count])
        open_graph = owners[node_ptr[-1] - first_node :]
        first_graph, first_node = last, int(node_ptr[-1])


def _cut(
    folder: _Folder, name: str, counts: Sequence[int]
) -> Sequence[tuple[Part, str]]:
    """Return where so many lines after so many lie in a file, and their SHA-256."""
    if not folder.has(name):
        return [(Part(0, 0), "")] * len(counts)
    file = folder.file(name)
    filled = _with_blank_lines(text_lines(file))
    start, row, fields = text_start(file), 0, 0
    parts = []
    for count in counts:
        lines = _Lines(file, list(islice(filled, count)), row)
        fields = _check_fields(lines, fields)
        content = "".join(lines.text).encode()
        stop = start + len(content)
        parts.append((Part(start, stop, row), hashlib.sha256(content).hexdigest()))
        start, row = stop, row + len(lines.text)
    folder.check_count(name, row + sum(1 for _ in filled), sum(counts))
    return parts


def _with_blank_lines(lines: Iterator[str]) -> Iterator[str]:
    """Yield lines that are not blank, each after the blank ones before it."""
    blank = ""
    for line in lines:
        if line.strip():
            yield blank + line
            blank = ""
        else:
            blank += line


def _distinct(
    folder: _Folder, name: str, read: Callable[[_Lines], NDArray[Any]]
) -> tuple[float, ...] | None:
    """Return the numbers of a file, each once, sorted; ``None`` if it is missing."""
    if not folder.has(name):
        return None
    found = np.zeros(0, np.int64)
    for lines in folder.blocks(name):
        found = np.union1d(found, read(lines)[:, 0])
    return tuple(found.tolist())


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
    blocks = []
    fields = 0
    for lines in folder.blocks(name):
        fields = _check_fields(lines, fields)
        blocks.append(read(lines))
    folder.check_count(name, sum(map(len, blocks)), count)
    if not blocks:  # as wide as other parts
        others = islice(_Folder(folder.edge_file).blocks(name), 1)
        blocks = [read(lines)[:0] for lines in others]
    return np.concatenate(blocks) if blocks else np.zeros((0, 1), np.int64)


def _one_hot(
    folder: _Folder,
    what: str,
    labels: NDArray[np.generic],
    known: Sequence[float] | None,
) -> tuple[list[float], NDArray[np.float32]]:
    """Return the labels that have a column, and the columns of every line."""
    if known is None:
        known = folder.labels[what == "edge"]
    columns = np.unique(labels) if known is None else np.array(known, labels.dtype)
    strange = np.flatnonzero(~np.isin(labels, columns))
    name = f"{what}_labels"
    if strange.size:
        shown = ", ".join(f"{value:g}" for value in columns.tolist())
        raise GraphInputError(
            f"{folder.place(name, strange[0])}: {what} label "
            f"{labels[strange[0]]:g} is unknown; the labels are {shown}."
        )
    size = 8 * labels.size * columns.size  # as bytes, then as numbers
    asked = f"a column for each of {columns.size:,} {what} labels"
    check_memory(size, f"{folder.file(name)}: {asked}")
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
            folder.place("edge_labels", number)
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
    name = folder.target_name()
    if name is None:
        return [{} for _ in range(count)]
    lines = folder.lines(name, count)
    fields = _check_fields(lines)
    width = 1 if name == "graph_labels" else fields
    names = ["y"] if width == 1 else [f"y{i}" for i in range(width)]
    rows = ([field.strip() for field in line.split(",")] for line in lines.text)
    return [dict(zip(names, row, strict=False)) for row in rows]


def _integers(lines: _Lines, columns: int = 1) -> IntArray:
    """Return comma-separated integers, ``[lines, columns]``."""
    table = _parsed(lines.text, np.int64)
    if table is not None and table.shape[1] == columns:
        return table
    form = "1 integer" if columns == 1 else f"{columns} integers"
    for number, line in enumerate(lines.text):
        found = _parsed([line], np.int64)
        if found is None or found.shape[1] != columns:
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
