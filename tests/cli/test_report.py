"""``sekgnn report`` from run folders to a page, and what it says when it cannot."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.reports.run_records import folds, holdout, save

from .conftest import Run, assert_refused

HEAD = ["graph", "fold", "true triangle", "predicted triangle"]
ROWS = [[5, 1, 1.0, 1.25], [6, 1, 2.0, 1.75]]


def test_end_to_end(run: Run, tmp_path: Path) -> None:
    save(holdout(), tmp_path / "first", HEAD, ROWS)
    save(folds(), tmp_path / "second")
    out = tmp_path / "deep" / "report"
    result = run("report", tmp_path / "first", tmp_path / "second", "-o", out, code=0)
    assert {file.name for file in out.iterdir()} == {
        "report.html", "table.md", "first-loss.png", "first-metric.png",
        "first-predictions.png", "second-loss.png", "second-metric.png",
    }  # fmt: skip
    for word in ("0.0125", "-0.00235", "90.5 ± 5.1 %", "wijesinghe2022", "5 PNG"):
        assert word in result.stdout
    page = (out / "report.html").read_text(encoding="utf-8")
    assert page.count("<img") == 5
    assert (out / "table.md").read_text(encoding="utf-8").count("\n| ") == 6


def test_a_regression_is_ranked_and_stands_beside_its_baselines(
    run: Run, tmp_path: Path
) -> None:
    """Highest predictions with their true ranks, rho, RMSE and R²; every baseline."""
    record = holdout(metrics={"test_mae": 0.3, "test_rmse": 0.4, "test_r2": 0.9})
    (fold,) = record.folds
    tables: dict[str, dict[str, Any]] = {
        "ridge": {"test_mae": 0.5, "test_rmse": 0.6, "test_r2": None,
                  "val_mae": 0.4, "paired_error": 0.125},
        "forest": {"test_mae": 0.25, "test_rmse": 0.5, "test_r2": 0.8, "val_mae": 0.5},
    }  # fmt: skip
    known = {"metric": "test_mae", "each": {"ridge": 0.5, "forest": 0.25},
             "model": "ridge", "value": 0.5, "error": 0.125}  # fmt: skip
    record = replace(record, folds=(replace(fold, baseline=tables),), baseline=known)
    rows: list[list[object]] = [
        [5, 1, 1.0, 2.0],
        [6, 1, 3.0, 4.0],
        [7, 1, 2.0, 1.0],
        [8, 1, "", 9.0],
    ]
    folder = save(record, tmp_path / "one", HEAD, rows)
    run("report", folder, "-o", tmp_path / "out", code=0)
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    cells = re.findall(r"<td[^>]*>(.*?)</td>", re.sub("</?span[^>]*>", "", page))
    text = " ".join(cells)
    assert "this model 0.3 0.4 0.9" in text
    assert "ridge 0.5 0.6 – -0.2 ± 0.125" in text
    assert "forest 0.25 0.5 0.8 +0.05" in text and "+0.05 ±" not in text
    assert "1 6 4 3 1 2 5 2 1 3 3 7 1 2 2" in text  # rank, graph, predicted, true, rank
    assert "true order: 0.500, over 3 test graphs" in page


def test_json_holds_the_rows(run: Run, tmp_path: Path) -> None:
    metrics = {"test_mae": math.nan, "test_mse": 0.5}
    folder = save(holdout(metrics=metrics), tmp_path / "a")
    result = run("report", folder, "-o", tmp_path / "out", "--json", code=0)
    values = json.loads(result.stdout)
    assert values["files"] == [
        "a-loss.png", "a-metric.png", "report.html", "table.md",
    ]  # fmt: skip
    mae, mse = values["rows"]
    assert (mae["value"], mae["difference"]) == (None, None)
    assert mse["paper"]["value"] == 0.0031
    assert mse["difference"] == pytest.approx(0.5 - 0.0031)


def test_names_that_are_no_file_names(run: Run, tmp_path: Path) -> None:
    folder = save(holdout(), tmp_path / "ä <b> [red] $x$ .. ")
    out = tmp_path / "out"
    result = run("report", folder, "-o", out, code=0)
    pictures = {"b-red-x-loss.png", "b-red-x-metric.png"}
    assert {png.name for png in out.glob("*.png")} == pictures
    result = run("report", folder / "record.json", "--output", out, "--quiet")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    result = run("report", folder, "-o", out)
    assert "[red]" in result.stdout
    assert "<b> [" not in (out / "report.html").read_text(encoding="utf-8")


def test_metrics_may_be_chosen(run: Run, tmp_path: Path) -> None:
    one, two = save(holdout(), tmp_path / "one"), save(folds(), tmp_path / "two")
    out = tmp_path / "out"
    result = run("report", one, two, "-o", out, "--metric", "test_mse", code=0)
    assert "note: two has no test_mse" in result.stderr
    both = run("report", one, two, "-o", out, "--metric", "mse", "accuracy")
    assert (both.exit_code, both.stderr) == (0, "")
    text = (out / "table.md").read_text(encoding="utf-8")
    assert text.count("| test_accuracy |") == 3 and text.count("| test_mse |") == 1
    wrong = run("report", one, "-o", tmp_path / "other", "--metric", "f1")
    assert_refused(wrong, "no run has f1", "test_mse")
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "holds no record.json"),
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
    assert_refused(run("report", good, bad, "-o", out), words)
    assert not out.exists()


def test_the_output_may_not_be_a_file(run: Run, tmp_path: Path) -> None:
    folder = save(holdout(), tmp_path / "a")
    (tmp_path / "out").write_text("mine")
    assert_refused(run("report", folder, "-o", tmp_path / "out"))
    assert (tmp_path / "out").read_text() == "mine"


def test_the_worst_molecules_are_drawn(run: Run, tmp_path: Path) -> None:
    """The largest error first; what is no SMILES is left out."""
    pytest.importorskip("rdkit")
    smiles = ["CCO", "<i>", "c1ccccc1", "CC"]
    predicted = [1.1, 10.0, 0.5, 1.2]
    rows = [[smiles[i], i, 1, 1.0, predicted[i]] for i in range(4)]
    save(holdout(), tmp_path / "a", ["smiles", *HEAD], rows)
    out = tmp_path / "report"
    run("report", tmp_path / "a", "-o", out, "-q", code=0)
    page = (out / "report.html").read_text(encoding="utf-8")
    assert page.count("data:image/svg+xml;base64,") == 3 and "<i>" not in page
    order = [page.index(f"predicted {value}") for value in ("0.5", "1.2", "1.1")]
    assert order == sorted(order)
