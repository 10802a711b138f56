"""What docs/results.md and results/ say is what the records say."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from studies.norms import page as norms_page
from studies.peers import page as peers_page
from studies.results_page import TABLES, shown_rows, with_tables

from sekgnn.brec.record import from_json, plain
from sekgnn.paper.paper_numbers import ablation_steps, paper_number, paper_number_of
from sekgnn.paper.queue import EARLIER, look
from sekgnn.paper.recipes import Recipe, recipes
from sekgnn.paper.step_curves import (
    STEPS_FIGURE,
    STEPS_FILE,
    step_curves,
    step_markdown,
)
from sekgnn.paper.tables import cells, csv, markdown
from sekgnn.reports.brec_page import brec_page, trained_page
from sekgnn.reports.finished_runs import load_runs
from sekgnn.reports.paired_differences import paired_differences, paired_markdown
from sekgnn.reports.run_table import table_markdown, table_rows
from sekgnn.training.config import RunConfig
from sekgnn.training.run import train
from sekgnn.training.run_folder import read_config
from sekgnn.training.run_record import RECORD_FILE, RunRecord
from sekgnn.wl.ladder import BOARD

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "results" / "runs"
EARLIER_RUNS = RUNS.parent / EARLIER
PAGE = (ROOT / "docs" / "results.md").read_text("utf-8")
RECIPES = {recipe.name: recipe for recipe in recipes()}
METRICS = {"counting": "test_mse", "graph_property": "test_log10_mse"}


def table(heading: str) -> list[list[str]]:
    """Return the cells of the page's table whose first heading is this."""
    rows = re.search(rf"^\| {re.escape(heading)} \|.*(?:\n\|.*)*", PAGE, re.M)
    assert rows is not None
    return [[c.strip() for c in row.strip("|").split("|")] for row in
            rows.group().splitlines()]  # fmt: skip


def test_the_table_is_made_of_the_records() -> None:
    runs = load_runs(sorted(RUNS.iterdir()))
    pairs = paired_differences(runs)
    made = table_markdown(table_rows(runs, (), paper_number_of)) + paired_markdown(
        pairs
    )
    assert (ROOT / "results" / "training" / "table.md").read_text("utf-8") == made


@pytest.mark.parametrize("name", ["table1", "table2", "table3"])
def test_the_papers_tables_are_made_of_the_records(name: str) -> None:
    table_cells = cells(name, look(recipes((name,)), RUNS), RUNS)
    folder = ROOT / "results" / "tables"
    assert (folder / f"{name}.csv").read_bytes() == csv(name, table_cells)
    text = (folder / f"{name}.md").read_text("utf-8")
    assert text == markdown(name, table_cells, f"{name}.png")


def test_the_steps_are_made_of_the_records() -> None:
    runs = load_runs(sorted(RUNS.iterdir()))
    curves = step_curves(runs, table_rows(runs))
    file = ROOT / "results" / "training" / STEPS_FILE
    made = step_markdown(curves, STEPS_FIGURE) if curves else ""
    assert (file.read_text("utf-8") if file.exists() else "") == made


@pytest.mark.parametrize("recipe", recipes(("table4", "table5")), ids=lambda r: r.name)
def test_every_config_of_the_ablation_has_a_number(recipe: Recipe) -> None:
    config = recipe.config
    metric = METRICS.get(config.data, "test_accuracy")
    steps = ablation_steps(config.data, config.to_dict())
    for target in config.target or ("y",):
        number = paper_number(
            config.data, (target,), config.model, config.protocol, metric, steps
        )
        assert number is not None
        column = recipe.column and (number.target or number.data)
        assert recipe.name == f"{column or 'counts'}-steps{number.steps}"


@pytest.mark.parametrize(
    "path", [*sorted(RUNS.iterdir()), *sorted(EARLIER_RUNS.iterdir())],
    ids=lambda path: f"{path.parent.name}/{path.name}",
)  # fmt: skip
def test_every_record_is_of_its_config(path: Path) -> None:
    """That of its recipe; one of an earlier recipe goes when its run is done."""
    config = RECIPES[path.name].config
    record = RunRecord.load(path)
    if path.parent == EARLIER_RUNS:
        assert not (RUNS / path.name / RECORD_FILE).exists()
        earlier = RunConfig.from_dict(read_config(path / "config.yaml"))
        assert config.differences(earlier)
        config = earlier
    for values in (record.config, read_config(path / "config.yaml")):
        assert config.differences(RunConfig.from_dict(values)) == []
    assert record.commit and record.versions["torch"] and record.data["fingerprint"]


