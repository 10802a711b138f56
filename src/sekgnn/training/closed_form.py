r"""Linear layers that are solved instead of learned.

Regression: :math:`\min_{W,b} \sum_i \lVert W x_i + b - y_i \rVert^2 + \alpha
\lVert W \rVert^2`, by singular values in float64 of a triangle of all rows. Classes:
the loss of the task with the same penalty, by L-BFGS. In both,
:math:`\alpha` is the value on a grid with the smallest loss on validation graphs or,
where there are none, in a cross-validation inside the training graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sekgnn.models import Forest, GraphInputs, GraphModel
from sekgnn.nn import Standardizer
from sekgnn.training.objective import Objective
from sekgnn.training.predictions import Rows, predict_batches

# penalties; those of ridge times the largest squared singular value
_RIDGE = [10.0**k for k in range(2, -17, -1)]
_LOGISTIC = [10.0**k for k in range(1, -11, -1)]
_FOLDS = 5
_ROWS = 4096  # that are converted to float64 at a time
_LEAST_LEFT = 1e-4  # of a target's scale; float32 resolves no less in a sum


def read_rows(
    model: GraphModel, batches: Iterable[Any], feature: Callable[[GraphInputs], Tensor]
) -> Rows:
    """Return what ``feature`` makes of all graphs of a loader, and their targets."""
    return predict_batches(model, batches, lambda batch: feature(model.prepare(batch)))


def solve_skip(
    model: GraphModel, objective: Objective, train: Iterable[Any], val: Iterable[Any]
) -> None:
    """Solve the linear layer beside the network, which is to add nothing yet.

    There need be no validation batches; inputs of the model are fitted.
    """
    assert model.skip is not None
    tables = _tables(model, train, val, model.skip.rotated)
    weight, bias = solve_linear(objective, model.out_channels, *tables)
    model.skip.set_solution(weight)
    with torch.no_grad():
        model.head.weight.zero_()
        model.head.bias.copy_(bias)


def aim_at_the_rest(
    model: GraphModel, objective: Objective, train: Iterable[Any]
) -> Objective:
    """Return the objective in units of what :func:`solve_skip` misses of each target.

    So a network learns the rest of all targets alike, however much of each is linear.
    The layer is rescaled, and predicts as before. Classes stay as they are.
    """
    if not objective.is_least_squares:
        return objective
    skip, head = model.skip, model.head
    assert skip is not None
    table = read_rows(model, train, lambda inputs: skip(inputs) + head.bias)
    error = table.out.double() - objective.wanted(table.y.double())  # [R, T]
    error = torch.where(table.mask, error, 0.0)
    mean = error.square().sum(0) / table.mask.sum(0).clamp(min=1)
    unit = mean.sqrt().clamp(min=_LEAST_LEFT)
    unit[~table.mask.any(0)] = 1.0
    with torch.no_grad():
        skip.weight.div_(unit.unsqueeze(1))
        head.bias.div_(unit)
    scale = (float(u) * s for u, s in zip(unit, objective.scale, strict=True))
    return replace(objective, scale=tuple(scale))


def solve_head(
    model: GraphModel, objective: Objective, train: Iterable[Any], val: Iterable[Any]
) -> None:
    """Solve the last linear layer of a trained network, with its skip if it has one.

    The layer that was learned stays if it has the smaller loss on validation graphs.
    """
    skip, width = model.skip, model.head.in_features

    def feature(inputs: GraphInputs) -> Tensor:
        own = model.represent(inputs).double()
        if skip is None:
            return own
        return torch.cat([own, skip.rotated(inputs).double()], dim=1)

    tables = _tables(model, train, val, feature)
    scale = Standardizer(width).double()
    scale.fit(lambda: [tables[0].out[:, :width]])
    assert scale.shift is not None and scale.scale is not None

    def scaled(table: Rows) -> Rows:
        own, rest = table.out[:, :width], table.out[:, width:]
        return table._replace(out=torch.cat([scale(own), rest], dim=1))

    train_table, val_table = tables
    watched = None if val_table is None else scaled(val_table)
    weight, bias = solve_linear(
        objective, model.out_channels, scaled(train_table), watched
    )
    own = weight[:, :width] / scale.scale
    shift = bias - own @ scale.shift
    if val_table is not None and watched is not None:
        parts = [model.head.weight]
        if skip is not None:
            parts.append(skip.weight * skip.standardizer.whitening())
        learned = torch.cat(parts, dim=1).detach().double()
        before = val_table.out @ learned.t() + model.head.bias.detach().double()
        after = watched.out @ weight.t() + bias
        if _loss(objective, before, val_table) <= _loss(objective, after, val_table):
            return
    with torch.no_grad():
        model.head.weight.copy_(own)
        model.head.bias.copy_(shift)
    if skip is not None:
        skip.set_solution(weight[:, width:])


def grow_forest(
    model: Forest, objective: Objective, train: Iterable[Any], seed: int
) -> None:
    """Grow a forest on training graphs; ``seed`` fixes the trees."""
    table = read_rows(model, train, model.features)
    y = table.y
    if objective.link == "none":
        y = objective.wanted(y.double())
    weights = objective.weights(table.y, table.weight)
    model.grow(table.out.double(), y, table.mask, objective.link, seed, weights)


def solve_linear(
    objective: Objective, outputs: int, train: Rows, val: Rows | None
) -> tuple[Tensor, Tensor]:
    """Return weights ``[T, P]`` and bias ``[T]`` of T outputs, float64.

    Without ``val``, a cross-validation chooses the penalty.
    """
    used = train.out.any(dim=0)  # axes that do not vary are zero: fewer to solve for
    if not bool(used.all()):
        watched = None if val is None else val._replace(out=val.out[:, used])
        fewer = train._replace(out=train.out[:, used])
        solved, bias = solve_linear(objective, outputs, fewer, watched)
        weight = solved.new_zeros(len(solved), len(used))
        weight[:, used] = solved
        return weight, bias
    if not objective.is_least_squares:
        return _solve_logistic(objective, outputs, train, val)
    wanted = objective.wanted(train.y.double())  # [R, T]
    weight = wanted.new_zeros(wanted.size(1), train.out.size(1))
    bias = wanted.new_zeros(wanted.size(1))
    masks = train.mask if val is None else torch.cat([train.mask, val.mask])
    same, which = torch.unique(masks, dim=1, return_inverse=True)  # present alike
    for group in range(same.size(1)):
        targets = (which == group).nonzero().squeeze(1)
        here = train.mask[:, targets[0]]
        known = train._replace(y=wanted[:, targets]).chosen(here)
        solve = _ridge(known)
        if val is None or not val.mask[:, targets[0]].any():
            scores = [_ridge_scores(objective, _ridge(a), b) for a, b in _folds(known)]
        else:
            truth = objective.wanted(val.y.double())[:, targets]
            watched = val._replace(y=truth).chosen(val.mask[:, targets[0]])
            scores = [_ridge_scores(objective, solve, watched)]
        best = torch.stack(scores).mean(0).argmin(0)  # [T]
        for column, (target, rank) in enumerate(
            zip(targets.tolist(), best.tolist(), strict=True)
        ):
            weights, level = solve(_RIDGE[rank])
            weight[target], bias[target] = weights[:, column], level[column]
    return weight, bias


def _solve_logistic(
    objective: Objective, outputs: int, train: Rows, val: Rows | None
) -> tuple[Tensor, Tensor]:
    train = train._replace(out=train.out.double())
    pairs = [(train, val)] if val is not None else _folds(train)
    paths = [_logistic_path(objective, outputs, *pair, _LOGISTIC) for pair in pairs]
    best = int(torch.stack([scores for _, scores in paths]).mean(0).argmin())
    if val is not None:
        return paths[0][0][best]
    path, _ = _logistic_path(objective, outputs, train, None, _LOGISTIC[: best + 1])
    return path[-1]


def _tables(
    model: GraphModel,
    train: Iterable[Any],
    val: Iterable[Any],
    feature: Callable[[GraphInputs], Tensor],
) -> tuple[Rows, Rows | None]:
    watched = list(val)
    return (
        read_rows(model, train, feature),
        read_rows(model, watched, feature) if watched else None,
    )


def inner_folds(keys: NDArray[np.int64]) -> list[NDArray[np.bool_]]:
    """Return the rows held out by each fold of an inner cross-validation, bool ``[R]``.

    They take turns in the order of their keys: classes, or positions.
    """
    fold = np.empty(keys.size, dtype=np.int64)
    fold[np.argsort(keys, kind="stable")] = np.arange(keys.size) % _FOLDS
    return [fold == i for i in range(min(_FOLDS, max(keys.size, 2)))]


def _folds(table: Rows) -> list[tuple[Rows, Rows]]:
    """Return training and validation rows of an inner cross-validation."""
    masks = map(torch.from_numpy, inner_folds(np.arange(len(table.out))))
    return [(table.chosen(~held_out), table.chosen(held_out)) for held_out in masks]


def _ridge(rows: Rows) -> Callable[[float], tuple[Tensor, Tensor]]:
    """Return what gives weights ``[P, T]`` and bias ``[T]`` for a penalty."""
    width, outputs = rows.out.size(1), rows.y.size(1)
    triangle = _triangle(rows)
    first, rest = triangle[0], triangle[1 : 1 + width]
    if not bool(first[0]):
        zeros = triangle.new_zeros(width, outputs), triangle.new_zeros(outputs)
        return lambda _: zeros
    mean, level = first[1 : 1 + width] / first[0], first[1 + width :] / first[0]
    left, values, right = torch.linalg.svd(rest[:, 1 : 1 + width], full_matrices=False)
    against = left.t() @ rest[:, 1 + width :]  # [P, T]
    top = values.max().square() if values.numel() else values.new_zeros(())

    def solve(alpha: float) -> tuple[Tensor, Tensor]:
        size = values.square() + alpha * top
        share = torch.where(size > 0, values / size, 0.0)
        weight = right.t() @ (share.unsqueeze(1) * against)
        return weight, level - mean @ weight

    return solve


def _triangle(rows: Rows) -> Tensor:
    r"""Return R of :math:`QR = \sqrt w\,[1 \,\|\, x \,\|\, y]`, float64.

    Least squares have the same solution for R as for all rows. Its first row is the
    mean, and the rest what differs from it. Pieces bound the memory.
    """
    size = 1 + rows.out.size(1) + rows.y.size(1)
    triangle = rows.y.new_zeros(1, size)
    for x, y, w in zip(
        *(
            torch.split(part, _ROWS + 2 * size)
            for part in (rows.out, rows.y, rows.weight)
        ),
        strict=True,
    ):
        root = w.to(y).sqrt().unsqueeze(1)
        piece = torch.cat([root, root * x.to(y), root * y], dim=1)
        triangle = torch.linalg.qr(torch.cat([triangle, piece]), mode="r")[1]
    return triangle


def _ridge_scores(
    objective: Objective, solve: Callable[[float], tuple[Tensor, Tensor]], val: Rows
) -> Tensor:
    """Return the validation loss for every penalty and target, ``[A, T]``."""
    x, scores = val.out.double(), []
    for alpha in _RIDGE:
        weight, bias = solve(alpha)
        error = x @ weight + bias - val.y
        each = error.square() if objective.loss == "mse" else error.abs()
        scores.append(each.mean(0) if len(each) else each.new_zeros(each.size(1)))
    return torch.stack(scores)


def _loss(objective: Objective, out: Tensor, table: Rows) -> Tensor:
    total, count = objective.loss_sum(out, table.y, table.mask, table.weight)
    return total / count.clamp(min=1)


def _logistic_path(
    objective: Objective,
    outputs: int,
    train: Rows,
    val: Rows | None,
    alphas: Sequence[float],
) -> tuple[list[tuple[Tensor, Tensor]], Tensor]:
    """Return the solutions from strong to weak penalties, and their validation loss.

    A path whose loss has risen twice is not followed further: it is infinite there.
    """
    weight = train.out.new_zeros(outputs, train.out.size(1)).requires_grad_()
    bias = train.out.new_zeros(outputs).requires_grad_()
    path: list[tuple[Tensor, Tensor]] = []
    scores = train.out.new_full((len(alphas),), torch.inf)
    for i, alpha in enumerate(alphas):
        descent = torch.optim.LBFGS(
            [weight, bias],
            max_iter=200,
            history_size=20,
            tolerance_grad=1e-7,
            tolerance_change=1e-10,
            line_search_fn="strong_wolfe",
        )

        def closure() -> Tensor:
            descent.zero_grad()  # noqa: B023
            out = torch.nn.functional.linear(train.out, weight, bias)
            total = _loss(objective, out, train)
            total = total + 0.5 * alpha * weight.square().sum()  # noqa: B023
            total.backward()  # type: ignore[no-untyped-call]
            return total

        with torch.enable_grad():
            descent.step(closure)  # type: ignore[no-untyped-call]
        path.append((weight.detach().clone(), bias.detach().clone()))
        if val is not None:
            out = val.out.double() @ path[-1][0].t() + path[-1][1]
            scores[i] = _loss(objective, out, val)
            if i > 1 and scores[i] > scores[i - 1] > scores[i - 2]:
                break
    return path, scores
