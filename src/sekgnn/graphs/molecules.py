"""Molecules as graphs: atoms are nodes, bonds are edges; kinds as labels, or not."""

from __future__ import annotations

from typing import Any

import numpy as np

from sekgnn.errors import GraphInputError
from sekgnn.graphs.extras import require
from sekgnn.graphs.graph import Graph
from sekgnn.graphs.labelled import LabelledGraph


def from_rdkit(mol: Any) -> Graph:
    """Build a graph from an rdkit ``Mol``; node i is atom i.

    Raises:
        GraphInputError: If ``mol`` is None, which is how rdkit reports a failure.
    """
    if mol is None:
        raise GraphInputError(
            "mol is None: rdkit could not build this molecule; check its SMILES."
        )
    ends = [(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in _bonds(mol)]
    pairs = np.array(ends, dtype=np.int64).reshape(-1, 2).T
    return Graph.from_edge_index(pairs, mol.GetNumAtoms(), undirected="add")


def from_smiles(smiles: str, *, add_hydrogens: bool = False) -> Graph:
    """Build a graph from a SMILES string; atoms in the order rdkit gives them.

    Args:
        smiles: The molecule.
        add_hydrogens: Make every hydrogen a node. Otherwise only heavy atoms are
            nodes, and those hydrogens that rdkit keeps (as in ``[H][H]``).

    Raises:
        GraphInputError: If rdkit cannot read it.
        MissingExtraError: If rdkit is not installed.

    Example:
        >>> from_smiles("c1ccccc1")  # doctest: +SKIP
        Graph(num_nodes=6, num_edges=6)
    """
    return from_rdkit(_molecule(smiles, add_hydrogens))


def labelled_from_rdkit(mol: Any) -> LabelledGraph:
    """Build a labelled graph from an rdkit ``Mol``.

    A node's label is its atom's element and formal charge, ``1000 * charge + Z``; an
    edge's label is rdkit's number of the bond type (1, 2, 3; 12 for aromatic).

    Raises:
        GraphInputError: If ``mol`` is None.
    """
    graph = from_rdkit(mol)
    atoms = [1000 * a.GetFormalCharge() + a.GetAtomicNum() for a in mol.GetAtoms()]
    bonds = {
        (b.GetBeginAtomIdx(), b.GetEndAtomIdx()): int(b.GetBondType())
        for b in _bonds(mol)
    }
    return LabelledGraph(graph, np.array(atoms, dtype=np.int64), bonds)


def labelled_from_smiles(smiles: str, *, add_hydrogens: bool = False) -> LabelledGraph:
    """Build a labelled graph from a SMILES string; see :func:`labelled_from_rdkit`.

    Raises:
        GraphInputError: If rdkit cannot read it.
        MissingExtraError: If rdkit is not installed.
    """
    return labelled_from_rdkit(_molecule(smiles, add_hydrogens))


def _bonds(mol: Any) -> list[Any]:
    """Return the bonds, asked of their atoms: ``mol.GetBonds()`` is quadratic."""
    return [
        bond
        for atom in mol.GetAtoms()
        for bond in atom.GetBonds()
        if bond.GetBeginAtomIdx() == atom.GetIdx()
    ]


def _molecule(smiles: str, add_hydrogens: bool) -> Any:
    """Return the rdkit ``Mol`` of a SMILES string."""
    chem = require("rdkit.Chem", "mol")
    with require("rdkit.rdBase", "mol").BlockLogs():  # the error below says it all
        mol = chem.MolFromSmiles(smiles) if smiles.strip() else None
    if mol is None:
        raise GraphInputError(f"{smiles!r} is not a SMILES that rdkit can read.")
    return chem.AddHs(mol) if add_hydrogens else mol
