"""Tasks from files, whole or in chunks, and from objects in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sekgnn.checks import check_positive
from sekgnn.datasets.graph_task import Y_MASK, GraphTask, make_task, record_task
from sekgnn.datasets.targets import Label, TargetColumn, TaskKind, read_column
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.fields import Y_BOUND
from sekgnn.graphs import Graph, GraphRecord, ReadOptions, Undirected, from_pyg
from sekgnn.graphs.cleaning import located
from sekgnn.graphs.records import (
    OnInvalid,
    graph_format,
    grouped,
    networkx_records,
    read_all,
    read_records,
    smiles_records,
)
from sekgnn.graphs.table import Column
from sekgnn.graphs.tu_folder import tu_target_file

if TYPE_CHECKING:
    from torch_geometric.data import Data

TASK_FORMATS = {
    "smiles": "a table of SMILES",
    "json": "JSON lines",
    "tu": "a TU folder",
    "shards": "a folder of shards",
}
"""Formats that hold features or targets, and their names in messages."""

MOST_CHUNK_NODES = 200_000
"""A chunk ends with the graph that reaches this number of nodes."""


def task_format(path: str | Path, format: str | None = None) -> str:
    """Return the format of a file or folder to learn from or to predict on.

    Raises:
        GraphInputError: If the path does not exist or is not of ``TASK_FORMATS``.
    """
    form = graph_format(path, format)
    if form not in TASK_FORMATS:
        raise GraphInputError(
            f"{path}: the format {form} holds neither features nor targets; use "
            "a table (.csv, .tsv, .parquet), JSON lines (.jsonl, .ndjson) or a TU "
            "folder."
        )
    return form


def read_task(
    path: str | Path,
    targets: Sequence[str] | str = (),
    *,
    kind: TaskKind | None = None,
    classes: Sequence[Label] | None = None,
    columns: Sequence[Column] = (),
    on_invalid: OnInvalid | None = None,
    **options: Any,
) -> GraphTask:
    """Read graphs and targets from a table of SMILES, JSON lines or a TU folder.

    Molecules have the features ``ATOM_FEATURES`` and ``BONDS`` of
    :mod:`sekgnn.graphs.molecules`. Graphs without features get the feature 1 on every
    node. Absent keys are missing targets, and so are the texts ``MISSING`` and, among
    numbers, ``MISSING_NUMBERS`` of :mod:`sekgnn.datasets.targets`.

    Args:
        path: File or folder; see :func:`~sekgnn.graphs.records.read_records`.
        targets: Columns or keys to predict; none for graphs to predict on, or for a
            TU folder, which has its own.
        kind: The kind of task; by default inferred from the targets
            (:func:`encode_targets`), or for a TU folder classification of labels and
            regression of attributes.
        classes: The labels, if known.
        columns: Further columns or keys to keep unchanged.
        on_invalid: Called with every row that ``skip_invalid`` leaves out.
        **options: Options of :class:`~sekgnn.graphs.ReadOptions`, such as ``smiles``.

    Raises:
        GraphInputError: If the path, a graph or a target is invalid; names the column,
            the row and its line.
        ConfigError: If ``kind`` does not fit, or targets are given for a TU folder.
        MissingExtraError: If rdkit, or for Parquet pyarrow, is not installed.
    """
    chosen = ReadOptions(**options)
    names = [targets] if isinstance(targets, str) else list(targets)
    source = str(path)
    form = task_format(path, chosen.format)
    if form == "tu" and names:
        raise ConfigError(
            f"{path} is a TU folder, whose targets are in its files; leave target out."
        )
    _check_columns(path, form, columns)
    records, invalid = read_all(path, chosen, list(dict.fromkeys([*names, *columns])))
    if on_invalid is not None:
        for row in invalid:
            on_invalid(row)
    if form != "tu":
        target_columns = _targets(records, names, source)
        return record_task(source, records, target_columns, kind, classes, columns)
    file = tu_target_file(path)
    target_columns = _targets(records, list(records[0].targets), str(file))
    if target_columns and kind is None and classes is None:
        kind = "regression"
        if file is not None and file.name.endswith("_graph_labels.txt"):
            count = len(set(target_columns[0].values) - {None})
            kind = "binary" if count == 2 else "multiclass"
    return record_task(source, records, target_columns, kind, classes)


def _check_columns(path: str | Path, form: str, columns: Sequence[Column]) -> None:
    if form == "tu" and columns:
        raise ConfigError(f"{path} is a TU folder, which has no column {columns[0]!r}.")


def _targets(
    records: Sequence[GraphRecord], names: Sequence[str], source: str
) -> list[TargetColumn]:
    places = [record.place for record in records]
    return [
        read_column(name, [r.targets.get(name) for r in records], places, source)
        for name in names
    ]


def stream_task(
    path: str | Path,
    *,
    chunk_size: int = 1024,
    columns: Sequence[Column] = (),
    on_invalid: OnInvalid | None = None,
    **options: Any,
) -> Iterator[GraphTask]:
    """Read graphs to predict on, in order and without targets, in chunks.

    The chunks hold the graphs of :func:`read_task` without targets. Tables and JSON
    lines are read lazily, so memory does not depend on the length of the file, and an
    error is raised only when it is reached, **after earlier chunks were yielded**. A TU
    folder is read whole.

    The arguments are those of :func:`read_task`. A chunk is not empty, has at most
    ``chunk_size`` graphs, and ends with the graph that reaches ``MOST_CHUNK_NODES``
    nodes.

    Raises:
        ConfigError: If ``chunk_size`` is less than 1, or an option is unknown.
        GraphInputError: If no format can be inferred. While reading: if the file has
            no graphs, a SMILES is invalid (without ``skip_invalid``; names row and
            line), or as :func:`read_task`.
        MissingExtraError: If rdkit, or for Parquet pyarrow, is not installed.
    """
    check_positive("chunk_size", chunk_size)
    chosen = ReadOptions(**options)
    _check_columns(path, task_format(path, chosen.format), columns)
    callback = on_invalid if chosen.skip_invalid else None
    records = read_records(path, chosen, columns, on_invalid=callback)
    return _chunks(str(path), records, chunk_size, columns)


def _chunks(
    source: str, records: Iterable[GraphRecord], size: int, columns: Sequence[Column]
) -> Iterator[GraphTask]:
    """Yield records in chunks, each as soon as it is full.

    Every chunk is checked together with the very first graph, for equal numbers of
    features.
    """
    first: tuple[GraphRecord, ...] = ()
    most = MOST_CHUNK_NODES
    for chunk in grouped(records, size, lambda record: record.graph.num_nodes, most):
        task = record_task(source, [*first, *chunk], extra=columns)
        yield task.subset(range(1, len(task))) if first else task
        first = first or chunk[:1]
    if not first:
        raise GraphInputError(f"{source} holds no graphs.")


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
        dataset: Undirected graphs with a known number of nodes.
        kind: The kind of task; by default inferred from the targets.
        classes: The labels, if known.
        names: Names of the targets; by default ``y``, or ``y0``, ``y1``, ...

    Raises:
        GraphInputError: If a graph is invalid, or the length of its ``y`` differs from
            the others; names the graph.
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


def _copied(item: Any, place: str) -> Data:
    """Return a checked copy of a graph without targets, with float32 ``x``."""
    import torch

    with located(place):
        graph = from_pyg(item)
    copy: Data = item.clone()
    for key in ("y", Y_MASK, Y_BOUND):
        copy.pop(key, None)
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
        targets: One value per graph; several targets as ``{name: values}``; or a
            graph attribute (``graph.graph[name]``). ``None`` for graphs to predict on.
        node_features: Numeric node attributes for ``x``; by default every node has the
            feature 1.
        kind: The kind of task; by default inferred from the targets.
        classes: The labels, if known.
        undirected: ``"error"`` or ``"add"`` when a directed edge lacks its reverse.

    Raises:
        GraphInputError: If a graph or attribute is invalid or missing; names the
            graph.
        ConfigError: If ``kind`` does not fit.
    """
    source = "graphs"
    records = list(networkx_records(graphs, node_features, undirected))
    if isinstance(targets, str):
        if graphs and not any(targets in graph.graph for graph in graphs):
            raise GraphInputError(f"no graph has the attribute {targets!r}.")
        targets = {targets: [graph.graph.get(targets) for graph in graphs]}
    elif targets is None:
        targets = {}
    elif not isinstance(targets, Mapping):
        targets = {"y": targets}
    for name, values in targets.items():
        if len(values) != len(graphs):
            raise GraphInputError(
                f"target {name!r} has {len(values)} values for {len(graphs)} graphs."
            )
    places = [record.place for record in records]
    columns = [read_column(n, list(v), places, source) for n, v in targets.items()]
    return record_task(source, records, columns, kind, classes)


