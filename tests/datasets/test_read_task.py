"""The suffix chooses the reader."""

from __future__ import annotations

from pathlib import Path

import pytest

from sekgnn.datasets import read_task
from sekgnn.errors import ConfigError, GraphInputError


def test_tables(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    text = "mol,y\nCC,0.5\nC,1.5\nC1C,2.5\n"
    for name in ("a.csv", "A.CSV", "a.tsv"):
        (tmp_path / name).write_text(text)
        task = read_task(tmp_path / name, "y", smiles="mol", skip_invalid=True)
        assert [data.y.item() for data in task] == [0.5, 1.5]
    classes = read_task(tmp_path / "a.csv", smiles="mol", skip_invalid=True)
    assert classes.kind is None


def test_json_lines(tmp_path: Path) -> None:
    for name in ("a.jsonl", "a.ndjson"):
        (tmp_path / name).write_text('{"edges": [], "num_nodes": 2, "y": 1}\n')
        task = read_task(tmp_path / name, ["y"], kind="regression")
        assert task.kind == "regression" and task[0].num_nodes == 2


def test_folder(tmp_path: Path) -> None:
    (tmp_path / "B_A.txt").write_text("1, 2\n2, 1\n")
    (tmp_path / "B_graph_indicator.txt").write_text("1\n1\n2\n")
    (tmp_path / "B_graph_labels.txt").write_text("7\n7\n")
    task = read_task(tmp_path, classes=[5, 7])
    assert [data.y.item() for data in task] == [1, 1]
    with pytest.raises(ConfigError, match="whose targets are in its files"):
        read_task(tmp_path, "y")


def test_what_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(GraphInputError, match="does not exist"):
        read_task(tmp_path / "none.csv")
    (tmp_path / "a.xlsx").write_text("")
    with pytest.raises(GraphInputError, match=r"inferred from the suffix '\.xlsx'"):
        read_task(tmp_path / "a.xlsx")
