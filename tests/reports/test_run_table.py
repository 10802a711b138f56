"""The table's numbers are the records', each with what it was selected on."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reports.run_records import ON_EACH, ON_TEST, ON_VAL, as_run, folds, holdout
from tests.reports.run_records import save as save_run

from sekgnn.errors import GraphInputError
from sekgnn.paper.paper_numbers import paper_number_of
from sekgnn.reports import run_table
from sekgnn.reports.finished_runs import load_runs, safe_names
from sekgnn.reports.run_table import (
    show_difference,
    show_result,
    show_value,
    table_markdown,
    table_terminal,
)
from sekgnn.training.config import RunConfig
from sekgnn.training.run_record import Result, RunRecord

table_rows = partial(run_table.table_rows, published=paper_number_of)


def read_table(text: str) -> list[dict[str, str]]:
    """Read a Markdown table back."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    cells = [[c.strip() for c in line.strip("|").split("|")] for line in lines]
    return [dict(zip(cells[0], row, strict=True)) for row in cells[2:]]


def test_a_row_worked_out_by_hand() -> None:
    """Counting, SEK-GIN, triangle: the paper prints 0.0031."""
    text = table_markdown(table_rows([as_run(holdout())]))
    mae, mse = read_table(text)
    assert mae == {
        "run": "a", "data": "counting", "target": "triangle", "model": "sek-gin",
        "protocol": "holdout", "metric": "test_mae", "value": "0.0125",
        "the epoch was chosen by": ON_VAL, "epochs": "2 of 3", "parameters": "12,345",
        "seconds": "61.5", "paper": "", "difference": "",
    }  # fmt: skip
    assert (mse["metric"], mse["value"]) == ("test_mse", "0.00075")
    assert (mse["paper"], mse["difference"]) == ("0.0031", "-0.00235")
    own, file = as_run(holdout("mine.csv")), as_run(holdout())
    file.record.config["data"] = "elsewhere/counting.csv"  # a name is no benchmark
    text = table_markdown(table_rows([own, file]))
    assert "paper" not in read_table(text)[0] and "¹" not in text


def test_folds_show_every_protocol_and_what_it_selects_on() -> None:
    rows = read_table(table_markdown(table_rows([as_run(folds())])))
    shown = ("protocol", "the epoch was chosen by", "value", "epochs", "paper",
             "difference")  # fmt: skip
    assert [tuple(row[name] for name in shown) for row in rows] == [
        ("xu2019", ON_TEST, "90.5 ± 5.1 %", "2 of 3", "92.2 ± 6.2 %", "-1.7"),
        ("wijesinghe2022", ON_EACH, "95.0 ± 3.0 %", "3", "96.9 ± 3.6 %", "-1.9"),
        ("last epoch", "nothing", "79.0 ± 6.0 %", "3", "", ""),
    ]  # the paper: 92.2 ± 6.2 and †96.9 ± 3.6


def test_graph_properties_are_also_shown_as_logarithm() -> None:
    metrics = {"test_mae": 0.1, "test_mse": 0.01, "test_log10_mse": -2.0}
    record = holdout("graph_property", ["diameter"], "gin", metrics=metrics)
    rows = table_rows([as_run(record)])
    assert [row.metric for row in rows] == list(metrics)
    assert rows[2].difference == pytest.approx(-2.0 + 3.3079)
    (shown,) = read_table(table_markdown(rows[2:]))
    assert shown["value"] == "-2.0000"
    assert shown["difference"] == "+1.3079"
    assert "test_log10_mse" not in table_markdown(
        table_rows([as_run(holdout("counting", metrics=metrics))])
    )


def test_an_error_that_only_the_fold_knows_is_shown() -> None:
    record = replace(holdout(), results=holdout().results[:1])
    rows = table_rows([as_run(record)])
    assert [row.metric for row in rows] == ["test_mae", "test_mse"]


