"""Predictions are read as they stand, counted right, and drawn for any task."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from tests.reports.run_records import facts, folds, holdout, write_predictions

from sekgnn.errors import GraphInputError
from sekgnn.reports import run_figures
from sekgnn.reports.run_figures import (
    Predictions,
    auroc,
    confusion_counts,
    prediction_pngs,
    read_predictions,
    subject,
)
from sekgnn.training.run_record import RunRecord


def table(
    true: Mapping[str, Sequence[object]], **more: Sequence[object]
) -> Predictions:
    """Return predictions; those not given as ``more`` equal the true values."""
    columns = {f"true {name}": [*map(str, own)] for name, own in true.items()}
    guess = {**true, **more}
    columns |= {f"predicted {name}": [*map(str, own)] for name, own in guess.items()}
    return Predictions("p.csv", tuple(true), columns)


def task(kind: str, targets: Sequence[str], level: str = "graph") -> RunRecord:
    data = {**facts("mine", kind, targets, ["no", "yes"]), "level": level}
    return replace(holdout(), data=data)


def predictions_png(record: RunRecord, found: Predictions, name: str) -> bytes:
    """Return all figures of a run, one after the other."""
    return b"".join(prediction_pngs(record, found, name).values())


def words(figure: Figure) -> list[str]:
    """Return what is written into the panel of a figure."""
    return [text.get_text() for text in figure.axes[0].texts]


def dots(figure: Figure) -> list[tuple[float, float]]:
    groups: Any = figure.axes[0].collections
    return [tuple(dot) for group in groups for dot in group.get_offsets().tolist()]


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    head = ["graph", "fold", "true a,b", "predicted a,b", "true c", "predicted c"]
    rows = [[4, 1, 0.5, 0.25, "", -1], [9, 2, -2, "nan", 3, 1e-3]]
    found = read_predictions(write_predictions(tmp_path / "p.csv", head, rows))
    assert found.targets == ("a,b", "c")
    true, predicted = found.numbers("a,b")
    assert true.tolist() == [0.5, -2.0]
    assert predicted[0] == 0.25 and math.isnan(predicted[1])
    true, predicted = found.numbers("c")
    assert math.isnan(true[0]) and true[1] == 3.0
    assert predicted.tolist() == [-1.0, 0.001]
    words = Predictions("p.csv", ("y",), {"true y": ["no"], "predicted y": ["1"]})
    with pytest.raises(GraphInputError, match="row 1"):
        words.numbers("y")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "true values"),
        (b"graph,fold\n", "true values"),
        (b"graph,true y,predicted y\n", "fold"),
        (b"fold,true y\n1,2\n", "predicted y"),
        (b"fold,true y,predicted y\n1,2\n", "row 1"),
        (b"fold,true y,predicted y,true y\n", "same name"),
        (b"fold,true y,predicted y\n\xff\xfe,1,1\n", "read"),
    ],
)
def test_damaged_files_are_errors(tmp_path: Path, content: bytes, words: str) -> None:
    file = tmp_path / "p.csv"
    file.write_bytes(content)
    with pytest.raises(GraphInputError, match=words):
        read_predictions(file)


def test_a_table_without_rows_says_so(tmp_path: Path, figures: list[Figure]) -> None:
    file = write_predictions(tmp_path / "p.csv", ["fold", "true y", "predicted y"], [])
    found = read_predictions(file)
    assert found.columns["true y"] == []
    for kind in ("regression", "binary", "multilabel"):
        predictions_png(task(kind, ["y"]), found, "a")
    said = [text for figure in figures for text in words(figure)]
    assert said == ["nothing to compare", "nothing to compare", "only one class"]


def test_confusion_worked_out_by_hand(figures: list[Figure]) -> None:
    true = ["no", "no", "yes", "", "yes", "odd"]
    predicted = ["no", "yes", "yes", "yes", "no", "yes"]
    labels, counts = confusion_counts(true, predicted, ["no", "yes"])
    assert labels == ["no", "yes", "odd"]
    assert counts.tolist() == [[1, 1, 0], [1, 1, 0], [0, 1, 0]]
    predictions_png(task("binary", ["y"]), table({"y": true}, y=predicted), "a")
    shares = figures[0].axes[0].images[0].get_array()
    assert np.asarray(shares).tolist() == [[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 1, 0]]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abcd"))))
def test_confusion_counts_every_row_once(pairs: list[tuple[str, str]]) -> None:
    true, predicted = [t for t, _ in pairs], [p for _, p in pairs]
    labels, counts = confusion_counts(true, predicted, ["a"])
    for i, t in enumerate(labels):
        for j, p in enumerate(labels):
            assert counts[i, j] == pairs.count((t, p))
    assert counts.sum() == len(pairs)


@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 1.0, math.nan]), st.integers(0, 5)), max_size=30
    )
)
def test_auroc_is_the_share_of_pairs_in_order(rows: list[tuple[float, int]]) -> None:
    true = np.array([t for t, _ in rows])
    score = np.array([float(s) for _, s in rows])
    high = [s for t, s in rows if t == 1]
    low = [s for t, s in rows if t == 0]
    found = auroc(true, score)
    if not high or not low:
        assert math.isnan(found)
        return
    wins = sum((a > b) + 0.5 * (a == b) for a in high for b in low)
    assert found == pytest.approx(wins / (len(high) * len(low)))


@pytest.mark.parametrize("number", [1, 3, 5])
@pytest.mark.parametrize("kind", ["regression", "multilabel"])
def test_many_targets(
    kind: str, number: int, figures: list[Figure], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A figure per target of a regression, as far as that can be looked at."""
    monkeypatch.setattr(run_figures, "MOST_FIGURES", 3)
    names = [f"${i}_{{/" for i in range(number)]
    found = table({name: [0.0, 1.0, ""] for name in names})
    drawn = prediction_pngs(task(kind, names), found, "a")
    shown = names[:3]
    if kind == "multilabel":
        assert [*drawn] == ["predictions"]
        bars: Any = figures[0].axes[0].patches
        assert [bar.get_width() for bar in bars] == [1.0] * number
        ticks = [tick.get_text() for tick in figures[0].axes[0].get_yticklabels()]
        assert ticks == [name.replace("$", r"\$") for name in names]
        return
    wanted = [f"predictions-{i}_" for i in range(len(shown))]
    assert [*drawn] == (["predictions"] if number == 1 else wanted)
    for figure, name in zip(figures, shown, strict=True):
        assert name.replace("$", r"\$") in figure.get_suptitle()
        assert dots(figure) == [(0.0, 0.0), (1.0, 1.0)]
        left_out = f"3 of {number} targets"
        assert (left_out in figure.get_suptitle().replace("\n", " ")) == (number == 5)


