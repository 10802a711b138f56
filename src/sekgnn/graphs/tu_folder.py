"""Folders in the format of the TU Dortmund collection of graph datasets."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.errors import GraphInputError
from sekgnn.graphs.cleaning import SelfLoops, Undirected, located
from sekgnn.graphs.graph import Graph
from sekgnn.graphs.graph_record import NO_NAMES, FeatureNames, GraphRecord
from sekgnn.graphs.packed import pack_union, unpack
from sekgnn.graphs.table import read_text
from sekgnn.memory import check_claim, check_memory

IntArray = NDArray[np.int64]
Features = Sequence[NDArray[np.float32] | None]
Names = tuple[str, ...] | None


def tu_records(
    path: str | Path,
    *,
    undirected: Undirected = "error",
    loops: SelfLoops = "drop",
    node_labels: Sequence[int] | None = None,
    edge_labels: Sequence[int] | None = None,
    features: bool = True,
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

    Raises:
        GraphInputError: If a file is missing, cut short or malformed, or an edge joins
            two graphs; names file and line.
    """
    edge_file = find_tu_edges(path)
    graphs, pairs = _structure(edge_file, undirected, loops)
    x: Features = [None] * len(graphs)
    edge_attr = x
    targets: list[dict[str, str]] = [{} for _ in graphs]
    names = NO_NAMES
    if features:
        x, node_names = _node_features(edge_file, graphs, node_labels)
        edge_attr, edge_names = _edge_features(edge_file, graphs, pairs, edge_labels)
        names = FeatureNames(node_names, edge_names)
        targets = _targets(edge_file, len(graphs))
    rows = zip(graphs, x, edge_attr, targets, strict=True)
    for i, (graph, of_nodes, of_edges, known) in enumerate(rows, start=1):
        yield GraphRecord(
            graph, f"graph {i}", i, of_nodes, of_edges, known, names=names
        )


def tu_target_file(path: str | Path) -> Path | None:
    """Return the file that holds the targets of a TU folder, if there is one."""
    for part in ("graph_labels", "graph_attributes"):
        file = _part(find_tu_edges(path), part)
        if file.is_file():
            return file
    return None


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
    edge_file: Path, undirected: Undirected, loops: SelfLoops
) -> tuple[list[Graph], IntArray]:
    """Return the graphs, and the pairs of ``NAME_A.txt`` from 0, ``[2, E]``."""
    indicator_file = _part(edge_file, "graph_indicator")
    if not indicator_file.is_file():
        raise GraphInputError(
            f"{indicator_file} is missing; without it the nodes of {edge_file.name} "
            "cannot be divided into graphs."
        )
    graph = _read_indicator(indicator_file)
    label_file = _part(edge_file, "graph_labels")
    if label_file.is_file():
        _lines(label_file, int(graph[-1]) + 1, "graphs")
    with located(indicator_file):
        check_claim(int(graph[-1]) + 1, "graphs", graph.size, "nodes", 1 << 16)
    node_ptr = np.searchsorted(graph, np.arange(graph[-1] + 2)).astype(np.int64)
    pairs = _read_edges(edge_file, graph)
    with located(edge_file):
        packed = pack_union(pairs[0], pairs[1], node_ptr, undirected, loops)
    return unpack(packed), pairs


def _read_indicator(file: Path) -> IntArray:
    """Return the graph of every node, from 0, ``[N]``."""
    graph = _integers(file, _lines(file), 1)[:, 0] - 1
    if graph.size == 0:
        raise GraphInputError(f"{file} is empty; there are no graphs.")
    if graph[0] < 0:
        raise GraphInputError(f"{file}, line 1: graphs are numbered from 1.")
    falls = np.flatnonzero(graph[1:] < graph[:-1])
    if falls.size:
        raise GraphInputError(
            f"{file}, line {falls[0] + 2}: graph {graph[falls[0] + 1] + 1} after graph "
            f"{graph[falls[0]] + 1}; the nodes of a graph must follow each other."
        )
    if graph[-1] >= 2**31:
        raise GraphInputError(f"{file}: graph number {graph[-1] + 1} is too large.")
    return graph


