"""One function that reads graphs from any file format known here."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from sekgnn.checks import check_choice
from sekgnn.errors import GraphInputError
from sekgnn.graphs.cleaning import SelfLoops, Undirected, check_rules
from sekgnn.graphs.edge_list import read_edge_list
from sekgnn.graphs.graph import Graph
from sekgnn.graphs.graph6 import read_graph6
from sekgnn.graphs.npz import read_npz
from sekgnn.graphs.smiles_table import read_smiles_table
from sekgnn.graphs.text import read_text
from sekgnn.graphs.tu_folder import read_tu_folder

FORMATS = ("graph6", "edges", "npz", "smiles", "tu")
_SUFFIXES = {
    ".g6": "graph6",
    ".graph6": "graph6",
    ".edges": "edges",
    ".edgelist": "edges",
    ".el": "edges",
    ".npz": "npz",
    ".csv": "smiles",
    ".tsv": "smiles",
    ".smi": "smiles",
    ".parquet": "smiles",
}
_EDGE_LINE = re.compile(r"\d+(\s+|\s*,\s*)\d+((\s+|\s*,\s*)\S+)?")


def read_graphs(
    path: str | Path,
    *,
    format: str | None = None,
    undirected: Undirected = "error",
    loops: SelfLoops = "drop",
    smiles: str = "smiles",
    skip_invalid: bool = False,
) -> list[Graph]:
    """Read all graphs of a file or folder.

    Args:
        path: What to read.
        format: ``"graph6"``, ``"edges"`` (an edge list, one graph), ``"npz"``,
            ``"smiles"`` or ``"tu"``. By default the suffix tells; a folder is read as
            TU folder, and a ``.txt`` file as edge list if its first line is an edge,
            else as graph6.
        undirected: ``"error"`` or ``"add"`` when an edge lacks its reverse.
        loops: ``"drop"`` (with a warning) or ``"error"``.
        smiles: The column of a table that holds the SMILES.
        skip_invalid: Leave out SMILES that rdkit cannot read.

    Raises:
        GraphInputError: If the path cannot be read or holds no valid graphs.
        ConfigError: If ``format`` is unknown.
    """
    check_rules(undirected, loops)
    if format is not None:
        check_choice("format", format, FORMATS)
    if not os.path.exists(path):
        raise GraphInputError(f"{path} does not exist; check the path.")
    readers: dict[str, Callable[[], list[Graph]]] = {
        "graph6": lambda: read_graph6(path),
        "edges": lambda: [read_edge_list(path, undirected=undirected, loops=loops)],
        "npz": lambda: read_npz(path, undirected=undirected, loops=loops),
        "smiles": lambda: list(
            read_smiles_table(path, smiles, skip_invalid=skip_invalid).graphs
        ),
        "tu": lambda: read_tu_folder(path, undirected=undirected, loops=loops),
    }
    graphs = readers[format or _guess_format(Path(path))]()
    if not graphs:
        raise GraphInputError(f"{path} holds no graphs.")
    return graphs


def _guess_format(path: Path) -> str:
    """Tell the format by suffix, or by the first line of a ``.txt`` file."""
    if path.is_dir():
        return "tu"
    suffix = path.suffix.lower()
    if suffix == ".txt":
        return _guess_text_format(path)
    if suffix not in _SUFFIXES:
        raise GraphInputError(
            f"{path}: the suffix {suffix!r} tells no format; known are "
            f"{', '.join([*_SUFFIXES, '.txt'])}. Or name the format, one of "
            f"{', '.join(FORMATS)} (--format)."
        )
    return _SUFFIXES[suffix]


def _guess_text_format(path: Path) -> str:
    """Return ``"edges"`` if the first line that is no comment is an edge."""
    lines = (line.strip() for line in read_text(path).splitlines())
    content = [line for line in lines if line]
    plain = [line for line in content if not line.startswith(("#", "%"))]
    if not plain:  # graph6 has no comments
        return "edges" if content else "graph6"
    return "edges" if _EDGE_LINE.fullmatch(plain[0]) else "graph6"