NUMBERS = st.floats(1e-6, 1e6) | st.just(math.nan) | st.just(math.inf)


@given(st.lists(NUMBERS, min_size=1, max_size=4))
def test_rows_hold_the_numbers_of_the_records(values: list[float]) -> None:
    records = [holdout(metrics={"test_mse": value}) for value in values]
    runs = [as_run(record, f"run {i}") for i, record in enumerate(records)]
    rows = table_rows(runs)
    assert [row.run for row in rows] == [run.name for run in runs]
    for row, value in zip(rows, values, strict=True):
        assert row.value == value or math.isnan(value)
    for cells, value in zip(read_table(table_markdown(rows)), values, strict=True):
        if math.isfinite(value):
            assert float(cells["value"]) == pytest.approx(value, rel=6e-4)
        else:
            assert cells["value"] == cells["difference"] == "–"


def test_the_terminal_shows_the_same_numbers() -> None:
    rows = table_rows([as_run(holdout(), "first"), as_run(folds(), "[red]second")])
    text = table_terminal(rows, 80)
    assert max(map(len, text.splitlines())) <= 80
    words = " ".join(text.split())
    for word in ("first", "[red]second", "0.0125", "90.5 ± 5.1 %", "-0.00235", "-1.7"):
        assert word in words
    assert words.count("test_accuracy") == 3
    for line in ("wijesinghe2022", "12,345", "sek-gin", "epoch 2 of 3"):
        assert line in words


@pytest.mark.parametrize(
    ("name", "shown"),
    [("a|b", r"a\|b"), ("<b>x</b>", "&lt;b>x&lt;/b>"), ("a\nb", "a b"), ("*", r"\*")],
)
def test_markdown_shows_names_as_they_are(name: str, shown: str) -> None:
    text = table_markdown(table_rows([as_run(holdout(targets=[name]))]))
    assert f"| {shown} |" in text
    assert len(text.splitlines()) == 4


@pytest.mark.parametrize(
    ("metric", "value", "shown"),
    [
        ("test_accuracy", 0.91249, "91.2"),
        ("test_accuracy", 1.0, "100.0"),
        ("test_mae", 0.000123456, "0.0001235"),
        ("test_mse", 1234.56, "1235"),
        ("test_log10_mse", -4.43216, "-4.4322"),
        ("test_mae", math.nan, "–"),
        ("test_mae", None, "–"),
    ],
)
def test_values_are_written_so(metric: str, value: float | None, shown: str) -> None:
    assert show_value(metric, value) == shown


def test_spreads_and_differences_are_written_so() -> None:
    assert show_result("test_mae", 0.5, None) == "0.5"
    assert show_result("test_accuracy", 0.5, math.nan) == "50.0 %"
    assert show_result("test_accuracy", math.nan, 0.1) == "–"
    assert show_difference("test_accuracy", -0.0001) == "0.0"
    assert show_difference("test_accuracy", 0.01) == "+1.0"
    assert show_difference("test_mae", math.nan) == "–"


def test_runs_are_read_from_folders_and_files_once(tmp_path: Path) -> None:
    a = save_run(holdout(), tmp_path / "x" / "run")
    b = save_run(folds(), tmp_path / "y" / "run", ["fold", "true a", "predicted a"])
    runs = load_runs([a, b, b / "record.json"])
    assert [run.name for run in runs] == ["x/run", "y/run"]
    assert [run.slug for run in runs] == ["x-run", "y-run"]
    assert [run.predictions for run in runs] == [None, b / "predictions.csv"]
    assert runs[1].record == RunRecord.load(b)
    assert [run.name for run in load_runs([b])] == ["run"]


def test_a_folder_without_a_finished_run_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(GraphInputError, match=r"holds no record\.json"):
        load_runs([tmp_path])
    folder = save_run(holdout(), tmp_path / "a")
    text = (folder / "record.json").read_text()
    (folder / "record.json").write_text(text.replace('"versions": {', '"versions": [{'))
    with pytest.raises(GraphInputError, match="damaged"):
        load_runs([folder])
    wrong = replace(holdout(), data=["no", "keys"])  # type: ignore[arg-type]
    with pytest.raises(GraphInputError, match="damaged: data"):
        load_runs([save_run(wrong, folder)])


