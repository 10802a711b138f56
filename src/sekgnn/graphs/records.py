"""The one entrance: graphs of any file, or list of objects, as records, one by one."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sekgnn.array_file import MANIFEST_FILE, dump_arrays
from sekgnn.errors import GraphInputError
from sekgnn.graphs.cleaning import Undirected, located
from sekgnn.graphs.convert import from_networkx
from sekgnn.graphs.edge_list import read_edge_list
from sekgnn.graphs.graph import Graph
from sekgnn.graphs.graph6 import HEADER, graph6_lines
from sekgnn.graphs.graph_file import read_graph_file
from sekgnn.graphs.graph_record import NO_NAMES, FeatureNames, GraphRecord, feature_rows
from sekgnn.graphs.molecule_pool import Molecule, in_order, read_molecule
from sekgnn.graphs.molecules import (
    ATOM_FEATURES,
    BOND_FEATURES,
    JOINT,
    MOST_RING_ATOMS,
    joined_smiles,
)
from sekgnn.graphs.packed import read_npz
from sekgnn.graphs.read_options import DEFAULTS, FORMATS, ReadOptions
from sekgnn.graphs.shards import record_arrays, shard_records
from sekgnn.graphs.table import (
    Column,
    Part,
    Row,
    columns_of,
    data_rows,
    json_records,
    line_parts,
    row_place,
    table_parts,
    text_lines,
)
from sekgnn.graphs.tu_folder import tu_records

SUFFIXES = {
    ".g6": "graph6",
    ".graph6": "graph6",
    ".edges": "edges",
    ".edgelist": "edges",
    ".el": "edges",
    ".npz": "npz",
    ".csr": "csr",
    ".csv": "smiles",
    ".tsv": "smiles",
    ".smi": "smiles",
    ".parquet": "smiles",
    ".jsonl": "json",
    ".ndjson": "json",
}
"""Formats by suffix; ``.txt`` is an edge list or graph6, a folder is a TU folder."""

MOST_PART_BYTES = 1 << 23
"""A part ends with the row that reaches this many bytes of text or arrays."""

OnInvalid = Callable[[Row], object]
"""Called with rows whose SMILES, the first of their values, cannot be read."""

_EDGE_LINE = re.compile(r"\d+(\s+|\s*,\s*)\d+((\s+|\s*,\s*)\S+)?")
_MOLECULE_NAMES = FeatureNames(ATOM_FEATURES, BOND_FEATURES)
_SHOWN = 10  # invalid rows listed in an error
_LONG = 200  # characters of a SMILES shown there


def read_graphs(path: str | Path, **options: Any) -> list[Graph]:
    """Read all graphs of a file or folder; options are those of :class:`ReadOptions`.

    The file holds graph6, an edge list (one graph), npz, a packed graph, a table of
    SMILES or JSON lines; the folder is one of TU or of shards.

    Raises:
        GraphInputError: If the path cannot be read or holds no valid graphs.
        ConfigError: If an option has an unknown value.
    """
    records, _ = read_all(path, ReadOptions(**options), features=False)
    return [record.graph for record in records]


def read_all(
    path: str | Path,
    options: ReadOptions = DEFAULTS,
    targets: Sequence[Column] = (),
    *,
    features: bool = True,
) -> tuple[list[GraphRecord], list[Row]]:
    """Return all records of a file or folder, and the rows that were left out.

    Takes and raises what :func:`read_records` does, but one error names all invalid
    SMILES.

    Raises:
        GraphInputError: Also if there are no graphs.
    """
    invalid: list[Row] = []
    note = invalid.append
    records = list(
        read_records(path, options, targets, features=features, on_invalid=note)
    )
    if invalid and not options.skip_invalid:
        raise invalid_smiles(path, options.smiles, invalid)
    if not records:
        raise GraphInputError(f"{path} holds no graphs.")
    return records, invalid


def read_records(
    path: str | Path,
    options: ReadOptions = DEFAULTS,
    targets: Sequence[Column] = (),
    *,
    features: bool = True,
    on_invalid: OnInvalid | None = None,
    part: Part | None = None,
) -> Iterator[GraphRecord]:
    """Read the graphs of a file or folder one by one.

    Tables, JSON lines, graph6, shards and large TU folders are read lazily: memory does
    not depend on the length of the file, and a fault is raised when it is met. Other
    formats are read whole.

    Args:
        path: What to read.
        options: How to read it.
        targets: Columns of a table or keys of JSON lines to keep, as targets or for
            other uses; a TU folder has its own.
        features: Read features and targets, not only the structure.
        on_invalid: Called with every row whose SMILES cannot be read. By default the
            first raises, or with ``skip_invalid`` they are left out silently.
        part: One of :func:`input_parts`, to read that part alone.

    Raises:
        GraphInputError: If the path does not exist or has no known format; later, for
            any fault, naming file, row, line and column.
        MissingExtraError: If rdkit is needed and not installed.
    """
    if part is not None and part.records:
        return iter(part.records)
    form = graph_format(path, options.format)
    if form == "smiles":
        return _molecules(path, options, targets, features, on_invalid, part)
    if form == "json":
        names = [str(target) for target in targets]
        return json_records(path, names, loops=options.loops, part=part)
    if form == "graph6":
        return _plain(graph6_lines(path, part), 0 if part is None else part.row)
    if form == "shards":
        return shard_records(path, targets)
    rules: dict[str, Any] = {"undirected": options.undirected, "loops": options.loops}
    if form == "npz":
        return _plain(read_npz(path, **rules))
    if form == "csr":
        return _plain([read_graph_file(path).graph])
    if form == "edges":
        return _plain([read_edge_list(path, **rules)])
    return tu_records(path, options, features=features)


def input_parts(
    path: str | Path,
    options: ReadOptions,
    size: int,
    targets: Sequence[Column] = (),
) -> Iterator[tuple[Part, str]]:
    """Cut a file or folder into parts of ``size`` rows, each with a SHA-256.

    One pass over tables and text finds the starts of rows, and parses as little as it
    can. Formats other than tables and text of a graph per line cannot be cut: they are
    read here, with their ``targets``, and parts hold records. A part, except of
    Parquet, also ends with the row that reaches ``MOST_PART_BYTES``.

    Args:
        path: What to read.
        options: How to read it.
        size: Rows of a part, counting those that are left out later.
        targets: As for :func:`read_records`.

    Returns:
        Parts for :func:`read_records`. The SHA-256 changes with the content of the
        part, or with that of the whole Parquet file.

    Raises:
        GraphInputError: If the path does not exist, has no known format or cannot be
            cut.
    """
    form = graph_format(path, options.format)
    if form == "smiles" and Path(path).suffix.lower() != ".smi":
        return table_parts(path, size, MOST_PART_BYTES)
    if form in ("smiles", "json", "graph6"):
        ends: Any = "" if form == "smiles" else "\n"
        skip = HEADER if form == "graph6" else ""
        return line_parts(path, size, MOST_PART_BYTES, ends, skip)
    return _record_parts(read_records(path, options, targets), size, targets)


def _record_parts(
    records: Iterator[GraphRecord], size: int, targets: Sequence[Column]
) -> Iterator[tuple[Part, str]]:
    """Yield parts that hold records, each with the SHA-256 of their arrays."""
    row = 0
    for group in grouped(records, size, _num_bytes, MOST_PART_BYTES):
        arrays = record_arrays(group, list(targets or group[0].targets))
        about = {"names": group[0].names, "targets": list(group[0].targets)}
        header = json.dumps(dump_arrays(io.BytesIO(), about, arrays))
        digest = hashlib.sha256(header.encode())
        stop = row + len(group)
        weight = sum(map(_num_bytes, group))
        yield Part(row, stop, row, 0, weight, group), digest.hexdigest()
        row = stop


def grouped(
    records: Iterable[GraphRecord],
    size: int,
    weight: Callable[[GraphRecord], int],
    most: int,
) -> Iterator[tuple[GraphRecord, ...]]:
    """Yield groups of ``size`` records, or fewer that together weigh ``most``."""
    group: list[GraphRecord] = []
    total = 0
    for record in records:
        group.append(record)
        total += weight(record)
        if len(group) == size or total >= most:
            yield tuple(group)
            group, total = [], 0
    if group:
        yield tuple(group)


def _num_bytes(record: GraphRecord) -> int:
    arrays = (*record.graph.csr, record.x, record.edge_attr)
    return sum(array.nbytes for array in arrays if array is not None)


def graph_format(path: str | Path, format: str | None = None) -> str:
    """Return ``format``, or the one inferred from the suffix or the first line.

    Raises:
        GraphInputError: If the path does not exist, or no format can be inferred.
    """
    source = Path(path)
    if not os.path.exists(source):
        raise GraphInputError(f"{path} does not exist; check the path.")
    if format is not None:
        return format
    if source.is_dir():
        return "shards" if (source / MANIFEST_FILE).is_file() else "tu"
    suffix = source.suffix.lower()
    if suffix == ".txt":
        return _text_format(source)
    if suffix not in SUFFIXES:
        raise GraphInputError(
            f"{path}: no format can be inferred from the suffix {suffix!r}; use "
            f"{', '.join([*SUFFIXES, '.txt'])} or a TU folder, or name the format, one "
            f"of {', '.join(FORMATS)} (--format)."
        )
    return SUFFIXES[suffix]


def smiles_records(
    texts: Sequence[str], *, add_hydrogens: bool = False, stereo: bool = True
) -> Iterator[GraphRecord]:
    """Yield SMILES strings as records.

    Raises:
        GraphInputError: If rdkit cannot read one; names it.
        MissingExtraError: If rdkit is not installed.
    """
    for i, text in enumerate(texts):
        molecule = read_molecule(text, True, add_hydrogens, stereo)
        if molecule is None:
            raise GraphInputError(f"graph {i}: rdkit cannot read the SMILES {text!r}.")
        yield _molecule(text, f"graph {i}", i + 1, {}, molecule)


def networkx_records(
    graphs: Sequence[Any],
    node_features: Sequence[str] = (),
    undirected: Undirected = "error",
) -> Iterator[GraphRecord]:
    """Yield networkx graphs as records; node i is the i-th of its graph.

    ``node_features`` are node attributes that hold numbers, for ``x``. Errors name the
    graph.
    """
    names = FeatureNames(tuple(node_features) or None)
    for i, graph in enumerate(graphs):
        location = f"graph {i}"
        if not hasattr(graph, "nodes") or not hasattr(graph, "edges"):
            raise GraphInputError(f"{location} is not a networkx graph: {graph!r:.50}.")
        with located(location):
            structure = from_networkx(graph, undirected=undirected)
        x = _attributes(graph, node_features, location)
        yield GraphRecord(structure, location, i + 1, x, names=names)


def _attributes(graph: Any, names: Sequence[str], location: str) -> Any:
    if not names:
        return None
    if not graph:
        return np.zeros((0, len(names)), np.float32)
    rows = []
    for node, attributes in graph.nodes(data=True):
        missing = [name for name in names if name not in attributes]
        if missing:
            raise GraphInputError(
                f"{location}: node {node!r} has no attribute {missing[0]!r}; it has "
                f"{sorted(map(str, attributes))}."
            )
        rows.append([attributes[name] for name in names])
    return feature_rows(rows, location)


def _plain(graphs: Iterable[Graph], before: int = 0) -> Iterator[GraphRecord]:
    """Yield graphs as records without features or targets."""
    for i, graph in enumerate(graphs, start=before + 1):
        yield GraphRecord(graph, f"graph {i}", i)


def _molecules(
    path: str | Path,
    options: ReadOptions,
    targets: Sequence[Column],
    features: bool,
    on_invalid: OnInvalid | None,
    part: Part | None,
) -> Iterator[GraphRecord]:
    """Yield the valid molecules of a table, and report the others."""
    rows = _smiles_rows(path, options.smiles, targets, part)
    items = ((row, row[2][0]) for row in rows)
    read = partial(
        read_molecule,
        features=features,
        add_hydrogens=options.add_hydrogens,
        stereo=options.stereo,
    )
    for row, molecule in in_order(read, items, alone=part is not None):
        number, _, (value, *others) = row
        if molecule is not None:
            target_values = dict(zip(targets, others, strict=True))
            yield _molecule(value, row_place(row), number, target_values, molecule)
        elif on_invalid is not None:
            on_invalid(row)
        elif not options.skip_invalid:
            raise invalid_smiles(path, options.smiles, [row])


def _molecule(
    text: Any, location: str, row: int, targets: dict[Column, Any], molecule: Molecule
) -> GraphRecord:
    """Return a molecule as a record."""
    indptr, indices, *features = molecule
    graph = Graph.over(indptr, indices)
    x, edge_attr = features or (None, None)
    names = NO_NAMES
    if x is not None:
        components = range(x.shape[1] - len(ATOM_FEATURES))  # of several columns
        atoms = (*ATOM_FEATURES, *(f"component_{i + 1}" for i in components))
        names = _MOLECULE_NAMES._replace(node=atoms)
    return GraphRecord(graph, location, row, x, edge_attr, targets, text, names)


def _smiles_rows(
    path: str | Path,
    smiles: str | Sequence[str],
    targets: Sequence[Column],
    part: Part | None,
) -> Iterator[Row]:
    """Yield the rows of a table, or the first word of every line of ``.smi`` files.

    The SMILES of several columns are joined to the first value of a row.
    """
    headings = columns_of(smiles)
    if Path(path).suffix.lower() != ".smi":
        hint = "Name the one with the SMILES with smiles (--smiles)."
        count = len(headings)
        for number, line, values in data_rows(path, [*headings, *targets], hint, part):
            yield number, line, (joined_smiles(values[:count]), *values[count:])
        return
    if targets:
        raise GraphInputError(
            f"{path} has no column {targets[0]!r}: a .smi file holds SMILES only; "
            "use a table with a header."
        )
    first = part or Part(0, 0)
    lines = enumerate(text_lines(path, part=part), start=first.line + 1)
    filled = ((number, line.split()) for number, line in lines if line.strip())
    for row, (number, words) in enumerate(filled, start=first.row + 1):
        yield row, number, (words[0],)


def invalid_smiles(
    path: str | Path, smiles: str | Sequence[str], rows: Sequence[Row]
) -> GraphInputError:
    """Return one error for all rows that hold no valid SMILES."""
    columns = columns_of(smiles)
    where = f"column{'s' * (len(columns) > 1)} {', '.join(map(repr, columns))}"
    count = f"{len(rows)} SMILES in {where}"
    lines = [f"{path}: {count} cannot be read by rdkit:"]
    lines += [f"  {row_place(row)}: {_short(row[2][0])}" for row in rows[:_SHOWN]]
    if len(rows) > _SHOWN:
        lines.append(f"  and {len(rows) - _SHOWN} more")
    if any(len(str(values[0])) > MOST_RING_ATOMS for _, _, values in rows):
        lines.append(f"Cycles of more than {MOST_RING_ATOMS} atoms are refused.")
    lines.append(
        "Correct them, or leave them out with --skip-invalid (skip_invalid=True)."
    )
    return GraphInputError("\n".join(lines))


def _short(value: Any) -> str:
    if isinstance(value, str):
        value = value.replace(JOINT, " and ")
    text = str(value)
    if len(text) <= _LONG:
        return repr(value)
    return f"{text[:_LONG]!r}... ({len(text)} characters)"


def _text_format(path: Path) -> str:
    """Return ``"edges"`` if the first line that is not a comment is an edge."""
    comments = False
    for line in map(str.strip, text_lines(path)):
        if line and not line.startswith(("#", "%")):
            return "edges" if _EDGE_LINE.fullmatch(line) else "graph6"
        comments = comments or bool(line)
    return "edges" if comments else "graph6"  # graph6 has no comments
