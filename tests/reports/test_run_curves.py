"""Figures of curves can be drawn for any run and show what differs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from tests.reports.run_records import folds, holdout

from sekgnn.reports.run_figures import (
    common_mean,
    curve_pngs,
    needs_log,
    watched_metric,
    watched_part,
)
from sekgnn.training.run_record import FoldRecord, RunRecord

NAN = math.nan


def with_curves(**curves: list[float]) -> RunRecord:
    return holdout(curves=curves)


def curves_png(record: RunRecord, name: str) -> bytes:
    """Return all figures of a run, one after the other."""
    return b"".join(curve_pngs(record, name).values())


def lines(axes: Any) -> list[Any]:
    """Return the lines of a panel that are curves."""
    return [x for x in axes.lines if "chosen" not in str(x.get_label())]


@pytest.mark.parametrize(
    "record",
    [
        holdout(),
        folds(),
        folds(number=1),
        folds(number=2),
        with_curves(train_loss=[NAN, NAN], val_loss=[NAN, NAN], val_mae=[NAN, NAN]),
        with_curves(train_loss=[1.0, NAN, 2.0], val_loss=[NAN, math.inf, 1.0]),
        with_curves(train_loss=[1e-16, 1e308, 2.0], val_loss=[1e-9, 1e300, 1.0]),
        with_curves(train_loss=[1.0], val_loss=[0.5], val_mae=[0.0]),
        with_curves(train_loss=[1.0, 0.1], val_loss=[0.0, 0.0], val_mae=[-1.0, 1.0]),
        with_curves(train_loss=[1.0, 0.5]),
        with_curves(train_loss=[], val_loss=[]),
        with_curves(),
        holdout(folds=(*holdout().folds, FoldRecord({}, {}, 0, {}, 0.0))),
    ],
    ids=str,
)
def test_a_figure_shows_every_curve_and_kept_epoch(
    record: RunRecord, figures: list[Figure]
) -> None:
    metric = watched_metric(record)
    panels = [["train_loss", f"{watched_part(record)}_loss"]]
    panels += [] if metric is None else [[metric]]
    assert [*curve_pngs(record, "a run")] == ["loss", "metric"][: len(panels)]
    for figure, names in zip(figures, panels, strict=True):
        (axes,) = figure.axes
        curves = [
            [value if abs(value) < 1e150 else NAN for value in fold.curves[name]]
            for name in names
            for fold in record.folds
            if fold.curves.get(name)
        ]
        drawn = [line.get_ydata().tolist() for line in lines(axes)]
        for curve in curves:
            assert any(np.array_equal(curve, y, equal_nan=True) for y in drawn)
        known = any(abs(value) < 1e150 for curve in curves for value in curve)
        said = [text.get_text() for text in axes.texts]
        assert said == ([] if known else ["no finite values"])
        assert (axes.get_yscale() == "log") == needs_log(list(map(np.array, curves)))
        kept = [
            (fold.kept_epoch, fold.curves[names[-1]][fold.kept_epoch - 1])
            for fold in record.folds
            if 0 < fold.kept_epoch <= len(fold.curves.get(names[-1], ()))
        ]
        dots: Any = [group.get_offsets() for group in axes.collections]
        assert [tuple(dot) for group in dots for dot in group] == [
            point for point in kept if abs(point[1]) < 1e150
        ]
        chosen = [
            np.asarray(line.get_xdata())[0]
            for line in axes.lines
            if line not in lines(axes)
        ]
        epoch = record.headline.epoch
        assert chosen == ([epoch] if epoch and len(record.folds) > 1 else [])


@pytest.mark.parametrize("name", ["$x", "$\\frac$", "a_b^c", "図", "x" * 300, "\x00\n"])
def test_names_are_no_mathematics(name: str, figures: list[Figure]) -> None:
    curves_png(holdout(), name)
    for figure in figures:
        first = figure.get_suptitle().split("\n")[0].replace(r"\$", "").rstrip("…")
        assert "$" not in first and first in name.replace("$", "") and len(first) < 60


def test_the_same_run_gives_the_same_bytes() -> None:
    assert curves_png(holdout(), "a") == curves_png(holdout(), "a")


def test_the_mean_ends_with_the_shortest_fold_and_knows_no_nan() -> None:
    long, short = np.array([1.0, 2.0, 9.0]), np.array([3.0, 6.0])
    assert common_mean([long, short]).tolist() == [2.0, 4.0]
    broken = common_mean([long, np.array([NAN, 4.0, math.inf])])
    assert np.isnan(broken[[0, 2]]).all() and broken[1] == 3.0
    assert common_mean([]).size == common_mean([long, np.zeros(0)]).size == 0


def test_what_is_watched() -> None:
    assert (watched_part(holdout()), watched_metric(holdout())) == ("val", "val_mae")
    assert (watched_part(folds()), watched_metric(folds())) == ("test", "test_accuracy")
    only_loss = with_curves(train_loss=[1.0], val_loss=[1.0])
    assert watched_metric(only_loss) is None
    another = with_curves(val_loss=[1.0], val_r2=[0.5])
    assert watched_metric(another) == "val_r2"


@pytest.mark.parametrize(
    ("values", "log"),
    [
        ([1.0, 10.0], False),
        ([1.0, 10.1], True),
        ([0.0, 100.0], False),
        ([-1.0, 100.0], False),
        ([NAN, 1.0, 20.0, math.inf], True),
        ([NAN], False),
        ([], False),
    ],
)
def test_log_scale_is_for_positive_values_over_a_decade(
    values: list[float], log: bool
) -> None:
    assert needs_log([np.array(values)]) is log
    assert needs_log([]) is False
