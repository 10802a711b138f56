"""Splits that keep together what belongs together: scaffolds, groups, times, folds.

Molecules of one series in training and test make a model look better than it is on the
next series; these splits measure that.
"""

from __future__ import annotations

import math
from datetime import date, datetime, timezone
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.datasets import Split
from sekgnn.datasets.graph_task import GraphTask
from sekgnn.datasets.targets import is_missing
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs.molecules import scaffold
from sekgnn.training.config import RunConfig

Positions = NDArray[np.int64]

_PARTS = {
    "train": 0, "training": 0,
    "val": 1, "valid": 1, "validation": 1,
    "test": 2, "testing": 2,
}  # fmt: skip


def graph_groups(config: RunConfig, data: GraphTask) -> Positions | None:
    """Return the number of every graph's group, ``[G]``; ``None`` if there are none.

    Raises:
        ConfigError: If the data has no such column, or no SMILES.
        GraphInputError: If a graph has no group, or all have the same.
    """
    how, *column = config.split_by
    if how == "scaffold":
        if data.texts is None:
            raise ConfigError(
                f"{data.name} holds no SMILES, so there are no scaffolds to split by; "
                "use split_by group COLUMN."
            )
        names: list[str] = [scaffold(text) for text in data.texts]
    elif how == "group":
        names = [str(value) for value in _values(data, *column)]
    else:
        return None
    known: dict[str, int] = {}  # numbered as they come: names do not matter
    numbers = np.array([known.setdefault(name, len(known)) for name in names])
    if len(known) == 1:
        raise GraphInputError(
            f"{data.name}: all graphs have the same {' '.join(config.split_by)}; there "
            "is nothing to split by."
        )
    return numbers


def _values(data: GraphTask, column: str) -> list[Any]:
    """Return a column that has a value for every graph."""
    values = list(data.column(column))
    for value, place in zip(values, data.places, strict=True):
        if is_missing(value):
            shown = "empty" if value is None else repr(value)
            raise GraphInputError(
                f"{data.name}, {place}: column {column!r} is {shown}, and every graph "
                "needs a value to split by; fill it, or remove the row."
            )
    return values


