"""Molecules as graphs: atoms are nodes, bonds are edges, kinds are left out."""

from __future__ import annotations

from typing import Any

import numpy as np

from sekgnn.errors import GraphInputError
from sekgnn.graphs.extras import require
from sekgnn.graphs.graph import Graph


def from_rdkit(mol: Any) -> Graph:
    """Build a graph from an rdkit ``Mol``; node i is atom i.

    Raises:
        GraphInputError: If ``mol`` is None, which is how rdkit reports a failure.
    """
    if mol is None:
        raise GraphInputError(
            "mol is None: rdkit could not build this molecule; check its SMILES."
        )
    ends = [(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in mol.GetBonds()]
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
    chem = require("rdkit.Chem", "mol")
    with require("rdkit.rdBase", "mol").BlockLogs():  # the error below says it all
        mol = chem.MolFromSmiles(smiles) if smiles.strip() else None
        if mol is None:
            raise GraphInputError(f"{smiles!r} is not a SMILES that rdkit can read.")
        return from_rdkit(chem.AddHs(mol) if add_hydrogens else mol)
