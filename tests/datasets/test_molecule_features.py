"""Features of molecules of any elements."""

from __future__ import annotations

import numpy as np
import pytest

from sekgnn.datasets.molecule_features import ATOM_FEATURES, molecule_arrays
from sekgnn.graphs import from_rdkit

Chem = pytest.importorskip("rdkit.Chem")


def features(smiles: str) -> list[dict[str, float]]:
    """Return, per atom, the features that are not zero."""
    x = molecule_arrays(Chem.MolFromSmiles(smiles)).x
    return [
        {n: v for n, v in zip(ATOM_FEATURES, row, strict=True) if v}
        for row in x.tolist()
    ]


def test_atoms_by_hand() -> None:
    assert features("C[NH3+]") == [
        {"is_C": 1, "sp3": 1, "num_hydrogens": 3},
        {"is_N": 1, "charge": 1, "sp3": 1, "num_hydrogens": 3},
    ]
    atom = features("c1cc[se]c1")[3]
    assert atom == {"is_Se": 1, "aromatic": 1, "in_ring": 1, "sp2": 1}
    assert features("[Na+].[Cl-]")[0]["is_other"] == 1
    assert features("[Na+].[Cl-]")[1]["is_Cl"] == 1


def test_hydrogens_count_whether_they_are_nodes_or_not() -> None:
    mol = Chem.MolFromSmiles("CO")
    column = ATOM_FEATURES.index("num_hydrogens")
    assert molecule_arrays(mol).x[:2, column].tolist() == [3, 1]
    assert molecule_arrays(Chem.AddHs(mol)).x[:2, column].tolist() == [3, 1]


@pytest.mark.parametrize(
    "smiles", ["C", "CC#N", "c1ccccc1O", "[Na+].[Cl-]", "C1CC1C=O"]
)
def test_edges_are_those_of_the_graph_and_types_are_symmetric(smiles: str) -> None:
    mol = Chem.MolFromSmiles(smiles)
    found = molecule_arrays(mol)
    assert np.array_equal(found.edge_index, from_rdkit(mol).edge_index())
    assert found.edge_attr.shape == (found.edge_index.shape[1], 4)
    assert (found.edge_attr.sum(1) == 1).all()
    pairs = found.edge_index.T.tolist()
    kinds = {tuple(p): k.argmax() for p, k in zip(pairs, found.edge_attr, strict=True)}
    assert all(kinds[u, v] == kinds[v, u] for u, v in kinds)


def test_bond_types() -> None:
    names = ("C=CC#C", "c1ccccc1")
    sums = [molecule_arrays(Chem.MolFromSmiles(s)).edge_attr.sum(0) for s in names]
    assert [s.tolist() for s in sums] == [[2, 2, 2, 0], [0, 0, 0, 12]]
