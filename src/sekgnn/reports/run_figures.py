"""Figures of a run: how it learned, epoch by epoch, and what it predicted."""

from __future__ import annotations

import csv
import math
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.errors import GraphInputError
from sekgnn.files import from_cell
from sekgnn.reports.figures import (
    CARD,
    GREY,
    INK,
    MARK,
    TRAIN,
    WATCHED,
    as_text,
    draw_png,
    heading,
    say,
)
from sekgnn.reports.finished_runs import safe_names
from sekgnn.training.run_record import FoldRecord, RunRecord

MOST_FIGURES = 24
"""Targets of a regression that are drawn; further ones are left out."""
_MOST_BARS = 60
_MOST_WRITTEN = 12  # classes up to which counts fit into their cells

_TRUE, _PREDICTED = "true ", "predicted "

Floats = NDArray[np.float64]
_MOST_SHOWN = 1e150
_DECADE = 10.0  # more than this between smallest and largest is drawn on a log scale


def curve_pngs(record: RunRecord, name: str) -> dict[str, bytes]:
    """Return a PNG ``loss``, and one ``metric`` if a headline metric was watched.

    Folds are thin lines, their mean a thick one, as far as all folds go. Dots mark the
    epochs whose weights were kept, a dashed line the one epoch that the protocol chose
    for all folds. Values that are not finite are gaps.
    """
    metric = watched_metric(record)
    panels = {"loss": ("Loss", ["train_loss", f"{watched_part(record)}_loss"])}
    if metric is not None:
        panels["metric"] = (metric, [metric])

    def draw(figure: Any, title: str, names: list[str]) -> None:
        from matplotlib.ticker import PercentFormatter

        axes = figure.subplots()
        _curves(axes, record, names)
        if "accuracy" in title:
            axes.yaxis.set_major_formatter(PercentFormatter(1.0))
        heading(figure, name, as_text(title))

    return {
        panel: draw_png(CARD, partial(draw, title=title, names=names))
        for panel, (title, names) in panels.items()
    }


def watched_part(record: RunRecord) -> str:
    """Return ``"val"`` if the run watched a part for validation, else ``"test"``."""
    names = {name for fold in record.folds for name in fold.curves}
    return "val" if any(name.startswith("val_") for name in names) else "test"


def watched_metric(record: RunRecord) -> str | None:
    """Return the curve of the headline metric, or another of the part, or ``None``.

    The loss is drawn anyway and does not count.
    """
    part = watched_part(record)
    names = [name for name in record.folds[0].curves if name.startswith(f"{part}_")]
    wanted = f"{part}_{record.headline.metric.removeprefix('test_')}"
    if wanted in names:
        return None if wanted == f"{part}_loss" else wanted
    return next((name for name in names if name != f"{part}_loss"), None)


def common_mean(curves: Sequence[Floats]) -> Floats:
    """Return the mean of curves, up to the end of the shortest.

    Where one of them is not finite there is no mean either.

    Example:
        >>> common_mean([np.array([1.0, 2.0, 5.0]), np.array([3.0, 4.0])]).tolist()
        [2.0, 3.0]
    """
    length = min((len(curve) for curve in curves), default=0)
    if length == 0:
        return np.zeros(0)
    return np.mean([_finite(curve[:length]) for curve in curves], axis=0)


def needs_log(curves: Sequence[Floats]) -> bool:
    """Tell whether values are positive and span more than a decade."""
    values = np.concatenate([*curves, np.zeros(0)])
    values = values[np.isfinite(values)]
    if values.size == 0 or values.min() <= 0:
        return False
    return bool(values.max() / values.min() > _DECADE)


def _curves(axes: Any, record: RunRecord, names: list[str]) -> None:
    """Draw some curves of all folds into one panel; the last is of the watched part."""
    drawn: list[Floats] = []
    for name in names:
        colour = TRAIN if name == "train_loss" else WATCHED
        curves = [
            _finite(np.asarray(fold.curves[name], dtype=np.float64))
            for fold in record.folds
            if fold.curves.get(name)
        ]
        drawn += curves
        if len(curves) > 1:
            for curve in curves:
                _line(axes, curve, color=colour, linewidth=0.6, alpha=0.45)
            name = f"{name}, mean of {len(curves)} folds"
            curves = [common_mean(curves)]
        for curve in curves:
            _line(axes, curve, color=colour, linewidth=2.0, label=as_text(name))
    _mark_kept(axes, record.folds, names[-1])
    epoch = record.headline.epoch
    if epoch is not None and len(record.folds) > 1:
        text = f"epoch {epoch}, chosen for all folds"
        axes.axvline(epoch, color=MARK, linestyle="--", linewidth=1, label=text)
    axes.set_xlabel("epoch")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.grid(color="#EEEEEE")
    axes.set_axisbelow(True)
    if not any(np.isfinite(curve).any() for curve in drawn):
        say(axes, "no finite values")
        return
    if needs_log(drawn):
        axes.set_yscale("log")
    axes.legend(frameon=False, fontsize=9)


