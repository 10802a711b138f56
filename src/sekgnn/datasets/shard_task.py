"""Tasks whose graphs stay in shards on disk."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from sekgnn.datasets.graph_task import Y_MASK, GraphTask, as_data, set_targets
from sekgnn.datasets.targets import (
    TargetColumn,
    TaskKind,
    encode_targets,
    read_column,
    unit_of,
)
from sekgnn.encoding.substructure import encoding_from_dict
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.fields import Y_BOUND
from sekgnn.graphs.packed import PackedGraphs
from sekgnn.graphs.shards import Shards

if TYPE_CHECKING:
    from torch import Tensor

Positions = NDArray[np.int64]


class Lazy(Sequence[Any]):
    """Items at some positions, each made on access."""

    def __init__(self, positions: Positions, make: Callable[[int], Any]) -> None:
        self.positions, self.make = positions, make

    def __len__(self) -> int:
        return self.positions.size

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> Lazy: ...
    def __getitem__(self, index: int | slice | Positions) -> Any:
        if isinstance(index, slice | np.ndarray):
            return Lazy(self.positions[index], self.make)
        return self.make(int(self.positions[index]))


@dataclass(frozen=True, eq=False, kw_only=True)
class ShardTask(GraphTask):
    """Graphs in shards, and their targets.

    Sizes and targets are in memory, some 30 bytes per graph. ``graphs`` reads single
    graphs; :meth:`read` reads batches.
    """

    shards: Shards
    positions: Positions  # of these graphs in the folder, [G], ascending
    y: NDArray[Any]
    num_nodes: Positions  # of every graph, [G]

    _per_item = (*GraphTask._per_item, "positions", "num_nodes")

    @property
    def sizes(self) -> Positions:
        """Number of nodes of every graph, ``[G]``."""
        return self.num_nodes

    @property
    def shard_numbers(self) -> Positions:
        """The shard of every graph, ``[G]``."""
        return _shard_of(self.shards, self.positions)

    @property
    def num_features(self) -> int:
        """Width of ``x``."""
        return int(self._widths[0])

    @property
    def edge_channels(self) -> int:
        """Width of ``edge_attr``; 0 if there is none."""
        return int(self._widths[1]) if len(self._widths) > 1 else 0

    @property
    def _widths(self) -> list[int]:
        lines = self.shards.manifest["files"]
        return next(line["features"] for line in lines if line["graphs"])

    def target_fields(self, numbers: Positions) -> dict[str, Tensor]:
        """Return the targets of some graphs as fields of a batch."""
        import torch

        y, mask = self.y[numbers], self.mask[numbers]
        fields = {"y": torch.from_numpy(y), Y_MASK: torch.from_numpy(mask)}
        if self.bounds is not None:
            fields[Y_BOUND] = torch.from_numpy(self.bounds[numbers])
        return fields

    def fingerprint(self) -> str:
        """Return a SHA-256 of all graphs, features and targets."""
        digest = hashlib.sha256(repr(self.target_names).encode())
        for line in self.shards.manifest["files"]:
            digest.update(line["sha256"].encode())
        digest.update(self.positions.tobytes())
        return digest.hexdigest()

    def read(
        self, numbers: Positions, of_nodes: Sequence[str], of_edges: Sequence[str]
    ) -> tuple[PackedGraphs, dict[str, NDArray[Any]]]:
        """Return some graphs, by ascending numbers ``[B]``, and their arrays.

        Arrays have a row per node (``of_nodes``) or per entry of ``indices``
        (``of_edges``); absent ones are left out.
        """
        positions = self.positions[numbers]
        owners = _shard_of(self.shards, positions)
        packed: list[PackedGraphs] = []
        arrays: dict[str, list[NDArray[Any]]] = {}
        for number in np.unique(owners).tolist():
            shard = self.shards.shard(number)
            local = positions[owners == number] - self.shards.graph_ptr[number]
            graphs, nodes, edges = shard.packed.take(local)
            packed.append(graphs)
            for names, rows in ((of_nodes, nodes), (of_edges, edges)):
                for name in names:
                    if name in shard.arrays:
                        arrays.setdefault(name, []).append(shard.arrays[name][rows])
        joined = {name: np.concatenate(pieces) for name, pieces in arrays.items()}
        return PackedGraphs.join(packed), joined


def shard_task(
    folder: str | Path,
    targets: Sequence[str] = (),
    *,
    kind: TaskKind | None = None,
) -> ShardTask:
    """Return the graphs of a folder of shards, made by ``sekgnn encode``, as a task.

    By default all targets of the shards are used, and their kind is inferred.

    Raises:
        GraphInputError: If the folder is incomplete, a shard damaged, a graph has no
            nodes, or as :func:`~sekgnn.datasets.targets.encode_targets`.
        ConfigError: If the shards have no targets, or none of that name.
    """
    import torch

    shards = Shards(folder)
    if not shards.targets:
        raise ConfigError(
            f"{folder} holds no targets; encode again with --target to train on it."
        )
    for name in targets:
        if name not in shards.targets:
            raise ConfigError(
                f"{folder} has no target {name!r}, but {', '.join(shards.targets)}; "
                f"encode again with --target {name}."
            )
    names = list(targets) or shards.targets
    positions = np.arange(len(shards))
    sizes = np.concatenate([np.diff(ptr) for ptr in shards.column("node_ptr")])
    files, reader = shards.manifest["files"], shards.manifest["reader"]

    def place(position: int) -> str:
        number = int(_shard_of(shards, np.array(position)))
        start = int(shards.graph_ptr[number])
        return f"graph {position - start} of {files[number]['file']}"

    def text(position: int) -> str | None:
        shard, number = shards.find(position)
        return shard.text(number)

    def graph(position: int) -> Any:
        shard, number = shards.find(position)
        record = shard.record(number, shards.names)
        data = as_data(record.graph, record.x, edge_attr=record.edge_attr)
        side = None if bounds is None else bounds[[position]]
        set_targets([data], torch.from_numpy(y[[position]]), mask[[position]], side)
        return data

    places = Lazy(positions, place)
    if not sizes.all():
        empty = places[int(sizes.argmin())]
        raise GraphInputError(f"{folder}, {empty}: the graph has no nodes.")
    columns = [_column(shards, name, places) for name in names]
    if kind is None and reader == {"format": "tu"} and len(columns) == 1:
        kind = _tu_kind(columns[0])
    y, fields = encode_targets(columns, kind)
    mask, bounds = fields["mask"], fields["bounds"]
    units = tuple(unit_of(name) for name in names)
    lost = sum(line["left_out"] for line in files)
    return ShardTask(
        graphs=Lazy(positions, graph),
        places=places,
        feature_names=shards.names.node,
        edge_feature_names=shards.names.edge,
        texts=Lazy(positions, text) if len(shards) and text(0) is not None else None,
        name=Path(folder).name,
        source="shards",
        reader=reader,
        encoding=encoding_from_dict(shards.manifest["parameters"]["encoding"]),
        left_out={"SMILES that rdkit cannot read": lost} if lost else {},
        target_units=units if fields["kind"] == "regression" and any(units) else (),
        shards=shards,
        positions=positions,
        y=y,
        num_nodes=sizes,
        **fields,
    )


def _shard_of(shards: Shards, positions: Positions) -> Positions:
    """Return the number of the shard that holds each graph."""
    numbers: Positions = np.searchsorted(shards.graph_ptr, positions, side="right") - 1
    return numbers


def _tu_kind(column: TargetColumn) -> TaskKind:
    """Return the kind of the target of a TU folder: few integers or names are classes.

    Shards do not record whether the target is a label or an attribute.
    """
    values = {value for value in column.values if value is not None}
    integers = all(isinstance(value, str) or value % 1 == 0 for value in values)
    if not integers or 2 * len(values) > len(column.values):
        return "regression"
    return "binary" if len(values) == 2 else "multiclass"


def _column(shards: Shards, name: str, places: Sequence[str]) -> TargetColumn:
    arrays = shards.column(f"target {shards.targets.index(name)}")
    source = str(shards.folder)
    if any(array.dtype.kind == "U" for array in arrays):
        return read_column(
            name, [v for array in arrays for v in array.tolist()], places, source
        )
    numbers = np.concatenate(arrays)
    values = tuple(None if v != v else v for v in numbers.tolist())
    column = TargetColumn(name, values, places, source)  # type: ignore[arg-type]
    infinite = np.flatnonzero(np.isinf(numbers))
    if infinite.size:
        raise column.wrong(places[int(infinite[0])], "it is not finite; correct it.")
    return column
