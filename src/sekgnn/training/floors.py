r"""The least error that any predictor can have which sees colours only.

Such a predictor gives all objects of a colour the same answer. The best one answers
with the commonest class, for the mean absolute error with the median, and for the mean
squared error with the mean of the targets in each class of equal colour.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.datasets.targets import TaskKind

Classes = NDArray[np.int64]
"""The class of every object, graph or node, ``[R]``."""


def joined(*partitions: NDArray[Any]) -> Classes:
    """Return the classes of objects that are alike in all of some arrays.

    Each is ``[R]`` or ``[R, W]``, and there is at least one.

    Example:
        >>> joined(np.array([0, 0, 1]), np.array([5, 6, 6])).tolist()
        [0, 1, 2]
    """
    out = np.zeros(len(partitions[0]), dtype=np.int64)
    for partition in partitions:
        for column in np.atleast_2d(partition.T):
            _, numbers = np.unique(column, return_inverse=True)
            _, out = np.unique(
                out * (numbers.max(initial=0) + 1) + numbers, return_inverse=True
            )
    return out


def in_conflict(
    classes: Classes, y: NDArray[Any], mask: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Tell which objects share their class with one of another target, bool ``[R]``.

    Targets are ``[R, T]``, as is where they are present.
    """
    out = np.zeros(len(classes), dtype=np.bool_)
    for values, present in zip(y.T, mask.T, strict=True):
        rows = np.flatnonzero(present)
        order, starts = _groups(classes[rows], values[rows])
        sizes = np.diff([*starts, rows.size])
        ends = starts + sizes - 1
        sorted_values = values[rows][order]
        differ = sorted_values[starts] != sorted_values[ends]
        out[rows[order]] |= np.repeat(differ, sizes)
    return out


def floors(
    kind: TaskKind, classes: Classes, y: NDArray[Any], mask: NDArray[np.bool_]
) -> list[dict[str, float]]:
    """Return, for each target, the best that any function of the classes can reach.

    ``accuracy``; or ``mae`` and ``rmse``, in the units of the target. NaN of a target
    that no object has. Targets are class numbers or numbers, ``[R, T]``, as is where
    they are present.

    Example:
        >>> one, ones = np.array([[0.0], [1.0], [5.0]]), np.ones((3, 1), dtype=bool)
        >>> found = floors("regression", np.array([0, 0, 1]), one, ones)[0]
        >>> round(found["rmse"] ** 2, 6)
        0.166667
    """
    out = []
    for values, present in zip(y.T, mask.T, strict=True):
        known, numbers = classes[present], values[present].astype(np.float64)
        if not known.size:
            nothing = ("mae", "rmse") if kind == "regression" else ("accuracy",)
            out.append(dict.fromkeys(nothing, np.nan))
            continue
        order, starts = _groups(known, numbers)
        sizes = np.diff([*starts, known.size])
        numbers = numbers[order]
        if kind == "regression":
            rank = np.arange(known.size) - np.repeat(starts, sizes)
            side = np.sign(2 * rank - np.repeat(sizes - 1, sizes))  # of the median
            apart = numbers - np.repeat(numbers[starts], sizes)  # equal ones: exactly 0
            means = np.add.reduceat(apart, starts) / sizes
            squares = (apart - np.repeat(means, sizes)) ** 2
            mae = float((side * apart).mean())
            out.append({"mae": mae, "rmse": float(np.sqrt(squares.mean()))})
            continue
        pairs = joined(known[order], numbers)
        counts = np.bincount(pairs)
        best = np.maximum.reduceat(counts[pairs], starts)
        out.append({"accuracy": float(best.sum() / known.size)})
    return out


def _groups(
    classes: Classes, values: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the order by class, then value, and where each class begins in it."""
    order = np.lexsort((values, classes))
    ordered = classes[order]
    return order, np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1))
