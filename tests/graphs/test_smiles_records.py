"""Tables of SMILES: formats, delimiters, and one error for all bad rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sekgnn.errors import GraphInputError
from sekgnn.graphs import Graph, ReadOptions, cycle_graph, path_graph
from sekgnn.graphs.records import read_all
from sekgnn.graphs.table import DataRow

pytest.importorskip("rdkit")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def read(file: Path, **options: Any) -> tuple[list[Graph], list[int], list[DataRow]]:
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
    assert invalid == [DataRow(2, 4, ("C1C",)), DataRow(3, 7, ("",))]


def test_only_ten_are_shown(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("smiles\n" + "C1C\n" * 13)
    with pytest.raises(GraphInputError, match=r"(?s)row 10.*and 3 more") as caught:
        read(file)
    assert "row 11" not in str(caught.value)
    with pytest.raises(GraphInputError, match="no graphs"):
        read(file, skip_invalid=True)


def test_parquet(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": [1, 2, 3], "smiles": ["CCO", None, "C"]}), file)
    with pytest.raises(GraphInputError, match="row 2: None"):
        read(file)
    graphs, rows, _ = read(file, skip_invalid=True)
    assert (graphs, rows) == ([path_graph(3), path_graph(1)], [1, 3])
    with pytest.raises(GraphInputError, match=r"columns are \['id', 'smiles'\]"):
        read(file, smiles="mol")
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(GraphInputError, match="not a readable Parquet"):
        read(file)
    with pytest.raises(GraphInputError, match="does not exist"):
        read(tmp_path / "none.csv")
