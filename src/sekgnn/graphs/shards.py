"""Folders of many graphs in shards: array files that are mapped into memory.

A shard holds consecutive graphs of the source, with features, targets and encodings;
a few graphs are read without the millions of others. Its header, without the columns
shared by all shards, is also its line in the manifest of the folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from sekgnn import array_file
from sekgnn.array_file import (
    MANIFEST_FILE,
    Arrays,
    DamagedFileError,
    Header,
    Line,
    Manifest,
    line_of,
    read_arrays,
)
from sekgnn.errors import GraphInputError
from sekgnn.graphs.cleaning import (
    check_array,
    check_rows,
    check_starts,
    checked_once,
    located,
)
from sekgnn.graphs.graph_record import FeatureNames, GraphRecord
from sekgnn.graphs.packed import GRAPH_ARRAYS, PackedGraphs, pack
from sekgnn.graphs.table import Column
from sekgnn.parsing import Size, read_as

FORMAT = "sekgnn graphs"
_OPEN = 16  # most shards mapped at a time


class _Format(TypedDict):
    format: str


class Reader(_Format, total=False):
    """Options to read more graphs like those of a model's training."""

    smiles: str | int | list[str]
    add_hydrogens: bool
    stereo: bool
    features: list[str]
    descriptors: str


class _Line(Line):
    """The line of a shard in its header and the manifest."""

    graphs: Size
    nodes: Size
    edges: Size
    left_out: Size
    features: list[Size]
    notes: list[str]
    targets: list[Size]


class Columns(TypedDict):
    """Targets and features of the graphs of a shard."""

    targets: list[str]
    names: tuple[list[str] | None, list[str] | None]


class _Parameters(TypedDict):
    encoding: dict[str, Any]
    dtype: str


class ShardManifest(Manifest):
    """The manifest of a folder of shards."""

    parameters: _Parameters
    reader: Reader
    files: list[_Line]


class _Complete(ShardManifest, Columns):
    pass


def record_arrays(records: Sequence[GraphRecord], targets: Sequence[Column]) -> Arrays:
    """Return records, all with the same features, as the arrays of a shard.

    Returns:
        ``node_ptr`` ``[G + 1]``, ``indptr`` ``[N + 1]`` and ``indices`` ``[2 M]`` as in
        :class:`~sekgnn.graphs.packed.PackedGraphs`; ``rows`` ``[G]``; ``x`` ``[N, F]``,
        ones where there are no features; ``edge_attr`` ``[2 M, F']`` if all have it;
        ``text`` and ``text_ptr``, the SMILES; ``target 0``, ... ``[G]``, numbers (NaN
        where missing), or strings if one is not a number.

    Raises:
        GraphInputError: If features differ in number, or a target is neither a number
            nor a string.
    """
    packed = pack([record.graph for record in records])
    features = [
        np.ones((r.graph.num_nodes, 1), np.float32) if r.x is None else r.x
        for r in records
    ]
    out: Arrays = {
        "node_ptr": packed.node_ptr,
        "indptr": packed.indptr,
        "indices": packed.indices,
        "rows": np.array([record.row for record in records], dtype=np.int64),
        "x": _joined(records, features, 1),
    }
    edges = [r.edge_attr for r in records if r.edge_attr is not None]
    if records and len(edges) == len(records):
        out["edge_attr"] = _joined(records, edges, 0)
    texts = [r.text.encode() for r in records if r.text is not None]
    if texts:
        out["text"] = np.frombuffer(b"".join(texts), dtype=np.uint8)
        out["text_ptr"] = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    for number, name in enumerate(targets):
        out[f"target {number}"] = _target(records, name)
    return out


def _joined(
    records: Sequence[GraphRecord], tables: Sequence[NDArray[np.float32]], width: int
) -> NDArray[np.float32]:
    """Concatenate tables, which must have as many columns as the first."""
    for record, table in zip(records, tables, strict=True):
        if table.shape[1] != tables[0].shape[1]:
            raise GraphInputError(
                f"{record.place}: {table.shape[1]} features, but {tables[0].shape[1]} "
                f"in {records[0].place}; all graphs need the same."
            )
    return np.concatenate(tables) if tables else np.zeros((0, width), np.float32)


def _target(records: Sequence[GraphRecord], name: Column) -> NDArray[Any]:
    values = [record.targets.get(name) for record in records]
    for record, value in zip(records, values, strict=True):
        if not (value is None or isinstance(value, str | bool | int | float)):
            raise GraphInputError(
                f"{record.place}, target {name!r}: a number or a string is needed, got "
                f"{type(value).__name__}."
            )
    numbers = [_exact(value) for value in values]
    if None in numbers:
        return np.array([_text(value) for value in values], dtype=np.str_)
    return np.array(numbers, dtype=np.float64)


