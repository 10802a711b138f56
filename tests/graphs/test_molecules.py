"""Molecules with known atoms and bonds."""

from __future__ import annotations

import sys

import pytest

from sekgnn.errors import GraphInputError, MissingExtraError
from sekgnn.graphs import as_graph, cycle_graph, from_rdkit, from_smiles, path_graph

Chem = pytest.importorskip("rdkit.Chem")


def test_known_molecules() -> None:
    assert from_smiles("CCO") == path_graph(3)
    assert from_smiles("c1ccccc1") == cycle_graph(6)
    assert from_smiles("C") == path_graph(1)
    assert from_smiles("[Na+].[Cl-]").num_edges == 0
    ethanol = from_smiles("CCO", add_hydrogens=True)
    assert (ethanol.num_nodes, ethanol.num_edges) == (9, 8)
    assert ethanol.degrees.tolist() == [4, 4, 2, 1, 1, 1, 1, 1, 1]


def test_rdkit_mol() -> None:
    mol = Chem.MolFromSmiles("C1CC1C")
    expected = {(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in mol.GetBonds()}
    g = from_rdkit(mol)
    assert {(u, v) for u, v in g.edge_index().T.tolist() if u < v} == {
        (min(e), max(e)) for e in expected
    }
    assert as_graph(mol) == g
    with pytest.raises(GraphInputError, match="mol is None"):
        from_rdkit(None)


@pytest.mark.parametrize("smiles", ["C1CC", "c1cccc1", "C(C)(C)(C)(C)C", "", "  ", "?"])
def test_invalid_smiles_are_silent_errors(
    smiles: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Open ring, no Kekulé form, valence 5, nothing: one error, no rdkit log."""
    with pytest.raises(GraphInputError, match="not a SMILES that rdkit can read"):
        from_smiles(smiles)
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""


def test_without_rdkit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdkit", None)
    monkeypatch.setitem(sys.modules, "rdkit.Chem", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'sekgnn\[mol\]'"):
        from_smiles("C")