def _read_edges(file: Path, graph: IntArray) -> IntArray:
    """Return the edges, numbered from 0 through the dataset, ``[2, E]``."""
    edges = _integers(file, _lines(file), 2).T - 1
    outside = np.flatnonzero(((edges < 0) | (edges >= graph.size)).any(axis=0))
    if outside.size:
        u, v = edges[:, outside[0]] + 1
        raise GraphInputError(
            f"{file}, line {outside[0] + 1}: edge {u}, {v}, but nodes are numbered "
            f"from 1 to {graph.size}."
        )
    across = np.flatnonzero(graph[edges[0]] != graph[edges[1]])
    if across.size:
        u, v = edges[:, across[0]]
        raise GraphInputError(
            f"{file}, line {across[0] + 1}: edge {u + 1}, {v + 1} joins graphs "
            f"{graph[u] + 1} and {graph[v] + 1}; an edge must stay in one graph."
        )
    return edges


def _node_features(
    edge_file: Path, graphs: Sequence[Graph], known: Sequence[int] | None
) -> tuple[Features, Names]:
    """Return attributes and one-hot labels per graph, and names of the columns."""
    sizes = [graph.num_nodes for graph in graphs]
    blocks: list[NDArray[np.float32]] = []
    names: list[str] = []
    file = _part(edge_file, "node_attributes")
    if file.is_file():
        blocks.append(_numbers(file, sum(sizes), "nodes").astype(np.float32))
        names += [f"attribute {i}" for i in range(blocks[0].shape[1])]
    file = _part(edge_file, "node_labels")
    if file.is_file():
        labels = _numbers(file, sum(sizes), "nodes")[:, 0]
        columns, block = _one_hot(file, labels, known, "node")
        blocks.append(block)
        names += [f"label {value:g}" for value in columns]
    if not blocks:
        return [None] * len(graphs), None
    return np.split(np.concatenate(blocks, 1), np.cumsum(sizes)[:-1]), tuple(names)


def _edge_features(
    edge_file: Path,
    graphs: Sequence[Graph],
    pairs: IntArray,
    known: Sequence[int] | None,
) -> tuple[Features, Names]:
    """Return one-hot edge labels ``[2 m, C]`` per graph, and names of the columns."""
    file = _part(edge_file, "edge_labels")
    if not file.is_file():
        return [None] * len(graphs), None
    labels = _integers(file, _lines(file, pairs.shape[1], "edges"), 1)[:, 0]
    columns, block = _one_hot(file, labels, known, "edge")
    table = block[_lines_of_edges(pairs, labels, graphs, file)]
    cuts = np.cumsum([2 * g.num_edges for g in graphs])[:-1]
    return np.split(table, cuts), tuple(f"label {label}" for label in columns)


def _one_hot(
    file: Path, labels: NDArray[np.generic], known: Sequence[int] | None, what: str
) -> tuple[list[float], NDArray[np.float32]]:
    """Return the labels that have a column, and the columns of every line."""
    columns = np.unique(labels) if known is None else np.array(known, labels.dtype)
    strange = np.flatnonzero(~np.isin(labels, columns))
    if strange.size:
        shown = ", ".join(f"{value:g}" for value in columns.tolist())
        raise GraphInputError(
            f"{file}, line {strange[0] + 1}: {what} label {labels[strange[0]]:g} is "
            f"unknown; the labels are {shown}."
        )
    size = 8 * labels.size * columns.size  # as bytes, then as numbers
    check_memory(size, f"{file}: a column for each of {columns.size:,} {what} labels")
    return columns.tolist(), (labels[:, None] == columns).astype(np.float32)


