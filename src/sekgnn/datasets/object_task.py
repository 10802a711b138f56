"""Tasks from objects in memory: PyG datasets and networkx graphs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sekgnn.datasets.graph_task import FeatureNames, GraphTask, make_task
from sekgnn.datasets.node_features import feature_rows
from sekgnn.datasets.pyg import as_data
from sekgnn.datasets.target_kind import Label, TaskKind
from sekgnn.datasets.target_values import TargetColumn, read_column
from sekgnn.errors import GraphInputError
from sekgnn.graphs import Undirected, from_networkx, from_pyg

if TYPE_CHECKING:
    from torch_geometric.data import Data


def pyg_task(
    dataset: Iterable[Any],
    *,
    kind: TaskKind | None = None,
    classes: Sequence[Label] | None = None,
    names: Sequence[str] | None = None,
) -> GraphTask:
    """Return a PyG dataset, or any list of ``Data``, as a task.

    Graphs are copied; ``y`` is read as one row of targets per graph, in which NaN is
    missing. Graphs without ``x`` get the feature 1 on every node. If no graph has
    ``y``, there are no targets.

    Args:
        dataset: Undirected graphs whose number of nodes is known.
        kind: The kind of task; by default the targets tell.
        classes: The labels, if they are known.
        names: Of the targets; by default ``y``, or ``y0``, ``y1``, ...

    Raises:
        GraphInputError: If a graph is wrong, or its ``y`` is no row of as many numbers
            as in the others; names the graph.
        ConfigError: If ``kind`` does not fit.
    """
    source = type(dataset).__name__
    graphs, rows, places = [], [], []
    for number, item in enumerate(dataset):
        place = f"graph {number}"
        graphs.append(_copied(item, f"{source}, {place}"))
        places.append(place)
        y = getattr(item, "y", None)
        rows.append(None if y is None else y.reshape(-1).tolist())
    width = max((len(row) for row in rows if row is not None), default=0)
    for row, place in zip(rows, places, strict=True):
        if row is not None and len(row) != width:
            raise GraphInputError(
                f"{source}, {place}: y has {len(row)} values, but {width} elsewhere; "
                "targets must be of the graph, one row each (not of its nodes)."
            )
    titles = list(names or (["y"] if width == 1 else [f"y{i}" for i in range(width)]))
    if len(titles) != width:
        raise GraphInputError(f"{source}: {len(titles)} names for {width} targets.")
    columns = [
        read_column(title, [row and row[i] for row in rows], places, source)
        for i, title in enumerate(titles)
    ]
    return make_task(source, graphs, places, columns, kind, classes)


def networkx_task(
    graphs: Sequence[Any],
    targets: Sequence[Any] | Mapping[str, Sequence[Any]] | str | None = None,
    *,
    node_features: Sequence[str] = (),
    kind: TaskKind | None = None,
    classes: Sequence[Label] | None = None,
    undirected: Undirected = "error",
) -> GraphTask:
    """Return a list of networkx graphs as a task; node i is the i-th of its graph.

    Args:
        graphs: The graphs.
        targets: One value per graph; several as ``{name: values}``; or the name of a
            graph attribute (``graph.graph[name]``). ``None`` for graphs to predict on.
        node_features: Node attributes that hold numbers, for ``x``; without any every
            node has the feature 1.
        kind: The kind of task; by default the targets tell.
        classes: The labels, if they are known.
        undirected: ``"error"`` or ``"add"`` when a directed edge lacks its reverse.

    Raises:
        GraphInputError: If a graph or an attribute is wrong or missing; names the
            graph.
        ConfigError: If ``kind`` does not fit.
    """
    source = "graphs"
    places = [f"graph {i}" for i in range(len(graphs))]
    data = []
    for graph, place in zip(graphs, places, strict=True):
        if not hasattr(graph, "nodes") or not hasattr(graph, "edges"):
            raise GraphInputError(f"{place} is no networkx graph but {graph!r:.50}.")
        try:
            structure = from_networkx(graph, undirected=undirected)
        except GraphInputError as error:
            raise GraphInputError(f"{place}: {error}") from None
        data.append(as_data(structure, x=_attributes(graph, node_features, place)))
    columns = _target_columns(graphs, targets, places, source)
    names = FeatureNames(tuple(node_features) or None)
    return make_task(source, data, places, columns, kind, classes, names)


def _copied(item: Any, place: str) -> Data:
    """Return a graph without targets, its edges checked, ``x`` as float32."""
    import torch

    try:
        graph = from_pyg(item)
    except GraphInputError as error:
        raise GraphInputError(f"{place}: {error}") from None
    copy: Data = item.clone()
    for key in ("y", "y_mask"):
        if key in copy:
            del copy[key]
    copy.num_nodes = graph.num_nodes
    x = copy.x if "x" in copy else None
    if x is None:
        copy.x = torch.ones(graph.num_nodes, 1)
    elif x.size(0) != graph.num_nodes:
        raise GraphInputError(
            f"{place}: x has {x.size(0)} rows, but there are {graph.num_nodes} nodes."
        )
    else:
        copy.x = x.reshape(graph.num_nodes, -1).float()
    return copy


def _attributes(graph: Any, names: Sequence[str], place: str) -> Any:
    if not names:
        return None
    rows = []
    for node, attributes in graph.nodes(data=True):
        missing = [name for name in names if name not in attributes]
        if missing:
            raise GraphInputError(
                f"{place}: node {node!r} has no attribute {missing[0]!r}; it has "
                f"{sorted(map(str, attributes))}."
            )
        rows.append([attributes[name] for name in names])
    return feature_rows(rows, place) if rows else np.zeros((0, len(names)), np.float32)


def _target_columns(
    graphs: Sequence[Any], targets: Any, places: list[str], source: str
) -> list[TargetColumn]:
    if targets is None:
        return []
    if isinstance(targets, str):
        if graphs and not any(targets in graph.graph for graph in graphs):
            raise GraphInputError(f"no graph has the attribute {targets!r}.")
        targets = {targets: [graph.graph.get(targets) for graph in graphs]}
    if not isinstance(targets, Mapping):
        targets = {"y": targets}
    for name, values in targets.items():
        if len(values) != len(graphs):
            raise GraphInputError(
                f"target {name!r} has {len(values)} values for {len(graphs)} graphs."
            )
    return [read_column(n, list(v), places, source) for n, v in targets.items()]
