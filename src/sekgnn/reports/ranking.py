"""In which order a run puts test graphs, beside their true order."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import rankdata

from sekgnn.reports import html
from sekgnn.reports.run_figures import Floats, Predictions
from sekgnn.reports.run_table import NOTHING

TOP = 10
"""Rows of a table."""


def spearman(true: Floats, predicted: Floats) -> float:
    """Return the correlation of ranks, ties at their mean; NaN if all are equal.

    Example:
        >>> spearman(np.array([1.0, 2.0, 9.0]), np.array([10.0, 30.0, 20.0]))
        0.5
    """
    ranks = rankdata(true), rankdata(predicted)
    apart = [rank - rank.mean() for rank in ranks]
    squares = float((apart[0] ** 2).sum() * (apart[1] ** 2).sum())
    if not squares:
        return math.nan
    return float((apart[0] * apart[1]).sum()) / math.sqrt(squares)


def rankings(predictions: Predictions, things: str) -> list[str]:
    """Return pieces of HTML: for each target the highest predictions, by rank.

    Rows without a true value are left out. ``things`` says what the rows are.
    """
    pieces = []
    for target in predictions.targets:
        true, predicted = predictions.numbers(target)
        known = np.flatnonzero(np.isfinite(true) & np.isfinite(predicted))
        if known.size < 2:
            continue
        true, predicted = true[known], predicted[known]
        true_rank = rankdata(-true, method="min")
        order = np.argsort(-predicted, kind="stable")[:TOP]
        among = int((true_rank[order] <= order.size).sum())
        rho = spearman(true, predicted)
        words = (
            f"Spearman's rho of predicted and true order: "
            f"{NOTHING if math.isnan(rho) else f'{rho:.3f}'}, over {known.size} "
            f"{things}. Of the {order.size} highest predictions {among} are among the "
            f"{order.size} highest true values; a rank of 1 is the highest."
        )
        names = _names(predictions, known[order].tolist())
        rows = [
            [
                str(rank),
                *name,
                f"{predicted[row]:.4g}",
                f"{true[row]:.4g}",
                str(int(true_rank[row])),
            ]
            for rank, (row, name) in enumerate(
                zip(order.tolist(), names, strict=True), start=1
            )
        ]
        head = ["rank", *_headings(predictions), "predicted", "true", "true rank"]
        content = [html.note(words), html.table(head, rows, keep=head)]
        title = f"Highest predictions of {target}"
        if len(predictions.targets) == 1:
            pieces += [html.heading(3, title), *content]
        else:
            pieces.append(html.folded(title, content))
    return pieces


def _headings(predictions: Predictions) -> list[str]:
    """Return the columns that say what a row is: those before the fold."""
    return [*predictions.columns][: [*predictions.columns].index("fold")]


def _names(predictions: Predictions, rows: list[int]) -> list[list[str]]:
    columns = [predictions.columns[name] for name in _headings(predictions)]
    return [[column[row] for column in columns] for row in rows]
