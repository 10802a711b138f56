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


ALL = """
import json, sys
for text in json.load(sys.stdin):
    exec(text, {"__name__": "__main__"})
    print("END OF AN EXAMPLE")
"""


def run_examples(examples: list[str], folder: Path) -> list[str]:
    """Return what each prints; one process runs all, as torch takes long to import."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", ALL],
        input=json.dumps(examples),
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
    )
    return done.stdout.split("END OF AN EXAMPLE\n")[:-1]


def test_the_python_examples_run_and_print_what_they_say(tmp_path: Path) -> None:
    adding, comparing = blocks("python")
    docs = [
        blocks("python", ROOT / "docs" / page)[0]
        for page in ("encodings.md", "models.md", "advise.md", "explorer.md")
    ]
    explaining = blocks("python", ROOT / "docs" / "models.md")[1]
    printed = run_examples([adding, comparing, *docs, explaining], tmp_path)
    assert "torch.Size([10, 16]) torch.Size([16])" in printed[0]
    assert "2fwl does not separate" in printed[1]
    assert "separates first and second at round 0" in printed[1]
    assert "[[2. 2. 2." in printed[2]
    assert "torch.Size([4, 2])" in printed[3]
    assert "K-hop 1-WL, K = 2 removes the last 4 of the 4 collisions" in printed[4]
    assert "sekgnn train DATA --model k-gin --num-hops 2" in printed[4]
    assert (tmp_path / "page.html").stat().st_size > 0
    assert "torch.Size([3, 4])" in printed[6]


@pytest.mark.dataset
def test_the_examples_of_the_guide_run_and_print_what_they_say(
    tmp_path: Path, data_root: Path
) -> None:
    examples = blocks("python", EXPRESSIVENESS)
    two, functions, tools, model = run_examples(examples, tmp_path)
    assert two.startswith("True 0\n")
    assert "{18 × 0, 12 × 1/3} against {6 × 0, 12 × 1/9, 12 × 2/9}" in two
    assert (tmp_path / "verdict.png").stat().st_size > 0
    assert functions == "True\n"
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
    wrong, message = re.findall(
        r"^\$ (.+)\n(error: .+)$", FIRST_STEPS.read_text(), re.M
    )[0]
    failed = subprocess.run(
        ["bash", "-c", wrong],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
    )
    assert (failed.returncode, failed.stderr.strip()) == (2, message)
    record = RunRecord.load(tmp_path / "runs" / "cv")
    assert record.result("test_r2").value > 0.97
    with (tmp_path / "predictions.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 999
    lines = (tmp_path / "molecules.csv").read_text().splitlines()[1:]
    errors = [
        abs(float(row["predicted cv"]) - float(line.split(",")[3]))
        for row, line in zip(rows, lines, strict=True)
    ]
    assert sum(errors) / len(errors) < 0.4  # cal/(mol K); the column's deviation is 4
    assert (tmp_path / "report" / "report.html").stat().st_size > 0


@pytest.mark.slow
@pytest.mark.usefixtures("own_cache")
def test_the_example_of_the_training_guide_runs(tmp_path: Path) -> None:
    (printed,) = run_examples(blocks("python", TRAINING)[-1:], tmp_path)
    first, second = printed.splitlines()[:2]
    assert first.startswith("test_mae the loss of the validation graphs")
    assert second == "['cycle' 'path']"


def test_every_file_it_names_exists() -> None:
    """In words; that links lead somewhere is in ``tests/test_docs.py``."""
    rooms = r"`((?:tests|docs|results|benchmarks|studies|examples)/[\w/.]+)`"
    texts = [page.read_text("utf-8") for page in (README, *ROOT.glob("docs/*.md"))]
    names = {name for text in texts for name in re.findall(rooms, text)}
    assert [name for name in sorted(names) if not (ROOT / name).exists()] == []


def test_the_scoreboard_repeats_the_record() -> None:
    record = json.loads((ROOT / "results" / "brec" / "exact.json").read_text("utf-8"))
    expected = {
        (score["label"], score["memory"], str(score["separated"]))
        for score in record["scores"]
    }
    text = RESULTS.read_text("utf-8").partition("## What exact tests separate")[2]
    lines = text.partition("\n## ")[0].splitlines()
    rows = [line for line in lines if re.fullmatch(r"\|.*\| \d+ \|", line)]
    assert len(rows) > 5
    for row in rows:
        assert tuple(cell.strip() for cell in row.strip("|").split("|")) in expected
    assert not any(score["failures"] for score in record["scores"])
