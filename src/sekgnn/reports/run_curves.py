"""How a run learned: losses and the headline metric, epoch by epoch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.reports.figures import (
    CARD,
    MARK,
    TRAIN,
    WATCHED,
    as_text,
    draw_png,
    heading,
    say,
)
from sekgnn.training.run_record import FoldRecord, RunRecord

Curve = NDArray[np.float64]
_DECADE = 10.0  # more than this between smallest and largest is drawn on a log scale


def curve_pngs(record: RunRecord, name: str) -> dict[str, bytes]:
    """Return a PNG of the losses, and one of the watched part's headline metric.

    Their names are ``loss`` and ``metric``; the second is there if it was watched.
    Folds are thin lines, their mean a thick one, as far as all folds go. Dots mark the
    epochs whose weights were kept, a dashed line the one epoch that the protocol chose
    for all folds. Values that are not finite are gaps.
    """
    part = watched_part(record)
    metric = watched_metric(record)
    panels = {"loss": {"train_loss": TRAIN, f"{part}_loss": WATCHED}}
    if metric is not None:
        panels["metric"] = {metric: WATCHED}

    def draw(figure: Any, title: str, colours: dict[str, str]) -> None:
        axes = figure.subplots()
        _panel(axes, record, colours)
        _percent(axes, title)
        heading(figure, name, as_text(title))

    titles = {"loss": "Loss", "metric": metric or ""}
    return {
        which: draw_png(CARD, partial(draw, title=titles[which], colours=colours))
        for which, colours in panels.items()
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


def common_mean(curves: Sequence[Curve]) -> Curve:
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


def needs_log(curves: Sequence[Curve]) -> bool:
    """Tell whether values are positive and span more than a decade."""
    values = np.concatenate([*curves, np.zeros(0)])
    values = values[np.isfinite(values)]
    if values.size == 0 or values.min() <= 0:
        return False
    return bool(values.max() / values.min() > _DECADE)


def _panel(axes: Any, record: RunRecord, colours: dict[str, str]) -> None:
    """Draw some curves of all folds into one panel."""
    drawn: list[Curve] = []
    marked = list(colours)[-1]  # the watched part
    for name, colour in colours.items():
        curves = [
            _finite(np.asarray(fold.curves[name], dtype=np.float64))
            for fold in record.folds
            if fold.curves.get(name)
        ]
        drawn += curves
        several = len(curves) > 1
        for curve in curves:
            _line(axes, curve, colour, thin=several, label=None if several else name)
        if several:
            text = f"{name}, mean of {len(curves)} folds"
            _line(axes, common_mean(curves), colour, thin=False, label=text)
    _mark_kept(axes, record.folds, marked)
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


def _line(
    axes: Any, curve: Curve, colour: str, *, thin: bool, label: str | None
) -> None:
    lonely = np.isfinite(curve).sum() <= 1  # a line needs two points
    axes.plot(
        np.arange(1, len(curve) + 1),
        curve,
        color=colour,
        linewidth=0.6 if thin else 2.0,
        alpha=0.45 if thin else 1.0,
        marker="." if lonely else None,
        label=None if label is None else as_text(label),
    )


def _mark_kept(axes: Any, folds: Sequence[FoldRecord], name: str) -> None:
    """Put a dot at the kept epoch of every fold."""
    points = [
        (fold.kept_epoch, fold.curves[name][fold.kept_epoch - 1])
        for fold in folds
        if 1 <= fold.kept_epoch <= len(fold.curves.get(name, ()))
    ]
    points = [(epoch, value) for epoch, value in points if np.isfinite(value)]
    if points:
        x, y = zip(*points, strict=True)
        label = f"kept: epoch {x[0]}" if len(folds) == 1 else "kept epochs"
        axes.scatter(x, y, s=26, color=MARK, zorder=4, label=label)


def _percent(axes: Any, metric: str) -> None:
    if "accuracy" in metric:
        from matplotlib.ticker import PercentFormatter

        axes.yaxis.set_major_formatter(PercentFormatter(1.0))


def _finite(curve: Curve) -> Curve:
    return np.where(np.isfinite(curve), curve, np.nan)
