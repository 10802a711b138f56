"""What every named protocol selects the epoch on, and the numbers it reports."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from sekgnn.datasets.targets import TaskKind
from sekgnn.errors import GraphInputError
from sekgnn.models.options import MODEL_KINDS
from sekgnn.training.config import RunConfig
from sekgnn.training.objective import METRICS
from sekgnn.training.run_record import FoldRecord, Result, is_better_high

SELECTS_ON = {
    "holdout": "the {monitor} of the validation graphs; the test graphs are used once",
    "nested": (
        "the {monitor} of a validation part of each fold's training graphs; each test "
        "fold is used once"
    ),
    "xu2019": (
        "the test folds: one epoch for all folds, that of the best mean over the folds"
    ),
    "wijesinghe2022": "the test folds: the best epoch of each fold by itself",
    "fixed": "nothing: all settings stand before the folds",
    "last epoch": "nothing: the last epoch",
    "no epochs": "nothing: there are no epochs",
}
"""What each protocol chooses the epoch by."""


def selected_on(config: RunConfig) -> str:
    """Return what the epoch of a run, and the point of a grid, is chosen by."""
    if config.grid:
        monitor = config.monitor if config.keeps_best else f"last {config.monitor}"
        words = SELECTS_ON[config.protocol].format(monitor=monitor)
        each = (f"{k} {', '.join(map(str, v))}" for k, v in config.grid)
        drawn = f"{config.grid_points} of the " if config.grid_points else ""
        return f"{words}; of {drawn}{config.space.size} points of {'; '.join(each)}"
    if not config.has_epochs:
        chosen = MODEL_KINDS[config.model].chooses
        words = f"; {chosen} without test graphs" if chosen else ""
        return SELECTS_ON["no epochs"] + words
    validates = config.protocol in ("holdout", "nested")
    last = validates and not config.keeps_best
    name = "last epoch" if last else config.protocol
    return SELECTS_ON[name].format(monitor=config.monitor)


def summarise(
    config: RunConfig,
    kind: TaskKind,
    folds: Sequence[FoldRecord],
    metrics: Sequence[str] = (),
) -> tuple[Result, ...]:
    """Return the numbers to report; the first is the protocol's own.

    Those are ``metrics``, by default of the kind of task, and after them what else
    every fold has measured, such as metrics of single targets.

    Raises:
        GraphInputError: If the metric is not defined on some test fold.

    The two protocols that select on the test folds are different readings of the same
    curves, so a run of one reports both, and the last epoch, which selects nothing.
    """
    reported = [f"test_{metric}" for metric in metrics or METRICS[kind]]
    if config.watched != "test" or not config.has_epochs:
        more = [name for name in folds[0].metrics if name not in reported]
        names = [config.protocol]
        if config.watched == "test":  # without epochs both readings are one
            names += {"xu2019", "wijesinghe2022"} - {config.protocol}
        return tuple(
            _over_folds(
                metric,
                [fold.metrics[metric] for fold in folds],
                name,
                selected_on(config),
            )
            for name in names
            for metric in [*reported, *more]
        )
    metric = reported[0]
    curves = np.array([fold.curves[metric] for fold in folds])  # [F, E]
    undefined = np.flatnonzero(np.isnan(curves).any(axis=1)) + 1
    if undefined.size:
        raise GraphInputError(
            f"{metric} is not defined in fold {undefined[0]}, whose test graphs are of "
            "one class; use fewer folds."
        )
    high = is_better_high(metric)
    means = curves.mean(axis=0)
    shared = int(means.argmax() if high else means.argmin())
    each = curves.max(axis=1) if high else curves.min(axis=1)
    rows = {
        "xu2019": (curves[:, shared], shared + 1),
        "wijesinghe2022": (each, None),
        "last epoch": (curves[:, -1], curves.shape[1]),
    }
    order = sorted(rows, key=lambda name: name != config.protocol)
    return tuple(
        _over_folds(metric, rows[name][0], name, SELECTS_ON[name], rows[name][1])
        for name in order
    )


def _over_folds(
    metric: str,
    values: ArrayLike,
    protocol: str,
    selected_on: str,
    epoch: int | None = None,
) -> Result:
    """Return mean and standard deviation over the folds."""
    table = np.array(values)
    spread = float(table.std()) if table.size > 1 else None
    return Result(metric, float(table.mean()), spread, protocol, selected_on, epoch)
