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
    """Return the values of a kernel between all graphs of a loader."""
    graphs = KernelGraphs.join([model.read(model.prepare(b)) for b in batches])
    digests = graphs.digests()
    place = {digest: i for i, digest in enumerate(dict.fromkeys(digests))}
    first = {digest: i for i, digest in reversed([*enumerate(digests)])}
    return KnownValues(place, kernel.between(graphs.subset([first[d] for d in place])))


def fit_kernel(
    model: KernelMachine,
    objective: Objective,
    train: Iterable[Any],
    val: Iterable[Any],
    known: Callable[[GraphKernel], KnownValues],
) -> None:
    """Choose the parameters and solve.

    Without validation batches the parameters are chosen in a cross-validation inside
    the training graphs. ``known`` gives the values between these graphs at least; the
    model keeps them, but not in its file.
    """
    graphs, targets = _read(model, objective, train)
    everything, wanted = graphs, targets
    own = rows = np.arange(len(graphs))
    is_classes = objective.link == "softmax"
    inner = [
        (np.flatnonzero(~held_out), np.flatnonzero(held_out))
        for held_out in inner_folds(targets.y if is_classes else rows)
    ]
    if len(batches := list(val)):
        more, others = _read(model, objective, batches)
        everything = KernelGraphs.join([graphs, more])
        wanted = Targets(
            *(np.concatenate(pair) for pair in zip(targets, others, strict=True))
        )
        inner = [(own, np.arange(len(graphs), len(everything)))]
    kernel = model.kernel().fitted(graphs)
    model.known = known(kernel)
    model.scale.fill_(getattr(kernel, "scale", 1.0))
    values = model.known.find(everything, everything)
    assert values is not None  # as all graphs are known
    machine = _Classes() if is_classes else _Numbers(objective.loss == "mse")
    level, gamma, c = _choose(model, machine, values, wanted, inner, own)
    matrix = model.shape(values[level], gamma)[np.ix_(own, own)]
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
    """Return the level, γ and C with the best mean score; of equal ones the first."""
    given = model.options.svm_c
    penalties = machine.penalties if given is None else (given,)
    scores: dict[tuple[int, float, float], float] = {}
    for level, table in enumerate(values):
        for gamma in _gammas(model, table[np.ix_(training, training)]):
            matrix = model.shape(table, gamma)
            each = [machine.scores(matrix, targets, rows, penalties) for rows in inner]
            for c, score in zip(penalties, np.mean(each, axis=0), strict=True):
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
        known, asked = targets.rows(train), targets.rows(test)
        own, other = matrix[np.ix_(train, train)], matrix[np.ix_(test, train)]
        if np.unique(known.y).size < 2:
            found = [known.y[:1]] * len(penalties)
        else:
            found = [_svm(own, known, c).predict(other) for c in penalties]
        return [float(np.average(y == asked.y, weights=asked.weight)) for y in found]

    def solve(self, matrix: Matrix, targets: Targets, c: float) -> Solution:
        svm = _svm(matrix, targets, c)
        classes = len(svm.classes_)
        dual, own = svm.dual_coef_, targets.y[svm.support_]
        if classes == 2:
            return svm.support_, dual.T, svm.intercept_
        columns = []
        for i in range(classes):
            for j in range(i + 1, classes):
                column = np.where(own == i, dual[j - 1], 0.0)
                columns.append(np.where(own == j, dual[i], column))
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
            here, there = (part[targets.mask[part, target]] for part in rows)
            if not (here.size and there.size):
                continue
            solve = _ridge(matrix[np.ix_(here, here)], targets.rows(here), target)
            across, y = matrix[np.ix_(there, here)], targets.y[there, target]
            for i, (coef, shift) in enumerate(map(solve, penalties)):
                error = np.abs(across @ coef + shift - y)
                loss = error**2 if self.squared else error
                total[i] -= np.average(loss, weights=targets.weight[there])
        return [float(score) for score in total]

    def solve(self, matrix: Matrix, targets: Targets, c: float) -> Solution:
        coef, shift = np.zeros(targets.y.shape), np.zeros(targets.y.shape[1])
        for target in range(targets.y.shape[1]):
            here = np.flatnonzero(targets.mask[:, target])
            if here.size:
                solve = _ridge(matrix[np.ix_(here, here)], targets.rows(here), target)
                coef[here, target], shift[target] = solve(c)
        used = np.flatnonzero(targets.mask.any(axis=1))
        return used, coef[used], shift


def _svm(matrix: Matrix, targets: Targets, c: float) -> Any:
    """Return a support vector machine, fitted."""
    from sklearn.svm import SVC  # takes a while

    svm = SVC(C=c / _size(matrix), kernel="precomputed", break_ties=True)
    return svm.fit(matrix, targets.y, sample_weight=targets.weight)


def _size(matrix: Matrix) -> float:
    """Return the mean of the kernel of a graph with itself, 1 if that is 0."""
    return float(matrix.diagonal().mean()) or 1.0


def _ridge(
    matrix: Matrix, targets: Targets, target: int
) -> Callable[[float], tuple[Matrix, float]]:
    """Return what gives coefficients and shift of a target for C."""
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
    """Return the graphs of a loader and what to learn of them."""
    graphs, parts = [], []
    for batch in batches:
        graphs.append(model.read(model.prepare(batch)))
        weight = objective.weights(batch.y, row_weights(batch, model.level))
        if weight is None:
            weight = torch.ones(len(batch.y), 1)
        y = batch.y
        if objective.link == "none":
            y = objective.wanted(y.double())
        parts.append(Targets(y.numpy(), batch[Y_MASK].numpy(), weight[:, 0].numpy()))
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return KernelGraphs.join(graphs), Targets(*columns)
