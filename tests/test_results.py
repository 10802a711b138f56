"""What docs/results.md and results/ say is what the records say."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from sekgnn.brec.board import BOARD, Board
from sekgnn.brec.exact_score import described
from sekgnn.brec.trained import TrainedBoard
from sekgnn.reports.brec_page import brec_page, trained_page
from sekgnn.reports.finished_runs import load_runs
from sekgnn.reports.paired_differences import paired_differences, paired_markdown
from sekgnn.reports.paper_numbers import BEST_PUBLISHED, ablation_steps, paper_number
from sekgnn.reports.run_report import STEPS_FIGURE, STEPS_FILE
from sekgnn.reports.run_table import (
    NOTHING,
    show_result,
    show_value,
    table_markdown,
    table_rows,
)
from sekgnn.reports.step_curves import step_curves, step_markdown
from sekgnn.training.config import RunConfig
from sekgnn.training.run_folder import read_config
from sekgnn.training.run_record import RunRecord

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "results" / "runs"
PAGE = (ROOT / "docs" / "results.md").read_text("utf-8")
METRICS = {"counting": "test_mae", "graph_property": "test_log10_mse"}
COLUMNS = {  # of the page's tables: names of runs end so
    "closed form": "closed-form",
    "SEK-GIN": "sek-gin-lbfgs",
    "K-GIN+": "k-gin-lbfgs",
    "GIN": "gin-lbfgs",
}


def table(heading: str) -> list[list[str]]:
    """Return the cells of the page's table whose first heading is this."""
    rows = re.search(rf"^\| {re.escape(heading)} \|.*(?:\n\|.*)*", PAGE, re.M)
    assert rows is not None
    return [[c.strip() for c in row.strip("|").split("|")] for row in
            rows.group().splitlines()]  # fmt: skip


def cell(run: str, metric: str, protocol: str = "holdout", paper: bool = False) -> str:
    """Return a cell of the page: our number and perhaps, in brackets, the paper's."""
    if not (RUNS / run).exists():
        return NOTHING
    record = RunRecord.load(RUNS / run)
    found = record.result(metric, protocol)
    text = show_result(metric, found.value, found.spread)
    if not paper:
        return text
    data, targets = record.config["data"], record.data["targets"]
    number = paper_number(data, targets, record.config["model"], protocol, metric)
    return text if number is None else f"{text} ({show_value(metric, number.value)})"


def test_the_table_is_made_of_the_records() -> None:
    runs = load_runs(sorted(RUNS.iterdir()))
    pairs = paired_differences(runs)
    made = table_markdown(table_rows(runs)) + paired_markdown(pairs)
    assert (ROOT / "results" / "training" / "table.md").read_text("utf-8") == made


def test_the_steps_are_made_of_the_records() -> None:
    curves = step_curves(table_rows(load_runs(sorted(RUNS.iterdir()))))
    file = ROOT / "results" / "training" / STEPS_FILE
    made = step_markdown(curves, STEPS_FIGURE) if curves else ""
    assert (file.read_text("utf-8") if file.exists() else "") == made


@pytest.mark.parametrize("file", sorted(ROOT.glob("configs/ablation/*")))
def test_every_config_of_the_ablation_has_a_number(file: Path) -> None:
    config = RunConfig.from_dict(read_config(file))
    metric = METRICS.get(config.data, "test_accuracy")
    steps = ablation_steps(config.data, config.to_dict())
    target = config.target or ("y",)
    number = paper_number(
        config.data, target, config.model, config.protocol, metric, steps
    )
    assert number is not None
    assert file.stem == f"{number.target or number.data}-steps{number.steps}"


@pytest.mark.parametrize("path", sorted(RUNS.iterdir()), ids=lambda path: path.name)
def test_every_record_is_of_its_config(path: Path) -> None:
    (file,) = (ROOT / "configs").glob(f"*/{path.name}.yaml")
    config = RunConfig.from_dict(read_config(file))
    record = RunRecord.load(path)
    for values in (record.config, read_config(path / "config.yaml")):
        assert config.differences(RunConfig.from_dict(values)) == []
    assert record.commit and record.versions["torch"] and record.data["fingerprint"]


def test_the_scoreboard_is_of_todays_tests() -> None:
    """Renamed parameters are renamed in the record too, and the page is made of it."""
    folder = ROOT / "results" / "brec"
    board = Board.from_json((folder / "exact.json").read_text("utf-8"))
    tests = [json.loads(json.dumps(described(e.test, e.after))) for e in BOARD]
    assert [row.score.test for row in board.rows] == tests
    assert (folder / "exact.md").read_text("utf-8") == brec_page(board)


@pytest.mark.parametrize("file", sorted(ROOT.glob("results/brec/trained*.json")))
def test_the_page_of_trained_networks_is_made_of_the_record(file: Path) -> None:
    board = TrainedBoard.read(file)
    assert board.rows and all(row.score.commits for row in board.rows)
    assert file.with_suffix(".md").read_text("utf-8") == trained_page(board)


def test_counting_on_the_page() -> None:
    header, _, *rows = table("pattern")
    assert len(rows) == 4
    for name, *cells, best in rows:
        for column, text in zip(header[1:], cells, strict=False):
            assert text == cell(f"{name}-{COLUMNS[column]}", "test_mae"), name
        assert best == f"{BEST_PUBLISHED[name]:.4f}"


def test_graph_properties_on_the_page() -> None:
    _, _, *rows = table("property")
    assert len(rows) == 3
    for name, solved, network, best in rows:
        assert solved == cell(f"{name}-closed-form", "test_log10_mse")
        assert network == cell(f"{name}-sek-gin", "test_log10_mse", paper=True)
        assert best == f"{BEST_PUBLISHED[name]:.2f}"


def test_tu_sets_on_the_page() -> None:
    header, _, *rows = table("dataset")
    names = [name.lower().replace(" + ", "-") for name in header[1:-1]]
    for data, *cells, selected in rows:
        for model, text in zip(names, cells, strict=True):
            run = f"{data}-{model}-fixed"
            assert text == cell(run, "test_accuracy", "fixed"), run
        run = f"{data}-sek-gin-xu2019"
        assert selected == cell(run, "test_accuracy", "xu2019", paper=True), run


def test_trained_networks_on_brec_on_the_page() -> None:
    board = TrainedBoard.read(ROOT / "results" / "brec" / "trained.json")
    expected = [
        [
            row.name,
            *(str(c.separated) for c in row.score.by_category().values()),
            str(row.score.separated),
            str(row.score.failures),
        ]
        for row in board.rows
        if len(row.score.pairs) == 400
    ]
    _, _, *rows = table("network")
    assert rows == expected
