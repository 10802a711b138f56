"""Reading what a run predicted: one row per graph, or node, of the test part."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sekgnn.errors import GraphInputError

_TRUE, _PREDICTED = "true ", "predicted "


@dataclass(frozen=True, eq=False)
class Predictions:
    """A table of predictions, as text.

    Attributes:
        source: The file, for messages.
        targets: Names of the targets.
        folds: The fold of every row.
        true: Per target, the true value of every row; empty where it is missing.
        predicted: Per target, the predicted value of every row.
    """

    source: str
    targets: tuple[str, ...]
    folds: list[str]
    true: dict[str, list[str]]
    predicted: dict[str, list[str]]

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.folds)

    def numbers(self, target: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return true and predicted values of a target, float64 ``[R]`` each.

        Missing values are NaN.

        Raises:
            GraphInputError: If a value is no number.
        """
        return (
            self._numbers(_TRUE, target, self.true[target]),
            self._numbers(_PREDICTED, target, self.predicted[target]),
        )

    def _numbers(
        self, prefix: str, target: str, texts: list[str]
    ) -> NDArray[np.float64]:
        out = np.full(len(texts), np.nan)
        for i, text in enumerate(texts):
            if not text.strip():
                continue
            try:
                out[i] = float(text)
            except ValueError:
                raise GraphInputError(
                    f"{self.source}: column {prefix + target!r}, row {i + 1}: "
                    f"{text!r} is no number."
                ) from None
        return out


def read_predictions(path: str | os.PathLike[str]) -> Predictions:
    """Return the table in ``path``, usually ``predictions.csv`` of a run folder.

    Raises:
        GraphInputError: If the file cannot be read, lacks a column, or a row has more
            or fewer fields than the head.
    """
    try:
        with Path(path).open(encoding="utf-8", newline="") as file:
            rows = [row for row in csv.reader(file) if row]
    except (OSError, ValueError, csv.Error) as error:
        raise GraphInputError(f"{path} cannot be read: {error}.") from error
    head = rows[0] if rows else []
    targets = tuple(name.removeprefix(_TRUE) for name in head if name.startswith(_TRUE))
    needed = ["fold", *(_PREDICTED + target for target in targets)]
    missing = [repr(name) for name in needed if name not in head]
    if not targets or missing:
        lacks = missing[0] if targets else "true values"
        raise GraphInputError(
            f"{path} must have the columns fold and, per target, true and predicted; "
            f"it lacks {lacks}."
        )
    if len(set(head)) != len(head):
        raise GraphInputError(f"{path}: two columns have the same name.")
    for number, row in enumerate(rows[1:], start=1):
        if len(row) != len(head):
            raise GraphInputError(
                f"{path}: row {number} has {len(row)} fields, the head {len(head)}."
            )
    columns = dict(zip(head, map(list, zip(*rows[1:], strict=True)), strict=False))
    return Predictions(
        source=str(path),
        targets=targets,
        folds=columns.get("fold", []),
        true={name: columns.get(_TRUE + name, []) for name in targets},
        predicted={name: columns.get(_PREDICTED + name, []) for name in targets},
    )
