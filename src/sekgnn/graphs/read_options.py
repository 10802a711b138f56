"""Options of readers; flags are made from them, so the import loads nothing heavy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sekgnn.parameters import check_fields, parameter

if TYPE_CHECKING:
    from sekgnn.graphs.cleaning import SelfLoops, Undirected

FORMATS = ("graph6", "edges", "npz", "csr", "smiles", "json", "tu")
"""The formats that graphs are read from."""


@dataclass(frozen=True)
class ReadOptions:
    """How to read graphs; each format uses the options that concern it.

    Attributes:
        format: One of ``FORMATS``; by default inferred from the suffix.
        undirected: ``"error"`` or ``"add"`` when an edge lacks its reverse; JSON lines
            may always list an edge once.
        loops: ``"drop"`` self-loops (with a warning) or ``"error"``.
        smiles: The column of a table that holds the SMILES; of several, the molecules
            of a row are one graph, whose atoms know their column.
        skip_invalid: Leave out SMILES that rdkit cannot read, instead of raising.
        add_hydrogens: Make every hydrogen of a molecule a node.
        stereo: Distinguish R and S atoms, and E and Z bonds, where a SMILES marks them.
        node_labels: The node labels of a TU folder in the order of their columns; by
            default those that occur.
        edge_labels: Likewise for edges.

    Raises:
        ConfigError: If a value is unknown.
    """

    format: str | None = parameter(
        None, "format of the input", FORMATS, shown="inferred from the suffix"
    )
    undirected: Undirected = parameter(
        "error", "what to do with edges listed in one direction only", ("error", "add")
    )
    loops: SelfLoops = parameter(
        "drop", "what to do with self-loops in the input", ("drop", "error")
    )
    smiles: str | tuple[str, ...] = parameter(
        "smiles", "columns that hold SMILES; those of a row are one graph"
    )
    skip_invalid: bool = parameter(False, "leave out SMILES that rdkit cannot read")
    add_hydrogens: bool = parameter(False, "add hydrogen atoms as nodes")
    stereo: bool = parameter(True, "tell R from S and E from Z in SMILES")
    node_labels: Sequence[float] | None = None
    edge_labels: Sequence[float] | None = None

    def __post_init__(self) -> None:
        check_fields(self)


MOLECULE_OPTIONS = ("add_hydrogens", "stereo")
"""The options that determine the nodes and features of a molecule."""

DEFAULTS = ReadOptions()