@pytest.mark.dataset
@pytest.mark.parametrize(
    ("name", "within"),
    [
        ("MUTAG-wl-nested", 1e-6),
        ("COX2-retgk-nested", 1e-6),
        ("triangle-closed-form", 5e-3),
        ("is_connected-closed-form", 0.03),
    ],
)
def test_a_record_of_another_commit_is_regenerated(
    name: str, within: float, tmp_path: Path, data_root: Path
) -> None:
    """As ``docs/reproduce.md`` says: accuracies to the digit, squares to 0.5 %."""
    old = RunRecord.load(RUNS / name).headline
    config = replace(RECIPES[name].config, baseline=False)
    new = train(config=config, output=tmp_path / "run", data_root=data_root).headline
    assert new.metric == old.metric
    assert new.value == pytest.approx(old.value, rel=within)


def test_the_scoreboard_is_of_todays_tests() -> None:
    """Renamed parameters are renamed in the record too, and the page is made of it."""
    folder = ROOT / "results" / "brec"
    scores = from_json((folder / "exact.json").read_text("utf-8"))
    for score, rung in zip(scores, BOARD, strict=True):
        tests = [test.to_dict() for test in (*rung.after, rung.test)]
        assert score.settings["tests"] == plain(tests)
        named = (score.name, score.label, score.memory)
        assert named == (rung.key, rung.label, rung.memory)
    assert (folder / "exact.md").read_text("utf-8") == brec_page(scores)


@pytest.mark.parametrize("file", sorted(ROOT.glob("results/brec/trained*.json")))
def test_the_page_of_trained_networks_is_made_of_the_record(file: Path) -> None:
    scores = from_json(file.read_text("utf-8"))
    assert scores and all(score.commits for score in scores)
    assert file.with_suffix(".md").read_text("utf-8") == trained_page(scores)


def test_what_is_learned_is_made_of_the_records() -> None:
    """All that has a record is shown, and a number is that of its record."""
    assert with_tables(PAGE, *shown_rows()) == PAGE
    assert len(table("pattern, MAE")) == 2 + 4 and len(table("property")) == 2 + 3
    (shown,) = [row[1] for row in table("pattern, MAE") if row[0] == "cycle4"]
    (mae,) = [
        result.value
        for result in RunRecord.load(RUNS / "cycle4-closed-form").results
        if result.metric == "test_mae"
    ]
    assert float(shown) == pytest.approx(mae, rel=1e-3)


def test_a_table_shows_means_over_seeds_and_what_is_missing() -> None:
    runs = load_runs(sorted(RUNS.iterdir()))
    single = next(
        row
        for row in table_rows(runs, (), paper_number_of)
        if row.run == "triangle-sek-gin-lbfgs"
    )
    both = [single, replace(single, value=0.5, spread=0.25, seeds=3)]
    *_, line = TABLES[0].markdown(both).splitlines()
    assert line == "| triangle | – | 0.5 ± 0.25 | – | – | – | 0.0010 |"
    with pytest.raises(ValueError, match="no table with heading"):
        with_tables("nothing", runs)  # type: ignore[arg-type]


def test_trained_networks_on_brec_on_the_page() -> None:
    file = ROOT / "results" / "brec" / "trained.json"
    scores = from_json(file.read_text("utf-8"))
    expected = [
        [
            score.name,
            *(str(c["separated"]) for c in score.by_category().values()),
            str(score.separated),
            str(score.failures),
        ]
        for score in scores
        if len(score.pairs) == 400
    ]
    _, _, *rows = table("network")
    assert rows == expected
    best = max(score.separated for score in scores)
    readme = (ROOT / "README.md").read_text("utf-8")
    assert f"SEK-PPGN with learned multisets {best} by BREC's protocol" in readme


def test_the_page_of_peers_is_made_of_its_record() -> None:
    folder = ROOT / "results" / "defaults"
    record = json.loads((folder / "peers.json").read_text("utf-8"))
    assert (folder / "peers.md").read_text("utf-8") == peers_page(record)
    assert {score["system"] for score in record["scores"]} >= {"sekgnn", "chemprop"}


def test_no_norm_of_the_defaults_for_molecules_explodes() -> None:
    """Validation losses stay of the order of saying the same of all molecules."""
    folder = ROOT / "results" / "defaults"
    record = json.loads((folder / "norms.json").read_text("utf-8"))
    assert (folder / "norms.md").read_text("utf-8") == norms_page(record)
    assert len(record["trials"]) == 12
    assert max(trial["highest"] for trial in record["trials"]) < 10
