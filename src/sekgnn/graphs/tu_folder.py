"""Folders in the format of the TU Dortmund collection of graph datasets."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sekgnn.errors import GraphInputError
from sekgnn.graphs.cleaning import SelfLoops, Undirected, check_rules
from sekgnn.graphs.graph import Graph
from sekgnn.graphs.packed import pack_union, unpack
from sekgnn.graphs.text import read_text


def read_tu_folder(
    path: str | Path,
    *,
    undirected: Undirected = "error",
    loops: SelfLoops = "drop",
) -> list[Graph]:
    """Read all graphs of a TU folder, in file order, isolated nodes included.

    ``NAME_A.txt`` holds one edge ``u, v`` per line, nodes numbered from 1 through the
    whole dataset; line v of ``NAME_graph_indicator.txt`` is the graph of node v. If
    ``NAME_graph_labels.txt`` is there, it must have one line per graph.

    Args:
        path: The folder that holds these files, or its parent if they are in ``raw``.
        undirected: ``"error"`` or ``"add"`` when an edge lacks its reverse.
        loops: ``"drop"`` (with a warning) or ``"error"``.

    Raises:
        GraphInputError: If a file is missing, cut short or malformed, or an edge joins
            two graphs.
    """
    check_rules(undirected, loops)
    edge_file = find_tu_edges(path)
    stem = edge_file.name.removesuffix("_A.txt")
    indicator_file = edge_file.with_name(f"{stem}_graph_indicator.txt")
    if not indicator_file.is_file():
        raise GraphInputError(
            f"{indicator_file} is missing; without it the nodes of {edge_file.name} "
            "cannot be divided into graphs."
        )
    node_ptr, graph = _read_indicator(indicator_file)
    _check_labels(edge_file.with_name(f"{stem}_graph_labels.txt"), node_ptr.size - 1)
    row, col = _read_edges(edge_file, graph)
    try:
        return unpack(pack_union(row, col, node_ptr, undirected, loops))
    except GraphInputError as error:
        raise GraphInputError(f"{edge_file}: {error}") from None


def find_tu_edges(path: str | Path) -> Path:
    """Return the ``NAME_A.txt`` in ``path`` or ``path/raw``.

    Raises:
        GraphInputError: If there is none, or more than one.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise GraphInputError(f"{path} is not a folder; check the path.")
    found = sorted(folder.glob("*_A.txt")) or sorted(folder.glob("raw/*_A.txt"))
    if not found:
        raise GraphInputError(
            f"{path} is no TU folder: neither it nor its subfolder raw holds a file "
            "NAME_A.txt."
        )
    if len(found) > 1:
        names = ", ".join(file.name for file in found)
        raise GraphInputError(f"{path} holds several datasets: {names}; keep one.")
    return found[0]


def _read_indicator(file: Path) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where each graph's nodes begin, and the graph of every node."""
    graph = _read_integers(file, columns=1)[:, 0] - 1
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
    node_ptr = np.searchsorted(graph, np.arange(graph[-1] + 2)).astype(np.int64)
    return node_ptr, graph


def _check_labels(file: Path, num_graphs: int) -> None:
    """Compare the number of labels, if there is such a file."""
    if not file.is_file():
        return
    labels = sum(1 for line in read_text(file).splitlines() if line.strip())
    if labels != num_graphs:
        raise GraphInputError(
            f"{file} has {labels} lines for {num_graphs} graphs; a file is cut short."
        )


def _read_edges(file: Path, graph: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the edges, numbered from 0 through the dataset, ``[2, E]``."""
    edges = _read_integers(file, columns=2).T - 1
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


def _read_integers(file: Path, columns: int) -> NDArray[np.int64]:
    """Return a file of comma-separated integers as an array, ``[lines, columns]``."""
    text = read_text(file).strip()
    if not text:
        return np.zeros((0, columns), dtype=np.int64)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            table = np.loadtxt(
                text.splitlines(),
                dtype=np.int64,
                delimiter=",",
                comments=None,
                ndmin=2,
            )
    except (ValueError, OverflowError, Warning) as error:
        raise GraphInputError(
            f"{file} must hold {columns} integers per line; {error}."
        ) from None
    if table.shape[1] != columns:
        raise GraphInputError(
            f"{file} must hold {columns} integers per line, found {table.shape[1]}."
        )
    return table
