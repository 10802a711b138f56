"""Graphs to predict on, a chunk at a time: files may be longer than memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from sekgnn.checks import check_positive
from sekgnn.datasets.graph_task import FeatureNames, GraphTask, make_task
from sekgnn.datasets.json_task import read_json_graphs
from sekgnn.datasets.read_task import task_format
from sekgnn.datasets.smiles_task import (
    MOLECULE_NAMES,
    invalid_smiles,
    read_molecules,
)
from sekgnn.datasets.tu_task import read_tu_graphs, tu_places

if TYPE_CHECKING:
    from torch_geometric.data import Data

MOST_CHUNK_NODES = 200_000
"""A chunk ends with the graph that brings it to this number of nodes."""


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some successive graphs of a source.

    Attributes:
        task: The graphs, without targets, and their places.
        rows: Number of each graph in the source, from 1: its data row, its line among
            those that are not blank, or its number in a folder. Rows that were left
            out are counted, so numbers may be missing.
        texts: The SMILES of each graph as it stands in the table; ``None`` if the
            source is no table.
    """

    task: GraphTask
    rows: tuple[int, ...]
    texts: tuple[str, ...] | None

    def __len__(self) -> int:
        """Number of graphs."""
        return len(self.rows)


@dataclass(frozen=True, eq=False)
class _Item:
    data: Data
    place: str
    row: int
    text: str | None = None


def stream_task(
    path: str | Path,
    *,
    chunk_size: int = 1024,
    smiles: str = "smiles",
    add_hydrogens: bool = False,
    skip_invalid: bool = False,
    on_invalid: Callable[[str, str], object] | None = None,
    node_labels: Sequence[int] | None = None,
    edge_labels: Sequence[int] | None = None,
) -> Iterator[Chunk]:
    """Read graphs to predict on, in order and without targets; the suffix tells how.

    Together the chunks hold the graphs and places of :func:`read_task` without targets.
    Tables and JSON lines are read as chunks are asked for, so memory does not depend on
    the length of the file, and a fault is raised when it is met: **chunks before it
    have been handed out by then**. A TU folder is read whole, at once.

    Args:
        path: A ``.csv``, ``.tsv``, ``.parquet``, ``.jsonl`` or ``.ndjson`` file, or a
            TU folder.
        chunk_size: Most graphs of a chunk. A chunk also ends with the graph that brings
            it to ``MOST_CHUNK_NODES`` nodes.
        smiles: The column of a table that holds the SMILES.
        add_hydrogens: Make every hydrogen of a molecule a node.
        skip_invalid: Leave out rows of a table that rdkit cannot read, instead of
            raising.
        on_invalid: Called with place and text of every row left out.
        node_labels: The node labels of a TU folder in the order of their columns, if
            they are known; by default those that occur.
        edge_labels: Likewise for edges.

    Returns:
        The chunks, none of them empty.

    Raises:
        ConfigError: If ``chunk_size`` is less than 1.
        GraphInputError: If the path tells no format, or a TU folder is wrong. While
            reading: if the file is not there or holds no graphs, a SMILES is invalid
            (without ``skip_invalid``; names row and line), or as :func:`read_task`.
        MissingExtraError: If rdkit, or for Parquet pyarrow, is not installed.
    """
    check_positive("chunk_size", chunk_size)
    form = task_format(path)
    names = FeatureNames()
    items: Iterable[_Item]
    if form == "tu":
        graphs, names = read_tu_graphs(path, node_labels, edge_labels)
        items = map(_Item, graphs, tu_places(len(graphs)), count(1))
    elif form == "smiles":
        names = MOLECULE_NAMES
        items = _molecules(path, smiles, add_hydrogens, skip_invalid, on_invalid)
    else:
        lines = enumerate(read_json_graphs(path), start=1)
        items = (_Item(data, where, row) for row, (where, _, data) in lines)
    return _chunks(str(path), items, chunk_size, names)


def _molecules(
    path: str | Path,
    column: str,
    add_hydrogens: bool,
    skip_invalid: bool,
    on_invalid: Callable[[str, str], object] | None,
) -> Iterator[_Item]:
    """Yield the valid molecules of a table, report the others."""
    for row, data in read_molecules(path, [column], add_hydrogens):
        (value,) = row.values
        text = "" if value is None else str(value)
        if data is not None:
            yield _Item(data, row.place, row.row, text)
        elif not skip_invalid:
            raise invalid_smiles(path, column, [row])
        elif on_invalid is not None:
            on_invalid(row.place, text)


def _chunks(
    source: str, items: Iterable[_Item], size: int, names: FeatureNames
) -> Iterator[Chunk]:
    """Yield items in chunks, each as soon as it is full."""
    first: list[_Item] = []  # the first of all: later ones need as many features
    held: list[_Item] = []
    nodes = 0
    for item in items:
        held.append(item)
        nodes += int(item.data.num_nodes)
        if len(held) == size or nodes >= MOST_CHUNK_NODES:
            yield _chunk(source, first, held, names)
            first, held, nodes = first or held[:1], [], 0
    if held or not first:
        yield _chunk(source, first, held, names)


def _chunk(
    source: str, first: list[_Item], held: list[_Item], names: FeatureNames
) -> Chunk:
    """Check ``held`` together with the first graph of the source, and return it."""
    checked = [*first, *held]
    graphs, places = [item.data for item in checked], [item.place for item in checked]
    task = make_task(source, graphs, places, names=names)
    start = len(first)
    return Chunk(
        replace(
            task,
            graphs=task.graphs[start:],
            places=task.places[start:],
            mask=task.mask[start:],
        ),
        tuple(item.row for item in held),
        tuple(item.text for item in held if item.text is not None) or None,
    )
