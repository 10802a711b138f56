"""How sure the difference of two models is that were tested on the same graphs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sekgnn.training.objective import Objective
from sekgnn.training.predictions import Rows

MOST_GROUPS = 100
"""Of graphs that are left out together; fewer graphs are left out one by one."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a model says of test graphs, and what is true of them.

    Attributes:
        objective: By whose first metric models are compared.
        predicted: Probabilities ``[R, C]`` of classes, or values ``[R, T]``.
        rows: Of the same graphs, with their targets.
        threshold: Above which the second of two classes is decided for, if not the
            likelier one.
    """

    objective: Objective
    predicted: Tensor
    rows: Rows
    threshold: float | None = None

    def leaving_out(self) -> NDArray[np.float64]:
        """Return the metric without each of up to ``MOST_GROUPS`` groups of graphs."""
        metric = self.objective.metric_names[0]
        graphs, number = torch.unique(self.rows.graph, return_inverse=True)
        groups = min(len(graphs), MOST_GROUPS)
        values: list[float] = []
        for group in range(groups if groups > 1 else 0):
            kept = number % groups != group
            truth = self.rows.y[kept], self.rows.mask[kept]
            measured = self.objective.metrics(
                self.predicted[kept], *truth, self.threshold
            )
            values.append(measured[metric])
        return np.array(values)


def paired_error(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    r"""Return the standard error of the difference of two models' metrics.

    That is the jackknife: with :math:`d_j` the difference without group j of g,
    :math:`\sqrt{(g - 1) / g \cdot \sum_j (d_j - \bar d)^2}`. Of a mean over graphs
    that are left out one by one it is :math:`s / \sqrt n`; it also does for metrics
    that are no means, such as areas under curves. NaN of fewer than two groups.

    Args:
        first: What :meth:`Outcome.leaving_out` returns, ``[g]``.
        second: Likewise, of the other model on the same graphs.

    Example:
        >>> errors = np.array([1.0, 4.0, 1.0])
        >>> left_out = (errors.sum() - errors) / 2
        >>> bool(np.isclose(paired_error(left_out, 0 * left_out), 1.0))
        True
    """
    each = first - second
    groups = each.size
    if groups < 2:
        return math.nan
    squares = (each - each.mean()) ** 2
    return float(np.sqrt((groups - 1) / groups * squares.sum()))
