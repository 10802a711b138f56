"""One type for all data to learn from: graphs, targets, kind of task."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from sekgnn.datasets.targets import (
    Label,
    TargetColumn,
    TaskKind,
    encode_targets,
    is_missing,
    not_a_number,
)
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.fields import GRAPH_X, POSITIONS, Y_BOUND
from sekgnn.graphs import Graph, GraphRecord
from sekgnn.graphs.graph_record import NO_NAMES, FeatureNames
from sekgnn.graphs.molecule_pool import FIRST_SLOW, in_order
from sekgnn.graphs.molecules import molecule_numbers, shown_smiles
from sekgnn.graphs.table import Column

if TYPE_CHECKING:
    from torch import Tensor
    from torch_geometric.data import Data

    from sekgnn.encoding.substructure import SubstructureEncoding

Y_MASK = "y_mask"
"""Field of a ``Data`` that marks present targets, bool ``[1, T]``."""
Y_WEIGHT = "y_weight"
"""Field of a ``Data`` with the weight of its loss, float32 ``[1]``; 1 if absent."""


_SEALED = (
    "edge_index", "x", "edge_attr", POSITIONS, "y", Y_MASK, Y_BOUND, Y_WEIGHT,
    GRAPH_X,
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Split:
    """Three disjoint lists of positions in a dataset.

    Attributes:
        train: For training, int64.
        val: For model selection, int64.
        test: For the reported number, int64.
        calibration: For prediction intervals, int64: split off ``val``, or all of it
            where nothing is selected.

    Example:
        >>> Split.contiguous(2, 1, 3).test.tolist()
        [3, 4, 5]
    """

    train: NDArray[np.int64]
    val: NDArray[np.int64]
    test: NDArray[np.int64]
    calibration: NDArray[np.int64] = field(default_factory=lambda: np.arange(0))

    @classmethod
    def of(cls, order: NDArray[np.int64], num_train: int, num_val: int) -> Split:
        """Cut ``order`` into three parts; the rest is for test."""
        cuts = [num_train, num_train + num_val]
        return cls(*np.split(np.asarray(order, dtype=np.int64), cuts))

    @classmethod
    def contiguous(cls, train: int, val: int, test: int) -> Split:
        """Return three consecutive parts of given sizes."""
        return cls.of(np.arange(train + val + test), train, val)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Number of graphs in each part."""
        return self.train.size, self.val.size, self.test.size