def list_task(graphs: Iterable[Any], node_features: Sequence[str] = ()) -> GraphTask:
    """Return a list of graphs of any supported library as a task without targets.

    Args:
        graphs: All of one type: PyG ``Data`` (``y`` is ignored), networkx graphs,
            :class:`~sekgnn.graphs.Graph`, or SMILES.
        node_features: Node attributes of networkx graphs to use.

    Raises:
        GraphInputError: If there are no graphs, or one is invalid or of another type;
            names it.
    """
    from torch_geometric.data import Data

    items = list(graphs)
    if not items:
        raise GraphInputError("no graphs are given.")
    first = items[0]
    for kind, name in {str: "SMILES", Graph: "a Graph", Data: "a PyG Data"}.items():
        for i, item in enumerate(items if isinstance(first, kind) else ()):
            if not isinstance(item, kind):
                raise GraphInputError(
                    f"graph {i} is {type(item).__name__}, graph 0 is {name}; all must "
                    "be of one kind."
                )
    if isinstance(first, str):
        return record_task("SMILES", list(smiles_records(items)))
    if isinstance(first, Graph):
        records = [GraphRecord(g, f"graph {i}", i + 1) for i, g in enumerate(items)]
        return record_task("graphs", records)
    if isinstance(first, Data):
        bare = [item.clone() for item in items]
        for item in bare:
            item.pop("y", None)
        return pyg_task(bare)
    return networkx_task(items, node_features=node_features)
