"""Graphs from JSON lines: one object per line with edges, features and targets."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sekgnn.checks import check_positive
from sekgnn.datasets.graph_task import GraphTask, make_task
from sekgnn.datasets.node_features import feature_rows
from sekgnn.datasets.pyg import as_data
from sekgnn.datasets.target_kind import Label, TaskKind
from sekgnn.datasets.target_values import read_column
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs import Graph
from sekgnn.graphs.edge_checks import check_num_nodes
from sekgnn.graphs.table import text_lines

if TYPE_CHECKING:
    from torch_geometric.data import Data


def json_task(
    path: str | Path,
    targets: Sequence[str] | str = (),
    *,
    kind: TaskKind | None = None,
    classes: Sequence[Label] | None = None,
) -> GraphTask:
    """Read JSON lines such as ``{"edges": [[0, 1], [1, 2]], "num_nodes": 4, "y": 1}``.

    ``edges`` lists each edge once or in both directions, nodes from 0; ``num_nodes`` is
    needed unless ``x`` (one list of numbers per node) is there. Without ``x`` every
    node has the feature 1.

    Args:
        path: The file; blank lines are skipped.
        targets: Keys of the objects to predict; none for graphs to predict on.
            ``null``, ``NaN``, an empty text and an absent key are missing targets.
        kind: The kind of task; by default the targets tell.
        classes: The labels, if they are known.

    Raises:
        GraphInputError: If a line is wrong; names line and key.
        ConfigError: If ``kind`` does not fit.
    """
    names = [targets] if isinstance(targets, str) else list(targets)
    records: list[dict[str, Any]] = []
    graphs: list[Data] = []
    places: list[str] = []
    for place, record, data in read_json_graphs(path):
        graphs.append(data)
        records.append(record)
        places.append(place)
    for name in names:
        if records and not any(name in record for record in records):
            raise GraphInputError(
                f"{path} has no key {name!r}; the keys of its first line are "
                f"{sorted(records[0])}."
            )
    columns = [
        read_column(name, [r.get(name) for r in records], places, str(path))
        for name in (names if records else ())
    ]
    return make_task(str(path), graphs, places, columns, kind, classes)


def read_json_graphs(
    path: str | Path,
) -> Iterator[tuple[str, dict[str, Any], Data]]:
    """Yield place, object and graph of every line that is not blank.

    Args:
        path: The file; it is read as the graphs are asked for.

    Raises:
        GraphInputError: If a line is wrong, when it is met; names line and key.
    """
    for number, line in enumerate(text_lines(path, newline="\n"), start=1):
        if line.strip():
            place = f"line {number}"
            record = _record(line, f"{path}, {place}")
            yield place, record, _graph(record, f"{path}, {place}")


def _record(line: str, place: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise GraphInputError(f"{place}: not JSON ({error}).") from None
    if not isinstance(record, dict) or "edges" not in record:
        raise GraphInputError(f"{place}: an object with the key 'edges' is needed.")
    return record


def _graph(record: dict[str, Any], place: str) -> Data:
    x = None
    if record.get("x") is not None:
        x = feature_rows(record["x"], place)
    num_nodes = record.get("num_nodes", None if x is None else len(x))
    if num_nodes is None:
        raise GraphInputError(
            f"{place}: neither 'num_nodes' nor 'x' is there; isolated nodes would be "
            "lost."
        )
    try:
        check_num_nodes(check_positive("num_nodes", num_nodes, 0))
    except (ConfigError, GraphInputError) as error:
        raise GraphInputError(f"{place}: {error}") from None
    if x is not None and len(x) != num_nodes:
        raise GraphInputError(
            f"{place}: 'x' has {len(x)} rows, but there are {num_nodes} nodes."
        )
    edges = record["edges"]
    pairs = isinstance(edges, list) and all(
        isinstance(edge, list)
        and len(edge) == 2
        and all(isinstance(end, int) and not isinstance(end, bool) for end in edge)
        and all(0 <= end < num_nodes for end in edge)
        for edge in edges
    )
    if not pairs:
        raise GraphInputError(
            f"{place}: 'edges' must be a list of pairs [u, v] of nodes in "
            f"0..{num_nodes - 1}."
        )
    index = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    return as_data(Graph.from_edge_index(index, num_nodes, undirected="add"), x=x)
