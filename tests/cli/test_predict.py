"""``sekgnn predict`` and ``evaluate``: a trained model on new molecules."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from sekgnn.training.config import RunConfig
from sekgnn.training.run import train

from .conftest import Run, assert_refused

pytest.importorskip("rdkit")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train once: alcohols among chains of carbon."""
    place = tmp_path_factory.mktemp("predict")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    rows = [f"{'C' * n},0\n{'C' * n}O,1\n" for n in range(1, 16)]
    (place / "molecules.csv").write_text("smiles,alcohol\n" + "".join(rows))
    config = RunConfig(
        data=str(place / "molecules.csv"),
        target=("alcohol",),
        model="gin",
        hidden_channels=8,
        epochs=15,
        lr=0.02,
        batch_size=8,
        val_fraction=0.2,
        test_fraction=0.2,
        baseline=False,
    )
    train(output=place / "run", config=config)
    torch.set_num_threads(threads)
    return place


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_probabilities_of_new_molecules(run: Run, folder: Path, tmp_path: Path) -> None:
    """A byte order mark and Windows line ends do not matter."""
    new = tmp_path / "new.csv"
    new.write_bytes("\ufeffname,SMILES\r\n=a,CCCO\r\nb,CCCC\r\n".encode())
    output = tmp_path / "out.csv"
    result = run(
        "predict", folder / "run", new, "-o", output, "--smiles", "SMILES", code=0
    )
    assert "predicted 2 graphs" in result.stdout
    rows = table(output)
    assert [row["SMILES"] for row in rows] == ["CCCO", "CCCC"]
    assert [row["name"] for row in rows] == ["'=a", "b"]  # no formula
    assert [*rows[0]] == ["name", "SMILES", "predicted alcohol", "probability 0",
                          "probability 1"]  # fmt: skip
    for row in rows:
        chances = float(row["probability 0"]), float(row["probability 1"])
        assert sum(chances) == pytest.approx(1, abs=1e-5)
        assert row["predicted alcohol"] == str(int(chances[1] > chances[0]))
    printed = run("predict", folder / "run", new, "--smiles", "SMILES")
    assert printed.stdout == output.read_text()


def test_columns_of_the_input(run: Run, folder: Path, tmp_path: Path) -> None:
    """All are kept, repeated and nameless ones too; or those that are asked for."""
    new = tmp_path / "new.csv"
    new.write_text(";smiles;x;x;+y\n1;CCO;-1,5;@b;-2.5\n2;CC;;c;+d\n")
    whole = run("predict", folder / "run", new).stdout.splitlines()
    assert [line.split(",predicted")[0] for line in whole[:1]] == [",smiles,x,x,'+y"]
    rows = list(csv.reader(whole[1:]))
    assert rows[0][:5] == ["1", "CCO", "'-1,5", "'@b", "-2.5"]
    assert rows[1][:5] == ["2", "CC", "", "c", "'+d"]
    words = ("predict", folder / "run", new, "--columns", "+y", "row")
    some = list(csv.reader(run(*words).stdout.splitlines()))
    assert some[0][:3] == ["'+y", "row", "predicted alcohol"]
    assert [row[:2] for row in some[1:]] == [["-2.5", "1"], ["'+d", "2"]]
    assert [row[2:] for row in some[1:]] == [row[5:] for row in rows]
    wrong = run(*words[:3], "--columns", "yy")
    assert wrong.exit_code == 2 and "no column 'yy'" in wrong.stderr
    twice = run(*words[:3], "--columns", "x")
    assert twice.exit_code == 2 and "2 columns 'x'" in twice.stderr
    taken = tmp_path / "taken.csv"
    taken.write_text("smiles,predicted alcohol\nCCO,1\n")
    again = run("predict", folder / "run", taken)
    assert again.exit_code == 2 and "--columns" in again.stderr
    run("predict", folder / "run", taken, "--columns", "smiles", code=0)
    lines = tmp_path / "some.smi"
    lines.write_text("CCO ethanol\n")
    assert run("predict", folder / "run", lines).stdout.splitlines()[1][:6] == "1,CCO,"


def test_files_are_utf_8_whatever_the_locale(folder: Path, tmp_path: Path) -> None:
    new, output = tmp_path / "new.csv", tmp_path / "out.csv"
    new.write_text("smiles,näme\nCCO,日本\n", "utf-8")
    program = (
        "import sys; from sekgnn.cli.main import app\n"
        "app(sys.argv[1:4], standalone_mode=False)\n"
        "app(sys.argv[1:] + ['-q'], standalone_mode=False)"
    )
    words = ["predict", str(folder / "run"), str(new)]
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    printed = subprocess.run(
        [sys.executable, "-c", program, *words, "-o", str(output)],
        env=os.environ | locale,
        capture_output=True,
    )
    assert printed.returncode == 0, printed.stderr
    assert output.read_bytes() == printed.stdout.replace(b"\r\n", b"\n")
    text = output.read_text("utf-8")
    assert text.startswith("smiles,näme,predicted") and "\nCCO,日本," in text


