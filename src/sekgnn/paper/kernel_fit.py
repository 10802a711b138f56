r"""Kernel machines, fitted: parameters by validation, then one exact solution.

C is over the mean k(G, G) of training graphs, which is 1 for all kernels but ``gntk``.
Classes: scikit-learn's ``SVC`` on the matrix of kernel values, by accuracy. Numbers:
:math:`\min_a \lVert K a + b - y \rVert^2 + \frac{1}{2C} a^\top K a` for every target,
with b the mean of y and negative eigenvalues of K set to 0, by the loss of the task.
Weights of graphs and classes count in all of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from sekgnn.datasets.graph_task import Y_MASK, row_weights
from sekgnn.paper.graph_kernels import GraphKernel, KernelGraphs, KnownValues
from sekgnn.paper.kinds import DistanceOptions
from sekgnn.training.closed_form import inner_folds
from sekgnn.training.objective import Objective

if TYPE_CHECKING:
    from sekgnn.paper.kernel_machine import KernelMachine

Matrix = NDArray[np.float64]
Rows = tuple[NDArray[np.int64], NDArray[np.int64]]
Solution = tuple[NDArray[np.int64], Matrix, Matrix]
"""Rows that count, int64 ``[S]``, their coefficients ``[S, P]``, and shifts ``[P]``."""
_SVM_C = (0.1, 1.0, 10.0, 100.0, 1000.0)
_RIDGE_C = tuple(10.0**k for k in range(-2, 9))
_GAMMA = (0.1, 0.5, 2.0, 10.0)  # over the mean distance of training graphs


class Targets(NamedTuple):
    """Class numbers ``[R]``, or numbers ``[R, T]``, to learn; weights ``[R]``."""

    y: NDArray[Any]
    mask: NDArray[np.bool_]
    weight: Matrix

    def rows(self, chosen: NDArray[np.int64]) -> Targets:
        """Return some rows."""
        return Targets(self.y[chosen], self.mask[chosen], self.weight[chosen])


def known_values(
    model: KernelMachine, batches: Iterable[Any], kernel: GraphKernel
) -> KnownValues:
    """Return the kernel between all graphs of a loader."""
    graphs = KernelGraphs.join([model.read(model.prepare(b)) for b in batches])
    digests = graphs.digests()
    index = {digest: i for i, digest in enumerate(dict.fromkeys(digests))}
    first = {digest: i for i, digest in reversed([*enumerate(digests)])}
    distinct = graphs.subset([first[digest] for digest in index])
    return KnownValues(index, kernel.between(distinct))


def fit_kernel(
    model: KernelMachine,
    objective: Objective,
    train: Iterable[Any],
    val: Iterable[Any],
    kernel_values: Callable[[GraphKernel], KnownValues],
) -> None:
    """Choose the parameters and solve.

    Without validation batches the parameters are chosen by cross-validation on the
    training graphs. ``kernel_values`` returns the values between at least these graphs;
    the model keeps them in memory, not in its file.
    """
    graphs, targets = _read(model, objective, train)
    all_graphs, all_targets = graphs, targets
    train_rows = rows = np.arange(len(graphs))
    is_classes = objective.link == "softmax"
    inner = [
        (np.flatnonzero(~held_out), np.flatnonzero(held_out))
        for held_out in inner_folds(targets.y if is_classes else rows)
    ]
    if len(batches := list(val)):
        val_graphs, val_targets = _read(model, objective, batches)
        all_graphs = KernelGraphs.join([graphs, val_graphs])
        all_targets = Targets(
            *(np.concatenate(pair) for pair in zip(targets, val_targets, strict=True))
        )
        inner = [(train_rows, np.arange(len(graphs), len(all_graphs)))]
    kernel = model.kernel().fitted(graphs)
    model.known = kernel_values(kernel)
    model.scale.fill_(getattr(kernel, "scale", 1.0))
    values = model.known.find(all_graphs, all_graphs)
    assert values is not None  # all graphs were seen
    machine = _Classes() if is_classes else _Numbers(objective.loss == "mse")
    level, gamma, c = _choose(model, machine, values, all_targets, inner, train_rows)
    matrix = model.shape(values[level], gamma)[np.ix_(train_rows, train_rows)]
    used, coef, intercept = machine.solve(matrix, targets, c)
    model.gamma.fill_(gamma)
    model.chosen.fill_(model.kernel().levels[level])
    model.set_solution(graphs.subset(used), coef, intercept, objective.link)


def _choose(
    model: KernelMachine,
    machine: _Classes | _Numbers,
    values: NDArray[np.float64],
    targets: Targets,
    inner: Sequence[Rows],
    training: NDArray[np.int64],
) -> tuple[int, float, float]:
    """Return the level, γ and C with the best mean score; the first of equal ones."""
    svm_c = model.options.svm_c
    penalties = machine.penalties if svm_c is None else (svm_c,)
    scores: dict[tuple[int, float, float], float] = {}
    for level, table in enumerate(values):
        for gamma in _gammas(model, table[np.ix_(training, training)]):
            matrix = model.shape(table, gamma)
            folds = [machine.scores(matrix, targets, rows, penalties) for rows in inner]
            for c, score in zip(penalties, np.mean(folds, axis=0), strict=True):
                scores[level, gamma, c] = float(score)
    return max(scores, key=scores.__getitem__)


def _gammas(model: KernelMachine, distances: Matrix) -> tuple[float, ...]:
    """Return the values of γ to try, from the distances of training graphs."""
    if not model.kernel().is_distance:
        return (1.0,)
    if isinstance(model.options, DistanceOptions) and model.options.gamma is not None:
        return (model.options.gamma,)
    mean = float(distances.mean())
    return tuple(factor / mean for factor in _GAMMA) if mean > 0 else (1.0,)


class _Classes:
    """A support vector machine."""

    penalties = _SVM_C

    def scores(
        self, matrix: Matrix, targets: Targets, rows: Rows, penalties: Sequence[float]
    ) -> list[float]:
        """Return the accuracy on the second rows for every C."""
        train, test = rows
        fitted, judged = targets.rows(train), targets.rows(test)
        inner, cross = matrix[np.ix_(train, train)], matrix[np.ix_(test, train)]
        if np.unique(fitted.y).size < 2:
            labels = [fitted.y[:1]] * len(penalties)
        else:
            labels = [_svm(inner, fitted, c).predict(cross) for c in penalties]
        return [float(np.average(y == judged.y, weights=judged.weight)) for y in labels]

    def solve(self, matrix: Matrix, targets: Targets, c: float) -> Solution:
        svm = _svm(matrix, targets, c)
        classes = len(svm.classes_)
        dual, labels = svm.dual_coef_, targets.y[svm.support_]
        if classes == 2:
            return svm.support_, dual.T, svm.intercept_
        columns = []
        for i in range(classes):
            for j in range(i + 1, classes):
                column = np.where(labels == i, dual[j - 1], 0.0)
                columns.append(np.where(labels == j, dual[i], column))
        return svm.support_, np.stack(columns, axis=1), svm.intercept_


class _Numbers:
    """Kernel ridge regression, judged by errors or their squares; b is the mean."""

    penalties = _RIDGE_C

    def __init__(self, squared: bool) -> None:
        self.squared = squared

    def scores(
        self, matrix: Matrix, targets: Targets, rows: Rows, penalties: Sequence[float]
    ) -> list[float]:
        """Return minus the mean loss on the second rows for every C."""
        total = np.zeros(len(penalties))
        for target in range(targets.y.shape[1]):
            train, test = (side[targets.mask[side, target]] for side in rows)
            if not (train.size and test.size):
                continue
            solve = _ridge(matrix[np.ix_(train, train)], targets.rows(train), target)
            across, y = matrix[np.ix_(test, train)], targets.y[test, target]
            for i, (coef, shift) in enumerate(map(solve, penalties)):
                error = np.abs(across @ coef + shift - y)
                loss = error**2 if self.squared else error
                total[i] -= np.average(loss, weights=targets.weight[test])
        return [float(score) for score in total]

    def solve(self, matrix: Matrix, targets: Targets, c: float) -> Solution:
        coef, shift = np.zeros(targets.y.shape), np.zeros(targets.y.shape[1])
        for target in range(targets.y.shape[1]):
            rows = np.flatnonzero(targets.mask[:, target])
            if rows.size:
                solve = _ridge(matrix[np.ix_(rows, rows)], targets.rows(rows), target)
                coef[rows, target], shift[target] = solve(c)
        used = np.flatnonzero(targets.mask.any(axis=1))
        return used, coef[used], shift


def _svm(matrix: Matrix, targets: Targets, c: float) -> Any:
    """Return a fitted support vector machine."""
    from sklearn.svm import SVC  # slow to import

    svm = SVC(C=c / _size(matrix), kernel="precomputed", break_ties=True)
    return svm.fit(matrix, targets.y, sample_weight=targets.weight)


def _size(matrix: Matrix) -> float:
    """Return the mean of k(G, G), or 1 if that is 0."""
    return float(matrix.diagonal().mean()) or 1.0


def _ridge(
    matrix: Matrix, targets: Targets, target: int
) -> Callable[[float], tuple[Matrix, float]]:
    """Return a function from C to the coefficients and shift of a target."""
    root, y = np.sqrt(targets.weight), targets.y[:, target]
    mean, size = float(np.average(y, weights=targets.weight)), _size(matrix)
    sizes, axes = np.linalg.eigh(root[:, None] * matrix * root)
    against = axes.T @ (root * (y - mean))

    def solve(c: float) -> tuple[Matrix, float]:
        share = against / (np.maximum(sizes, 0.0) + size / (2 * c))
        return root * (axes @ share), mean

    return solve


def _read(
    model: KernelMachine, objective: Objective, batches: Iterable[Any]
) -> tuple[KernelGraphs, Targets]:
    """Return the graphs of a loader and their targets."""
    graphs, targets = [], []
    for batch in batches:
        graphs.append(model.read(model.prepare(batch)))
        weight = objective.weights(batch.y, row_weights(batch, model.level))
        if weight is None:
            weight = torch.ones(len(batch.y), 1)
        y = batch.y
        if objective.link == "none":
            y = objective.wanted(y.double())
        targets.append(Targets(y.numpy(), batch[Y_MASK].numpy(), weight[:, 0].numpy()))
    columns = [np.concatenate(column) for column in zip(*targets, strict=True)]
    return KernelGraphs.join(graphs), Targets(*columns)
