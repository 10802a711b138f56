"""The named protocols: which graphs test, and what the reported epoch is chosen by."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sekgnn.datasets import Split, tu_folds
from sekgnn.datasets.targets import TaskKind
from sekgnn.errors import GraphInputError
from sekgnn.training.config import RunConfig
from sekgnn.training.learning_data import LearningData
from sekgnn.training.objective import METRICS, is_better_high
from sekgnn.training.record import FoldRecord, Result
from sekgnn.training.splits import (
    Positions,
    check_training_classes,
    inner_split,
    random_split,
    read_split,
    stratified_folds,
)

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
    "last epoch": "nothing: the last epoch",
}
"""What each protocol chooses the epoch by."""


def make_splits(
    config: RunConfig, data: LearningData, root: str | Path | None = None
) -> list[Split]:
    """Return the split of every training of a protocol.

    Protocols that select on the test fold have an empty validation part.

    Raises:
        GraphInputError: If a part would be empty, or a class would be missing from
            the graphs to train on.
    """
    count, classes = len(data.task), data.classes
    if config.protocol == "holdout":
        if config.split is not None:
            splits = [read_split(config.split, count)]
        elif data.split is not None:
            splits = [data.split]
        else:
            splits = [
                random_split(
                    count, config.val_fraction, config.test_fraction, config.seed,
                    classes,
                )
            ]  # fmt: skip
    else:
        splits = []
        for number, (train, test) in enumerate(_folds(config, data, root)):
            val = np.empty(0, dtype=np.int64)
            if config.protocol == "nested":
                seed = int(np.random.SeedSequence([config.seed, number, 3])
                           .generate_state(1)[0])  # fmt: skip
                train, val = inner_split(train, config.val_fraction, seed, classes)
            splits.append(Split(train, val, test))
    for number, split in enumerate(splits, start=1):
        where = data.name if len(splits) == 1 else f"{data.name}, fold {number}"
        needed = ("train", "val", "test")[:: 1 if config.selects_on_validation else 2]
        for part in needed:
            if not getattr(split, part).size:
                raise GraphInputError(
                    f"{where}: no graphs for {part}; use larger parts, fewer folds or "
                    "more graphs."
                )
        check_training_classes(split.train, classes, data.task.classes, where)
    return splits


def _folds(
    config: RunConfig, data: LearningData, root: str | Path | None
) -> list[tuple[Positions, Positions]]:
    """Return training and test positions of every fold."""
    if config.published_folds:
        return tu_folds(data.name, root)
    everything = np.arange(len(data.task))
    tests = stratified_folds(len(data.task), config.folds, config.seed, data.classes)
    return [(np.delete(everything, test), test) for test in tests]


def summarise(
    config: RunConfig, kind: TaskKind, folds: Sequence[FoldRecord]
) -> tuple[Result, ...]:
    """Return the numbers to report; the first is the protocol's own.

    Raises:
        GraphInputError: If the metric is not defined on some test fold.

    The two protocols that select on the test folds are different readings of the same
    curves, so a run of one reports both, and the last epoch, which selects nothing.
    """
    if config.selects_on_validation:
        sentence = SELECTS_ON[config.protocol].format(monitor=config.monitor)
        return tuple(
            _over_folds(
                f"test_{metric}",
                [fold.metrics[f"test_{metric}"] for fold in folds],
                config.protocol,
                sentence,
            )
            for metric in METRICS[kind]
        )
    metric = f"test_{METRICS[kind][0]}"
    curves = np.array([fold.curves[metric] for fold in folds])  # [F, E]
    undefined = np.flatnonzero(np.isnan(curves).any(axis=1)) + 1
    if undefined.size:
        raise GraphInputError(
            f"{metric} is not defined in fold {undefined[0]}, whose test graphs are of "
            "one class; use fewer folds."
        )
    best = np.argmax if is_better_high(metric) else np.argmin
    shared = int(best(curves.mean(axis=0)))
    rows = {
        "xu2019": (curves[:, shared], shared + 1),
        "wijesinghe2022": (
            curves.max(axis=1) if is_better_high(metric) else curves.min(axis=1),
            None,
        ),
        "last epoch": (curves[:, -1], curves.shape[1]),
    }
    order = sorted(rows, key=lambda name: name != config.protocol)
    return tuple(
        _over_folds(
            metric, rows[name][0].tolist(), name, SELECTS_ON[name], rows[name][1]
        )
        for name in order
    )


def _over_folds(
    metric: str,
    values: Sequence[float],
    protocol: str,
    selects_on: str,
    epoch: int | None = None,
) -> Result:
    """Return mean and standard deviation over the folds."""
    table = np.array(values)
    spread = float(table.std()) if len(values) > 1 else None
    return Result(metric, float(table.mean()), spread, protocol, selects_on, epoch)