@given(st.lists(st.text(max_size=100), max_size=6))
def test_safe_names_are_safe_and_differ(names: list[str]) -> None:
    safe = safe_names(names)
    assert len({name.casefold() for name in safe}) == len(names)
    for name in safe:
        assert name.isascii() and name[0] not in ".-" and len(name) < 90
        assert not set(name) & set('/\\:*?"<>| \n')


def test_the_first_result_leads() -> None:
    record = holdout(metrics={"test_r2": 0.9, "test_mae": 0.2, "test_mse": 0.1})
    rows = table_rows([as_run(record)])
    assert [row.metric for row in rows] == ["test_r2", "test_mae", "test_mse"]
    again = Result("test_mae", 9.0, None, "x", "y")
    other = replace(record, results=(*record.results, again))
    assert len(table_rows([as_run(other)])) == 4


def seeded(seed: int, mae: float, **keys: Any) -> RunRecord:
    """Return a run with one seed; its other settings are always the same."""
    record = holdout(metrics={"test_mae": mae, "test_mse": 2 * mae})
    config = RunConfig(data="counting", model="sek-gin", seed=seed, **keys)
    return replace(record, config=config.to_dict(), seconds=10.0 * (seed + 1))


def test_runs_that_differ_in_the_seed_have_a_mean() -> None:
    runs = [
        as_run(seeded(0, 0.01), "x"),
        as_run(seeded(0, 0.5, epochs=7), "other"),
        as_run(seeded(1, 0.03, baseline=False), "x-seed1"),  # changes no result
        as_run(seeded(2, 0.02, epochs=7), "z"),
        as_run(seeded(2, 0.02), "x-seed2"),
    ]
    rows = table_rows(runs)
    means = [row for row in rows if row.seeds > 1]
    assert [(row.run, row.seeds, row.metric) for row in means] == [
        ("other", 2, "test_mae"),
        ("other", 2, "test_mse"),
        ("x", 3, "test_mae"),
        ("x", 3, "test_mse"),
    ]
    assert rows[-2:] == means[-2:]  # after the last of its runs
    mae = means[2]
    assert mae.value == pytest.approx(0.02)
    assert mae.spread == pytest.approx(math.sqrt(2e-4 / 3))
    assert mae.paper == rows[0].paper and mae.seconds == pytest.approx(20)
    shown = read_table(table_markdown(means))[2]
    assert shown["run"] == "x, mean of 3 seeds"
    assert shown["value"] == "0.02 ± 0.008165"
    assert "mean of 3 seeds" in table_terminal(rows, 120)


def test_the_same_seed_twice_and_other_data_have_no_mean() -> None:
    one = seeded(0, 0.01)
    other = replace(seeded(1, 0.01), data={**one.data, "fingerprint": "another"})
    rows = table_rows([as_run(one, "a"), as_run(one, "b"), as_run(other, "c")])
    assert {row.seeds for row in rows} == {1}


def test_a_mean_is_of_numbers_that_all_seeds_have() -> None:
    less = holdout(metrics={"test_mae": 0.03})
    less = replace(less, config=seeded(1, 0).config)
    rows = table_rows([as_run(seeded(0, 0.01), "a"), as_run(less, "b")])
    assert [row.metric for row in rows if row.seeds > 1] == ["test_mae"]


def test_a_run_that_diverged_makes_no_mean() -> None:
    runs = [as_run(seeded(0, math.inf), "a"), as_run(seeded(1, 0.01), "b")]
    means = [row for row in table_rows(runs) if row.seeds > 1]
    assert [row["value"] for row in read_table(table_markdown(means))] == ["–", "–"]
