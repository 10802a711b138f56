"""``sekgnn report`` from run folders to a page, and what it says when it cannot."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.reports.run_records import facts, folds, holdout, save

from .conftest import Run

HEAD = ["graph", "fold", "true triangle", "predicted triangle"]
ROWS = [[5, 1, 1.0, 1.25], [6, 1, 2.0, 1.75]]


def test_end_to_end(run: Run, tmp_path: Path) -> None:
    save(holdout(), tmp_path / "first", HEAD, ROWS)
    save(folds(), tmp_path / "second")
    out = tmp_path / "deep" / "report"
    result = run("report", tmp_path / "first", tmp_path / "second", "-o", out)
    assert result.exit_code == 0, result.stderr
    assert {file.name for file in out.iterdir()} == {
        "report.html",
        "table.md",
        "first-loss.png",
        "first-metric.png",
        "first-predictions.png",
        "second-loss.png",
        "second-metric.png",
    }
    for word in ("0.0125", "+0.0094", "90.5 ± 5.1 %", "wijesinghe2022", "5 PNG"):
        assert word in result.stdout
    page = (out / "report.html").read_text(encoding="utf-8")
    assert page.count("<img") == 5
    for file in out.glob("*.png"):
        assert file.read_bytes().startswith(b"\x89PNG\r\n")
    assert (out / "table.md").read_text(encoding="utf-8").count("\n| ") == 6


def test_record_files_and_quiet(run: Run, tmp_path: Path) -> None:
    folder = save(holdout(), tmp_path / "a")
    out = tmp_path / "out"
    result = run("report", folder / "record.json", "--output", out, "--quiet")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    assert (out / "a-loss.png").is_file()


def test_json_holds_the_rows(run: Run, tmp_path: Path) -> None:
    metrics = {"test_mae": math.nan, "test_mse": 0.5}
    folder = save(holdout(metrics=metrics), tmp_path / "a")
    result = run("report", folder, "-o", tmp_path / "out", "--json")
    assert result.exit_code == 0
    values = json.loads(result.stdout)
    assert values["files"] == [
        "a-loss.png", "a-metric.png", "report.html", "table.md",
    ]  # fmt: skip
    mae, mse = values["rows"]
    assert (mae["value"], mae["difference"]) == (None, None)
    assert mse["paper"]["value"] == 0.0031
    assert mse["difference"] == pytest.approx(0.5 - 0.0031)


def test_runs_of_the_same_name_both_appear(run: Run, tmp_path: Path) -> None:
    one = save(holdout(), tmp_path / "x" / "run", HEAD, ROWS)
    two = save(folds(), tmp_path / "y" / "run")
    out = tmp_path / "out"
    assert run("report", one, two, one, "-o", out).exit_code == 0
    assert {file.name for file in out.glob("*.png")} == {
        "x-run-loss.png",
        "x-run-metric.png",
        "x-run-predictions.png",
        "y-run-loss.png",
        "y-run-metric.png",
    }
    text = (out / "table.md").read_text(encoding="utf-8")
    assert text.count("| x/run |") == 2 and text.count("| y/run |") == 3


def test_names_that_are_no_file_names(run: Run, tmp_path: Path) -> None:
    folder = save(holdout(), tmp_path / "ä <b> [red] $x$ .. ")
    out = tmp_path / "out"
    result = run("report", folder, "-o", out)
    assert result.exit_code == 0, result.stderr
    assert {png.name for png in out.glob("*.png")} == {
        "b-red-x-loss.png",
        "b-red-x-metric.png",
    }
    assert "[red]" in result.stdout
    assert "<b> [" not in (out / "report.html").read_text(encoding="utf-8")


def test_metrics_may_be_chosen(run: Run, tmp_path: Path) -> None:
    one, two = save(holdout(), tmp_path / "one"), save(folds(), tmp_path / "two")
    out = tmp_path / "out"
    result = run("report", one, two, "-o", out, "--metric", "test_mse")
    assert result.exit_code == 0
    assert "note: two has no test_mse" in result.stderr
    text = (out / "table.md").read_text(encoding="utf-8")
    assert "test_mse" in text and "test_mae" not in text
    both = run("report", one, two, "-o", out, "--metric", "mse", "accuracy")
    assert (both.exit_code, both.stderr) == (0, "")
    text = (out / "table.md").read_text(encoding="utf-8")
    assert text.count("| test_accuracy |") == 3 and text.count("| test_mse |") == 1
    wrong = run("report", one, "-o", tmp_path / "other", "--metric", "f1")
    assert wrong.exit_code == 2
    assert wrong.stderr == "error: no run has f1; available: test_mae, test_mse.\n"
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "holds no record.json"),
        ("{", "is damaged"),
        ("[]", "not the record"),
        ('{"format": "sekgnn run", "format_version": 99}', "has format 99"),
        ('{"format": "sekgnn run", "format_version": 1}', "is damaged"),
    ],
)
def test_what_is_no_run_is_one_line(
    run: Run, tmp_path: Path, content: str | None, words: str
) -> None:
    good, bad = save(holdout(), tmp_path / "good"), tmp_path / "bad"
    bad.mkdir()
    if content is not None:
        (bad / "record.json").write_text(content)
    out = tmp_path / "out"
    result = run("report", good, bad, "-o", out)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ") and result.stderr.count("\n") == 1
    assert words in result.stderr
    assert not out.exists()


def test_damaged_predictions_are_one_line(run: Run, tmp_path: Path) -> None:
    folder = save(holdout(), tmp_path / "a", HEAD, [[5, 1, "much", 2]])
    result = run("report", folder, "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert "row 1: 'much' is not a number" in result.stderr
    assert result.stderr.count("\n") == 1


def test_the_output_may_not_be_a_file(run: Run, tmp_path: Path) -> None:
    folder = save(holdout(), tmp_path / "a")
    (tmp_path / "out").write_text("mine")
    result = run("report", folder, "-o", tmp_path / "out")
    assert result.exit_code == 2 and result.stderr.count("\n") == 1
    assert (tmp_path / "out").read_text() == "mine"


def test_arguments_are_needed(run: Run, tmp_path: Path) -> None:
    assert run("report", "-o", tmp_path).exit_code == 2
    assert run("report", tmp_path).exit_code == 2


@pytest.mark.parametrize("kind", ["binary", "multilabel", "regression"])
def test_every_kind_of_task(run: Run, tmp_path: Path, kind: str) -> None:
    data = facts("mine", kind, ["y"], ["0", "1"])
    rows: list[list[object]] = [[0, 1, 0, 0], [1, 1, 1, 1], [2, 1, "", 1]]
    head = ["graph", "fold", "true y", "predicted y"]
    folder = save(replace(holdout(), data=data), tmp_path / "a", head, rows)
    result = run("report", folder, "-o", tmp_path / "out", "--quiet")
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "out" / "a-predictions.png").stat().st_size > 3000


def test_a_report_loads_no_torch(tmp_path: Path) -> None:
    folder = save(holdout(), tmp_path / "a", HEAD, ROWS)
    args = ["report", str(folder), "-o", str(tmp_path / "out"), "-q"]
    code = (
        "import sys\nfrom sekgnn.cli.main import app\n"
        f"try:\n    app({args!r})\nexcept SystemExit as end:\n    assert not end.code\n"
        "print('LOADED', sorted({'torch', 'matplotlib.pyplot'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "LOADED []"
