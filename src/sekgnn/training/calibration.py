r"""What validation graphs say: weights of models, where to cut, how far all may be off.

Split conformal prediction (Vovk et al., 2005; Lei et al., 2018): of n graphs that
neither trained nor chose anything (an epoch, a penalty, a point of a grid), with scores
:math:`s_i`, let q be the :math:`\lceil (n + 1) c \rceil`-th smallest. A new graph like
them has a score of at most q with probability at least c, whatever the model is. With
:math:`s = |y - \hat y|` that is the interval :math:`\hat y \pm q`, with
:math:`s = 1 - \hat p_y` the set of classes :math:`\{k : \hat p_k \ge 1 - q\}`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sekgnn.datasets.targets import TaskKind
from sekgnn.errors import ModelFileError
from sekgnn.training.objective import Objective

STEPS = 10
"""Weights are multiples of a tenth."""


@dataclass(frozen=True)
class Calibration:
    r"""What was found on the validation graphs of a training.

    Attributes:
        confidence: c, the share of new graphs whose interval or set should hold the
            truth; ``None`` if there are none.
        radii: q of every target, or of the one target with classes.
        graphs: n of every target.
        threshold: Probability above which the second of two classes is decided for;
            ``None`` where the likelier one is.
        weights: Share of every kind of model in their mean, where there are several.
        floors: Where intervals adapt, c of every target: an interval is
            :math:`\hat y \pm q (\sigma + c)` with the spread :math:`\sigma` of the
            models, and q is of the scores :math:`|y - \hat y| / (\sigma + c)`.
    """

    confidence: float | None = None
    radii: tuple[float, ...] = ()
    graphs: tuple[int, ...] = ()
    threshold: float | None = None
    weights: tuple[tuple[str, float], ...] = ()
    floors: tuple[float, ...] = ()

    @classmethod
    def fit(
        cls, goal: Objective, confidence: float, predicted: Tensor, y: Tensor,
        mask: Tensor, spread: Tensor | None = None, floors: tuple[float, ...] = (),
    ) -> Calibration:  # fmt: skip
        """Calibrate on graphs that chose nothing.

        Shapes:
            - **predicted:** probabilities :math:`(G, C)`, or values :math:`(G, T)`
            - **y:** :math:`(G)` or :math:`(G, T)`; **mask:** bool :math:`(G, T)`
            - **spread:** :math:`(G, T)`, for intervals that adapt, with ``floors``
        """
        scores = conformal_scores(goal.kind, predicted, y)
        if floors and spread is not None:
            scores = scores / (spread.double() + torch.tensor(floors).double())
        columns = [
            column[present].tolist()
            for column, present in zip(scores.unbind(1), mask.unbind(1), strict=True)
        ]
        return cls(
            confidence,
            tuple(conformal_radius(column, confidence) for column in columns),
            tuple(map(len, columns)),
            floors=floors,
        )

    def half_widths(
        self, spread: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return how far intervals reach to either side, ``[T]`` or ``[R, T]``.

        Args:
            spread: Of the models' predictions, ``[R, T]``; only where intervals adapt.

        Raises:
            ModelFileError: If they adapt, and there is no spread.
        """
        radii = np.array(self.radii)
        if not self.floors:
            return radii
        if spread is None:
            raise ModelFileError(
                "the intervals adapt to the spread of several models, but there is "
                "one; load the whole run folder, with all its models."
            )
        return radii * (spread + np.array(self.floors))

    @classmethod
    def joined(cls, calibrations: Sequence[Calibration | None]) -> Calibration | None:
        """Return what holds for the mean of models that were calibrated one by one.

        The largest radius of each target, as their mean is seldom worse than the worst
        of them, and the mean threshold.
        """
        known = [one for one in calibrations if one is not None]
        if not known or len(known) < len(calibrations):
            return None
        columns = zip(*(one.radii for one in known), strict=True)
        cuts = [one.threshold for one in known if one.threshold is not None]
        return cls(
            known[0].confidence,
            tuple(map(max, columns)),
            tuple(map(min, zip(*(one.graphs for one in known), strict=True))),
            None if not cuts else sum(cuts) / len(cuts),
            tuple(
                (kind, sum(dict(one.weights)[kind] for one in known) / len(known))
                for kind, _ in known[0].weights
            ),
            tuple(map(max, zip(*(one.floors for one in known), strict=True))),
        )

    def metrics(
        self,
        kind: TaskKind,
        names: Sequence[str],
        predicted: Tensor,
        y: Tensor,
        mask: Tensor,
        spread: NDArray[np.float64] | None = None,
    ) -> dict[str, float]:
        """Return ``coverage``, the share of intervals or sets that hold the truth.

        And how large they are: ``interval_width`` in the units of a target, or
        ``set_size``, the mean number of classes. With several targets, of each.
        Arguments as in :meth:`fit`, with the names of the targets.
        """
        scores = conformal_scores(kind, predicted, y)
        radii = torch.from_numpy(self.half_widths(spread)).expand(scores.shape)
        rows: list[tuple[float, float]] = []
        for column, present in enumerate(mask.unbind(1)):
            own = radii[present, column]
            inside = (scores[present, column] <= own).double()
            size = 2 * own.mean()
            if kind in ("binary", "multiclass"):
                within = 1 - predicted[present] <= own.unsqueeze(1)
                size = within.double().sum(1).mean()
            elif kind == "multilabel":
                p = predicted[present, column]
                both = torch.stack([1 - p, p]) <= own
                size = both.double().sum(0).mean()
            rows.append((float(inside.mean()), float(size)))
        what = "interval_width" if kind == "regression" else "set_size"
        if len(rows) == 1:
            return {"coverage": rows[0][0], what: rows[0][1]}
        out = {"coverage": float(np.nanmean([share for share, _ in rows]))}
        for name, row in zip(names, rows, strict=True):
            out |= {f"coverage[{name}]": row[0], f"{what}[{name}]": row[1]}
        return out