def _line(axes: Any, curve: Floats, **style: Any) -> None:
    dot = "." if np.isfinite(curve).sum() <= 1 else None  # a line needs two points
    axes.plot(np.arange(1, len(curve) + 1), curve, marker=dot, **style)


def _mark_kept(axes: Any, folds: Sequence[FoldRecord], name: str) -> None:
    """Put a dot at the kept epoch of every fold."""
    points = [
        (fold.kept_epoch, fold.curves[name][fold.kept_epoch - 1])
        for fold in folds
        if 1 <= fold.kept_epoch <= len(fold.curves.get(name, ()))
    ]
    points = [point for point in points if abs(point[1]) < _MOST_SHOWN]
    if points:
        label = "kept epochs" if len(folds) > 1 else f"kept: epoch {points[0][0]}"
        axes.scatter(
            *zip(*points, strict=True), s=26, color=MARK, zorder=4, label=label
        )


def _finite(curve: Floats) -> Floats:
    """Return a curve with gaps for what no axis can show."""
    return np.where(np.abs(curve) < _MOST_SHOWN, curve, np.nan)


@dataclass(frozen=True, eq=False)
class Predictions:
    """A table of predictions, as text.

    Attributes:
        source: The file, for messages.
        targets: Names of the targets.
        columns: The texts of every column by its heading; empty where one is missing.
    """

    source: str
    targets: tuple[str, ...]
    columns: dict[str, list[str]]

    def numbers(self, target: str) -> tuple[Floats, Floats]:
        """Return true and predicted values of a target, float64 ``[R]`` each."""
        return self._column(_TRUE + target), self._column(_PREDICTED + target)

    def interval(self, target: str) -> tuple[Floats, Floats] | None:
        """Return lower and upper ends, float64 ``[R]`` each, if there are any."""
        ends = [f"{end} {target}" for end in ("lower", "upper")]
        if not {*ends} <= self.columns.keys():
            return None
        return self._column(ends[0]), self._column(ends[1])

    def _column(self, name: str) -> Floats:
        """Return a column of numbers, NaN where one is missing.

        Raises:
            GraphInputError: If a value is not a number.
        """
        out = np.full(len(self.columns[name]), np.nan)
        for i, text in enumerate(self.columns[name]):
            try:
                out[i] = float(text.strip() or "nan")
            except ValueError:
                raise GraphInputError(
                    f"{self.source}: column {name!r}, row {i + 1}: {text!r} is not a "
                    "number."
                ) from None
        return out


def read_predictions(path: str | os.PathLike[str]) -> Predictions:
    """Return the table in ``path``, usually ``predictions.csv`` of a run folder.

    Raises:
        GraphInputError: If the file cannot be read, lacks a column, or a row has more
            or fewer fields than the header.
    """
    try:
        with Path(path).open(encoding="utf-8", newline="") as file:
            rows = [[*map(from_cell, row)] for row in csv.reader(file) if row]
    except (OSError, ValueError, csv.Error) as error:
        raise GraphInputError(f"{path} cannot be read: {error}.") from error
    head, *body = rows or [[]]
    targets = tuple(name.removeprefix(_TRUE) for name in head if name.startswith(_TRUE))
    needed = ["fold", *(_PREDICTED + target for target in targets)]
    missing = (
        [name for name in needed if name not in head] if targets else ["true values"]
    )
    if missing:
        raise GraphInputError(
            f"{path} must have the columns fold and, for each target, true and "
            f"predicted; it lacks {', '.join(missing)}."
        )
    if len(set(head)) != len(head):
        raise GraphInputError(f"{path}: two columns have the same name.")
    for number, row in enumerate(body, start=1):
        if len(row) != len(head):
            raise GraphInputError(
                f"{path}: row {number} has {len(row)} fields, the header {len(head)}."
            )
    columns = {name: [row[i] for row in body] for i, name in enumerate(head)}
    return Predictions(str(path), targets, columns)


