"""The named protocols: who trains, validates and tests, and what selects the epoch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sekgnn.datasets import Split, tu_folds
from sekgnn.datasets.graph_task import GraphTask
from sekgnn.datasets.targets import TaskKind
from sekgnn.errors import GraphInputError
from sekgnn.models.options import MODEL_KINDS
from sekgnn.parsing import parse_json
from sekgnn.training.calibration import least_graphs
from sekgnn.training.config import RunConfig
from sekgnn.training.objective import METRICS
from sekgnn.training.run_record import FoldRecord, Result, is_better_high
from sekgnn.training.split_by import (
    cut_groups,
    graph_groups,
    group_folds,
    group_split,
    own_folds,
    own_split,
    time_split,
)

Positions = NDArray[np.int64]

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
        return f"{words}; of {drawn}{config.grid_size} points of {'; '.join(each)}"
    if not config.has_epochs:
        chosen = MODEL_KINDS[config.model].chooses
        words = f"; {chosen} without test graphs" if chosen else ""
        return SELECTS_ON["no epochs"] + words
    validates = config.protocol in ("holdout", "nested")
    last = validates and not config.keeps_best
    name = "last epoch" if last else config.protocol
    return SELECTS_ON[name].format(monitor=config.monitor)


def make_splits(
    config: RunConfig, data: GraphTask, data_root: str | Path | None = None
) -> list[Split]:
    """Return the split of every training of a protocol.

    Without graphs that validate (``config.watched``) that part is empty.

    Raises:
        GraphInputError: If a part would be empty, or a class would be missing from
            the graphs to train on.
    """
    count, classes = len(data), data.class_numbers
    how = config.split_by[0]
    groups = graph_groups(config, data)
    if config.protocol == "holdout":
        parts = (config.val_fraction, config.test_fraction)
        if config.split is not None:
            splits = [read_split(config.split, count)]
        elif how == "fold":
            splits = [own_split(data, config.split_by[1])]
        elif how == "time":
            splits = [time_split(data, config.split_by[1], *parts)]
        elif groups is not None:
            splits = [group_split(groups, *parts, config.seed)]
        elif data.split is not None:
            splits = [data.split]
        else:
            splits = [random_split(count, *parts, config.seed, classes)]
    else:
        splits = []
        folds = _folds(config, data, groups, data_root)
        for number, (train, test) in enumerate(folds):
            val = np.empty(0, dtype=np.int64)
            if config.protocol == "nested":
                seeds = np.random.SeedSequence([config.seed, number, 3])
                seed = int(seeds.generate_state(1)[0])
                if groups is None:
                    train, val = inner_split(train, config.val_fraction, seed, classes)
                else:
                    size = round(train.size * config.val_fraction)
                    train, val = cut_groups(train, groups, size, seed)
            splits.append(Split(train, val, test))
    if config.refit:
        splits = [_without_validation(split) for split in splits]
    for number, split in enumerate(splits, start=1):
        where = data.name if len(splits) == 1 else f"{data.name}, fold {number}"
        for part in ("train", "val", "test")[:: 1 if config.watched == "val" else 2]:
            if not getattr(split, part).size:
                raise GraphInputError(
                    f"{where}: no graphs for {part}; use larger parts, fewer folds or "
                    "more graphs."
                )
        check_training_classes(split.train, classes, data.classes, where)
        if data.level != "graph" and data.kind in ("binary", "multiclass"):
            y, mask = data.subset(split.train).targets()
            if np.unique(y[mask.reshape(y.shape)].numpy()).size < 2:
                raise GraphInputError(
                    f"{where}: all nodes to train on are of one class; there is "
                    "nothing to learn. Use other graphs, or another target."
                )
    return splits


def _without_validation(split: Split) -> Split:
    """Return a split whose validation graphs train."""
    train = np.sort(np.concatenate([split.train, split.val]))
    return Split(train, split.val[:0], split.test)


def _folds(
    config: RunConfig,
    data: GraphTask,
    groups: Positions | None,
    data_root: str | Path | None,
) -> list[tuple[Positions, Positions]]:
    """Return training and test positions of every fold."""
    if config.published_folds:
        return tu_folds(data.name, data_root)
    everything = np.arange(len(data))
    size = config.folds, config.seed
    if config.split_by[0] == "fold":
        tests = own_folds(data, config.split_by[1], config.folds)
    elif groups is not None:
        tests = group_folds(groups, *size)
    else:
        tests = stratified_folds(len(data), *size, data.class_numbers)
    return [(np.delete(everything, test), test) for test in tests]


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
    own = [f"test_{metric}" for metric in metrics or METRICS[kind]]
    if config.watched != "test" or not config.has_epochs:
        more = [name for name in folds[0].metrics if name not in own]
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
            for metric in [*own, *more]
        )
    metric = own[0]
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


def random_split(
    count: int,
    val_fraction: float,
    test_fraction: float,
    seed: int,
    classes: Positions | None = None,
) -> Split:
    """Return a random split, stratified where there are classes.

    Args:
        count: Number of graphs G.
        val_fraction: Part for validation.
        test_fraction: Part for test.
        seed: Fixes it.
        classes: The class of every graph, int64 ``[G]``.

    Raises:
        GraphInputError: If there are too few graphs for three parts.

    Example:
        >>> random_split(10, 0.2, 0.2, seed=0).sizes
        (6, 2, 2)
    """
    order = _by_class(count, classes, np.random.default_rng(seed))
    val, test = round(count * val_fraction), round(count * test_fraction)
    if min(val, test, count - val - test) < 1:
        rest = 1 - val_fraction - test_fraction
        raise GraphInputError(
            f"{count} graphs are too few for a split of {rest:.0%}, {val_fraction:.0%} "
            f"and {test_fraction:.0%}; use larger parts or more graphs."
        )
    # classes lie one after the other, so that even steps take a fair part of each
    spread = np.argsort(_steps(count, (val, test)), kind="stable")
    parts = np.split(order[spread], [count - val - test, count - test])
    return Split(*(np.sort(part) for part in parts))


def stratified_folds(
    count: int, folds: int, seed: int, classes: Positions | None = None
) -> list[Positions]:
    """Return ``folds`` disjoint test sets that cover all graphs.

    Sizes differ by at most one, and so do the members of every class in them.

    Raises:
        GraphInputError: If there are more folds than graphs.

    Example:
        >>> [fold.size for fold in stratified_folds(7, 3, seed=0)]
        [3, 2, 2]
    """
    if folds > count:
        raise GraphInputError(f"{folds} folds of {count} graphs; use fewer folds.")
    order = _by_class(count, classes, np.random.default_rng(seed))
    return [np.sort(order[i::folds]) for i in range(folds)]


def calibration_parts(
    config: RunConfig, data: GraphTask, splits: Sequence[Split]
) -> tuple[list[Split], list[Positions]]:
    """Cut the graphs that calibrate intervals off those that choose.

    Half of the validation graphs of every split, stratified, or as many as the
    confidence needs; all of them where they choose nothing, and none without intervals.

    Raises:
        GraphInputError: If there are too few for both.
    """
    if config.confidence is None:
        return list(splits), [split.val[:0] for split in splits]
    if not config.validation_chooses:
        return list(splits), [split.val for split in splits]
    cut, parts, classes = [], [], data.class_numbers
    for number, split in enumerate(splits):
        count, needed = split.val.size, least_graphs(config.confidence)
        size = max(count - count // 2, needed)
        if count - size < (needed + 1) // 2:
            raise GraphInputError(
                f"{data.name}: confidence {config.confidence:g} needs {needed} "
                f"validation graphs that calibrate and {(needed + 1) // 2} others that "
                f"choose, there are {count}; use a larger val_fraction or a smaller "
                "confidence, or choose nothing (keep last with schedule cosine)."
            )
        random = np.random.default_rng(np.random.SeedSequence([config.seed, number, 4]))
        own = None if classes is None else classes[split.val]
        order = _by_class(count, own, random)
        apart = np.zeros(count, dtype=np.bool_)
        apart[order[_steps(count, (size, 0)) == 1]] = True
        cut.append(replace(split, val=split.val[~apart]))
        parts.append(split.val[apart])
    return cut, parts


def inner_split(
    train: Positions, fraction: float, seed: int, classes: Positions | None = None
) -> tuple[Positions, Positions]:
    """Cut a validation part off the training graphs of a fold, stratified.

    Returns:
        Positions for training and for validation.
    """
    own = None if classes is None else classes[train]
    order = _by_class(train.size, own, np.random.default_rng(seed))
    steps = np.arange(0, train.size, 1 / fraction).astype(np.int64)
    chosen = np.sort(order[steps[steps < train.size]])  # rounding may add one
    return np.delete(train, chosen), train[chosen]


def read_split(path: str | Path, count: int) -> Split:
    """Read a split from JSON: ``{"train": [...], "val": [...], "test": [...]}``.

    Positions count from 0; graphs that are in no list are left out.

    Raises:
        GraphInputError: If the file is wrong, or a position out of range or repeated.
    """
    try:
        values = parse_json(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise GraphInputError(f"cannot read the split {path}: {error}") from error
    except ValueError as error:
        raise GraphInputError(f"the split {path} is not valid JSON: {error}") from error
    if not isinstance(values, dict):
        raise GraphInputError(f"the split {path} must be an object with three lists.")
    return checked_split(values, count, f"the split {path}")


def checked_split(values: dict[str, Any], count: int, name: str) -> Split:
    """Return a split of plain lists after checking every position.

    Raises:
        GraphInputError: If a list is missing or empty, or a position out of range or
            repeated.
    """
    seen: dict[int, str] = {}
    parts = []
    for part in ("train", "val", "test"):
        positions = values.get(part)
        if not isinstance(positions, list) or not positions:
            raise GraphInputError(f"{name}: {part!r} is missing or empty.")
        for place in positions:
            if type(place) is not int or not 0 <= place < count:
                raise GraphInputError(
                    f"{name}: {place!r} in {part!r} is not a position in "
                    f"0..{count - 1}."
                )
            if place in seen:
                raise GraphInputError(
                    f"{name}: graph {place} is in {seen[place]!r} and in {part!r}."
                )
            seen[place] = part
        parts.append(np.array(positions, dtype=np.int64))
    return Split(*parts)


def check_training_classes(
    train: Positions,
    classes: Positions | None,
    labels: Sequence[object] | None,
    where: str,
) -> None:
    """Raise if a class has no member among the training graphs; names both."""
    if classes is None or labels is None:
        return
    missing = np.setdiff1d(np.arange(len(labels)), classes[train])
    if missing.size:
        raise GraphInputError(
            f"{where}: class {labels[missing[0]]!r} is missing from the training "
            "graphs; use fewer folds, another seed, or more graphs of that class."
        )


def _by_class(
    count: int, classes: Positions | None, rng: np.random.Generator
) -> Positions:
    """Return all positions in random order, class after class."""
    order = rng.permutation(count)
    if classes is None:
        return order
    return order[np.argsort(classes[order], kind="stable")]


def _steps(count: int, parts: tuple[int, int]) -> NDArray[np.int64]:
    """Return 0, 1 or 2 for every place, each part spread evenly."""
    out = np.zeros(count, dtype=np.int64)
    free = np.arange(count)
    for number, size in enumerate(parts, start=1):
        chosen = np.floor((np.arange(size) + 0.5) * free.size / size).astype(np.int64)
        out[free[chosen]] = number
        free = np.delete(free, chosen)
    return out