def best_threshold(
    goal: Objective, metric: str, predicted: Tensor, y: Tensor, mask: Tensor
) -> float:
    """Return the threshold of two classes with the best value of a metric.

    Tried are 1/2 and the middles between neighbouring probabilities of the second
    class; of equally good ones it is that nearest to 1/2.
    """
    known = torch.unique(predicted[mask[:, 0], 1].double())
    tried = [0.5, *((known[1:] + known[:-1]) / 2).tolist()]

    def merit(cut: float) -> tuple[float, float]:
        value = goal.metrics(predicted, y, mask, cut)[metric]
        return value, -abs(cut - 0.5)

    return max(tried, key=merit)


def conformal_scores(kind: TaskKind, predicted: Tensor, y: Tensor) -> Tensor:
    """Return how wrong predictions are, float64 ``[G, T]``."""
    if kind in ("binary", "multiclass"):
        return 1 - predicted.double().gather(1, y.unsqueeze(1))
    if kind == "multilabel":
        p = predicted.double()
        return torch.where(y > 0.5, 1 - p, p)
    return (predicted.double() - y.double()).abs()


def conformal_radius(scores: Sequence[float], confidence: float) -> float:
    """Return the smallest score that is large enough; infinite for too few scores.

    Example:
        >>> conformal_radius([3.0, 1.0, 2.0, 4.0], 0.8)
        4.0
    """
    rank = _rank(len(scores), confidence)
    return sorted(scores)[rank - 1] if rank <= len(scores) else math.inf


def least_graphs(confidence: float) -> int:
    """Return how many calibrated graphs a confidence needs.

    Example:
        >>> least_graphs(0.9), least_graphs(0.5)
        (9, 1)
    """
    return next(n for n in range(1, 10**7) if _rank(n, confidence) <= n)


def _rank(count: int, confidence: float) -> int:
    """Return the number of the score to take, from 1; rounding errors aside."""
    return math.ceil((count + 1) * confidence - 1e-9)


def blend_weights(
    goal: Objective, predicted: Sequence[Tensor], y: Tensor, mask: Tensor
) -> tuple[float, ...]:
    r"""Return the weights of K kinds of models, which add up to 1.

    Of all weights in steps of a tenth, let :math:`w^*` have the least mean loss on the
    validation graphs. Chosen are the weights nearest to equal ones whose loss is not
    clearly larger: by at most one standard error of the paired difference to that of
    :math:`w^*`. So a few graphs cannot give everything to one model by chance.

    Args:
        goal: The kind of task, and the scale of its targets.
        predicted: Of every kind, probabilities or values, ``[G, C]`` or ``[G, T]``.
        y: Targets, ``[G]`` or ``[G, T]``.
        mask: Where they are present, bool ``[G, T]``.
    """
    kinds = len(predicted)
    each = torch.stack([part.double() for part in predicted])  # [K, G, C]
    grid = torch.tensor(list(_simplex(kinds, STEPS)), dtype=torch.float64) / STEPS
    losses = torch.stack(
        [_losses(goal, torch.tensordot(w, each, dims=1), y, mask) for w in grid]
    )  # [P, G]
    best = losses[losses.mean(1).argmin()]
    worse = losses - best
    error = worse.std(1) / max(worse.size(1), 1) ** 0.5
    level = worse.mean(1) <= error.nan_to_num(0.0)
    unequal = (grid - 1 / kinds).square().sum(1)
    chosen = grid[torch.where(level, unequal, torch.inf).argmin()]
    return tuple(chosen.tolist())


def _simplex(parts: int, total: int) -> Iterator[tuple[int, ...]]:
    """Yield all tuples of so many non-negative integers with a sum."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _simplex(parts - 1, total - first):
            yield (first, *rest)


def _losses(goal: Objective, predicted: Tensor, y: Tensor, mask: Tensor) -> Tensor:
    """Return the loss of every graph: squared, or the logarithm of a probability."""
    if y.dim() == 1:
        p = predicted.gather(1, y.long().unsqueeze(1))[:, 0]
        return -p.clamp(min=1e-6).log()
    if goal.kind == "regression":
        scale = torch.tensor(goal.scale or (1.0,), dtype=torch.float64)
        loss = ((predicted - y.double()) / scale).square()
    else:
        p = torch.where(y > 0.5, predicted, 1 - predicted)
        loss = -p.clamp(min=1e-6).log()
    known = mask.double()
    return (loss.nan_to_num() * known).sum(1) / known.sum(1).clamp(min=1)
