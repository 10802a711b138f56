"""How much of a prediction each kind of model makes: weights by validation graphs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from sekgnn.training.objective import Objective

STEPS = 10
"""Weights are multiples of a tenth."""


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
