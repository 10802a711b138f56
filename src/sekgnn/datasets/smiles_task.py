"""Molecules of a table, CSV or Parquet, with target columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sekgnn.datasets.graph_task import FeatureNames, GraphTask, make_task
from sekgnn.datasets.molecule_features import ATOM_FEATURES, BONDS, molecule_arrays
from sekgnn.datasets.target_kind import Label, TaskKind
from sekgnn.datasets.target_values import read_column
from sekgnn.errors import GraphInputError
from sekgnn.graphs.extras import require
from sekgnn.graphs.table import TableRow, read_table

if TYPE_CHECKING:
    from torch_geometric.data import Data

MOLECULE_NAMES = FeatureNames(ATOM_FEATURES, BONDS)
"""The columns of every molecule's features."""

_SHOWN = 10  # invalid rows spelt out in an error
_SHOWN_LENGTH = 200  # characters of a SMILES spelt out there
MOST_RING_ATOMS = 20_000
"""Molecules with a longer cycle are refused: rdkit would search its rings for hours."""


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
    for row, data in read_molecules(path, [smiles, *names], add_hydrogens):
        if data is None:
            invalid.append(row)
        else:
            graphs.append(data)
            rows.append(row)
    if invalid and not skip_invalid:
        raise invalid_smiles(path, smiles, invalid)
    places = [row.place for row in rows]
    columns = [
        read_column(name, [row.values[i] for row in rows], places, str(path))
        for i, name in enumerate(names if rows else (), start=1)
    ]
    return make_task(str(path), graphs, places, columns, kind, classes, MOLECULE_NAMES)


def read_molecules(
    path: str | Path, columns: Sequence[str], add_hydrogens: bool
) -> Iterator[tuple[TableRow, Data | None]]:
    """Yield the rows of a table, each with its molecule.

    Args:
        path: The table; it is read as the rows are asked for.
        columns: Those to read; the first holds the SMILES.
        add_hydrogens: Make every hydrogen a node.

    Returns:
        Rows and molecules, ``None`` where rdkit cannot read the SMILES or a cycle has
        more than ``MOST_RING_ATOMS`` atoms.

    Raises:
        GraphInputError: If the table is wrong; see ``read_table``.
        MissingExtraError: If rdkit is not installed.
    """
    for row in read_table(path, columns, "Name the columns to read."):
        yield row, molecule_data(row.values[0], add_hydrogens)


def invalid_smiles(
    path: str | Path, column: str, rows: Sequence[TableRow]
) -> GraphInputError:
    """Return one error for all rows that hold no valid SMILES."""
    count = f"{len(rows)} SMILES in column {column!r}"
    lines = [f"{path}: {count} cannot be read by rdkit:"]
    lines += [f"  {row.place}: {_short(row.values[0])}" for row in rows[:_SHOWN]]
    if len(rows) > _SHOWN:
        lines.append(f"  and {len(rows) - _SHOWN} more")
    if any(len(str(row.values[0])) > MOST_RING_ATOMS for row in rows):
        lines.append(f"Cycles of more than {MOST_RING_ATOMS} atoms are refused.")
    lines.append(
        "Correct them, or leave them out with --skip-invalid (skip_invalid=True)."
    )
    return GraphInputError("\n".join(lines))


def _short(value: Any) -> str:
    text = str(value)
    if len(text) <= _SHOWN_LENGTH:
        return repr(value)
    return f"{text[:_SHOWN_LENGTH]!r}... ({len(text)} characters)"


def molecule_data(text: Any, add_hydrogens: bool) -> Data | None:
    """Return a molecule as PyG data, or ``None`` if rdkit cannot read it.

    Raises:
        MissingExtraError: If rdkit is not installed.
    """
    mol = _molecule(text.strip()) if isinstance(text, str) else None
    if mol is None or mol.GetNumAtoms() == 0:
        return None
    import torch
    from torch_geometric.data import Data

    chem = require("rdkit.Chem", "mol")
    arrays = molecule_arrays(chem.AddHs(mol) if add_hydrogens else mol)
    return Data(
        x=torch.from_numpy(arrays.x),
        edge_index=torch.from_numpy(arrays.edge_index),
        edge_attr=torch.from_numpy(arrays.edge_attr),
        num_nodes=len(arrays.x),
    )


def _molecule(smiles: str) -> Any:
    """Return the sanitised rdkit ``Mol``, or ``None`` if there is none.

    These are the steps of ``MolFromSmiles`` but the last: the features do not tell
    stereochemistry, and finding it takes minutes for 100,000 atoms.
    """
    chem = require("rdkit.Chem", "mol")
    steps = chem.SmilesParserParams()
    steps.sanitize = steps.removeHs = False
    with require("rdkit.rdBase", "mol").BlockLogs():
        mol = chem.MolFromSmiles(smiles, steps)
        if mol is None or _longest_cycle(mol) > MOST_RING_ATOMS:
            return None
        try:
            return chem.RemoveHs(mol)
        except chem.MolSanitizeException:
            return None


def _longest_cycle(mol: Any) -> int:
    """Return the longest cycle that a depth-first search meets; 0 in small molecules.

    rdkit's own quick search (``FastFindRings``) overflows the stack at this size.
    """
    if mol.GetNumAtoms() <= MOST_RING_ATOMS:
        return 0
    neighbours = [
        [bond.GetOtherAtomIdx(place) for bond in atom.GetBonds()]
        for place, atom in enumerate(mol.GetAtoms())
    ]
    depth = [0] * len(neighbours)  # 0: not yet met
    longest = 0
    for root in range(len(neighbours)):
        if depth[root]:
            continue
        depth[root] = 1
        path = [iter(neighbours[root])]
        while path:
            for other in path[-1]:
                if not depth[other]:
                    depth[other] = len(path) + 1
                    path.append(iter(neighbours[other]))
                    break
                longest = max(longest, len(path) + 1 - depth[other])
            else:
                path.pop()
    return longest