def cut_groups(
    chosen: Positions, groups: Positions, size: int, seed: int, leave: int = 1
) -> tuple[Positions, Positions]:
    """Cut a part off some graphs, so that no group is on both sides.

    Small groups in random order fill the part; those larger than half of it are taken
    only when there are no others, the smallest first. It ends where it is nearest to
    the size asked for, and with at least ``leave`` groups that stay. ``groups`` holds
    the number of every graph's group, int64 ``[G]``.

    Returns:
        Positions of what stays, and of the part.

    Raises:
        GraphInputError: If there are too few groups.
    """
    sizes = np.bincount(groups[chosen])
    order = np.random.default_rng(seed).permutation(np.flatnonzero(sizes))
    if order.size <= leave:
        raise GraphInputError(
            f"{order.size} groups are too few for {leave + 1} parts; use another "
            "split_by, or more graphs."
        )
    rank = np.where(sizes > max(1, size // 2), sizes, 0)  # 0: small, in random order
    order = order[np.argsort(rank[order], kind="stable")]
    ends = np.cumsum(sizes[order])
    beyond = np.flatnonzero(ends - sizes[order] / 2 > size)  # by most of the group
    count = max(1, int(beyond[0]) if beyond.size else order.size)
    part = np.isin(groups[chosen], order[: min(count, order.size - leave)])
    return chosen[~part], chosen[part]


def group_split(
    groups: Positions, val_fraction: float, test_fraction: float, seed: int
) -> Split:
    """Return a random split in which no group is in two parts; see :func:`cut_groups`.

    Example:
        >>> split = group_split(np.arange(20) // 2, 0.2, 0.2, seed=0)
        >>> split.sizes, set(split.test // 2) & set(split.train // 2)
        ((12, 4, 4), set())
    """
    everything = np.arange(groups.size)
    size = round(groups.size * test_fraction)
    rest, test = cut_groups(everything, groups, size, seed, leave=2)
    size = round(groups.size * val_fraction)
    train, val = cut_groups(rest, groups, size, seed)
    return Split(train, val, test)


def group_folds(groups: Positions, folds: int, seed: int) -> list[Positions]:
    """Return disjoint test sets that cover all graphs, no group in two of them.

    The largest groups first, in random order where they are equal, each joins the
    smallest fold so far.

    Raises:
        GraphInputError: If there are more folds than groups.
    """
    sizes = np.bincount(groups)
    order = np.random.default_rng(seed).permutation(np.flatnonzero(sizes))
    if folds > order.size:
        raise GraphInputError(f"{folds} folds of {order.size} groups; use fewer folds.")
    order = order[np.argsort(-sizes[order], kind="stable")]
    filled = np.zeros(folds, dtype=np.int64)
    fold_of = np.zeros(sizes.size, dtype=np.int64)
    for group in order:
        fold_of[group] = filled.argmin()
        filled[fold_of[group]] += sizes[group]
    return [np.flatnonzero(fold_of[groups] == fold) for fold in range(folds)]


def own_folds(data: GraphTask, column: str, folds: int) -> list[Positions]:
    """Return the test sets that a column names, in the order of its values.

    Raises:
        GraphInputError: If there is only one value, or as many as graphs.
        ConfigError: If another number of folds is asked for.
    """
    names, numbers = np.unique(
        np.array([str(value) for value in _values(data, column)]), return_inverse=True
    )
    if len(names) < 2 or len(names) > len(data) // 2:
        raise GraphInputError(
            f"{data.name}: column {column!r} has {len(names)} values for {len(data)} "
            "graphs; as folds at least 2 are needed, of 2 graphs each on average."
        )
    if folds not in (RunConfig.folds, len(names)):
        raise ConfigError(
            f"column {column!r} names {len(names)} folds; leave folds ({folds}) out."
        )
    return [np.flatnonzero(numbers == i) for i in range(len(names))]


def own_split(data: GraphTask, column: str) -> Split:
    """Return the split that a column names: train, val and test, and nothing else."""
    parts = []
    for value, place in zip(_values(data, column), data.places, strict=True):
        part = _PARTS.get(str(value).strip().lower())
        if part is None:
            raise GraphInputError(
                f"{data.name}, {place}: {value!r} in column {column!r} is none of "
                "train, val and test, which protocol holdout needs; for numbered "
                "folds choose protocol nested, fixed or another with folds."
            )
        parts.append(part)
    return _split(np.array(parts))


def time_split(
    data: GraphTask, column: str, val_fraction: float, test_fraction: float
) -> Split:
    """Return the oldest graphs for training, later ones to validate, the last to test.

    Graphs of the same time are in the same part, the earlier one.

    Raises:
        GraphInputError: If a value is neither a number nor a date.
    """
    values = _values(data, column)
    times = np.array(
        [_time(v, f"{data.name}, {p}, column {column!r}")
         for v, p in zip(values, data.places, strict=True)]
    )  # fmt: skip
    ordered = np.sort(times)
    last = len(times) - 1
    test = last - round(len(times) * test_fraction)
    val = test - round(len(times) * val_fraction)
    ends = ordered[[max(val, 0), max(test, 0)]]
    return _split((times > ends[0]).astype(np.int64) + (times > ends[1]))


def _time(value: Any, place: str) -> float:
    """Return a number, or a date as seconds."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=value.tzinfo or timezone.utc).timestamp()
    if isinstance(value, date):
        return _time(datetime(value.year, value.month, value.day), place)
    try:
        number = float(value)
        if math.isfinite(number):
            return number
    except (TypeError, ValueError):
        pass
    try:
        return _time(datetime.fromisoformat(str(value).strip()), place)
    except ValueError:
        raise GraphInputError(
            f"{place}: {value!r} is neither a number, such as a year, nor a date, such "
            "as 2024-03-31."
        ) from None


def _split(part: NDArray[np.int64]) -> Split:
    """Return the split of 0, 1 or 2 per graph."""
    return Split(*(np.flatnonzero(part == number) for number in range(3)))
