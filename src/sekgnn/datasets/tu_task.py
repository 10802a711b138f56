"""A user's own folder in the format of the TU collection, as a task."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sekgnn.datasets.graph_task import FeatureNames, GraphTask, make_task
from sekgnn.datasets.pyg import as_data
from sekgnn.datasets.target_kind import Label, TaskKind
from sekgnn.datasets.target_values import TargetColumn, read_column
from sekgnn.datasets.tu_edge_labels import edge_label_blocks
from sekgnn.errors import GraphInputError
from sekgnn.graphs import Undirected, read_tu_folder
from sekgnn.graphs.text import read_text
from sekgnn.graphs.tu_folder import find_tu_edges

if TYPE_CHECKING:
    from torch_geometric.data import Data


def tu_task(
    path: str | Path,
    *,
    kind: TaskKind | None = None,
    classes: Sequence[Label] | None = None,
    node_labels: Sequence[int] | None = None,
    edge_labels: Sequence[int] | None = None,
    undirected: Undirected = "error",
) -> GraphTask:
    """Read a TU folder: structure, node features and targets.

    ``x`` joins the numbers of ``NAME_node_attributes.txt`` and the one-hot labels of
    ``NAME_node_labels.txt``; without either every node has the feature 1. The target
    ``y`` is ``NAME_graph_labels.txt``; or else the targets are the columns of
    ``NAME_graph_attributes.txt``; without either there are none. ``edge_attr`` is the
    one-hot label of ``NAME_edge_labels.txt``, if that is there.

    Args:
        path: The folder that holds these files, or its parent if they are in ``raw``.
        kind: The kind of task; by default classes for labels, regression for
            attributes.
        classes: The graph labels, if they are known.
        node_labels: The node labels in the order of their columns, if they are known,
            as when a trained model meets new data; by default those that occur.
        edge_labels: Likewise for edges.
        undirected: ``"error"`` or ``"add"`` when an edge lacks its reverse.

    Raises:
        GraphInputError: If a file is missing, cut short or malformed; names file and
            line.
        ConfigError: If ``kind`` does not fit.
    """
    graphs, names = read_tu_graphs(path, node_labels, edge_labels, undirected)
    places = tu_places(len(graphs))
    labels, attributes = (
        _file(find_tu_edges(path), part)
        for part in ("graph_labels", "graph_attributes")
    )
    columns: list[TargetColumn] = []
    if labels.is_file():
        values = [row[0] for row in _rows(labels, len(graphs), "graphs")]
        columns = [read_column("y", values, places, str(labels))]
        if kind is None and classes is None:
            count = len(set(columns[0].values) - {None})
            kind = "binary" if count == 2 else "multiclass"
    elif attributes.is_file():
        rows = _rows(attributes, len(graphs), "graphs")
        titles = ["y"] if len(rows[0]) == 1 else [f"y{i}" for i in range(len(rows[0]))]
        columns = [
            read_column(title, [row[i] for row in rows], places, str(attributes))
            for i, title in enumerate(titles)
        ]
        kind = kind or "regression"
    return make_task(str(path), graphs, places, columns, kind, classes, names)


def read_tu_graphs(
    path: str | Path,
    node_labels: Sequence[int] | None = None,
    edge_labels: Sequence[int] | None = None,
    undirected: Undirected = "error",
) -> tuple[list[Data], FeatureNames]:
    """Return the graphs of a TU folder without targets, and the names of the features.

    Takes and raises what :func:`tu_task` does, but for the targets.
    """
    import torch

    edges = find_tu_edges(path)
    graphs = read_tu_folder(path, undirected=undirected)
    sizes = [graph.num_nodes for graph in graphs]
    x, names = _node_features(edges, sum(sizes), node_labels)
    parts = np.split(x, np.cumsum(sizes)[:-1])
    data = [as_data(graph, x=part) for graph, part in zip(graphs, parts, strict=True)]
    edge_names = None
    label_file = _file(edges, "edge_labels")
    if label_file.is_file():
        blocks, labels = edge_label_blocks(edges, label_file, graphs, edge_labels)
        edge_names = tuple(f"label {label}" for label in labels)
        for item, block in zip(data, blocks, strict=True):
            item.edge_attr = torch.from_numpy(block)
    return data, FeatureNames(names, edge_names)


def tu_places(count: int) -> list[str]:
    """Return the places of that many graphs."""
    return [f"graph {i + 1}" for i in range(count)]


def _file(edges: Path, part: str) -> Path:
    """Return the file of that part which belongs to ``NAME_A.txt``."""
    return edges.with_name(f"{edges.name.removesuffix('_A.txt')}_{part}.txt")


def _node_features(
    edges: Path, num_nodes: int, labels: Sequence[int] | None
) -> tuple[NDArray[np.float32], tuple[str, ...] | None]:
    """Return attributes and one-hot labels of all nodes, and names of the columns."""
    blocks: list[NDArray[np.float32]] = []
    names: list[str] = []
    path = _file(edges, "node_attributes")
    if path.is_file():
        rows = _rows(path, num_nodes, "nodes")
        blocks.append(np.array(_numbers(path, rows), dtype=np.float32))
        names += [f"attribute {i}" for i in range(len(rows[0]))]
    path = _file(edges, "node_labels")
    if path.is_file():
        found = [row[0] for row in _numbers(path, _rows(path, num_nodes, "nodes"))]
        known = sorted(set(found)) if labels is None else [float(v) for v in labels]
        for line, value in enumerate(found, start=1):
            if value not in known:
                shown = ", ".join(f"{v:g}" for v in known)
                raise GraphInputError(
                    f"{path}, line {line}: node label {value:g} is not known; known "
                    f"are {shown}."
                )
        blocks.append((np.array(found)[:, None] == known).astype(np.float32))
        names += [f"label {value:g}" for value in known]
    if not blocks:
        return np.ones((num_nodes, 1), dtype=np.float32), None
    return np.concatenate(blocks, axis=1), tuple(names)


def _rows(path: Path, count: int, what: str) -> list[list[str]]:
    """Return the comma-separated fields of each line; one line per graph or node."""
    lines = [line for line in read_text(path).splitlines() if line.strip()]
    if len(lines) != count:
        raise GraphInputError(
            f"{path} has {len(lines)} lines for {count} {what}; a file is cut short."
        )
    rows = [[field.strip() for field in line.split(",")] for line in lines]
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            raise GraphInputError(
                f"{path}, line {number}: {len(row)} fields, but {len(rows[0])} in line "
                "1."
            )
    return rows


def _numbers(path: Path, rows: list[list[str]]) -> list[list[float]]:
    """Return fields as finite numbers."""
    table = []
    for line, row in enumerate(rows, start=1):
        values = []
        for text in row:
            try:
                value = float(text)
            except ValueError:
                value = np.nan
            if not np.isfinite(value):
                raise GraphInputError(
                    f"{path}, line {line}: {text!r} is no finite number."
                )
            values.append(value)
        table.append(values)
    return table
