"""Tables of SMILES: formats, delimiters, and one error for all bad rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from sekgnn.errors import GraphInputError
from sekgnn.graphs import SmilesRow, cycle_graph, path_graph, read_smiles_table

pytest.importorskip("rdkit")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_delimiters(tmp_path: Path, delimiter: str, end: str) -> None:
    rows = [["id", "smiles", "note"], ["1", "CCO", '"a, b; c"'], [], ["2", "CC", "x"]]
    text = end.join(delimiter.join(row) for row in rows) + end
    file = tmp_path / "a.csv"
    file.write_bytes(b"\xef\xbb\xbf" + text.encode())
    table = read_smiles_table(file)
    assert table.graphs == (path_graph(3), path_graph(2))
    assert table.rows == (1, 2)
    assert table.invalid == ()


def test_one_column_other_name_and_hydrogens(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("SMILES\nc1ccccc1\n")
    assert read_smiles_table(file, "SMILES").graphs == (cycle_graph(6),)
    (benzene,) = read_smiles_table(file, "SMILES", add_hydrogens=True).graphs
    assert benzene.num_nodes == 12


def test_smi(tmp_path: Path) -> None:
    file = tmp_path / "a.smi"
    file.write_text("CCO ethanol\n\nCC\tethane and more\n")
    table = read_smiles_table(file)
    assert table.graphs == (path_graph(3), path_graph(2))
    assert table.rows == (1, 2)


def test_invalid_rows_are_listed_at_once(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.csv"
    file.write_text('smiles,note\nCC,"two\nlines"\nC1C,"two\nlines"\n\n,empty\nO,\n')
    with pytest.raises(GraphInputError) as caught:
        read_smiles_table(file)
    message = str(caught.value)
    assert "2 SMILES cannot be read" in message
    assert "row 2 (line 4): 'C1C'" in message
    assert "row 3 (line 7): ''" in message
    assert "--skip-invalid" in message
    assert capfd.readouterr().err == ""
    table = read_smiles_table(file, skip_invalid=True)
    assert table.rows == (1, 4)
    assert table.graphs == (path_graph(2), path_graph(1))
    assert table.invalid == (SmilesRow(2, 4, "C1C"), SmilesRow(3, 7, ""))


def test_only_ten_are_shown(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("smiles\n" + "C1C\n" * 13)
    with pytest.raises(GraphInputError, match=r"(?s)row 10 .*and 3 more") as caught:
        read_smiles_table(file)
    assert "row 11" not in str(caught.value)
    with pytest.raises(GraphInputError, match="no molecules"):
        read_smiles_table(file, skip_invalid=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,mol\n1,C\n", r"no column 'smiles'; its columns are \['id', 'mol'\]"),
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("smiles\n", "no molecules"),
        ("smiles,b\nC,1\nC\n", "line 3: 1 fields, but the heading has 2"),
        ("smiles,b\nC,1,2\n", "line 2: 3 fields"),
        ('smiles,b\n"C,1\n', "quote left open"),
    ],
)
def test_bad_tables(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "a.csv"
    file.write_text(text)
    with pytest.raises(GraphInputError, match=message):
        read_smiles_table(file)


def test_parquet(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": [1, 2, 3], "smiles": ["CCO", None, "C"]}), file)
    with pytest.raises(GraphInputError, match="row 2: ''"):
        read_smiles_table(file)
    table = read_smiles_table(file, skip_invalid=True)
    assert table.graphs == (path_graph(3), path_graph(1))
    assert table.rows == (1, 3)
    with pytest.raises(GraphInputError, match=r"columns are \['id', 'smiles'\]"):
        read_smiles_table(file, "mol")
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(GraphInputError, match="not a readable Parquet"):
        read_smiles_table(file)
    with pytest.raises(GraphInputError, match="does not exist"):
        read_smiles_table(tmp_path / "none.csv")