def _exact(value: Any) -> float | None:
    """Return a number that represents a value exactly, NaN if it is missing."""
    if value is None or value == "":
        return np.nan
    if isinstance(value, bool):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    if isinstance(value, str):
        return number if np.isfinite(number) and value == _text(number) else None
    return number if isinstance(value, float) or int(number) == value else None


def _text(value: Any) -> str:
    """Return a value as text, empty if it is missing."""
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value)


def num_present(target: NDArray[Any]) -> int:
    """Return the number of values of a target that are not missing."""
    strings = target.dtype.kind == "U"
    return int((target != "").sum() if strings else (~np.isnan(target)).sum())


def open_shard(path: Path, *, check: bool = False) -> Shard:
    """Map a shard; with ``check`` its content is compared with its digest.

    Raises:
        GraphInputError: If it is missing or damaged.
    """
    try:
        return Shard(path, *read_arrays(path, check=check))
    except (OSError, DamagedFileError) as error:
        raise GraphInputError(
            f"the shard {path} cannot be read ({error}); encode again, which replaces "
            "it."
        ) from error


class Shard:
    """A mapped shard: only the arrays in use are read.

    Attributes:
        header: Its header.
        arrays: Its arrays by name.

    Raises:
        DamagedFileError: If header and arrays are not those of a shard. The rows of its
            graphs are checked when :attr:`packed` is first used.
    """

    def __init__(self, path: Path, header: Header, arrays: Arrays) -> None:
        self.path, self.header, self.arrays = path, header, arrays
        for array in arrays.values():
            array.flags.writeable = False
        try:
            self.line = read_as(_Line, line_of(header))
            self.columns = read_as(Columns, header["columns"])
            self.node_ptr: NDArray[np.int64] = arrays["node_ptr"]
            self._check_sizes()
        except (KeyError, ValueError) as error:
            raise DamagedFileError(str(error)) from error

    def __len__(self) -> int:
        return self.node_ptr.size - 1

    def _check_sizes(self) -> None:
        """Check the types of all arrays, and that their lengths agree."""
        nodes, entries = self.arrays["indptr"].size - 1, self.arrays["indices"].size
        if (len(self), nodes) != (self.line["graphs"], self.line["nodes"]):
            raise ValueError("its graphs are not those of its header")
        check_starts("node_ptr", self.node_ptr, nodes)
        expected: dict[str, tuple[Any, ...]] = {
            "indptr": (np.int64, None),
            "indices": (np.int32, None),
            "rows": (np.int64, len(self)),
            "x": (np.float32, nodes, None),
            "edge_attr": (np.float32, entries, None),
            "values": (np.floating, nodes, None, None),
        }
        for name, form in expected.items():
            if name in self.arrays or name not in ("edge_attr", "values"):
                check_array(name, self.arrays[name], *form)
        for name, array in self.arrays.items():
            if name.startswith("target "):
                kind = np.str_ if array.dtype.kind == "U" else np.float64
                check_array(name, array, kind, len(self))
        if "text" in self.arrays:
            text, starts = self.arrays["text"], self.arrays["text_ptr"]
            check_array("text", text, np.uint8, None)
            check_starts("text_ptr", starts, text.size)
            check_array("text_ptr", starts, np.int64, len(self) + 1)

    @property
    def widths(self) -> dict[str, tuple[int, ...]]:
        """Sizes of a row of features, encodings and targets."""
        return {
            name: array.shape[1:]
            for name, array in self.arrays.items()
            if name in ("x", "edge_attr", "values") or name.startswith("target ")
        }

    @cached_property
    def packed(self) -> PackedGraphs:
        """Its graphs, mapped.

        Raises:
            GraphInputError: If its arrays are not those of graphs.
        """
        node_ptr, indptr, indices = (self.arrays[name] for name in GRAPH_ARRAYS)
        with located(f"the shard {self.path} is damaged"):
            checked_once(self.path, lambda: check_rows(node_ptr, indptr, indices))
        return PackedGraphs.over(node_ptr, indptr, indices)

    def record(self, number: int, names: FeatureNames) -> GraphRecord:
        """Return a graph without its targets."""
        arrays, packed = self.arrays, self.packed
        begin, end = self.node_ptr[number : number + 2].tolist()
        edges = slice(*packed.indptr[[begin, end]].tolist())
        row, attr = int(arrays["rows"][number]), arrays.get("edge_attr")
        return GraphRecord(
            packed.graph(number),
            f"{self.path.name}, row {row}",
            row,
            np.array(arrays["x"][begin:end]),
            None if attr is None else np.array(attr[edges]),
            text=self.text(number),
            names=names,
        )

    def text(self, number: int) -> str | None:
        """Return the SMILES of a graph, if there are any."""
        if "text" not in self.arrays:
            return None
        begin, end = self.arrays["text_ptr"][number : number + 2].tolist()
        return bytes(self.arrays["text"][begin:end]).decode(errors="replace")


