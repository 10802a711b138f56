"""Every number of an ablation stands at its steps, beside the paper's or a gap."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.reports.run_records import as_run, folds, holdout, save
from tests.reports.test_run_table import read_table

from sekgnn.paper.paper_numbers import paper_number_of
from sekgnn.paper.step_curves import (
    StepCurve,
    step_curves,
    step_markdown,
    step_pages,
    step_png,
)
from sekgnn.reports.figures import as_text
from sekgnn.reports.finished_runs import Run
from sekgnn.reports.run_report import write_report
from sekgnn.reports.run_table import TableRow, table_rows
from sekgnn.training.config import RunConfig
from sekgnn.training.run_record import RunRecord


def config(data: str, steps: int, layers: int, hops: int, **keys: Any) -> RunConfig:
    walks: dict[str, Any] = {"encoding": "none"}
    if steps:
        walks = {"scope": ("graph",), "aggregate": "landing", "merge": "parts",
                 "fusion": "weighted", "walk_length": steps}  # fmt: skip
    return RunConfig(
        data=data, model="sek-gin", num_layers=layers, num_hops=hops, combine="sum",
        **walks, **keys,
    )  # fmt: skip


def counted(steps: int, mse: float, target: str = "star3", **keys: Any) -> RunRecord:
    record = holdout(targets=[target], metrics={"test_mae": 9.0, "test_mse": mse})
    return replace(record, config=config("counting", steps, 6, 5, **keys).to_dict())


def classified(steps: int) -> RunRecord:
    keys = config("MUTAG", steps, 2, 3, protocol="xu2019").to_dict()
    return replace(folds(), config=keys)


def rows_of(*runs: Run) -> list[TableRow]:
    return table_rows(runs, (), paper_number_of)


def curves_of(*records: RunRecord) -> list[StepCurve]:
    runs = [as_run(record, f"run{i}") for i, record in enumerate(records)]
    return step_curves(runs, table_rows(runs, (), paper_number_of))


def test_numbers_stand_at_their_steps_and_missing_ones_are_missing() -> None:
    curves = curves_of(counted(0, 0.5), counted(16, 0.25), holdout(targets=["star3"]))
    assert len(curves) == 4 + 3  # all of the paper's table
    rows = read_table(step_markdown(curves, "x.png"))
    ours, paper = [
        row for row in rows if (row["target"], row["metric"]) == ("star3", "test_mse")
    ]
    assert ours == {
        "target": "star3", "metric": "test_mse", "": "ours", "epochs": "3",
        "0 steps": "0.5", "8 steps": "–", "16 steps": "0.25", "24 steps": "–",
        "32 steps": "–",
    }  # fmt: skip
    assert [paper[f"{n} steps"] for n in (0, 8, 16, 24, 32)] == [
        "0.0011", "0.0008", "0.0007", "0.0007", "0.0008"
    ]  # fmt: skip
    others = [row for row in rows if row["target"] != "star3" and row[""] == "ours"]
    assert others and all(row["16 steps"] == "–" for row in others)


def test_sets_are_read_by_their_protocol() -> None:
    curves = curves_of(classified(0), classified(32))
    assert [curve.name for curve in curves] == [
        "IMDB-BINARY", "PROTEINS", "BZR", "MUTAG"
    ]  # fmt: skip
    ours, paper = read_table(step_markdown(curves, "x.png"))[-2:]
    assert (ours["0 steps"], paper["0 steps"]) == ("95.0 ± 3.0 %", "93.6 ± 5.2 %")
    assert (ours["24 steps"], paper["24 steps"]) == ("–", "95.2 ± 2.9 %")


def test_the_table_compares_an_ablation_with_its_own_number() -> None:
    rows = rows_of(as_run(counted(8, 0.1), "a"), as_run(counted(12, 0.1), "b"))
    assert [row.paper and row.paper.value for row in rows] == [None, 0.0008, None, None]
    *_, xu2019, chosen, last = rows_of(as_run(classified(8)))
    assert chosen.paper is not None and chosen.paper.value == 0.952
    assert xu2019.paper is last.paper is None  # 92.2 % is of other settings


def test_other_steps_get_a_place_of_their_own() -> None:
    rows = read_table(step_markdown(curves_of(counted(12, 0.5)), "x.png"))
    assert list(rows[0])[4:] == [f"{n} steps" for n in (0, 8, 12, 16, 24, 32)]
    assert {row["12 steps"] for row in rows} == {"–", "0.5"}


def test_seeds_are_averaged() -> None:
    seeds = [counted(8, mse, seed=i) for i, mse in enumerate((0.1, 0.2, 0.6))]
    more = counted(8, 0.9, lr=0.5)  # another run of the same cell, with one seed
    (curve,) = [curve for curve in curves_of(*seeds, more) if curve.ours]
    assert curve.ours[8].value == pytest.approx(0.3)
    assert curve.ours[8].seeds == 3


def test_targets_that_are_learned_together_stand_beside_those_alone() -> None:
    errors = {"test_mse[star3]": 0.25, "test_mae[star3]": 9.0, "test_mse[cycle4]": 0.75}
    record = holdout(targets=["star3", "cycle4"], metrics={"test_mse": 0.6, **errors})
    both = replace(record, config=config("counting", 8, 6, 5).to_dict())
    curves = curves_of(both, counted(16, 0.1))
    rows = read_table(step_markdown(curves, "x.png"))
    shown = {
        (row["target"], row["metric"], row[""]): (row["8 steps"], row["16 steps"])
        for row in rows
        if row[""] != "paper"
    }
    assert shown["star3", "test_mse", "ours, together"] == ("0.25", "–")
    assert shown["star3", "test_mse", "ours"] == ("–", "0.1")
    assert shown["cycle4", "test_mse", "ours, together"] == ("0.75", "–")
    assert ("triangle", "test_mse", "ours, together") not in shown
    assert shown["triangle", "test_mse", "ours"] == ("–", "–")


def test_runs_of_no_ablation_have_no_curves() -> None:
    assert curves_of(holdout(), folds()) == []
    both = replace(counted(8, 0.1), data=holdout(targets=["star3", "cycle4"]).data)
    assert curves_of(both) == []


@pytest.mark.parametrize("value", [0.5, math.nan, math.inf, 0.0])
def test_the_figure_has_a_panel_per_target_and_gaps(
    value: float, figures: list[Any]
) -> None:
    curves = curves_of(counted(0, 0.1), counted(8, value), classified(16))
    step_png(curves)
    (figure,) = figures
    shown = [axes for axes in figure.axes if axes.get_visible()]
    panels = {axes.get_title(loc="left"): axes for axes in shown}
    first = {curve.name: curve for curve in reversed(curves)}  # of two metrics
    assert set(panels) == {as_text(name) for name in first}
    for name, curve in first.items():
        ours, paper = panels[as_text(name)].lines
        for line, values in ((ours, curve.ours), (paper, curve.paper)):
            drawn = dict(zip(*line.get_data(), strict=True))
            for steps, cell in values.items():
                gap = math.isnan(drawn[steps])
                assert (
                    gap if not math.isfinite(cell.value) else drawn[steps] == cell.value
                )
            assert all(
                math.isnan(drawn[steps]) for steps in drawn.keys() - values.keys()
            )


def test_a_report_has_the_page_only_with_such_runs(tmp_path: Path) -> None:
    plain = save(holdout(), tmp_path / "plain")
    some = save(counted(8, 0.1), tmp_path / "some")
    assert (
        "steps.md" not in write_report([plain], tmp_path / "a", pages=step_pages).files
    )
    report = write_report([plain, some], tmp_path / "b", pages=step_pages)
    assert {"steps.md", "steps.png"} <= {file.name for file in report.output.iterdir()}
    assert "(steps.png)" in (report.output / "steps.md").read_text("utf-8")
