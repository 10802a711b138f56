"""What README and docs show is what happens."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sekgnn.training.run_record import RunRecord

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
EXPRESSIVENESS = ROOT / "docs" / "expressiveness.md"
TRAINING = ROOT / "docs" / "training.md"
FIRST_STEPS = ROOT / "docs" / "first_steps.md"
RESULTS = ROOT / "docs" / "results.md"


def blocks(language: str, page: Path = README) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text("utf-8"), re.S)


def run_example(example: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", example],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
    )
    return done.stdout


def test_the_python_examples_run_and_print_what_they_say(tmp_path: Path) -> None:
    adding, own, comparing = blocks("python")
    assert "torch.Size([10, 16]) torch.Size([16])" in run_example(adding, tmp_path)
    assert own == (ROOT / "examples" / "own_gnn.py").read_text("utf-8")
    printed = run_example(comparing, tmp_path)
    assert "2fwl does not separate" in printed
    assert "separates first and second at round 0" in printed
    encoding = blocks("python", ROOT / "docs" / "encodings.md")[0]
    assert "[[2. 2. 2." in run_example(encoding, tmp_path)
    training = blocks("python", ROOT / "docs" / "models.md")[0]
    assert "torch.Size([4, 2])" in run_example(training, tmp_path)


@pytest.mark.dataset
def test_the_examples_of_the_guide_run_and_print_what_they_say(
    tmp_path: Path, data_root: Path
) -> None:
    pytest.importorskip("sklearn")
    examples = blocks("python", EXPRESSIVENESS)
    printed = [run_example(example, tmp_path) for example in examples]
    two, functions, own, tools, model = printed
    assert two.startswith("True 0\n")
    assert "{18 × 0, 12 × 1/3} against {6 × 0, 12 × 1/9, 12 × 2/9}" in two
    assert (tmp_path / "verdict.png").stat().st_size > 0
    assert functions == "True\n"
    assert "degree 2 against degrees: degree 1" in own
    assert "[0 1]\n(10, 10)\n" in tools
    assert "0     5" in model


@pytest.mark.slow
@pytest.mark.usefixtures("own_cache")
def test_the_first_steps_lead_to_good_predictions(tmp_path: Path) -> None:
    """Every command of the page, one after the other; the README has some of them."""
    pytest.importorskip("rdkit")
    commands = "".join(blocks("bash", FIRST_STEPS))
    for line in "".join(blocks("bash")).splitlines():
        if line.startswith("sekgnn"):
            assert line.partition("#")[0].strip() in commands
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    subprocess.run(
        ["bash", "-ec", commands],
        cwd=tmp_path,
        check=True,
        env={**os.environ, "PATH": path},
    )
    record = RunRecord.load(tmp_path / "runs" / "cv")
    assert record.result("test_r2").value > 0.97
    with (tmp_path / "predictions.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 999
    known = (tmp_path / "molecules.csv").read_text().splitlines()[1:]
    errors = [
        abs(float(row["predicted cv"]) - float(line.split(",")[3]))
        for row, line in zip(rows, known, strict=True)
    ]
    assert sum(errors) / len(errors) < 0.4  # cal/(mol K); the column's deviation is 4
    assert (tmp_path / "report" / "report.html").stat().st_size > 0


@pytest.mark.slow
@pytest.mark.usefixtures("own_cache")
def test_the_example_of_the_training_guide_runs(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    (example,) = blocks("python", TRAINING)
    printed = run_example(example, tmp_path).splitlines()
    assert printed[0].startswith("test_mae the loss of the validation graphs")
    assert printed[1] == "['cycle' 'path']"


def test_every_file_it_names_exists() -> None:
    pages = [README, *sorted((ROOT / "docs").glob("*.md"))]
    missing = []
    for page in pages:
        text = page.read_text("utf-8")
        rooms = r"`((?:tests|docs|results|benchmarks|studies|examples)/[\w/.]+)`"
        places = [ROOT / name for name in re.findall(rooms, text)]
        places += [page.parent / name for name in re.findall(r"\]\(([\w/.]+)\)", text)]
        assert places
        missing += [place for place in places if not place.exists()]
    assert missing == []


def test_the_scoreboard_repeats_the_record() -> None:
    record = json.loads((ROOT / "results" / "brec" / "exact.json").read_text("utf-8"))
    known = {
        (row["label"], row["memory"], str(row["score"]["separated"]))
        for row in record["rows"]
    }
    text = RESULTS.read_text("utf-8").partition("## What exact tests separate")[2]
    lines = text.partition("\n## ")[0].splitlines()
    rows = [line for line in lines if re.fullmatch(r"\|.*\| \d+ \|", line)]
    assert len(rows) > 5
    for row in rows:
        assert tuple(cell.strip() for cell in row.strip("|").split("|")) in known
    assert record["false_separations"] == 0
