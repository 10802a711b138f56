"""Who trains, validates and tests: at random, by scaffold, group or time, or as given.

Molecules of one series in training and test make a model look better than it is on the
next series; splits by scaffold, group and time measure that.

Random parts are not scikit-learn's: those of every record are drawn here, and its
splitters draw others. Nor are groups: ``GroupShuffleSplit`` counts groups, not graphs,
so that one large scaffold may fill a part, and ``GroupKFold`` leaves it to an unstable
sort, which differs between processors, where groups of one size go.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from sekgnn.datasets import Split, tu_folds
from sekgnn.datasets.graph_task import GraphTask
from sekgnn.datasets.targets import is_missing
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs.molecules import scaffold
from sekgnn.parsing import Size, parse_json, read_as
from sekgnn.training.calibration import least_graphs
from sekgnn.training.config import RunConfig

Positions = NDArray[np.int64]

_PARTS = ("train", "val", "test")
_PART_NAMES = {
    "train": 0, "training": 0,
    "val": 1, "valid": 1, "validation": 1,
    "test": 2, "testing": 2,
}  # fmt: skip


def make_splits(
    config: RunConfig, data: GraphTask, data_root: str | Path | None = None
) -> list[Split]:
    """Return the split of every training of a protocol.

    Without graphs that validate (``config.watched``) that part is empty.

    Raises:
        GraphInputError: If a part would be empty, or a class would be missing from
            the graphs to train on.
    """
    if config.protocol == "holdout":
        splits = [_holdout(config, data)]
    else:
        splits = _folds(config, data, data_root)
    if config.refit:  # validation graphs train
        splits = [
            Split(np.sort(np.concatenate([s.train, s.val])), s.val[:0], s.test)
            for s in splits
        ]
    for number, split in enumerate(splits, start=1):
        where = data.name if len(splits) == 1 else f"{data.name}, fold {number}"
        for part in _PARTS[:: 1 if config.watched == "val" else 2]:
            if not getattr(split, part).size:
                raise GraphInputError(
                    f"{where}: no graphs for {part}; use larger parts, fewer folds or "
                    "more graphs."
                )
        check_training_classes(split.train, data.class_numbers, data.classes, where)
        if data.level != "graph" and data.kind in ("binary", "multiclass"):
            y, mask = data.subset(split.train).targets()
            if np.unique(y[mask.reshape(y.shape)].numpy()).size < 2:
                raise GraphInputError(
                    f"{where}: all nodes to train on are of one class; there is "
                    "nothing to learn. Use other graphs, or another target."
                )
    return splits


def _holdout(config: RunConfig, data: GraphTask) -> Split:
    """Return the one split of protocol ``holdout``."""
    fractions = config.val_fraction, config.test_fraction
    how = config.split_by[0]
    if config.split is not None:
        return read_split(config.split, len(data))
    if how == "fold":
        return own_split(data, config.split_by[1])
    if how == "time":
        return time_split(data, config.split_by[1], *fractions)
    groups = graph_groups(config, data)
    if groups is not None:
        return group_split(groups, *fractions, config.seed)
    if data.split is not None:
        return data.split
    return random_split(len(data), *fractions, config.seed, data.class_numbers)


def _folds(
    config: RunConfig, data: GraphTask, data_root: str | Path | None
) -> list[Split]:
    """Return the split of every fold; protocol ``nested`` validates in its training."""
    everything, classes = np.arange(len(data)), data.class_numbers
    groups = graph_groups(config, data)
    if config.published_folds:
        folds = tu_folds(data.name, data_root)
    else:
        if config.split_by[0] == "fold":
            tests = own_folds(data, config.split_by[1], config.folds)
        elif groups is not None:
            tests = group_folds(groups, config.folds, config.seed)
        else:
            tests = stratified_folds(len(data), config.folds, config.seed, classes)
        folds = [(np.delete(everything, test), test) for test in tests]
    if config.protocol != "nested":
        return [Split(train, everything[:0], test) for train, test in folds]
    splits = []
    for number, (train, test) in enumerate(folds):
        seeds = np.random.SeedSequence([config.seed, number, 3])
        seed = int(seeds.generate_state(1)[0])
        if groups is None:
            train, val = inner_split(train, config.val_fraction, seed, classes)
        else:
            size = round(train.size * config.val_fraction)
            train, val = cut_groups(train, groups, size, seed)
        splits.append(Split(train, val, test))
    return splits


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
    val, test = round(count * val_fraction), round(count * test_fraction)
    if min(val, test, count - val - test) < 1:
        rest = 1 - val_fraction - test_fraction
        raise GraphInputError(
            f"{count} graphs are too few for a split of {rest:.0%}, {val_fraction:.0%} "
            f"and {test_fraction:.0%}; use larger parts or more graphs."
        )
    return _split(_fair_parts((val, test), count, classes, np.random.default_rng(seed)))


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


def with_calibration(
    config: RunConfig, data: GraphTask, splits: Sequence[Split]
) -> list[Split]:
    """Return the splits with the graphs that calibrate intervals.

    They are half of the validation graphs of every split, stratified, or as many as the
    confidence needs, and choose nothing; all of them where none chooses, and none
    without intervals.

    Raises:
        GraphInputError: If there are too few for both, or targets are of nodes, which
            are not drawn one by one.
    """
    if config.confidence is None:
        return list(splits)
    if data.level != "graph":
        raise GraphInputError("confidence is for targets of graphs, not of nodes.")
    needed = least_graphs(config.confidence)
    cut, classes = [], data.class_numbers
    for number, split in enumerate(splits):
        part = kept = split.val
        if config.validation_chooses:
            count = part.size
            size = max(count - count // 2, needed)
            if count - size < (needed + 1) // 2:
                raise GraphInputError(
                    f"{data.name}: confidence {config.confidence:g} needs {needed} "
                    f"validation graphs that calibrate and {(needed + 1) // 2} others "
                    f"that choose, there are {count}; use a larger val_fraction or a "
                    "smaller confidence, or choose nothing (keep last with schedule "
                    "cosine)."
                )
            seeds = np.random.SeedSequence([config.seed, number, 4])
            own = None if classes is None else classes[part]
            taken = _fair_parts((size,), count, own, np.random.default_rng(seeds)) == 1
            kept, part = part[~taken], part[taken]
        cut.append(replace(split, val=kept, calibration=part))
        for name, known in zip(data.target_names, data.mask[part].sum(0), strict=True):
            if known < needed:
                where = "" if len(splits) == 1 else f", fold {number + 1}"
                raise GraphInputError(
                    f"{data.name}{where}, target {name!r}: confidence "
                    f"{config.confidence:g} needs {needed} validation graphs, there "
                    f"are {known}; use a larger val_fraction or a smaller confidence."
                )
    return cut


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
        part = _PART_NAMES.get(str(value).strip().lower())
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


class _Lists(TypedDict):
    train: list[Size]
    val: list[Size]
    test: list[Size]


def read_split(path: str | Path, count: int) -> Split:
    """Read a split from JSON: ``{"train": [...], "val": [...], "test": [...]}``.

    Positions count from 0; graphs that are in no list are left out. Chemprop's
    ``splits.json`` is read too: such an object as the one item of a list, and perhaps
    ``"0-4,7"`` in place of a list of positions.

    Raises:
        GraphInputError: If the file is wrong, a list missing or empty, or a position
            out of range or repeated.
    """
    try:
        values = parse_json(Path(path).read_text(encoding="utf-8-sig"))
        lists: Any = read_as(_Lists, _as_lists(values, count))
    except OSError as error:
        raise GraphInputError(f"cannot read the split {path}: {error}") from error
    except ValueError as error:
        raise GraphInputError(
            f"the split {path} is not a JSON object of the lists train, val and test, "
            f"of positions from 0, nor chemprop's splits.json: {error}"
        ) from error
    for part in _PARTS:
        if not lists[part]:
            raise GraphInputError(f"the split {path}: {part!r} is empty.")
    split = Split(*(np.array(lists[part], dtype=np.int64) for part in _PARTS))
    chosen, times = np.unique(
        np.concatenate([split.train, split.val, split.test]), return_counts=True
    )
    if chosen[-1] >= count:
        raise GraphInputError(
            f"the split {path}: {chosen[-1]} is not a position in 0..{count - 1}."
        )
    if times.max() > 1:
        raise GraphInputError(
            f"the split {path}: graph {chosen[times.argmax()]} is in it twice."
        )
    return split


def _as_lists(values: Any, count: int) -> Any:
    """Return a split as an object of lists, if chemprop wrote it in another form.

    Raises:
        ValueError: If it holds several splits, or ranges that cannot be read.
    """
    if isinstance(values, list):
        if len(values) != 1:
            raise ValueError(f"it is a list of {len(values)} splits; keep one of them")
        (values,) = values
    if not isinstance(values, dict):
        return values
    return {
        part: _positions(numbers, count) if isinstance(numbers, str) else numbers
        for part, numbers in values.items()
    }


def _positions(ranges: str, count: int) -> list[int]:
    """Return the positions in ranges such as ``0-4,7``; few more than ``count``."""
    out: list[int] = []
    for text in ranges.split(","):
        first, _, last = text.partition("-")
        begin, end = int(first), int(last or first)
        if not begin <= end < count:
            raise ValueError(f"{text!r} is no range of positions in 0..{count - 1}")
        out += range(begin, end + 1)
        if len(out) > count:  # one is in it twice
            break
    return out


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


def _fair_parts(
    sizes: tuple[int, ...],
    count: int,
    classes: Positions | None,
    rng: np.random.Generator,
) -> Positions:
    """Return the part of every graph: 1, 2, ... of the given sizes, or 0 for the rest.

    Parts take even steps through the graphs, class after class, and so of every class
    its share.
    """
    order = _by_class(count, classes, rng)
    part = np.zeros(count, dtype=np.int64)
    for number, size in enumerate(sizes, start=1):
        steps = ((np.arange(size) + 0.5) * order.size / size).astype(np.int64)
        part[order[steps]] = number
        order = np.delete(order, steps)
    return part
