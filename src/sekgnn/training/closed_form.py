r"""Linear layers that are solved instead of learned.

Regression: :math:`\min_{W,b} \sum_i \lVert W x_i + b - y_i \rVert^2 + \alpha
\lVert W \rVert^2`, by singular values in float64. Classes: the loss of the task with
the same penalty, by L-BFGS. In both, :math:`\alpha` is the value on a grid with the
smallest loss on validation graphs or, where there are none, in a cross-validation
inside the training graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from sekgnn.datasets.graph_task import Y_MASK, row_weights
from sekgnn.models import Forest, GraphInputs, GraphModel
from sekgnn.nn import Standardizer
from sekgnn.training.objective import Objective

# penalties; those of ridge times the largest squared singular value
_RIDGE = [10.0**k for k in range(2, -17, -1)]
_LOGISTIC = [10.0**k for k in range(1, -11, -1)]
_FOLDS = 5


class Table(NamedTuple):
    """Features and targets of some graphs, or nodes.

    Attributes:
        x: Features, float64 ``[R, P]``.
        y: Targets, ``[R]`` or ``[R, T]``.
        mask: Where they are present, bool ``[R, T]``.
        weight: How much the loss of each row weighs, ``[R]``; ``None`` if equally.
    """

    x: Tensor
    y: Tensor
    mask: Tensor
    weight: Tensor | None = None

    def rows(self, chosen: Tensor) -> Table:
        """Return some rows, by number or by bool."""
        weight = None if self.weight is None else self.weight[chosen]
        return Table(self.x[chosen], self.y[chosen], self.mask[chosen], weight)

    def columns(self, chosen: Tensor) -> Table:
        """Return some features, by number or by bool."""
        return self._replace(x=self.x[:, chosen])


@torch.no_grad()
def read_table(
    model: GraphModel, batches: Iterable[Any], feature: Callable[[GraphInputs], Tensor]
) -> Table:
    """Return what ``feature`` makes of all graphs of a loader, and their targets."""
    was_training = model.training
    model.eval()
    parts = []
    for batch in batches:
        x = feature(model.prepare(batch)).double()
        weight = row_weights(batch, model.level)
        parts.append(Table(x, batch.y, batch[Y_MASK], weight))
    model.train(was_training)
    weights = [part.weight for part in parts if part.weight is not None]
    x, y, mask = (torch.cat(c) for c in zip(*(part[:3] for part in parts), strict=True))
    return Table(x, y, mask, torch.cat(weights) if weights else None)


def solve_skip(
    model: GraphModel, objective: Objective, train: Iterable[Any], val: Iterable[Any]
) -> None:
    """Solve the linear layer beside the network, which is to add nothing yet.

    Args:
        model: With a skip, its inputs fitted.
        objective: Loss of the task.
        train: Batches of the training graphs.
        val: Batches of the validation graphs; may be empty.
    """
    assert model.skip is not None
    tables = _tables(model, train, val, model.skip.rotated)
    weight, bias = solve_linear(objective, model.out_channels, *tables)
    model.skip.set_solution(weight)
    with torch.no_grad():
        model.head.weight.zero_()
        model.head.bias.copy_(bias)


def solve_head(
    model: GraphModel, objective: Objective, train: Iterable[Any], val: Iterable[Any]
) -> None:
    """Solve the last linear layer of a trained network, with its skip if it has one.

    The layer that was learned stays if it has the smaller loss on validation graphs.
    Arguments are those of :func:`solve_skip`.
    """
    skip, width = model.skip, model.head.in_features

    def feature(inputs: GraphInputs) -> Tensor:
        own = model.represent(inputs)
        return own if skip is None else torch.cat([own, skip.rotated(inputs)], dim=1)

    tables = _tables(model, train, val, feature)
    scale = Standardizer(width).double()
    scale.fit(lambda: [tables[0].x[:, :width]])
    assert scale.shift is not None and scale.scale is not None

    def scaled(table: Table) -> Table:
        own, rest = table.x[:, :width], table.x[:, width:]
        return table._replace(x=torch.cat([scale(own), rest], dim=1))

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
        before = val_table.x @ learned.t() + model.head.bias.detach().double()
        after = watched.x @ weight.t() + bias
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
    """Grow a forest on training graphs.

    Args:
        model: The forest.
        objective: Loss of the task.
        train: Batches of the training graphs.
        seed: Fixes the trees.
    """
    table = read_table(model, train, model.features)
    x, y, mask, weight = table
    weights = objective.weights(y, weight)
    if objective.link == "none":
        y = objective.wanted(y.double())
    model.grow(x, y, mask, objective.link, seed, weights)


def solve_linear(
    objective: Objective, outputs: int, train: Table, val: Table | None
) -> tuple[Tensor, Tensor]:
    """Return weights ``[T, P]`` and bias ``[T]`` of T outputs, float64.

    Args:
        objective: Loss of the task.
        outputs: T.
        train: To solve for.
        val: To choose the penalty by; ``None`` for a cross-validation.
    """
    used = train.x.any(dim=0)  # axes that do not vary are zero: fewer to solve for
    if not bool(used.all()):
        watched = None if val is None else val.columns(used)
        solved, bias = solve_linear(objective, outputs, train.columns(used), watched)
        weight = solved.new_zeros(len(solved), len(used))
        weight[:, used] = solved
        return weight, bias
    parts = [(train, val)] if val is not None else _folds(train)
    if not objective.is_least_squares:
        paths = [_logistic_path(objective, outputs, *part, _LOGISTIC) for part in parts]
        best = int(torch.stack([scores for _, scores in paths]).mean(0).argmin())
        if val is not None:
            return paths[0][0][best]
        path, _ = _logistic_path(objective, outputs, train, None, _LOGISTIC[: best + 1])
        return path[-1]
    wanted = objective.wanted(train.y.double())  # [R, T]
    columns = []
    for target in range(wanted.size(1)):
        if val is not None and not val.mask[:, target].any():
            parts = _folds(train)
        scores = [_ridge_scores(objective, *part, target) for part in parts]
        best = int(torch.stack(scores).mean(0).argmin())
        own = train.rows(train.mask[:, target])
        solve = _ridge(own, wanted[train.mask[:, target], target])
        columns.append(solve(_RIDGE[best]))
    weights, biases = zip(*columns, strict=True)
    return torch.stack(weights), torch.stack(biases)


def _tables(
    model: GraphModel,
    train: Iterable[Any],
    val: Iterable[Any],
    feature: Callable[[GraphInputs], Tensor],
) -> tuple[Table, Table | None]:
    watched = list(val)
    return (
        read_table(model, train, feature),
        read_table(model, watched, feature) if watched else None,
    )


def _folds(table: Table) -> list[tuple[Table, Table]]:
    """Return training and validation rows of an inner cross-validation."""
    fold = torch.arange(len(table.x)) % _FOLDS
    used = range(min(_FOLDS, max(len(table.x), 2)))
    return [(table.rows(fold != i), table.rows(fold == i)) for i in used]


def _ridge(rows: Table, y: Tensor) -> Callable[[float], tuple[Tensor, Tensor]]:
    """Return what gives weights ``[P]`` and bias for a penalty.

    Args:
        rows: Features and weights of the rows.
        y: What to solve for, ``[R]``.
    """
    x = rows.x
    weight = x.new_ones(len(x)) if rows.weight is None else rows.weight.to(x)
    if not bool(weight.any()):
        return lambda _: (x.new_zeros(x.size(1)), x.new_zeros(()))
    total, root = weight.sum(), weight.sqrt()
    mean, level = (weight @ x) / total, (weight @ y) / total
    # P x P at most, for the values
    rotation, triangle = torch.linalg.qr((x - mean) * root.unsqueeze(1))
    left, values, right = torch.linalg.svd(triangle, full_matrices=False)
    against = left.t() @ (rotation.t() @ ((y - level) * root))
    top = values.max().square() if values.numel() else values.new_zeros(())

    def solve(alpha: float) -> tuple[Tensor, Tensor]:
        size = values.square() + alpha * top
        share = torch.where(size > 0, values / size, 0.0)
        weight = right.t() @ (share * against)
        return weight, level - mean @ weight

    return solve


def _ridge_scores(
    objective: Objective, train: Table, val: Table, target: int
) -> Tensor:
    """Return the validation loss of one target for every penalty."""
    wanted = objective.wanted(train.y.double())[:, target]
    truth = objective.wanted(val.y.double())[:, target]
    here, there = train.mask[:, target], val.mask[:, target]
    solve = _ridge(train.rows(here), wanted[here])
    scores = []
    for alpha in _RIDGE:
        weight, bias = solve(alpha)
        error = val.x[there] @ weight + bias - truth[there]
        squared = objective.loss == "mse"
        each = error.square() if squared else error.abs()
        scores.append(each.mean() if each.numel() else each.new_zeros(()))
    return torch.stack(scores)


def _loss(objective: Objective, out: Tensor, table: Table) -> Tensor:
    total, count = objective.loss_sum(out, table.y, table.mask, table.weight)
    return total / count.clamp(min=1)


def _logistic_path(
    objective: Objective,
    outputs: int,
    train: Table,
    val: Table | None,
    alphas: Sequence[float],
) -> tuple[list[tuple[Tensor, Tensor]], Tensor]:
    """Return the solutions from strong to weak penalties, and their validation loss.

    A path whose loss has risen twice is not followed further: it is infinite there.
    """
    weight = train.x.new_zeros(outputs, train.x.size(1)).requires_grad_()
    bias = train.x.new_zeros(outputs).requires_grad_()
    found: list[tuple[Tensor, Tensor]] = []
    scores = train.x.new_full((len(alphas),), torch.inf)
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
            out = torch.nn.functional.linear(train.x, weight, bias)
            total = _loss(objective, out, train)
            total = total + 0.5 * alpha * weight.square().sum()  # noqa: B023
            total.backward()  # type: ignore[no-untyped-call]
            return total

        with torch.enable_grad():
            descent.step(closure)  # type: ignore[no-untyped-call]
        found.append((weight.detach().clone(), bias.detach().clone()))
        if val is not None:
            out = val.x @ found[-1][0].t() + found[-1][1]
            scores[i] = _loss(objective, out, val)
            if i > 1 and scores[i] > scores[i - 1] > scores[i - 2]:
                break
    return found, scores
