"""Molecules of a table, CSV or Parquet, with target columns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sekgnn.datasets.graph_task import GraphTask, make_task
from sekgnn.datasets.molecule_features import ATOM_FEATURES, molecule_arrays
from sekgnn.datasets.target_kind import Label, TaskKind
from sekgnn.datasets.target_values import read_column
from sekgnn.errors import GraphInputError
from sekgnn.graphs.extras import require
from sekgnn.graphs.table import TableRow, read_table

if TYPE_CHECKING:
    from torch_geometric.data import Data

_SHOWN = 10  # invalid rows spelt out in an error


def smiles_task(
    path: str | Path,
    targets: Sequence[str] | str = (),
    *,
    smiles: str = "smiles",
    kind: TaskKind | None = None,
    classes: Sequence[Label] | None = None,
    skip_invalid: bool = False,
    add_hydrogens: bool = False,
) -> GraphTask:
    """Read a table with one molecule per row.

    ``x`` holds ``ATOM_FEATURES``, the same columns for every table; ``edge_attr`` the
    one-hot bond type (single, double, triple, aromatic).

    Args:
        path: A ``.parquet`` file, or text with a heading and columns divided by comma,
            semicolon or tab.
        targets: The column or columns to predict; none for molecules to predict on.
            Empty fields, ``NA`` and ``nan`` are missing targets.
        smiles: The column that holds the SMILES.
        kind: The kind of task; by default the targets tell (``encode_targets``).
        classes: The labels, if they are known.
        skip_invalid: Leave out rows that rdkit cannot read, instead of raising.
        add_hydrogens: Make every hydrogen a node.

    Raises:
        GraphInputError: If the table, a molecule or a target is wrong; names the
            column, and the row and its line.
        ConfigError: If ``kind`` does not fit.
        MissingExtraError: If rdkit is not installed.
    """
    names = [targets] if isinstance(targets, str) else list(targets)
    graphs: list[Data] = []
    rows: list[TableRow] = []
    invalid: list[TableRow] = []
    for row in read_table(path, [smiles, *names], "Name the columns to read."):
        data = _molecule(row.values[0], add_hydrogens)
        if data is None:
            invalid.append(row)
        else:
            graphs.append(data)
            rows.append(row)
    if invalid and not skip_invalid:
        raise GraphInputError(_complaint(path, smiles, invalid))
    places = [row.place for row in rows]
    columns = [
        read_column(name, [row.values[i] for row in rows], places, str(path))
        for i, name in enumerate(names if rows else (), start=1)
    ]
    return make_task(str(path), graphs, places, columns, kind, classes, ATOM_FEATURES)


def _molecule(text: Any, add_hydrogens: bool) -> Data | None:
    """Return a molecule as PyG data, or ``None`` if rdkit cannot read it."""
    chem = require("rdkit.Chem", "mol")
    with require("rdkit.rdBase", "mol").BlockLogs():
        mol = chem.MolFromSmiles(text.strip()) if isinstance(text, str) else None
    if mol is None or mol.GetNumAtoms() == 0:
        return None
    import torch
    from torch_geometric.data import Data

    arrays = molecule_arrays(chem.AddHs(mol) if add_hydrogens else mol)
    return Data(
        x=torch.from_numpy(arrays.x),
        edge_index=torch.from_numpy(arrays.edge_index),
        edge_attr=torch.from_numpy(arrays.edge_attr),
        num_nodes=len(arrays.x),
    )


def _complaint(path: str | Path, column: str, invalid: list[TableRow]) -> str:
    """Return one message for all invalid rows."""
    count = f"{len(invalid)} SMILES in column {column!r}"
    lines = [f"{path}: {count} cannot be read by rdkit:"]
    lines += [f"  {row.place}: {row.values[0]!r}" for row in invalid[:_SHOWN]]
    if len(invalid) > _SHOWN:
        lines.append(f"  and {len(invalid) - _SHOWN} more")
    lines.append(
        "Correct them, or leave them out with --skip-invalid (skip_invalid=True)."
    )
    return "\n".join(lines)
