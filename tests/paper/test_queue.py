"""The queue trains what is missing, goes on after anything, and makes the tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.training.helpers import SMALL, records, write_lines

from sekgnn.errors import ConfigError
from sekgnn.models.options import MODEL_KINDS
from sekgnn.paper.paper_numbers import PaperNumber
from sekgnn.paper.queue import (
    EARLIER,
    look,
    shortest_first,
    shown_runs,
    train_queue,
)
from sekgnn.paper.recipes import (
    COLUMNS,
    KERNELS,
    PATTERNS,
    STEPS,
    Recipe,
    choose,
    recipes,
)
from sekgnn.paper.tables import Cell, write_table
from sekgnn.reports.run_table import TableRow
from sekgnn.training.config import RunConfig
from sekgnn.training.run_folder import locked, write_config

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


def recipe(path: Path, name: str, **keys: Any) -> Recipe:
    values = {**SMALL, "data": str(path), "target": ["size"], **keys}
    return Recipe(name, "table1", "gin", "size", values)


@pytest.fixture
def lines(tmp_path: Path, own_cache: Path) -> Path:
    return write_lines(tmp_path / "data.jsonl", records())


def states(queue: list[Recipe], runs: Path) -> list[str]:
    return [entry.state for entry in look(queue, runs)]


def test_every_run_has_a_name_and_a_config_that_can_work() -> None:
    all_runs = recipes()
    assert len({r.name for r in all_runs}) == len(all_runs)
    for run in all_runs:
        assert run.config.model in MODEL_KINDS and run.seconds > 0
        assert run.name.removeprefix("QM9-").startswith(run.column)
    covered = {(r.table, column) for r in all_runs for column in r.columns}
    for table, columns in COLUMNS.items():
        assert {(table, column) for column in columns} <= covered
    kernels = {(r.config.model, r.column, r.config.protocol) for r in all_runs}
    for protocol in ("nested", "xu2019"):
        assert all((k, "IMDB-MULTI", protocol) in kernels for k in KERNELS)
    steps = recipes(("table4", "table5"))
    assert len(steps) == len(STEPS) * (1 + 3 + 4) + 1  # counts together, one alone
    counts = [r for r in steps if r.config.data == "counting"]
    assert {r.columns for r in counts} == {PATTERNS, ("cycle4",)}
    assert {r.config.epochs for r in counts} == {400}
    assert {r.table for r in recipes(("table2",))} == {"table2"}


def test_runs_are_chosen_by_model_data_and_name() -> None:
    all_runs = recipes()

    def names(*only: str) -> list[str]:
        return [r.name for r in choose(all_runs, list(only))]

    assert names("wl", "mutag") == ["MUTAG-wl-xu2019", "MUTAG-wl-nested"]
    assert names("WL", "MUTAG", "*-nested") == ["MUTAG-wl-nested"]
    assert {n.split("-")[0] for n in names("ridge", "cycle4", "star3")} == {
        "cycle4", "star3",
    }  # fmt: skip
    with pytest.raises(ConfigError, match="Did you mean 'mutag'"):
        names("MUTTAG")


def test_states_follow_folders_and_locks(lines: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    queue = [recipe(lines, name) for name in ("a", "b", "c", "d")]
    assert states(queue, runs) == ["missing"] * 4
    for begun in queue[1:]:
        (runs / begun.name).mkdir(parents=True)
        write_config(begun.config, runs / begun.name)
    other = RunConfig.from_dict({**queue[3].keys, "epochs": 9})
    (runs / "d" / "config.yaml").unlink()
    write_config(other, runs / "d")
    with locked(runs / "b"):
        assert states(queue, runs) == ["missing", "running", "begun", "other config"]
    assert states(queue, runs)[1] == "begun"
    assert [r.name for r in shortest_first(look(queue, runs))] == ["b", "c", "a"]


def test_the_queue_goes_on_after_a_failure_and_when_time_was_up(
    lines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = tmp_path / "runs"
    queue = [
        recipe(lines, "wrong", target=["nothing"]),
        recipe(lines, "long", epochs=4),
        recipe(lines, "ridge", model="ridge", hidden_channels=None, num_layers=None),
    ]
    messages: list[str] = []
    assert train_queue(queue, runs, budget=1.0, log=messages.append) == []
    assert all("more than is left" in line for line in messages) and len(messages) == 3
    clock = iter([0.0, *[1.0] * 4, *[1e9] * 99])  # out of time in an epoch of "long"
    monkeypatch.setattr("sekgnn.paper.queue._now", lambda: next(clock))
    failed = train_queue(queue, runs, budget=1000.0, log=messages.append)
    assert len(failed) == 1 and failed[0].startswith("wrong: ")
    assert "out of time" in messages[-1]
    assert states(queue, runs) == ["missing", "begun", "missing"]
    monkeypatch.undo()
    assert len(train_queue(queue, runs)) == 1
    assert states(queue, runs) == ["missing", "done", "done"]
    with locked(runs / "long"):
        assert states(queue, runs)[1] == "done"  # whoever looks at it now


def test_several_processes_share_the_queue(lines: Path, tmp_path: Path) -> None:
    solved = {"model": "ridge", "hidden_channels": None, "num_layers": None}
    queue = [recipe(lines, f"r{i}", seed=i, **solved) for i in range(3)]
    queue.append(recipe(lines, "wrong", target=["nothing"]))
    failed = train_queue(queue, tmp_path / "runs", jobs=2)
    assert {line.split(":")[0] for line in failed} == {"wrong"}
    assert states(queue, tmp_path / "runs") == ["done"] * 3 + ["missing"]


def test_tables_without_any_run(tmp_path: Path) -> None:
    for table in ("table2", "table3", "table5"):
        entries = look(recipes((table,)), tmp_path / "runs")
        files = write_table(table, entries, tmp_path / "runs", tmp_path / "tables")
        assert files == [f"{table}.csv", f"{table}.md", f"{table}.png"]
    text = (tmp_path / "tables" / "table2.md").read_text("utf-8")
    assert "| sek-gin | – (92.2) | – (66.9) | – (78.3) |" in text
    assert "`xu2019` selects on the test folds" in text
    assert "92.2 (kp-gin)" in text and "wl | – (90.4)" in text
    first, *rows = (tmp_path / "tables" / "table3.csv").read_text().splitlines()
    assert len(first.split(",")) == 18 and len(rows) > 7 * 12
    assert (tmp_path / "tables" / "table5.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("metric", "ours", "spread", "seeds", "paper", "outcome"),
    [
        ("test_accuracy", 0.95, 0.06, 1, 0.9, "ahead"),
        ("test_accuracy", 0.91, 0.06, 1, 0.9, "equal"),  # 0.06 / sqrt(9) = 0.02
        ("test_accuracy", 0.87, 0.06, 1, 0.9, "behind"),
        ("test_mae", 0.5, None, 1, 0.9, "ahead"),
        ("test_mae", 0.8, 0.1, 3, 0.9, "ahead"),  # 0.1 / sqrt(2) = 0.07
        ("test_mae", 0.85, 0.1, 3, 0.9, "equal"),
        ("test_mae", 0.0001157, None, 1, 0.00012, "equal"),  # as printed
        ("test_log10_mse", -4.1, None, 1, -4.2, "behind"),
    ],
)
def test_a_cell_is_ahead_equal_or_behind(
    metric: str, ours: float, spread: float | None, seeds: int, paper: float,
    outcome: str,
) -> None:  # fmt: skip
    row = TableRow(
        "run", "data", (), "gin", "holdout", metric, ours, spread, "", None, 1, 1, 1.0,
        seeds=seeds,
    )  # fmt: skip
    number = PaperNumber("exp:syn", "data", "", "gin", "holdout", metric, paper)
    assert Cell("gin", "data", "holdout", metric, row, number).outcome == outcome
    assert Cell("gin", "data", "holdout", metric, None, number).outcome == "not run"


def test_a_run_that_is_not_done_is_shown_as_its_earlier_recipe_made_it(
    lines: Path, tmp_path: Path
) -> None:
    runs, before = tmp_path / "runs", tmp_path / EARLIER
    solved = {"model": "ridge", "hidden_channels": None, "num_layers": None}
    queue = [recipe(lines, name, **solved) for name in ("a", "b", "c")]
    train_queue([queue[0]], runs)
    train_queue(queue[:2], before)
    shown, earlier = shown_runs(look(queue, runs), runs)
    assert [run.name for run in shown] == ["a", "b"] and earlier == {"b"}
    assert states(queue, runs) == ["done", "missing", "missing"]
    train_queue([queue[1]], runs)
    assert shown_runs(look(queue, runs), runs)[1] == set()
