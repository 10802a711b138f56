"""Comparison of runs on the same folds, fold by fold."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.reports.finished_runs import Run
from sekgnn.reports.run_table import (
    markdown_table,
    reported,
    show_difference,
    show_value,
)
from sekgnn.training.run_record import Result, RunRecord, is_better_high

_HEAD = ("first run", "second run", "data", "protocol", "metric", "folds",
         "first - second", "verdict")  # fmt: skip
_ENOUGH = 2.0  # standard errors
NOTE = (
    "Mean over the folds of the first run minus the second, ± its standard error "
    "(standard deviation with ddof 1, divided by the root of the number of folds). "
    "Folds share training graphs, so that true errors are somewhat larger."
)


@dataclass(frozen=True)
class PairedDifference:
    r"""The difference of two runs on the same test folds.

    With :math:`d_f` the first run's number in fold f minus the second's, the difference
    is :math:`\bar d = \sum_f d_f / F` and its standard error
    :math:`\sqrt{\sum_f (d_f - \bar d)^2 / (F - 1)} / \sqrt F`.
    """

    first: str
    second: str
    data: str
    protocol: str
    metric: str
    folds: int
    difference: float
    error: float

    @property
    def verdict(self) -> str:
        """The better run, unless the difference may be chance."""
        if self.difference == 0 or abs(self.difference) < _ENOUGH * self.error:
            return "not significant"
        higher = self.difference > 0
        better = higher == is_better_high(self.metric)
        return f"{self.first if better else self.second} is better"

    def to_dict(self) -> dict[str, Any]:
        """Return everything, the verdict included."""
        return {**asdict(self), "verdict": self.verdict}


def paired_differences(
    runs: Sequence[Run], metrics: Sequence[str] = ()
) -> list[PairedDifference]:
    """Compare every two runs of the same data, protocol and test folds."""
    groups: dict[Any, list[tuple[Run, NDArray[np.float64]]]] = {}
    for run in runs:
        for result in reported(run.record, metrics):
            values = fold_values(run.record, result)
            if values.size > 1 and np.isfinite(values).all():
                key = (*_same(run.record), result.protocol, result.metric)
                groups.setdefault(key, []).append((run, values))
    out = []
    for (*_, protocol, metric), members in groups.items():
        for (one, first), (other, second) in itertools.combinations(members, 2):
            data = str(one.record.data.get("name") or "")
            each = first - second  # [F]
            about = one.name, other.name, data, protocol, metric, each.size
            error = float(each.std(ddof=1) / math.sqrt(each.size))
            out.append(PairedDifference(*about, float(each.mean()), error))
    return out


def fold_values(record: RunRecord, result: Result) -> NDArray[np.float64]:
    """Return the numbers of the folds whose mean is a result, ``[F]``."""
    values = []
    for fold in record.folds:
        curve = fold.curves.get(result.metric, ())
        if result.protocol == "wijesinghe2022":
            best = max if is_better_high(result.metric) else min
            values.append(best(curve, default=math.nan))
        elif result.epoch is not None:
            there = result.epoch <= len(curve)
            values.append(curve[result.epoch - 1] if there else math.nan)
        else:
            values.append(fold.metrics.get(result.metric, math.nan))
    return np.array(values, dtype=np.float64)


def _same(record: RunRecord) -> tuple[Any, ...]:
    """Return what comparable runs share: graphs, targets and test folds."""
    tests = tuple(tuple(fold.split.get("test", ())) for fold in record.folds)
    targets = tuple(record.data.get("targets") or ())
    return record.data.get("fingerprint"), targets, tests


def paired_cells(
    pairs: Sequence[PairedDifference],
) -> tuple[list[str], list[list[str]]]:
    """Return the comparisons as text: head and rows."""
    body = [
        [
            pair.first, pair.second, pair.data, pair.protocol, pair.metric,
            str(pair.folds),
            f"{show_difference(pair.metric, pair.difference)} "
            f"± {show_value(pair.metric, pair.error)}",
            pair.verdict,
        ]
        for pair in pairs
    ]  # fmt: skip
    return list(_HEAD), body


def paired_markdown(pairs: Sequence[PairedDifference]) -> str:
    """Return the comparisons as a section of Markdown; empty if there are none."""
    if not pairs:
        return ""
    table = markdown_table(*paired_cells(pairs))
    return f"\n## Paired differences\n\n{NOTE}\n\n{table}\n"


def paired_terminal(pairs: Sequence[PairedDifference]) -> str:
    """Return a sentence per comparison for a terminal."""
    lines = []
    for line in paired_cells(pairs)[1]:
        first, second, _, protocol, metric, folds, difference, verdict = line
        lines.append(
            f"{first} - {second}: {metric} {difference} over {folds} folds "
            f"({protocol}): {verdict}"
        )
    return "\n".join(lines)
