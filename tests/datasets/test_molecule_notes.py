"""What a table of molecules is said to hold is counted by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from sekgnn.datasets import read_task
from sekgnn.datasets.molecule_notes import molecule_notes, unit_notes

pytest.importorskip("rdkit")


def notes(tmp_path: Path, *rows: str) -> list[str]:
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["smiles,y,z", *rows]) + "\n")
    return molecule_notes(read_task(path, ["y", "z"], kind="regression"))


def test_a_plain_table_needs_no_words(tmp_path: Path) -> None:
    """Isomers are not equal."""
    assert notes(tmp_path, "CCO,1,2", "COC,2,3") == []


def test_enantiomers_are_equal_only_if_stereochemistry_is_not_read(
    tmp_path: Path,
) -> None:
    path = tmp_path / "table.csv"
    path.write_text("smiles,y\nC[C@H](N)C(=O)O,3\nC[C@@H](N)C(=O)O,4\nCCO,1\n")
    task = read_task(path, "y", kind="regression")
    (line,) = molecule_notes(task)
    assert line.startswith("2 molecules with marks") and line.endswith(": read")
    flat = read_task(path, "y", kind="regression", stereo=False)
    marks, repeated = molecule_notes(flat, stereo=False)
    assert marks.endswith("not read") and repeated.startswith("1 molecule in several")


def test_units_in_a_column(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("smiles,y,Standard Units,unity\nC,3,nM,a\nCC,4,uM,b\n")
    (line,) = unit_notes(path)
    assert "'Standard Units'" in line and "(nM, uM)" in line
    path.write_text("smiles,y,unit\nC,3,nM\nCC,4,nM\n")
    assert unit_notes(path) == []


def test_salts_metals_charges_and_single_atoms(tmp_path: Path) -> None:
    lines = notes(
        tmp_path, "CC(=O)[O-].[Na+],1,1", "C[NH3+],2,1", "C,3,1", "[Fe+2],4,1",
        "CCN.Cl,5,1", "CCO,6,1",
    )  # fmt: skip
    assert [line.split(", row")[0] for line in lines] == [
        "2 molecules of several parts (salts, mixtures)",
        "2 molecules with rare elements (Fe, Na)",
        "2 molecules with a charge in sum",
        "2 molecules of a single atom",
    ]
    assert "row 1 (line 2), row 5 (line 6)" in lines[0]


def test_molecules_in_several_rows(tmp_path: Path) -> None:
    """However they are written; a missing target contradicts nothing."""
    same = notes(tmp_path, "CCO,1,2", "OCC,1,", "CCC,3,4")
    assert same == ["1 molecule in several rows (2 in all), with equal targets: all "
                    "rows are kept"]  # fmt: skip
    (line,) = notes(
        tmp_path, "CCO,1,2", "c1ccccc1O,3,4", "OCC,1,3", "CCC,3,4", "CCC,3,4",
        "Oc1ccccc1,3,4",
    )  # fmt: skip
    assert line.startswith("3 molecules in several rows (6 in all), 1 with different")
    assert "row 1 (line 2) and row 3 (line 4)" in line