def prediction_pngs(
    record: RunRecord, predictions: Predictions, name: str
) -> dict[str, bytes]:
    """Return PNGs that fit the kind of task, by what each may be called in a file.

    Regression: predicted against true values, one per target, with intervals if there
    are any. Classes: the confusion matrix, counts and percent of a row. Several labels:
    the area under the ROC curve of each.

    Raises:
        GraphInputError: If a value that must be a number is not.
    """
    kind = record.data.get("kind")
    if kind in ("binary", "multiclass"):
        return {"predictions": _confusion(record, predictions, name)}
    if kind == "multilabel":
        return {"predictions": _bars(record, predictions, name)}
    return _scatter(record, predictions, name)


def things_of(record: RunRecord) -> str:
    """Return what a run predicts for: graphs, nodes or pairs."""
    level = str(record.data.get("level"))
    return {"node": "nodes", "link": "pairs"}.get(level, "graphs")


def subject(record: RunRecord) -> str:
    """Return what the predictions are of: which graphs, and which weights."""
    text = f"test {things_of(record)}"
    if len(record.folds) > 1:
        text += f" of {len(record.folds)} folds"
    if record.monitor == "nothing":
        text += ", weights after the last epoch"
    return text


def confusion_counts(
    true: Sequence[str], predicted: Sequence[str], classes: Sequence[str]
) -> tuple[list[str], NDArray[np.int64]]:
    """Return labels and how often each was predicted for each, ``[true, predicted]``.

    Labels that occur without being among ``classes`` come last; rows without a true
    label, or without a prediction, are not counted.

    Example:
        >>> labels, counts = confusion_counts("aab", "aba", "ab")
        >>> counts.tolist()
        [[1, 1], [1, 0]]
    """
    rows = zip(true, predicted, strict=True)
    pairs = Counter(row for row in rows if all(row))
    seen = sorted({label for pair in pairs for label in pair} - set(classes))
    labels = [*dict.fromkeys(classes), *seen]
    counts = [[pairs[t, p] for p in labels] for t in labels]
    return labels, np.array(counts, np.int64).reshape(len(labels), -1)


def auroc(true: Floats, score: Floats) -> float:
    """Return the area under the ROC curve, NaN if there is only one class.

    It is the share of pairs of a positive and a negative in which the positive has the
    higher score, ties counted as half. Values that are not finite are left out.

    Example:
        >>> auroc(np.array([0.0, 1.0, 1.0]), np.array([0.2, 0.2, 0.9]))
        0.75
    """
    from sklearn.metrics import roc_auc_score

    known = np.isfinite(true) & np.isfinite(score)
    positive = true[known] > 0.5
    if len({*positive.tolist()}) < 2:
        return math.nan
    return float(roc_auc_score(positive, score[known]))


def _scatter(
    record: RunRecord, predictions: Predictions, name: str
) -> dict[str, bytes]:
    targets = predictions.targets[:MOST_FIGURES]
    text = subject(record)
    units = record.data.get("units")
    if units not in (None, "as given"):
        text += f"; {as_text(str(units), 90)}"
    if len(predictions.targets) > len(targets):
        text += f"; {len(targets)} of {len(predictions.targets)} targets are drawn"

    def draw(figure: Any, target: str) -> None:
        values = *predictions.numbers(target), predictions.interval(target)
        about = _identity_panel(figure.subplots(), *values)
        heading(figure, name, f"{as_text(target, 30)}, {text}")
        figure.axes[0].set_title(about, loc="left", size=9)

    alone = len(predictions.targets) == 1
    names = [""] if alone else [f"-{name}" for name in safe_names(targets)]
    return {
        f"predictions{own}": draw_png(CARD, partial(draw, target=target))
        for own, target in zip(names, targets, strict=True)
    }


