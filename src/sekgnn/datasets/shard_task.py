"""Tasks whose graphs stay in shards on disk, however many they are."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from sekgnn.datasets.graph_task import Y_MASK, GraphTask
from sekgnn.datasets.pyg import as_data
from sekgnn.datasets.targets import (
    TargetColumn,
    TaskKind,
    encode_targets,
    read_column,
    unit_of,
)
from sekgnn.encoding.substructure import encoding_from_dict
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs.packed import PackedGraphs
from sekgnn.graphs.shards import Shards

if TYPE_CHECKING:
    from torch import Tensor

Positions = NDArray[np.int64]


class Lazy(Sequence[Any]):
    """Items that are made when they are asked for."""

    def __init__(self, count: int, make: Callable[[int], Any]) -> None:
        self.size, self.make = count, make

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        places = range(self.size)[index]
        if isinstance(places, range):
            return [self.make(i) for i in places]
        return self.make(places)

    def __iter__(self) -> Iterator[Any]:
        return map(self.make, range(self.size))


@dataclass(frozen=True, eq=False, kw_only=True)
class ShardTask(GraphTask):
    """Graphs in shards, and what is to be predicted of them.

    What one asks of all graphs (sizes, targets) is in memory, some 30 bytes of each.
    ``graphs`` reads those that are asked for; batches are read by :meth:`read`.
    """

    shards: Shards
    positions: Positions  # of these graphs in the folder, [G], rising
    y: NDArray[Any]
    num_nodes: Positions  # of every graph, [G]

    _per_item = ("mask", "positions", "y", "num_nodes")

    @property
    def sizes(self) -> Positions:
        """Number of nodes of every graph, ``[G]``."""
        return self.num_nodes

    @property
    def shard_numbers(self) -> Positions:
        """The shard of every graph, ``[G]``."""
        numbers: Positions = (
            np.searchsorted(self.shards.graph_ptr, self.positions, side="right") - 1
        )
        return numbers

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
        """Return targets of some graphs as the fields of a batch."""
        import torch

        y, mask = self.y[numbers], self.mask[numbers]
        return {"y": torch.from_numpy(y), Y_MASK: torch.from_numpy(mask)}

    def fingerprint(self) -> str:
        """Return a SHA-256 of all graphs, features and targets."""
        digest = hashlib.sha256(repr(self.target_names).encode())
        for line in self.shards.manifest["files"]:
            digest.update(line["sha256"].encode())
        digest.update(self.positions.tobytes())
        return digest.hexdigest()

    def subset(self, chosen: Sequence[int] | NDArray[np.int64]) -> ShardTask:
        """Return the task of the graphs at some positions, without their split."""
        return super().subset(chosen).with_items()

    def with_items(self) -> ShardTask:
        """Return the same with graphs, places and SMILES of its positions."""

        def item(i: int) -> Any:
            shard, number = self.shards.find(int(self.positions[i]))
            record = shard.record(number, self.shards.names)
            data = as_data(record.graph, record.x, edge_attr=record.edge_attr)
            for name, value in self.target_fields(np.array([i])).items():
                data[name] = value
            return data

        def place(i: int) -> str:
            position = int(self.positions[i])
            number = int(np.searchsorted(ptr, position, side="right")) - 1
            return f"graph {position - int(ptr[number])} of {lines[number]['file']}"

        def text(i: int) -> str | None:
            shard, number = self.shards.find(int(self.positions[i]))
            return shard.text(number)

        ptr, lines = self.shards.graph_ptr, self.shards.manifest["files"]
        count = self.positions.size
        texts = None if not count or text(0) is None else Lazy(count, text)
        return replace(
            self, graphs=Lazy(count, item), places=Lazy(count, place), texts=texts
        )

    def read(
        self, numbers: Positions, of_nodes: Sequence[str], of_edges: Sequence[str]
    ) -> tuple[PackedGraphs, dict[str, NDArray[Any]]]:
        """Return some graphs, ``[B]`` in rising order, and arrays of theirs.

        Arrays of shards have a row per node (``of_nodes``) or per entry of ``indices``
        (``of_edges``, left out where absent).
        """
        places = self.positions[numbers]
        ptr = self.shards.graph_ptr
        packed: list[PackedGraphs] = []
        arrays: dict[str, list[NDArray[Any]]] = {}
        for number in np.unique(
            np.searchsorted(ptr, places, side="right") - 1
        ).tolist():
            shard = self.shards.shard(number)
            inside = (places >= ptr[number]) & (places < ptr[number + 1])
            some, nodes, edges = shard.packed.take(places[inside] - ptr[number])
            packed.append(some)
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

    Targets are by default all that the shards hold, their kind is inferred.

    Raises:
        GraphInputError: If the folder is not complete, a shard damaged, a graph without
            nodes, or as :func:`~sekgnn.datasets.targets.encode_targets`.
        ConfigError: If the shards hold no targets, or none of that name.
    """
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
    node_ptrs = shards.column("node_ptr")
    sizes = np.concatenate([np.diff(ptr) for ptr in node_ptrs])
    lost = sum(line["left_out"] for line in shards.manifest["files"])
    count = len(shards)
    bare = ShardTask(
        graphs=(),
        kind=None,
        target_names=tuple(names),
        classes=None,
        mask=np.ones((count, len(names)), dtype=np.bool_),
        places=(),
        feature_names=shards.names.node,
        edge_feature_names=shards.names.edge,
        name=Path(folder).name,
        source="shards",
        reader=shards.manifest["reader"],
        encoding=encoding_from_dict(shards.manifest["parameters"]["encoding"]),
        left_out={"SMILES that rdkit cannot read": lost} if lost else {},
        shards=shards,
        positions=np.arange(count),
        y=np.zeros(count, dtype=np.int64),
        num_nodes=sizes,
    ).with_items()
    if not sizes.all():
        place = bare.places[int(sizes.argmin())]
        raise GraphInputError(f"{folder}, {place}: the graph has no nodes.")
    columns = [_column(shards, name, bare.places) for name in names]
    if kind is None and bare.reader == {"format": "tu"} and len(columns) == 1:
        values = {value for value in columns[0].values if value is not None}
        whole = all(isinstance(value, str) or value % 1 == 0 for value in values)
        kind = "regression"
        if whole and 2 * len(values) <= count:
            kind = "binary" if len(values) == 2 else "multiclass"
    encoded = encode_targets(columns, kind)
    units = tuple(unit_of(name) for name in names)
    known = units if encoded.kind == "regression" and any(units) else ()
    full = replace(
        bare,
        kind=encoded.kind,
        classes=encoded.classes,
        mask=encoded.mask,
        y=encoded.y,
        target_units=known,
        missing=encoded.missing,
    )
    return full.with_items()


def _column(shards: Shards, name: str, places: Sequence[str]) -> TargetColumn:
    parts = shards.column(f"target {shards.targets.index(name)}")
    source = str(shards.folder)
    if any(part.dtype.kind == "U" for part in parts):
        return read_column(name, [v for p in parts for v in p.tolist()], places, source)
    numbers = np.concatenate(parts)
    values = tuple(None if v != v else v for v in numbers.tolist())
    column = TargetColumn(name, values, places, source)  # type: ignore[arg-type]
    infinite = np.flatnonzero(np.isinf(numbers))
    if infinite.size:
        raise column.wrong(places[int(infinite[0])], "it is not finite; correct it.")
    return column
