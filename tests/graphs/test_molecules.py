"""Molecules with known atoms and bonds, their features, and rows that are none."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sekgnn.errors import GraphInputError, MissingExtraError
from sekgnn.graphs import (
    Graph,
    ReadOptions,
    as_graph,
    cycle_graph,
    from_smiles,
    path_graph,
)
from sekgnn.graphs.molecules import (
    ATOM_FEATURES,
    BOND_FEATURES,
    depict,
    descriptors_of,
    from_rdkit,
    labelled_from_rdkit,
    labelled_from_smiles,
    molecule_features,
    morgan_counts,
    parse_smiles,
    scaffold,
)
from sekgnn.graphs.records import read_all
from sekgnn.graphs.table import Row

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


@pytest.mark.parametrize("hydrogens", [False, True])
@pytest.mark.parametrize(
    "smiles",
    [
        *("C1CC", "c1cccc1", "C(C)(C)(C)(C)C", "", "  ", "?"),
        *("[CH999]", "C[#200]C", "[#200]"),  # rdkit raises a RuntimeError
    ],
)
def test_invalid_smiles_are_silent_errors(
    smiles: str, hydrogens: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    """Open ring, no Kekulé form, valence 5, nothing: one error, no rdkit log."""
    with pytest.raises(GraphInputError, match="not a SMILES"):
        from_smiles(smiles, add_hydrogens=hydrogens)
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""


def test_without_rdkit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdkit", None)
    monkeypatch.setitem(sys.modules, "rdkit.Chem", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'sekgnn\[mol\]'"):
        from_smiles("C")


def features(smiles: str) -> list[dict[str, float]]:
    """Return, per atom, the features that are not zero."""
    _, x, _ = molecule_features(Chem.MolFromSmiles(smiles))
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
    for some in (mol, Chem.AddHs(mol)):
        assert molecule_features(some)[1][:2, column].tolist() == [3, 1]


@pytest.mark.parametrize(
    "smiles", ["C", "CC#N", "c1ccccc1O", "[Na+].[Cl-]", "C1CC1C=O"]
)
def test_edges_are_those_of_the_graph_and_types_are_symmetric(smiles: str) -> None:
    mol = Chem.MolFromSmiles(smiles)
    graph, _, edge_attr = molecule_features(mol)
    assert graph == from_rdkit(mol)
    assert edge_attr.shape == (2 * graph.num_edges, len(BOND_FEATURES))
    assert (edge_attr.sum(1) == 1).all()
    pairs = graph.edge_index().T.tolist()
    kinds = {tuple(p): k.argmax() for p, k in zip(pairs, edge_attr, strict=True)}
    assert all(kinds[u, v] == kinds[v, u] for u, v in kinds)


def test_bond_types() -> None:
    names = ("C=CC#C", "c1ccccc1")
    sums = [molecule_features(Chem.MolFromSmiles(s))[2].sum(0) for s in names]
    assert [s.tolist()[:4] for s in sums] == [[2, 2, 2, 0], [0, 0, 0, 12]]


@pytest.mark.parametrize(
    "smiles", ["C=CC#Cc1ccccc1", "N->[Zn]", "C$C", "[Fe]<-N", "[Na+].[Cl-]", "C"]
)
def test_bonds_of_rdkits_matrix_are_those_of_its_list(
    smiles: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dative bond has the order of a single one, but not its type."""
    mol = parse_smiles(smiles)
    graph = labelled_from_rdkit(mol)
    monkeypatch.setattr("sekgnn.graphs.molecules.MOST_MATRIX_ATOMS", 0)
    listed = labelled_from_rdkit(mol)
    assert graph == listed
    assert graph.edge_labels is not None and listed.edge_labels is not None
    assert graph.edge_labels.tolist() == listed.edge_labels.tolist()


STEREO = {
    "C[C@H](N)C(=O)O": {"chiral_S": 1},  # L-alanine
    "C[C@@H](N)C(=O)O": {"chiral_R": 1},
    "CC(N)C(=O)O": {},
    "C/C=C/C(=O)O": {"bond_E": 2},  # of both directions
    "C/C=C\\C(=O)O": {"bond_Z": 2},
    "CC=CC(=O)O": {},
    "C[C@H](Cl)/C=C/[C@@H](C)Br": {"chiral_R": 1, "chiral_S": 1, "bond_E": 2},
}


@pytest.mark.parametrize("smiles", STEREO)
def test_stereochemistry_does_not_depend_on_how_a_molecule_is_written(
    smiles: str,
) -> None:
    """Counts by hand, for any order of atoms; nothing if it is not asked for."""
    mol = Chem.MolFromSmiles(smiles)
    names = (*ATOM_FEATURES, *BOND_FEATURES)
    for seed in range(8):
        text = Chem.MolToRandomSmilesVect(mol, 1, seed)[0] if seed else smiles
        for stereo in (True, False):
            _, x, attr = molecule_features(parse_smiles(text, stereo=stereo))
            counts = dict(zip(names, [*x.sum(0), *attr.sum(0)], strict=True))
            known = {k: v for k, v in counts.items() if k in names[-2:] or "chi" in k}
            assert {k: v for k, v in known.items() if v} == (
                STEREO[smiles] if stereo else {}
            )


