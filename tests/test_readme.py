"""What the README shows is what happens."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
EXPRESSIVENESS = ROOT / "docs" / "expressiveness.md"
TRAINING = ROOT / "docs" / "training.md"


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
    encoding, training, own, comparing = blocks("python")
    assert own == (ROOT / "examples" / "own_gnn.py").read_text("utf-8")
    printed = run_examples([encoding, training, comparing], tmp_path)
    assert "[[2. 2. 2." in printed[0]
    assert "torch.Size([6, 10, 16]) torch.Size([2, 12])" in printed[0]
    assert "torch.Size([4, 2])" in printed[1]
    assert "2fwl does not separate" in printed[2]
    assert "separates first and second at round 0" in printed[2]


@pytest.mark.dataset
def test_the_examples_of_the_guide_run_and_print_what_they_say(
    tmp_path: Path, data_root: Path
) -> None:
    pytest.importorskip("sklearn")
    examples = blocks("python", EXPRESSIVENESS)
    two, functions, own, tools, model = run_examples(examples, tmp_path)
    assert two.startswith("True 0\n")
    assert "{18 × 0, 12 × 1/3} against {6 × 0, 12 × 1/9, 12 × 2/9}" in two
    assert (tmp_path / "verdict.png").stat().st_size > 0
    assert functions == "True\n"
    assert "degree 2 against degrees: degree 1" in own
    assert "[0 1]\n(10, 10)\n" in tools
    assert "0     5" in model


def run_commands(containing: str, folder: Path) -> None:
    """Run the one block of commands that contains some text."""
    (example,) = [text for text in blocks("bash") if containing in text]
    place = shlex.quote(f"{Path(sys.executable).parent}/")
    command = example.replace(".venv/bin/", place)
    subprocess.run(["bash", "-ec", command], cwd=folder, check=True)


def test_the_command_line_example_runs(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    run_commands("sekgnn encode", tmp_path)
    assert (tmp_path / "encodings.npz").stat().st_size > 0


@pytest.mark.slow
@pytest.mark.usefixtures("own_cache")
def test_the_training_example_runs(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    run_commands("sekgnn train", tmp_path)
    lines = (tmp_path / "predictions.csv").read_text().splitlines()
    assert lines[0] == "row,smiles,predicted alcohol,probability 0,probability 1"
    assert len(lines) == 61
    assert (tmp_path / "report" / "report.html").stat().st_size > 0


@pytest.mark.slow
@pytest.mark.usefixtures("own_cache")
def test_the_example_of_the_training_guide_runs(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    (printed,) = run_examples(blocks("python", TRAINING), tmp_path)
    first, second = printed.splitlines()[:2]
    assert first.startswith("test_mae the loss of the validation graphs")
    assert second == "['cycle' 'path']"


def test_every_file_it_names_exists() -> None:
    named = re.findall(
        r"`((?:tests|docs|results|benchmarks|studies)/[\w/.]+)`",
        README.read_text("utf-8"),
    )
    named += re.findall(r"\]\(([\w/.]+)\)", README.read_text("utf-8"))
    assert named
    assert [name for name in named if not (README.parent / name).exists()] == []


def test_the_scoreboard_repeats_the_record() -> None:
    record = json.loads((ROOT / "results" / "brec" / "exact.json").read_text("utf-8"))
    known = {
        (row["label"], row["memory"], str(row["score"]["separated"]))
        for row in record["rows"]
    }
    text = README.read_text("utf-8").partition("## What exact tests separate")[2]
    lines = text.partition("\n## ")[0].splitlines()
    rows = [line for line in lines if re.fullmatch(r"\|.*\| \d+ \|", line)]
    assert len(rows) > 5
    for row in rows:
        assert tuple(cell.strip() for cell in row.strip("|").split("|")) in known
    assert record["false_separations"] == 0