class Shards:
    """A complete folder of shards: all of its graphs, by position.

    Attributes:
        manifest: The manifest, with a line for every shard.
        graph_ptr: Shard s holds graphs ``graph_ptr[s]:graph_ptr[s + 1]``, ``[S + 1]``.
        targets: Names of the targets.
        names: The columns of the features.

    Raises:
        GraphInputError: If the manifest is missing or damaged, or the folder not
            complete.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.manifest = read_manifest(self.folder)
        if not self.manifest["complete"]:
            raise GraphInputError(
                f"{folder} is not complete; repeat the command that encodes it, which "
                "continues from the finished shards."
            )
        lines = self.manifest["files"]
        sizes = [line["graphs"] for line in lines]
        if not any(sizes) or not all(line["features"] for line in lines):
            raise GraphInputError(f"{folder} holds no graphs; encode again.")
        self.graph_ptr = np.cumsum([0, *sizes], dtype=np.int64)
        self.targets: list[str] = self.manifest["targets"]
        node, edge = self.manifest["names"]
        self.names = FeatureNames(node and tuple(node), edge and tuple(edge))
        self.shard = lru_cache(_OPEN)(self.open)

    def __len__(self) -> int:
        return int(self.graph_ptr[-1])

    def __reduce__(self) -> tuple[type[Shards], tuple[Path]]:
        """Pickle the path alone."""
        return Shards, (self.folder,)

    def open(self, number: int, *, check: bool = False) -> Shard:
        """Open a shard as :func:`open_shard` does, and compare it with the manifest."""
        line = self.manifest["files"][number]
        shard = open_shard(self.folder / line["file"], check=check)
        widths = shard.widths
        features = [widths[name][0] for name in ("x", "edge_attr") if name in widths]
        if (
            shard.line != line
            or (len(shard), features) != (line["graphs"], line["features"])
            or (len(shard) and widths != self._widths)
        ):
            raise GraphInputError(
                f"the shard {shard.path} is not the one of {MANIFEST_FILE}; encode "
                "again, which replaces it."
            )
        return shard

    @cached_property
    def _widths(self) -> dict[str, tuple[int, ...]]:
        """The widths of the arrays of the first shard, required of all."""
        filled = (line["file"] for line in self.manifest["files"] if line["graphs"])
        return next((open_shard(self.folder / file).widths for file in filled), {})

    def find(self, position: int) -> tuple[Shard, int]:
        """Return the shard of a graph, and its number there."""
        number = int(np.searchsorted(self.graph_ptr, position, side="right")) - 1
        return self.shard(number), position - int(self.graph_ptr[number])

    def column(self, name: str) -> list[NDArray[Any]]:
        """Return a copy of an array of every shard."""
        every = map(self.open, range(len(self.manifest["files"])))
        return [np.array(shard.arrays[name]) for shard in every]


def shard_records(
    path: str | Path, targets: Sequence[Column] = ()
) -> Iterator[GraphRecord]:
    """Yield the graphs of a folder of shards, checked as they are read.

    Raises:
        GraphInputError: If a shard is missing or damaged, or holds no such target.
    """
    shards = Shards(path)
    for name in targets:
        if name not in shards.targets:
            raise GraphInputError(
                f"{path} holds no target {name!r}, only "
                f"{', '.join(shards.targets) or 'none'}; encode again with --target."
            )
    numbers = [shards.targets.index(str(name)) for name in targets]
    for position in range(shards.graph_ptr.size - 1):
        shard = shards.open(position, check=True)
        columns = [shard.arrays[f"target {number}"].tolist() for number in numbers]
        for number in range(len(shard)):
            values = {n: c[number] for n, c in zip(targets, columns, strict=True)}
            yield replace(shard.record(number, shards.names), targets=values)


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a folder of shards, checked for version and damage."""
    return array_file.read_manifest(folder, FORMAT, ShardManifest, _Complete)