@dataclass(frozen=True, eq=False)
class GraphTask:
    """Graphs and their targets.

    Every ``Data`` has ``edge_index``, ``x`` (float32), ``num_nodes`` and, if there are
    targets, ``y`` and ``y_mask`` (bool ``[1, T]``, false where a target is missing).
    ``y`` is the class number, int64 ``[1]``, for binary and multiclass tasks, float32
    ``[1, T]`` for multilabel ones, and either float32 or float64 for regression, where
    numbers are rounded only after scaling; 0 where missing. Where some targets are
    bounds, ``y_bound`` is 1 for a lower one and -1 for an upper one, int8 ``[1, T]``;
    ``y`` is then the bound, and ``y_mask`` false.

    Attributes:
        graphs: The graphs, in the order of their source.
        kind: ``"binary"``, ``"multiclass"``, ``"multilabel"``, ``"regression"``, or
            ``None`` if there are no targets.
        target_names: The T targets.
        classes: The label of every class number of a binary or multiclass task.
        mask: False where a target is missing, bool ``[G, T]``.
        bounds: ``y_bound`` of all graphs, ``[G, T]``; ``None`` without any bound.
        places: Position of each graph in its source, such as ``row 3 (line 4)``.
        feature_names: The columns of ``x``, if they have names.
        edge_feature_names: The columns of ``edge_attr``, if they have names.
        graph_feature_names: The columns of ``graph_x``, if graphs have features
            (:func:`add_graph_features`).
        rows: Number of each graph in its source, from 1: its data row, its line among
            the non-blank ones, or its number in a folder; rows left out count.
        texts: The SMILES of each graph as in its source; ``None`` if there are none.
        name: Name of the dataset or file, if any.
        source: Origin: ``"memory"``, ``"file"``, ``"generated"``, ...
        level: Whether targets are of graphs or of nodes.
        units: The unit of the targets, in words.
        target_units: The unit of each target, empty where unknown.
        split: The published split, if any.
        reader: How to read further graphs to predict on: ``format`` and the
            options of its reader.
        columns: Further columns of the source that were requested, one value per
            graph as in the source, ``None`` where a key is absent.
        left_out: Number of graphs left out, by reason.
        notes: Remarks on the source, a line each.
        missing: Counts of the texts in place of targets, of graphs without any.
        encoding: The encoding stored with the graphs, used unless another is chosen.
        y: The targets of all items as one array, if graphs do not carry them.
    """

    graphs: Sequence[Data]
    kind: TaskKind | None
    target_names: tuple[str, ...]
    classes: tuple[Label, ...] | None
    mask: NDArray[np.bool_]
    places: Sequence[str]
    feature_names: tuple[str, ...] | None = None
    edge_feature_names: tuple[str, ...] | None = None
    rows: tuple[int, ...] = ()
    texts: Sequence[str] | None = None
    name: str = ""
    source: str = "memory"
    level: Literal["graph", "node", "link"] = "graph"
    units: str = "as given"
    target_units: tuple[str, ...] = ()
    split: Split | None = None
    reader: dict[str, Any] | None = None
    columns: Mapping[Column, tuple[Any, ...]] = field(default_factory=dict)
    graph_feature_names: tuple[str, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    missing: Mapping[str, int] = field(default_factory=dict)
    bounds: NDArray[np.int8] | None = None
    encoding: SubstructureEncoding | None = None
    y: NDArray[Any] | None = None

    _per_item: ClassVar[tuple[str, ...]] = (
        "graphs",
        "mask",
        "bounds",
        "places",
        "rows",
        "texts",
        "y",
    )

    def __len__(self) -> int:
        return len(self.graphs)

    def __getitem__(self, index: int) -> Data:
        return self.graphs[index]

    def __iter__(self) -> Iterator[Data]:
        return iter(self.graphs)

    @property
    def num_features(self) -> int:
        """Width of ``x``."""
        return int(self.graphs[0].x.shape[1])

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of nodes of every graph, ``[G]``."""
        return np.array([int(data.num_nodes) for data in self.graphs], dtype=np.int64)

    @property
    def num_outputs(self) -> int:
        """Number of outputs: one per class, or one per target."""
        return len(self.classes if self.classes is not None else self.target_names)

    @property
    def edge_channels(self) -> int:
        """Width of ``edge_attr``; 0 if some graph has none."""
        widths = {edge_width(data) for data in self.graphs}
        return widths.pop() if len(widths) == 1 else 0

    @property
    def has_one_unit(self) -> bool:
        """Whether all targets have the same unit, so that errors can be averaged."""
        if self.kind != "regression" or len(self.target_names) < 2:
            return True
        if self.target_units:
            return len(set(self.target_units)) == 1 and all(self.target_units)
        return self.units != "as given"

    @property
    def class_numbers(self) -> NDArray[np.int64] | None:
        """The class number of every item, ``[G]``, if folds can be stratified."""
        if self.kind not in ("binary", "multiclass"):
            return None
        if self.y is not None or self.level == "node":
            return self.y
        return np.array([int(data.y) for data in self.graphs], dtype=np.int64)

    def targets(self) -> tuple[Tensor, Tensor]:
        """Return ``y`` of all graphs, ``[G]`` or ``[G, T]``, and its mask.

        Rows are nodes if targets are of nodes.
        """
        import torch

        if self.y is not None:
            return torch.from_numpy(self.y), torch.from_numpy(self.mask)
        y = torch.cat([data.y for data in self.graphs])
        return y, torch.cat([data[Y_MASK] for data in self.graphs])

    def names(self, positions: Sequence[int]) -> dict[str, list[Any]]:
        """Return the columns that identify rows in a table of predictions."""
        columns: dict[str, list[Any]] = {"graph": list(positions)}
        if self.texts is not None:
            columns["smiles"] = [shown_smiles(self.texts[i]) for i in positions]
        return columns

    def column(self, name: str) -> tuple[Any, ...]:
        """Return the values of another column, one per graph.

        Raises:
            ConfigError: If there is none.
        """
        if name not in self.columns:
            raise ConfigError(
                f"{self.name or 'the data'} has no column {name!r}; only tables and "
                "JSON lines of your own have columns, and tasks made with them."
            )
        return self.columns[name]

    def fingerprint(self) -> str:
        """Return a SHA-256 of all graphs, features, targets and other columns."""
        import torch

        digest = hashlib.sha256()
        y = self.targets()[0] if self.kind == "regression" else torch.empty(0)
        # the digest does not depend on the type if float32 keeps values distinct
        short = np.unique(y.numpy()).size == np.unique(y.float().numpy()).size
        for data in self.graphs:
            digest.update(int(data.num_nodes).to_bytes(8, "little"))
            for name in _SEALED:
                value = data.get(name)
                if value is not None:
                    value = value.float() if name == "y" and len(y) and short else value
                    digest.update(f"{name}{list(value.shape)}".encode())
                    digest.update(np.ascontiguousarray(value.numpy()).tobytes())
        for column, values in self.columns.items():
            digest.update(f"{column!r}{[str(value) for value in values]}".encode())
        return digest.hexdigest()

    def describe(self) -> dict[str, Any]:
        """Return the description of the data in the record of a run."""
        classes = self.classes
        return {
            "name": self.name,
            "source": self.source,
            "fingerprint": self.fingerprint(),
            "graphs": len(self),
            "kind": self.kind,
            "level": self.level,
            "targets": list(self.target_names),
            "classes": None if classes is None else [str(label) for label in classes],
            "units": self.units,
            "target_units": list(self.target_units),
            "left_out": dict(self.left_out),
            "notes": list(self.notes),
        }

    def subset(self, chosen: Sequence[int] | NDArray[np.int64]) -> Self:
        """Return the task of the items at some positions, without their split."""
        positions = np.asarray(chosen, dtype=np.int64)
        numbers = positions.tolist()

        def take(values: Any) -> Any:
            if values is None or isinstance(values, tuple | list):
                return tuple(values[i] for i in numbers) if values else values
            return values[positions]

        return replace(
            self,
            split=None,
            columns={name: take(values) for name, values in self.columns.items()},
            **{name: take(getattr(self, name)) for name in self._per_item},
        )

    def check(self, check_graph: Callable[[Data, str], object], name: str = "") -> None:
        """Call ``check_graph(data, place)`` for every graph.

        Args:
            check_graph: Raises if a model cannot use a graph.
            name: Name of the source in errors; by default that of the task.
        """
        source = name or self.name
        for data, place in zip(self.graphs, self.places, strict=True):
            check_graph(data, f"{source}, {place}" if place else source)

    def with_targets(self) -> GraphTask:
        """Return the task without the graphs that lack every target.

        Raises:
            GraphInputError: If no graph remains.
        """
        keep = np.flatnonzero(self._has_target())
        if not keep.size:
            raise GraphInputError(f"{self.name or 'graphs'}: no graph has a target.")
        return self if keep.size == len(self) else self.subset(keep)

    def without_targets(self) -> str:
        """Return the number of graphs without any target, in words, or nothing.

        Example: ``5 graphs without a target (3 empty, 2 'NA')``.
        """
        count = int((~self._has_target()).sum())
        kinds = [f"{n} {repr(text) if text else 'empty'}"
                 for text, n in self.missing.items()]  # fmt: skip
        words = f" ({', '.join(kinds)})" if kinds else ""
        return f"{count} graphs without a target{words}" if count else ""

    def _has_target(self) -> NDArray[np.bool_]:
        """Tell which items have a target or a bound, ``[G]``."""
        known = self.mask if self.bounds is None else self.mask | (self.bounds != 0)
        some: NDArray[np.bool_] = np.logical_or.reduce(known, axis=1)
        return some

    def __repr__(self) -> str:
        targets = ", ".join(self.target_names) or None
        size = f"{len(self)} {self.level}s"
        return f"{type(self).__name__}({size}, {self.kind}, targets: {targets})"


def as_data(
    graph: Graph,
    x: NDArray[np.float32] | None = None,
    **values: int | NDArray[Any] | None,
) -> Data:
    """Return a graph as PyG data, ``edge_index`` ``[2, 2 m]`` and ``x`` ``[n, C]``.

    ``x`` defaults to a column of ones, so that a network sees only the structure. A
    further integer becomes int64 ``[1]``, an array a tensor; ``None`` is left out.

    Example:
        >>> from sekgnn.graphs import cycle_graph
        >>> data = as_data(cycle_graph(3), y=1)
        >>> data.x.tolist(), data.y.tolist(), data.num_edges
        ([[1.0], [1.0], [1.0]], [1], 6)
    """
    import torch
    from torch_geometric.data import Data

    features = np.ones((graph.num_nodes, 1), np.float32) if x is None else x
    stored: dict[str, Any] = {
        name: torch.from_numpy(v) if isinstance(v, np.ndarray) else torch.tensor([v])
        for name, v in values.items()
        if v is not None
    }
    return Data(
        x=torch.from_numpy(features),
        edge_index=torch.from_numpy(graph.edge_index()),
        num_nodes=graph.num_nodes,
        **stored,
    )


def edge_width(data: Any) -> int:
    """Return the width of a graph's ``edge_attr``; 0 if it has none."""
    attr = data.get("edge_attr")
    if attr is None:
        return 0
    return int(attr.size(1)) if attr.dim() > 1 else 1


def record_task(
    source: str,
    records: Sequence[GraphRecord],
    columns: Sequence[TargetColumn] = (),
    kind: TaskKind | None = None,
    classes: Sequence[Label] | None = None,
    extra: Sequence[Column] = (),
) -> GraphTask:
    """Return records as a task; takes and raises what :func:`make_task` does.

    A graph without features gets the feature 1 on every node. The values ``extra`` of
    the records become ``columns`` of the task.
    """
    graphs = [as_data(r.graph, r.x, edge_attr=r.edge_attr) for r in records]
    names = records[0].names if records else NO_NAMES
    places = [record.place for record in records]
    task = make_task(source, graphs, places, columns, kind, classes, names)
    texts = tuple(record.text for record in records if record.text is not None)
    return replace(
        task,
        rows=tuple(record.row for record in records),
        texts=texts or None,
        columns={name: tuple(r.targets.get(name) for r in records) for name in extra},
    )


def set_targets(
    graphs: Sequence[Data],
    y: Tensor,
    mask: NDArray[np.bool_],
    bounds: NDArray[np.int8] | None = None,
) -> None:
    """Set a row of ``y``, and where it is present or a bound, on every graph."""
    import torch

    for i, data in enumerate(graphs):
        data.y = y[i : i + 1].clone()
        data[Y_MASK] = torch.from_numpy(mask[i : i + 1].copy())
        if bounds is not None:
            data[Y_BOUND] = torch.from_numpy(bounds[i : i + 1].copy())


def set_weights(task: GraphTask, weights: Sequence[Any], name: str) -> None:
    """Set the weight of every graph's loss, divided by the mean weight.

    Raises:
        GraphInputError: If one is not a number, or negative, or all are 0; the message
            calls them ``name``.
    """
    import torch

    numbers = []
    for value, place in zip(weights, task.places, strict=True):
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not 0 <= number < math.inf:
            raise GraphInputError(
                f"{task.name or 'graphs'}, {place}: {name} {value!r} is not a weight; "
                "a number of at least 0 is needed."
            )
        numbers.append(number)
    mean = sum(numbers) / max(len(numbers), 1)
    if not mean:
        raise GraphInputError(
            f"{task.name or 'graphs'}: all weights in {name} are zero."
        )
    for data, number in zip(task.graphs, numbers, strict=True):
        data[Y_WEIGHT] = torch.tensor([number / mean])


def row_weights(batch: Any, level: str) -> Tensor | None:
    """Return the weight of every row of targets in a batch, ``[R]``, if any."""
    if Y_WEIGHT not in batch:
        return None
    weights: Tensor = batch[Y_WEIGHT]
    return weights[batch.batch] if level == "node" else weights


def add_graph_features(
    task: GraphTask, columns: Sequence[str] = (), descriptors: str = "none"
) -> GraphTask:
    """Return a task with features of whole graphs, ``graph_x`` ``[1, D]``.

    They are ``columns`` of numbers, then molecular descriptors: ``"rdkit"``,
    ``"morgan"`` or, joined by ``+``, both
    (:func:`~sekgnn.graphs.molecules.molecule_numbers`). Missing values are NaN;
    networks replace them by the mean of the training graphs.

    Raises:
        ConfigError: If the task has no such column, or no SMILES.
        GraphInputError: If a value is not a number; names row and column.
    """
    import torch

    names = [*columns]
    source = task.name or "graphs"
    values = [
        [
            _number(value, f"{source}, {place}, column {name!r}")
            for value, place in zip(task.column(name), task.places, strict=True)
        ]
        for name in columns
    ]
    table = np.array(values, dtype=np.float64).reshape(len(values), len(task)).T
    if descriptors != "none":
        if task.texts is None:
            raise ConfigError(
                f"{task.name or 'the data'} holds no SMILES, which descriptors are "
                "computed from; leave descriptors out."
            )
        for kind in descriptors.split("+"):
            headings, compute = molecule_numbers(kind)
            names += headings
            texts = ((None, text) for text in task.texts)
            rows = [row for _, row in in_order(compute, texts, first=FIRST_SLOW)]
            table = np.hstack([table, np.reshape(rows, (len(task), len(headings)))])
    if not names:
        return task
    for data, row in zip(task.graphs, table, strict=True):
        data[GRAPH_X] = torch.from_numpy(row[None].copy())
    return replace(task, graph_feature_names=tuple(names))


def _number(value: Any, place: str) -> float:
    if is_missing(value, number=True):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError):
        raise GraphInputError(
            f"{place}: {value!r} is not a number.{not_a_number(value)}"
        ) from None