def test_intervals_are_drawn_and_counted(tmp_path: Path, figures: list[Figure]) -> None:
    """One of three true values lies outside, and its dot has another colour."""
    head = ["fold", "true y", "predicted y", "lower y", "upper y"]
    rows = [[1, 1.0, 1.5, 1.0, 2.0], [1, 3.0, 1.5, 1, 2], [1, 2.0, 1.0, 0.5, 2.0]]
    found = read_predictions(write_predictions(tmp_path / "p.csv", head, rows))
    interval = found.interval("y")
    assert interval is not None
    assert [a.tolist() for a in interval] == [[1.0, 1.0, 0.5], [2.0, 2.0, 2.0]]
    assert table({"y": [1.0]}).interval("y") is None
    predictions_png(task("regression", ["y"]), found, "a")
    axes: Any = figures[0].axes[0]
    assert "66.7 % within their intervals" in axes.get_title(loc="left")
    dots = axes.collections[0].get_facecolors()
    assert (dots[0] == dots[2]).all() and (dots[0] != dots[1]).any()
    (bars,) = axes.collections[1:]
    ends = [[tuple(end) for end in bar] for bar in bars.get_segments()]
    assert ends == [[(1, 1), (1, 2)], [(3, 1), (3, 2)], [(2, 0.5), (2, 2)]]


@pytest.mark.parametrize(
    "values", [[], [""], ["nan", "inf"], [1.0], [2.0, 2.0], [1e300, -1e300], [0.0]]
)
def test_odd_numbers_are_drawn(values: list[object], figures: list[Figure]) -> None:
    """Every finite pair is a dot; where there is none, or one class, that is said."""
    predictions_png(task("regression", ["y"]), table({"y": values}), "a")
    known = [float(v) for v in values if isinstance(v, float)]
    assert dots(figures[0]) == [(v, v) for v in known]
    assert words(figures[0]) == ([] if known else ["nothing to compare"])
    predictions_png(task("multilabel", ["y"]), table({"y": values}), "a")
    two = {v > 0.5 for v in known} == {True, False}
    assert words(figures[1]) == ["1.000" if two else "only one class"]


@pytest.mark.parametrize("number", [1, 13, 50])
def test_many_classes(number: int, figures: list[Figure]) -> None:
    """Names as long as they fit, counts in few cells, and all that is right in one."""
    labels = [f"class ${i:02}" for i in range(number)]
    predictions_png(task("multiclass", ["y"]), table({"y": labels}), "a")
    axes = figures[0].axes[0]
    shares = axes.images[0].get_array()
    assert shares is not None
    right = [0.0, 0.0] + [1.0] * number  # the first two are of the record
    np.testing.assert_array_equal(np.asarray(shares), np.diag(right))
    assert len(words(figures[0])) == ((number + 2) ** 2 if number == 1 else 0)
    ticks = [tick.get_text() for tick in axes.get_yticklabels()]
    named = [label.replace("$", r"\$") for label in ("no", "yes", *labels)]
    assert (ticks == named) == (number < 50)


def test_the_title_says_which_graphs_and_weights() -> None:
    assert subject(task("regression", ["y"])) == "test graphs"
    assert subject(task("regression", ["y"], level="node")) == "test nodes"
    last = "test graphs of 10 folds, weights after the last epoch"
    assert subject(folds()) == last
    chosen = replace(folds(), monitor="val_loss")
    assert subject(chosen) == "test graphs of 10 folds"


@pytest.mark.parametrize("units", [None, "as given", "Ha", "counts $ of <b>"])
def test_units_stand_in_the_title_unless_they_say_nothing(
    units: str | None, figures: list[Figure]
) -> None:
    record = task("regression", ["y"])
    record.data["units"] = units
    predictions_png(record, table({"y": [1.0, 2.0]}), "a")
    shown = "" if units in (None, "as given") else f"; {units}".replace("$", r"\$")
    assert figures[0].get_suptitle() == f"a\ny, test graphs{shown}"
