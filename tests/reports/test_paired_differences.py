"""Differences of runs on the same folds, and what chance may make of them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from tests.reports.run_records import as_run, folds, holdout

from sekgnn.reports.paired_differences import (
    PairedDifference,
    fold_values,
    paired_cells,
    paired_differences,
    paired_markdown,
    paired_terminal,
)
from sekgnn.training.run_record import FoldRecord, Result, RunRecord


def numbers(values: list[float], metric: str = "test_accuracy") -> RunRecord:
    """Return a run of protocol fixed with these numbers in its folds."""
    trainings = [
        FoldRecord({"train": [9], "test": [i]}, {}, 3, {metric: value}, 1.0)
        for i, value in enumerate(values)
    ]
    mean = sum(values) / len(values)
    result = Result(metric, mean, 0.0, "fixed", "nothing")
    return folds(protocol="fixed", folds=tuple(trainings), results=(result,))


def test_a_standard_error_worked_out_by_hand() -> None:
    """Differences 0.1, 0.3, 0.2, 0.2: mean 0.2, variance 0.02 / 3, error / 2."""
    one, other = numbers([0.7, 0.9, 0.8, 0.8]), numbers([0.6, 0.6, 0.6, 0.6])
    (pair,) = paired_differences([as_run(one, "a"), as_run(other, "b")])
    assert (pair.first, pair.second, pair.folds) == ("a", "b", 4)
    assert pair.difference == pytest.approx(0.2)
    assert pair.error == pytest.approx(math.sqrt(0.02 / 3) / 2)
    assert pair.verdict == "a is better"
    (row,) = paired_cells([pair])[1]
    assert row[-2:] == ["+20.0 ± 4.1", "a is better"]
    assert "a - b: test_accuracy +20.0 ± 4.1 over 4 folds (fixed): a is better" == (
        paired_terminal([pair])
    )
    (back,) = paired_differences([as_run(other, "b"), as_run(one, "a")])
    assert (back.difference, back.error) == (-pair.difference, pair.error)
    assert back.verdict == "a is better"


@pytest.mark.parametrize(
    ("difference", "error", "metric", "verdict"),
    [
        (0.19, 0.1, "test_accuracy", "not significant"),
        (0.21, 0.1, "test_accuracy", "a is better"),
        (0.21, 0.1, "test_mae", "b is better"),
        (-0.21, 0.1, "test_mae", "a is better"),
        (0.0, 0.0, "test_mae", "not significant"),
    ],
)
def test_two_errors_decide(
    difference: float, error: float, metric: str, verdict: str
) -> None:
    pair = PairedDifference("a", "b", "MUTAG", "fixed", metric, 4, difference, error)
    assert pair.verdict == verdict


def test_values_of_folds_are_those_whose_mean_is_reported() -> None:
    """One epoch for all folds, each fold's best, and the last."""
    record = folds()
    means = [0.9, 0.9, 0.79]  # of the curves 0.6, 0.9, 0.7 + 0.02 i, by hand
    for result, mean in zip(record.results, means, strict=True):
        assert fold_values(record, result).mean() == pytest.approx(mean)


def test_only_the_same_graphs_and_folds_are_compared() -> None:
    one = numbers([0.7, 0.9, 0.8])
    others: list[dict[str, Any]] = [
        {"data": {**one.data, "fingerprint": "0" * 64}},
        {"folds": one.folds[::-1]},
        {"results": tuple(replace(r, protocol="nested") for r in one.results)},
        {"data": {**one.data, "targets": ["another"]}},
    ]
    for more in others:
        runs = [as_run(one, "a"), as_run(replace(one, **more), "b")]
        assert paired_differences(runs) == []
    assert paired_differences([as_run(holdout(), "a"), as_run(holdout(), "b")]) == []
    broken = numbers([0.7, math.nan, 0.8])
    assert paired_differences([as_run(one, "a"), as_run(broken, "b")]) == []
    same = paired_differences([as_run(one, name) for name in "abc"])
    assert [(p.first, p.second) for p in same] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert {p.verdict for p in same} == {"not significant"}
    assert paired_markdown([]) == ""
    assert paired_markdown(same).count("not significant") == 3
