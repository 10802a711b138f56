"""Edge labels of a TU folder, in the order in which graphs store their edges."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sekgnn.errors import GraphInputError
from sekgnn.graphs import Graph
from sekgnn.graphs.text import read_text

IntArray = NDArray[np.int64]


def edge_label_blocks(
    edge_file: Path,
    label_file: Path,
    graphs: Sequence[Graph],
    known: Sequence[int] | None,
) -> tuple[list[NDArray[np.float32]], list[int]]:
    """Return one-hot edge labels ``[2 m, C]`` of every graph, and the C labels.

    Args:
        edge_file: ``NAME_A.txt``, already read without complaint.
        label_file: ``NAME_edge_labels.txt``, one whole number per line of it.
        graphs: What was read.
        known: The labels in the order of the columns; by default those that occur.

    Raises:
        GraphInputError: If the numbers of lines differ, a label is no whole number or
            not known, or the directions of an edge differ; names the line.
    """
    pairs = _integers(edge_file)
    labels = _integers(label_file)[:, 0]
    if len(pairs) != len(labels):
        raise GraphInputError(
            f"{label_file} has {len(labels)} lines for {len(pairs)} edges; a file is "
            "cut short."
        )
    columns = np.unique(labels) if known is None else np.array(known, dtype=np.int64)
    strange = np.flatnonzero(~np.isin(labels, columns))
    if strange.size:
        raise GraphInputError(
            f"{label_file}, line {strange[0] + 1}: edge label {labels[strange[0]]} is "
            f"not known; known are {', '.join(map(str, columns.tolist()))}."
        )
    found = _in_order(pairs - 1, labels, graphs, label_file)
    table = (found[:, None] == columns).astype(np.float32)
    cuts = np.cumsum([2 * g.num_edges for g in graphs])[:-1]
    return np.split(table, cuts), columns.tolist()


def _in_order(
    pairs: IntArray, labels: IntArray, graphs: Sequence[Graph], file: Path
) -> IntArray:
    """Return the label of every stored direction, graph after graph."""
    size = sum(graph.num_nodes for graph in graphs)
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    edge, first, line = np.unique(
        low * size + high, return_index=True, return_inverse=True
    )
    differ = np.flatnonzero(labels != labels[first][line])
    if differ.size:
        u, v = pairs[differ[0]] + 1
        raise GraphInputError(
            f"{file}, line {differ[0] + 1}: edge {u}, {v} has another label in line "
            f"{first[line[differ[0]]] + 1}; an undirected edge has one."
        )
    starts = np.cumsum([0, *(graph.num_nodes for graph in graphs)])
    stored = [g.edge_index() + start for g, start in zip(graphs, starts, strict=False)]
    row, col = np.concatenate(stored, axis=1)
    keys = np.minimum(row, col) * size + np.maximum(row, col)
    result: IntArray = labels[first][np.searchsorted(edge, keys)]
    return result


def _integers(file: Path) -> IntArray:
    """Return comma-separated integers, one row per line."""
    rows = []
    lines = [line for line in read_text(file).splitlines() if line.strip()]
    for number, line in enumerate(lines, start=1):
        try:
            rows.append([int(field) for field in line.split(",")])
        except ValueError:
            raise GraphInputError(
                f"{file}, line {number}: {line.strip()!r} is no whole number."
            ) from None
    width = len(rows[0]) if rows else 1
    if any(len(row) != width for row in rows):
        raise GraphInputError(f"{file}: lines differ in their number of fields.")
    return np.array(rows, dtype=np.int64).reshape(-1, width)
