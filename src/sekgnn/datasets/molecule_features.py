"""What a network is told about atoms and bonds, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

BONDS = ("SINGLE", "DOUBLE", "TRIPLE", "AROMATIC")
"""One-hot columns of a bond; a bond of another type is all zeros."""

_HYBRIDISATIONS = ("SP", "SP2", "SP3")
_QM9_ELEMENTS = (1, 6, 7, 8, 9)
_ELEMENTS = {
    **{"H": 1, "B": 5, "C": 6, "N": 7, "O": 8, "F": 9, "Si": 14, "P": 15, "S": 16},
    **{"Cl": 17, "Se": 34, "Br": 35, "I": 53},
}

QM9_ATOM_FEATURES = (
    *("is_H", "is_C", "is_N", "is_O", "is_F"),
    *("atomic_number", "aromatic", "sp", "sp2", "sp3", "num_hydrogens"),
)
ATOM_FEATURES = (
    *(f"is_{element}" for element in _ELEMENTS),
    *("is_other", "charge", "aromatic", "sp", "sp2", "sp3", "in_ring"),
    "num_hydrogens",
)


@dataclass(frozen=True, eq=False)
class MoleculeArrays:
    """A molecule with features.

    Attributes:
        x: Atom features, float32 ``[n, C]``.
        edge_index: Both directions of every bond, sorted, int64 ``[2, 2 m]``.
        edge_attr: One-hot bond types (``BONDS``), float32 ``[2 m, 4]``.
    """

    x: NDArray[np.float32]
    edge_index: NDArray[np.int64]
    edge_attr: NDArray[np.float32]


def molecule_arrays(mol: Any) -> MoleculeArrays:
    """Return any rdkit ``Mol`` with ``ATOM_FEATURES``.

    Elements are one-hot (a last column for those not listed); then formal charge,
    aromaticity, hybridisation, membership in a ring, and the number of hydrogens,
    whether they are nodes or not.
    """
    places = {number: i for i, number in enumerate(_ELEMENTS.values())}
    x = np.zeros((mol.GetNumAtoms(), len(ATOM_FEATURES)), dtype=np.float32)
    start = len(places) + 1
    for row, atom in zip(x, mol.GetAtoms(), strict=True):
        row[places.get(atom.GetAtomicNum(), len(places))] = 1
        row[start:] = (
            atom.GetFormalCharge(),
            atom.GetIsAromatic(),
            *_hybridisation(atom),
            atom.IsInRing(),
            atom.GetTotalNumHs(includeNeighbors=True),
        )
    return MoleculeArrays(x, *_bonds(mol))


def qm9_arrays(mol: Any, sanitize: bool) -> MoleculeArrays:
    """Return a molecule of H, C, N, O, F, hydrogens included, with PyG's 11 features.

    Args:
        mol: An rdkit ``Mol`` that was sanitised, with explicit hydrogens.
        sanitize: If false, what rdkit reports without sanitising: Kekulé bonds, and
            neither aromaticity nor hybridisation.
    """
    if not sanitize:
        from rdkit import Chem

        mol = Chem.Mol(mol)
        Chem.Kekulize(mol, clearAromaticFlags=True)
    x = np.zeros((mol.GetNumAtoms(), len(QM9_ATOM_FEATURES)), dtype=np.float32)
    numbers = np.array([atom.GetAtomicNum() for atom in mol.GetAtoms()], np.int64)
    x[:, :5] = numbers[:, None] == _QM9_ELEMENTS
    x[:, 5] = numbers
    if sanitize:
        for row, atom in zip(x, mol.GetAtoms(), strict=True):
            row[6:10] = (atom.GetIsAromatic(), *_hybridisation(atom))
    edge_index, edge_attr = _bonds(mol)
    hydrogens = numbers[edge_index[1]] == 1
    x[:, 10] = np.bincount(edge_index[0], weights=hydrogens, minlength=len(x))
    return MoleculeArrays(x, edge_index, edge_attr)


def _hybridisation(atom: Any) -> tuple[bool, bool, bool]:
    kind = str(atom.GetHybridization())
    sp, sp2, sp3 = (kind == name for name in _HYBRIDISATIONS)
    return sp, sp2, sp3


def _bonds(mol: Any) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return both directions of every bond, sorted, and their one-hot types.

    Bonds are asked of their atoms: ``mol.GetBonds()`` takes quadratic time.
    """
    bonds = sorted(
        (place, bond.GetOtherAtomIdx(place), str(bond.GetBondType()))
        for place, atom in enumerate(mol.GetAtoms())
        for bond in atom.GetBonds()
    )
    pairs = np.array([bond[:2] for bond in bonds], dtype=np.int64).reshape(-1, 2)
    types = [[name == bond[2] for name in BONDS] for bond in bonds]
    attributes = np.array(types, dtype=np.float32).reshape(-1, len(BONDS))
    return np.ascontiguousarray(pairs.T), attributes