def _identity_panel(
    axes: Any, true: Floats, predicted: Floats, interval: tuple[Floats, Floats] | None
) -> str:
    """Draw predicted against true values, and say how well they agree."""
    known = np.isfinite(true) & np.isfinite(predicted)
    left_out = int((np.isfinite(true) & ~known).sum())
    lower, upper = interval or (np.full_like(true, -np.inf), np.full_like(true, np.inf))
    true, predicted, lower, upper = (a[known] for a in (true, predicted, lower, upper))
    about = f"{true.size} values"
    if true.size:
        error = predicted - true
        about += f", MAE {np.abs(error).mean():.4g}"
        with np.errstate(over="ignore", invalid="ignore"):  # of numbers above 1e154
            mse, spread = float((error**2).mean()), float(true.var())
        about += f", RMSE {math.sqrt(mse):.4g}"
        if 0 < spread < math.inf:
            about += f", R² {1 - mse / spread:.3f}"
    if left_out:
        about += f", {left_out} predictions are not finite"
    axes.set(xlabel="true", ylabel="predicted")
    if not true.size:
        say(axes, "nothing to compare")
        return about
    outside = (true < lower) | (true > upper)
    colours = np.where(outside, MARK, WATCHED)
    low = float(min(true.min(), predicted.min()))
    high = float(max(true.max(), predicted.max()))
    margin = 0.04 * (high - low) or max(abs(high), 1.0) * 0.1
    ends = (low - margin, high + margin)
    axes.plot(ends, ends, color=GREY, linewidth=1, zorder=1)
    alpha = float(np.clip(20 / math.sqrt(true.size), 0.06, 0.8))
    style = {"alpha": alpha, "rasterized": True}
    axes.scatter(true, predicted, s=9, c=colours, linewidth=0, **style)
    if interval is not None:
        share = 100 * (1 - outside.mean())
        about += f"\n{share:.1f} % within their intervals, the others in orange"
        style["alpha"] = alpha / 2
        axes.vlines(true, lower, upper, colors=colours, linewidth=0.7, **style)
    axes.set(xlim=ends, ylim=ends)
    axes.set_aspect("equal", adjustable="box")
    return about


def _confusion(record: RunRecord, predictions: Predictions, name: str) -> bytes:
    target = predictions.targets[0]
    classes = [str(label) for label in record.data.get("classes") or ()]
    texts = predictions.columns
    both = texts[_TRUE + target], texts[_PREDICTED + target]
    labels, counts = confusion_counts(*both, classes)
    totals = counts.sum(axis=1, keepdims=True)
    shares = counts / np.maximum(totals, 1)  # [true, predicted], rows sum to 1 or 0
    size = float(np.clip(0.9 * len(labels), 4.4, 11.0))

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        hits, whole = int(np.trace(counts)), int(counts.sum())
        text = f"{as_text(target)}: {subject(record)}, {hits} of {whole} right"
        heading(figure, name, text)
        if not whole:
            say(axes, "nothing to compare")
            return
        axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
        if len(labels) <= 40:
            names = [as_text(label, 18) for label in labels]
            turn = 45 if max(map(len, names)) > 4 else 0
            axes.set_xticks(range(len(labels)), names, rotation=turn)
            axes.set_yticks(range(len(labels)), names)
        axes.set(xlabel="predicted", ylabel="true")
        for (i, j), count in np.ndenumerate(counts):
            if len(labels) <= _MOST_WRITTEN:
                percent = f"\n{100 * shares[i, j]:.1f} %" if totals[i] else ""
                ink = "white" if shares[i, j] > 0.55 else INK
                axes.text(j, i, f"{count}{percent}", ha="center", va="center",
                          color=ink, size=9)  # fmt: skip

    return draw_png((size + 1.2, size + 0.9), draw)


def _bars(record: RunRecord, predictions: Predictions, name: str) -> bytes:
    targets = predictions.targets[:_MOST_BARS]
    areas = [auroc(*predictions.numbers(target)) for target in targets]

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        places = np.arange(len(targets))
        axes.barh(places, np.nan_to_num(areas), color=WATCHED, height=0.7)
        axes.axvline(0.5, color=MARK, linewidth=1, linestyle="--")
        for place, area in zip(places, areas, strict=True):
            known = math.isfinite(area)
            text = f"{area:.3f}" if known else "only one class"
            axes.text((area if known else 0.0) + 0.01, place, text, va="center", size=8)
        axes.set_yticks(places, [as_text(target, 30) for target in targets])
        axes.invert_yaxis()
        axes.set(xlim=(0, 1.12), xlabel="area under the ROC curve; dashed: guessing")
        text = f"Labels: {subject(record)}"
        if len(predictions.targets) > len(targets):
            text += f"; {len(targets)} of {len(predictions.targets)} targets"
        heading(figure, name, text)

    return draw_png((7.0, max(0.3 * len(targets) + 1.8, 2.7)), draw)