def test_invalid_molecules(run: Run, folder: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.csv"
    new.write_text("smiles\nCCO\nC(\nCC\n")
    output = tmp_path / "out.csv"
    output.write_text("older")
    result = run("predict", folder / "run", new, "-o", output)
    assert result.exit_code == 2 and "row 2 (line 3)" in result.stderr
    assert output.read_text() == "older"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["new.csv", "out.csv"]
    args = ("predict", folder / "run", new, "-o", output, "--skip-invalid", "--json")
    done = json.loads(run(*args).stdout)
    skipped = {"skipped": 1, "skipped_rows": ["row 2 (line 3)"]}
    assert done == {"graphs": 2, **skipped, "of": "graphs"}
    rows = table(output)
    assert [row["smiles"] for row in rows] == ["CCO", "C(", "CC"]
    assert [bool(row["predicted alcohol"]) for row in rows] == [True, False, True]
    run(*args[:-1], "--columns", "row", code=0)
    assert [row["row"] for row in table(output)] == ["1", "2", "3"]


@pytest.mark.parametrize("chunk", [1, 2, 3, 20])
def test_rows_that_cannot_be_read_keep_their_place(
    run: Run, folder: Path, tmp_path: Path, chunk: int
) -> None:
    """At the ends and in a row, however many graphs are in memory; all are named."""
    smiles = ["C(", "CCO", "?", "x", "CC", "CCC", "C((", "CO", "))"]
    new, output = tmp_path / "new.csv", tmp_path / "out.csv"
    lines = [f"{text},{i}" for i, text in enumerate(smiles)]
    new.write_text("\n".join(["smiles,id", *lines]))
    words = ("predict", folder / "run", new, "-o", output, "--chunk-size", chunk)
    said = run(*words, "--skip-invalid", code=0).stdout
    assert "predicted 4 graphs and could not read 5" in said
    assert all(f"row {number} (" in said for number in (1, 3, 4, 7, 9))
    rows = table(output)
    assert [row["smiles"] for row in rows] == smiles
    assert [row["id"] for row in rows] == [str(i) for i in range(9)]
    filled = [row["smiles"] for row in rows if row["probability 1"]]
    assert filled == ["CCO", "CC", "CCC", "CO"]
    found = [float(row["probability 1"]) for row in rows if row["probability 1"]]
    alone = tmp_path / "alone.csv"
    alone.write_text("\n".join(["smiles", *filled]))
    run("predict", folder / "run", alone, "-o", output, code=0)
    wanted = [float(row["probability 1"]) for row in table(output)]
    assert found == pytest.approx(wanted, rel=1e-4)


def test_graphs_that_are_not_there(run: Run, folder: Path) -> None:
    missing = run("predict", folder / "run", folder / "nothing.csv")
    assert_refused(missing, "nothing.csv")
    data = folder / "molecules.csv"
    assert_refused(
        run("predict", folder / "run", data, "--smiles", "smile"), "'smiles'"
    )


def test_a_model_file_is_enough(run: Run, folder: Path, tmp_path: Path) -> None:
    """The file alone, elsewhere, says the same as the run."""
    file = tmp_path / "mine.safetensors"
    file.write_bytes((folder / "run" / "model.safetensors").read_bytes())
    data = folder / "molecules.csv"
    alone, whole = (run("predict", p, data).stdout for p in (file, folder / "run"))
    assert alone == whole and alone.count("\n") == 31


def test_evaluate(run: Run, folder: Path) -> None:
    record = json.loads((folder / "run" / "record.json").read_text())
    found = json.loads(run("evaluate", folder / "run", "--json").stdout)
    for name, value in found["metrics"].items():
        assert record["folds"][0]["metrics"][f"test_{name}"] == pytest.approx(value)
    text = run("evaluate", folder / "run", folder / "molecules.csv").stdout
    whole = json.loads(
        run("evaluate", folder / "run", folder / "molecules.csv", "--json").stdout
    )
    assert f"{whole['metrics']['accuracy']:.6g}" in text
    wrong = run("evaluate", folder / "run", "--part", "tests")
    assert wrong.exit_code == 2 and "'test'" in wrong.stderr
    wrong = run("evaluate", folder / "run", folder / "molecules.csv", "--target", "no")
    assert wrong.exit_code == 2 and "'no'" in wrong.stderr