def make_task(
    source: str,
    graphs: Sequence[Data],
    places: Sequence[str],
    columns: Sequence[TargetColumn] = (),
    kind: TaskKind | None = None,
    classes: Sequence[Label] | None = None,
    names: FeatureNames = NO_NAMES,
) -> GraphTask:
    """Return graphs with ``edge_index``, ``x`` and ``num_nodes`` as a task.

    Targets are set on the graphs; without ``columns`` there are none. ``kind`` and
    ``classes`` are as for :func:`encode_targets`.

    Raises:
        GraphInputError: If there are no graphs, one has no nodes, features are not
            finite or their number differs; or as :func:`encode_targets`.
        ConfigError: As :func:`encode_targets`.
    """
    import torch

    if not graphs:
        raise GraphInputError(f"{source} holds no graphs.")
    width = int(graphs[0].x.shape[1])
    for data, place in zip(graphs, places, strict=True):
        if data.num_nodes == 0:
            raise GraphInputError(f"{source}, {place}: the graph has no nodes.")
        if data.x.shape[1] != width:
            raise GraphInputError(
                f"{source}, {place}: {data.x.shape[1]} node features, but {width} in "
                f"{places[0]}; all graphs need the same."
            )
        bad = (~torch.isfinite(data.x)).nonzero()
        if len(bad):
            node, feature = bad[0].tolist()
            raise GraphInputError(
                f"{source}, {place}: feature {feature} of node {node} is "
                f"{data.x[node, feature].item()}; it must be finite."
            )
    if not columns:
        empty = np.zeros((len(graphs), 0), dtype=np.bool_)
        return GraphTask(tuple(graphs), None, (), None, empty, tuple(places), *names)
    y, fields = encode_targets(columns, kind, classes)
    set_targets(graphs, torch.from_numpy(y), fields["mask"], fields["bounds"])
    return GraphTask(
        graphs=tuple(graphs),
        places=tuple(places),
        feature_names=names.node,
        edge_feature_names=names.edge,
        **fields,
    )