def test_large_molecules_are_read_without_stereochemistry() -> None:
    """To find it takes minutes there."""
    text = "C[C@H](N)" + "C" * 20_000
    assert molecule_features(parse_smiles(text, stereo=True))[1][:, -2:].sum() == 0


def test_morgan_counts_are_of_atoms_and_their_surroundings() -> None:
    """An atom at radius 0, its neighbours at 1; the way a SMILES is written is not."""
    assert morgan_counts("C").sum() == 1  # nothing around it
    ethane, ethanol = morgan_counts("CC"), morgan_counts("CCO")
    assert sorted(ethane[ethane > 0].tolist()) == [1, 2]  # two atoms, one surrounding
    assert ethanol.sum() == 3 + 3 and ethanol.shape == (2048,)
    np.testing.assert_array_equal(ethanol, morgan_counts("OCC"))
    assert (ethanol != morgan_counts("CCN")).any()
    with pytest.raises(GraphInputError, match="not a SMILES"):
        morgan_counts("C(")


def test_what_rdkit_raises_is_of_the_molecule(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Scaffolds, counts, descriptors and drawings of what it reads may fail, too."""

    def broken(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("Pre-condition Violation")

    from rdkit.Chem import Descriptors, rdDepictor, rdFingerprintGenerator
    from rdkit.Chem.Scaffolds import MurckoScaffold

    monkeypatch.setattr(MurckoScaffold, "MurckoScaffoldSmiles", broken)
    monkeypatch.setattr(Descriptors, "CalcMolDescriptors", broken)
    monkeypatch.setattr(rdDepictor, "Compute2DCoords", broken)
    maker = SimpleNamespace(GetCountFingerprintAsNumPy=broken)
    monkeypatch.setattr(
        rdFingerprintGenerator, "GetMorganGenerator", lambda **options: maker
    )
    for ask in (scaffold, morgan_counts):
        with pytest.raises(GraphInputError, match="'CCO'"):
            ask("CCO")
    assert np.isnan(descriptors_of("CCO")).all()
    assert depict(labelled_from_smiles("CCO")) is None
    assert capfd.readouterr().err == ""


def read(file: Path, **options: Any) -> tuple[list[Graph], list[int], list[Row]]:
    """Return graphs, their rows, and the rows left out."""
    records, invalid = read_all(file, ReadOptions(**options), features=False)
    return [r.graph for r in records], [r.row for r in records], invalid


def test_one_column_other_name_and_hydrogens(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("SMILES\nc1ccccc1\n")
    assert read(file, smiles="SMILES")[0] == [cycle_graph(6)]
    (benzene,), _, _ = read(file, smiles="SMILES", add_hydrogens=True)
    assert benzene.num_nodes == 12


def test_invalid_rows_are_listed_at_once(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.csv"
    file.write_text('smiles,note\nCC,"two\nlines"\nC1C,"two\nlines"\n\n,empty\nO,\n')
    with pytest.raises(GraphInputError) as caught:
        read(file)
    message = str(caught.value)
    assert "2 SMILES in column 'smiles' cannot be read" in message
    assert "row 2 (line 4): 'C1C'" in message
    assert "row 3 (line 7): ''" in message
    assert "--skip-invalid" in message
    assert capfd.readouterr().err == ""
    graphs, rows, invalid = read(file, skip_invalid=True)
    assert (graphs, rows) == ([path_graph(2), path_graph(1)], [1, 4])
    assert invalid == [(2, 4, ("C1C",)), (3, 7, ("",))]


def test_only_ten_are_shown(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("smiles\n" + "C1C\n" * 13)
    with pytest.raises(GraphInputError, match=r"(?s)row 10.*and 3 more") as caught:
        read(file)
    assert "row 11" not in str(caught.value)
    with pytest.raises(GraphInputError, match="no graphs"):
        read(file, skip_invalid=True)


def test_parquet(tmp_path: Path) -> None:
    import pyarrow as arrow
    from pyarrow import parquet

    file = tmp_path / "a.parquet"
    parquet.write_table(
        arrow.table({"id": [1, 2, 3], "smiles": ["CCO", None, "C"]}), file
    )
    with pytest.raises(GraphInputError, match="row 2: None"):
        read(file)
    graphs, rows, _ = read(file, skip_invalid=True)
    assert (graphs, rows) == ([path_graph(3), path_graph(1)], [1, 3])
