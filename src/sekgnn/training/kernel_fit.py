r"""Kernel machines, fitted: parameters by validation, then one exact solution.

C is over the mean k(G, G) of training graphs, which is 1 for all kernels but ``gntk``.
Classes: scikit-learn's ``SVC`` on the matrix of kernel values, by accuracy. Numbers:
:math:`\min_a \lVert K a + b - y \rVert^2 + \frac{1}{2C} a^\top K a` for every target,
with b the mean of y and negative eigenvalues of K set to 0, by the loss of the task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from sekgnn.datasets.graph_task import Y_MASK
from sekgnn.graphs.extras import require
from sekgnn.models.graph_kernels import GraphKernel, KernelGraphs
from sekgnn.models.kernel_machine import KernelMachine, KnownValues
from sekgnn.training.objective import Objective

Matrix = NDArray[np.float64]
Rows = tuple[NDArray[np.int64], NDArray[np.int64]]
_SVM_C = (0.1, 1.0, 10.0, 100.0, 1000.0)
_RIDGE_C = tuple(10.0**k for k in range(-2, 9))
_GAMMA = (0.1, 0.5, 2.0, 10.0)  # over the mean distance of training graphs
_FOLDS = 5


class Choice(NamedTuple):
    """Parameters of a kernel machine.

    Attributes:
        level: Position among the values of the kernel's own parameter.
        gamma: Of exp(-γ d).
        c: C.
    """

    level: int
    gamma: float
    c: float


class Solution(NamedTuple):
    """What is kept of the training graphs.

    Attributes:
        used: Rows of those that count, int64 ``[S]``.
        coef: ``[S, P]``.
        intercept: ``[P]``.
    """

    used: NDArray[np.int64]
    coef: Matrix
    intercept: Matrix


def known_values(
    model: KernelMachine, batches: Iterable[Any], kernel: GraphKernel
) -> KnownValues:
    """Return the values of a kernel between all graphs of a loader."""
    graphs = _read(model, batches)[0]
    digests = graphs.digests()
    place = {digest: i for i, digest in enumerate(dict.fromkeys(digests))}
    first = [digests.index(digest) for digest in place]
    return KnownValues(place, kernel.between(graphs.subset(first)))


def fit_kernel(
    model: KernelMachine,
    objective: Objective,
    train: Iterable[Any],
    val: Iterable[Any],
    known: Callable[[GraphKernel], KnownValues],
) -> None:
    """Choose the parameters and solve.

    Args:
        model: The kernel machine; keeps the known values, but not in its file.
        objective: Loss of the task.
        train: Batches of the training graphs.
        val: Batches of the validation graphs; may be empty: then the parameters are
            chosen in a cross-validation inside the training graphs.
        known: Gives the values between these graphs at least.
    """
    graphs, y, mask = _read(model, train)
    parts = [(graphs, y, mask)]
    if len(batches := list(val)):
        parts.append(_read(model, batches))
    kernel = model.kernel().fitted(graphs)
    model.known = known(kernel)
    model.scale.fill_(getattr(kernel, "scale", 1.0))
    everything = KernelGraphs.join([part[0] for part in parts])
    values = model.known.find(everything, everything)
    assert values is not None  # as all graphs are known
    targets = np.concatenate([part[1] for part in parts])
    present = np.concatenate([part[2] for part in parts])
    if objective.link == "softmax":
        targets = targets.astype(np.int64)
    else:
        targets = objective.wanted(torch.from_numpy(targets)).numpy()
    rows = np.arange(len(targets))
    inner = [(rows[: len(y)], rows[len(y) :])]
    if len(parts) == 1:
        inner = _folds(targets if objective.link == "softmax" else rows)
    machine = _Classes() if objective.link == "softmax" else _Numbers(objective)
    best = _choose(model, machine, values, targets, present, inner)
    own = rows[: len(y)]
    matrix = model.shape(values[best.level], best.gamma)[np.ix_(own, own)]
    used, coef, intercept = machine.solve(matrix, targets[own], present[own], best.c)
    model.gamma.fill_(best.gamma)
    model.chosen.fill_(model.kernel().levels[best.level])
    model.set_solution(graphs.subset(used), coef, intercept, objective.link)


def _choose(
    model: KernelMachine,
    machine: _Classes | _Numbers,
    values: NDArray[np.float64],
    y: NDArray[Any],
    mask: NDArray[np.bool_],
    inner: Sequence[Rows],
) -> Choice:
    """Return the parameters with the best mean score; of equal ones the first."""
    given = model.options.svm_c
    penalties = machine.penalties if given is None else (given,)
    training = np.union1d(*inner[0]) if len(inner) > 1 else inner[0][0]
    scores: dict[Choice, float] = {}
    for level, table in enumerate(values):
        for gamma in _gammas(model, table[np.ix_(training, training)]):
            matrix = model.shape(table, gamma)
            each = [machine.scores(matrix, y, mask, rows, penalties) for rows in inner]
            for c, score in zip(penalties, np.mean(each, axis=0), strict=True):
                scores[Choice(level, gamma, c)] = float(score)
    return max(scores, key=lambda choice: scores[choice])


def _gammas(model: KernelMachine, distances: Matrix) -> tuple[float, ...]:
    """Return the values of γ to try, from the distances of training graphs."""
    if not model.kernel().is_distance:
        return (1.0,)
    if model.options.gamma is not None:
        return (model.options.gamma,)
    mean = float(distances.mean())
    return tuple(factor / mean for factor in _GAMMA) if mean > 0 else (1.0,)


def _folds(classes: NDArray[np.int64]) -> list[Rows]:
    """Return training and validation rows of a cross-validation, class by class."""
    fold = np.empty(classes.size, dtype=np.int64)
    fold[np.argsort(classes, kind="stable")] = np.arange(classes.size) % _FOLDS
    used = range(min(_FOLDS, classes.size))
    return [(np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in used]


class _Classes:
    """A support vector machine."""

    penalties = _SVM_C

    def scores(
        self,
        matrix: Matrix,
        y: NDArray[Any],
        mask: NDArray[np.bool_],
        rows: Rows,
        penalties: Sequence[float],
    ) -> list[float]:
        """Return the accuracy on the second rows for every C."""
        train, test = rows
        own, other = matrix[np.ix_(train, train)], matrix[np.ix_(test, train)]
        if np.unique(y[train]).size < 2:
            return [float((y[test] == y[train][:1]).mean())] * len(penalties)
        return [
            float((_svm(own, y[train], c).predict(other) == y[test]).mean())
            for c in penalties
        ]

    def solve(
        self, matrix: Matrix, y: NDArray[Any], mask: NDArray[np.bool_], c: float
    ) -> Solution:
        """Return the rows that count, their coefficients, and the shifts."""
        svm = _svm(matrix, y, c)
        classes = len(svm.classes_)
        dual, own = svm.dual_coef_, y[svm.support_]
        if classes == 2:
            return Solution(svm.support_, dual.T, svm.intercept_)
        columns = []
        for i in range(classes):
            for j in range(i + 1, classes):
                column = np.where(own == i, dual[j - 1], 0.0)
                columns.append(np.where(own == j, dual[i], column))
        return Solution(svm.support_, np.stack(columns, axis=1), svm.intercept_)


class _Numbers:
    """Kernel ridge regression; b is the mean of the training targets."""

    penalties = _RIDGE_C

    def __init__(self, objective: Objective) -> None:
        self.squared = objective.loss == "mse"

    def scores(
        self,
        matrix: Matrix,
        y: NDArray[Any],
        mask: NDArray[np.bool_],
        rows: Rows,
        penalties: Sequence[float],
    ) -> list[float]:
        """Return minus the mean loss on the second rows for every C."""
        train, test = rows
        losses: list[list[float]] = []
        for target in range(y.shape[1]):
            here, there = train[mask[train, target]], test[mask[test, target]]
            if not (here.size and there.size):
                continue
            solve = _ridge(matrix[np.ix_(here, here)], y[here, target])
            across = matrix[np.ix_(there, here)]
            errors = [
                across @ coef + shift - y[there, target]
                for coef, shift in map(solve, penalties)
            ]
            losses.append(
                [float((e**2 if self.squared else abs(e)).mean()) for e in errors]
            )
        return [-sum(each) for each in zip(*losses, strict=True)] or [0.0] * len(
            penalties
        )

    def solve(
        self, matrix: Matrix, y: NDArray[Any], mask: NDArray[np.bool_], c: float
    ) -> Solution:
        """Return the rows that count, their coefficients, and the shifts."""
        coef, shift = np.zeros(y.shape), np.zeros(y.shape[1])
        for target in range(y.shape[1]):
            here = np.flatnonzero(mask[:, target])
            if here.size:
                solve = _ridge(matrix[np.ix_(here, here)], y[here, target])
                coef[here, target], shift[target] = solve(c)
        return Solution(np.flatnonzero(mask.any(axis=1)), coef[mask.any(axis=1)], shift)


def _svm(matrix: Matrix, y: NDArray[np.int64], c: float) -> Any:
    """Return a support vector machine, fitted."""
    package = require("sklearn.svm", "sklearn")
    svm = package.SVC(C=c / _size(matrix), kernel="precomputed", break_ties=True)
    return svm.fit(matrix, y)


def _size(matrix: Matrix) -> float:
    """Return the mean of the kernel of a graph with itself, 1 if that is 0."""
    return float(matrix.diagonal().mean()) or 1.0


def _ridge(matrix: Matrix, y: Matrix) -> Callable[[float], tuple[Matrix, float]]:
    """Return what gives coefficients and shift for C."""
    sizes, axes = np.linalg.eigh(matrix)
    mean, size = float(y.mean()), _size(matrix)
    against = axes.T @ (y - mean)

    def solve(c: float) -> tuple[Matrix, float]:
        return axes @ (against / (np.maximum(sizes, 0.0) + size / (2 * c))), mean

    return solve


def _read(
    model: KernelMachine, batches: Iterable[Any]
) -> tuple[KernelGraphs, NDArray[Any], NDArray[np.bool_]]:
    """Return the graphs of a loader, their targets, and where these are present."""
    parts = [
        (model.read(model.prepare(b)), b.y.double().numpy(), b[Y_MASK].numpy())
        for b in batches
    ]
    graphs, y, mask = zip(*parts, strict=True)
    return KernelGraphs.join(graphs), np.concatenate(y), np.concatenate(mask)