def _lines_of_edges(
    pairs: IntArray, labels: IntArray, graphs: Sequence[Graph], file: Path
) -> IntArray:
    """Return a line of ``NAME_A.txt`` for every stored direction, graph after graph."""
    size = sum(graph.num_nodes for graph in graphs)
    keys = pairs.min(axis=0) * size + pairs.max(axis=0)
    edge, first, line = np.unique(keys, return_index=True, return_inverse=True)
    differ = np.flatnonzero(labels != labels[first][line])
    if differ.size:
        u, v = pairs[:, differ[0]] + 1
        raise GraphInputError(
            f"{file}, line {differ[0] + 1}: edge {u}, {v} has another label in line "
            f"{first[line[differ[0]]] + 1}; an undirected edge has one."
        )
    starts = np.cumsum([0, *(graph.num_nodes for graph in graphs)])
    stored = [g.edge_index() + start for g, start in zip(graphs, starts, strict=False)]
    row, col = np.concatenate(stored, axis=1)
    wanted = np.minimum(row, col) * size + np.maximum(row, col)
    result: IntArray = first[np.searchsorted(edge, wanted)]
    return result


def _targets(edge_file: Path, count: int) -> list[dict[str, str]]:
    """Return the targets of every graph, as they stand in the files."""
    file = tu_target_file(edge_file.parent)
    if file is None:
        return [{} for _ in range(count)]
    rows = _fields(file, _lines(file, count, "graphs"))
    width = 1 if file == _part(edge_file, "graph_labels") else len(rows[0])
    names = ["y"] if width == 1 else [f"y{i}" for i in range(width)]
    return [dict(zip(names, row, strict=False)) for row in rows]


def _part(edge_file: Path, part: str) -> Path:
    """Return the file of that part which belongs to ``NAME_A.txt``."""
    return edge_file.with_name(f"{edge_file.name.removesuffix('_A.txt')}_{part}.txt")


def _lines(file: Path, count: int | None = None, what: str = "") -> list[str]:
    """Return the lines that are not blank, of which there must be ``count``."""
    lines = [line for line in read_text(file).splitlines() if line.strip()]
    if count is not None and len(lines) != count:
        raise GraphInputError(
            f"{file} has {len(lines)} lines for {count} {what}; a file is cut short."
        )
    return lines


def _integers(file: Path, lines: list[str], columns: int) -> IntArray:
    """Return comma-separated integers, ``[lines, columns]``."""
    if not lines:
        return np.zeros((0, columns), dtype=np.int64)
    table = _parsed(lines, np.int64)
    if table is not None and table.shape[1] == columns:
        return table
    form = "1 integer" if columns == 1 else f"{columns} integers"
    for number, line in enumerate(lines, start=1):
        found = _parsed([line], np.int64)
        if found is None or found.shape[1] != columns:
            raise GraphInputError(
                f"{file}, line {number}: a line must hold {form}, got {line.strip()!r}."
            )
    raise GraphInputError(f"{file}: every line must hold {form}.")


def _numbers(file: Path, count: int, what: str) -> NDArray[np.float64]:
    """Return comma-separated finite numbers, ``[count, columns]``."""
    lines = _lines(file, count, what)
    table = _parsed(lines, np.float64) if lines else np.zeros((0, 1))
    if table is not None and np.isfinite(table).all():
        return table
    rows = _fields(file, lines)
    for number, row in enumerate(rows, start=1):
        for field in row:
            value = _parsed([field], np.float64)
            if value is None or not np.isfinite(value).all():
                raise GraphInputError(
                    f"{file}, line {number}: {field!r} is not a finite number."
                )
    width = len(rows[0])
    raise GraphInputError(f"{file}: every line must hold {width} finite numbers.")


def _parsed(lines: list[str], dtype: type[np.generic]) -> NDArray[Any] | None:
    """Return a table of numbers, or ``None`` if it is not one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return np.loadtxt(lines, dtype, delimiter=",", comments=None, ndmin=2)
    except (ValueError, OverflowError, Warning):
        return None


def _fields(file: Path, lines: list[str]) -> list[list[str]]:
    """Return the comma-separated fields of every line, as many as in the first."""
    rows = [[field.strip() for field in line.split(",")] for line in lines]
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            raise GraphInputError(
                f"{file}, line {number}: {len(row)} fields, but {len(rows[0])} in "
                "line 1."
            )
    return rows
