"""Predictions as a table, for files and for figures."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.training.predictions import Predictions
from sekgnn.training.task_note import TaskNote


def predicted_headings(note: TaskNote) -> list[str]:
    """Return the headings of what a model predicts."""
    headings = [f"predicted {name}" for name in note.targets]
    if note.classes is not None:
        headings += [f"probability {label}" for label in note.classes]
    return headings


def predicted_fields(note: TaskNote, predicted: NDArray[np.float64]) -> list[list[Any]]:
    """Return a row of fields per row of predictions: label or values, probabilities.

    Args:
        note: What the columns mean.
        predicted: Probabilities ``[R, C]`` of classes, or values ``[R, T]``.
    """
    numbers = [[f"{value:.7g}" for value in row] for row in predicted.tolist()]
    if note.classes is None:
        return [list(row) for row in numbers]
    chosen = predicted.argmax(axis=1) if predicted.size else []
    return [
        [note.classes[int(c)], *row] for c, row in zip(chosen, numbers, strict=True)
    ]


def test_rows(note: TaskNote, found: Predictions, fold: int) -> list[list[Any]]:
    """Return the rows of test graphs, with their true targets.

    Args:
        note: What the columns mean.
        found: Outputs and targets.
        fold: Number of the fold, from 1.
    """
    predicted = note.objective.predictions(found.out).numpy()
    fields = predicted_fields(note, predicted)
    truth = found.y.reshape(len(found.y), -1)
    rows = []
    for i, graph in enumerate(found.graph.tolist()):
        true: list[Any] = []
        for target in range(found.mask.size(1)):
            if not found.mask[i, target]:
                true.append("")
            elif note.classes is not None:
                true.append(note.classes[int(truth[i, target])])
            else:
                true.append(f"{float(truth[i, target]):.7g}")
        width = len(note.targets)
        pairs = [v for pair in zip(true, fields[i][:width], strict=True) for v in pair]
        rows.append([graph, fold, *pairs, *fields[i][width:]])
    return rows


def test_headings(note: TaskNote) -> list[str]:
    """Return the headings of :func:`test_rows`."""
    pairs = [h for name in note.targets for h in (f"true {name}", f"predicted {name}")]
    return ["graph", "fold", *pairs, *predicted_headings(note)[len(note.targets) :]]


def to_csv(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """Return a table as the bytes of a CSV file."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(headings)
    writer.writerows(rows)
    return text.getvalue().encode()
