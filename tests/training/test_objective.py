"""Losses and metrics are their definitions; what is missing has no influence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk
from torch import Tensor

from sekgnn.datasets.targets import TaskKind
from sekgnn.errors import ConfigError
from sekgnn.training.objective import (
    METRICS,
    Objective,
)
from sekgnn.training.run_record import is_better_high

KINDS: tuple[TaskKind, ...] = ("binary", "multiclass", "multilabel", "regression")
seeds = st.integers(0, 10**6)


def example(kind: TaskKind, seed: int, rows: int = 40) -> tuple[Tensor, Tensor, Tensor]:
    """Return outputs, targets and mask, some targets missing."""
    draw = torch.Generator().manual_seed(seed)
    width = {"binary": 2, "multiclass": 4, "multilabel": 3, "regression": 3}[kind]
    out = torch.randn(rows, width, generator=draw)
    if kind in ("binary", "multiclass"):
        y = torch.randint(0, width, (rows,), generator=draw)
        mask = torch.rand(rows, 1, generator=draw) > 0.3
    elif kind == "multilabel":
        y = (torch.rand(rows, width, generator=draw) > 0.4).float()
        mask = torch.rand(rows, width, generator=draw) > 0.3
    else:
        y = 5 + 3 * torch.randn(rows, width, generator=draw)
        mask = torch.rand(rows, width, generator=draw) > 0.3
    mask[0] = True
    return out, y, mask


def objective(kind: TaskKind, loss: str = "mse") -> Objective:
    if kind != "regression":
        return Objective(kind)
    return Objective(kind, loss, (5.0, 4.0, 6.0), (3.0, 2.0, 4.0))


def by_hand(goal: Objective, out: Tensor, y: Tensor, mask: Tensor) -> float:
    """Return the sum of losses, element by element."""
    total = 0.0
    for i, t in mask.nonzero().tolist():
        o = out[i].double()
        if goal.kind in ("binary", "multiclass"):
            total -= math.log(float(o.exp()[y[i]] / o.exp().sum()))
        elif goal.kind == "multilabel":
            p = 1 / (1 + math.exp(-float(o[t])))
            total -= math.log(p if y[i, t] == 1 else 1 - p)
        else:
            e = float(o[t]) - (float(y[i, t]) - goal.mean[t]) / goal.scale[t]
            total += {
                "mse": e * e,
                "mae": abs(e),
                "huber": e * e / 2 if abs(e) < 1 else abs(e) - 0.5,
            }[goal.loss]
    return total


@pytest.mark.parametrize(
    ("kind", "loss"),
    [(kind, "mse") for kind in KINDS]
    + [("regression", "mae"), ("regression", "huber")],
)
@settings(max_examples=10)
@given(seed=seeds)
def test_losses_are_their_definitions(kind: TaskKind, loss: str, seed: int) -> None:
    goal = objective(kind, loss)
    out, y, mask = example(kind, seed)
    total, count = goal.loss_sum(out, y, mask)
    assert int(count) == int(mask.sum())
    assert float(total) == pytest.approx(by_hand(goal, out, y, mask), rel=1e-4)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=10)
@given(seed=seeds)
def test_missing_targets_have_no_influence(kind: TaskKind, seed: int) -> None:
    """Not on the loss, not on a gradient, not on a metric, not on mean and scale."""
    goal = objective(kind)
    out, y, mask = example(kind, seed)
    other = y.clone()
    wide = mask[:, 0] if y.dim() == 1 else mask
    other[~wide] = 1 - y[~wide].clamp(0, 1) if kind != "regression" else 1e30
    found = []
    for targets in (y, other):
        leaf = out.clone().requires_grad_()
        total, count = goal.loss_sum(leaf, targets, mask)
        total.backward()  # type: ignore[no-untyped-call]
        measured = goal.metrics(goal.predictions(out), targets, mask)
        found.append((float(total.detach()), int(count), measured, leaf.grad))
    assert found[0][:2] == found[1][:2]
    assert found[0][2] == pytest.approx(found[1][2], nan_ok=True, abs=0)
    assert torch.equal(found[0][3], found[1][3])  # type: ignore[arg-type]
    assert not found[0][3][~mask.any(1)].any()  # type: ignore[index]
    if kind == "regression":
        both = [Objective.fit(kind, "mse", True, v, mask) for v in (y, other)]
        assert both[0] == both[1]


def precision(truth: Any, score: Any) -> float:
    return sk.average_precision_score(truth, score) if truth.any() else math.nan


@settings(max_examples=25)
@given(seeds, st.sampled_from(["binary", "multiclass"]))
def test_metrics_of_classes(seed: int, kind: TaskKind) -> None:
    out, y, mask = example(kind, seed, rows=12)
    found = objective(kind).metrics(objective(kind).predictions(out), y, mask)
    there = mask[:, 0]
    truth, guess = y[there].numpy(), out[there].argmax(1).numpy()
    present = np.unique(truth)
    expected = {
        "accuracy": sk.accuracy_score(truth, guess),
        "balanced_accuracy": np.mean(
            [(guess[truth == c] == c).mean() for c in present]
        ),
        "f1": sk.f1_score(
            truth, guess, labels=present, average="macro", zero_division=0
        ),
    }
    if kind == "binary":
        one = len(present) == 1
        score = (out[there, 1] - out[there, 0]).numpy()
        expected["auroc"] = math.nan if one else sk.roc_auc_score(truth, score)
        expected["auprc"] = precision(truth, score)
    assert found == pytest.approx(expected, abs=1e-6, nan_ok=True)


@settings(max_examples=25)
@given(seeds)
def test_metrics_of_labels_are_means_over_the_labels(seed: int) -> None:
    out, y, mask = example("multilabel", seed, rows=15)
    goal = objective("multilabel")
    rows = []
    for t in range(3):
        truth, score = y[mask[:, t], t].numpy(), out[mask[:, t], t].numpy()
        one = len(np.unique(truth)) == 1
        rows.append(
            (
                math.nan if one else sk.roc_auc_score(truth, score),
                precision(truth, score),
                sk.accuracy_score(truth, score > 0),
                sk.f1_score(truth, score > 0, zero_division=0),
            )
        )
    names = ("auroc", "auprc", "accuracy", "f1")
    expected = dict(zip(names, np.nanmean(rows, axis=0).tolist(), strict=True))
    found = goal.metrics(goal.predictions(out), y, mask)
    assert found == pytest.approx(expected, abs=1e-6)


@settings(max_examples=25)
@given(seeds)
def test_metrics_of_values_are_means_over_the_targets(seed: int) -> None:
    """In the units of the data: the network's outputs are scaled back."""
    out, y, mask = example("regression", seed)
    goal = objective("regression")
    values = goal.predictions(out)
    assert torch.allclose(values[:, 1], out[:, 1].double() * 2 + 4)
    rows = []
    for t in range(3):
        truth, guess = y[mask[:, t], t].double().numpy(), values[mask[:, t], t].numpy()
        mse = sk.mean_squared_error(truth, guess)
        mae = sk.mean_absolute_error(truth, guess)
        r2 = sk.r2_score(truth, guess)
        rows.append((mae, mse, math.sqrt(mse), math.log10(mse), r2))
    means = np.mean(rows, axis=0).tolist()
    expected = dict(zip(METRICS["regression"], means, strict=True))
    assert goal.metrics(values, y, mask) == pytest.approx(expected, rel=1e-6)


def test_auroc_orders_by_score_however_sure_the_network_is() -> None:
    """Probabilities near 1 that float32 cannot tell apart still have an order."""
    margin = torch.tensor([18.0, 19.0, 20.0, 21.0], dtype=torch.float64)
    out = torch.stack([torch.zeros(4, dtype=torch.float64), margin], dim=1)
    y = torch.tensor([0, 1, 0, 1])
    goal = Objective("binary")
    found = goal.metrics(goal.predictions(out), y, torch.ones(4, 1, dtype=torch.bool))
    assert found["auroc"] == pytest.approx(sk.roc_auc_score(y, margin)) == 0.75


def test_metrics_that_are_not_defined_are_nan() -> None:
    out, y, mask = example("binary", 0)
    goal = Objective("binary")
    one = goal.metrics(goal.predictions(out), torch.ones_like(y), mask)
    assert math.isnan(one["auroc"])
    assert not math.isnan(one["f1"])
    for kind in KINDS:
        out, y, mask = example(kind, 0)
        none = objective(kind).metrics(out.double(), y, torch.zeros_like(mask))
        assert list(none) == list(METRICS[kind])
        assert all(math.isnan(value) for value in none.values())
    equal = Objective("regression", mean=(0.0,), scale=(1.0,))
    y = torch.full((4, 1), 2.0)
    there = torch.ones(4, 1, dtype=torch.bool)
    found = equal.metrics(y.double(), y, there)
    assert (found["mae"], found["log10_mse"]) == (0.0, -math.inf)
    assert math.isnan(found["r2"])


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=9), st.booleans())
def test_mean_and_scale_make_targets_standard(values: list[float], on: bool) -> None:
    y = torch.tensor(values).unsqueeze(1)
    mask = torch.ones(len(values), 1, dtype=torch.bool)
    goal = Objective.fit("regression", "mae", on, y, mask)
    table = y.double().numpy()
    if not on:
        assert (goal.mean, goal.scale) == ((0.0,), (1.0,))
        return
    assert goal.mean[0] == pytest.approx(table.mean(), rel=1e-9, abs=1e-9)
    if np.ptp(table) == 0:
        assert goal.scale == (1.0,)
    elif table.std() > 1e-6 * np.abs(table).max():
        assert goal.scale[0] == pytest.approx(table.std(), rel=1e-6)


@given(st.floats(-(2.0**100), 2.0**100, width=32), st.integers(1, 50))
def test_equal_targets_are_only_shifted(value: float, count: int) -> None:
    """A spread that is nothing but rounding is no scale."""
    y = torch.full((count, 1), value)
    mask = torch.ones(count, 1, dtype=torch.bool)
    assert Objective.fit("regression", "mse", True, y, mask).scale == (1.0,)


@pytest.mark.parametrize("loss", ["mse", "mae", "huber"])
def test_the_loss_of_a_bound_is_that_of_its_violation(loss: str) -> None:
    """At least 2, at most 2, exactly 2, and nothing known; outputs 1, 2 and 3."""
    goal = Objective("regression", loss, (0.0,), (1.0,), targets=("a",))
    y = torch.full((4, 1), 2.0)
    mask = torch.tensor([[False], [False], [True], [False]])
    bound = torch.tensor([[1], [-1], [0], [0]], dtype=torch.int8)
    size = 0.5 if loss == "huber" else 1.0
    for out, counted in [(1.0, (0, 2)), (2.0, ()), (3.0, (1, 2))]:
        outputs = torch.full((4, 1), out, requires_grad=True)
        total, count = goal.loss_sum(outputs, y, mask, None, bound)
        assert float(total.detach()) == pytest.approx(size * len(counted))
        assert int(count) == 3
        total.backward()  # type: ignore[no-untyped-call]
        assert outputs.grad is not None
        moved = outputs.grad[:, 0].nonzero()[:, 0].tolist()
        assert moved == [*counted]


def test_losses_are_for_regression_and_monitors_for_their_task() -> None:
    y, mask = torch.zeros(2, dtype=torch.long), torch.ones(2, 1, dtype=torch.bool)
    with pytest.raises(ConfigError, match="loss='mae' is for regression"):
        Objective.fit("binary", "mae", True, y, mask)
    assert Objective.fit("binary", "mse", True, y, mask) == Objective("binary")
    with pytest.raises(ConfigError, match="monitor must be one of"):
        Objective("multiclass").check_monitor("auroc")
    assert Objective("binary").check_monitor("auroc") == "auroc"
    high = {m for names in METRICS.values() for m in names if is_better_high(m)}
    assert high == {"accuracy", "balanced_accuracy", "f1", "auroc", "auprc", "r2"}
    assert is_better_high("val_balanced_accuracy")
    assert not is_better_high("test_log10_mse")


@given(st.integers(0, 99))
def test_weights_multiply_and_balanced_classes_weigh_the_same(seed: int) -> None:
    """By the definition: losses one by one, times the weight of graph and class."""
    draw = torch.Generator().manual_seed(seed)
    out = torch.randn(12, 3, generator=draw)
    weight = torch.rand(12, generator=draw)
    y = torch.tensor([0] * 7 + [1] * 3 + [2] * 2)
    mask = torch.ones(12, 1, dtype=torch.bool)
    goal = Objective.fit("multiclass", "mse", True, y, mask, class_weight="balanced")
    assert goal.class_weights[0] == pytest.approx([12 / 21, 12 / 9, 12 / 6])
    total, count = goal.loss_sum(out, y, mask, weight)
    each = [
        float(goal.class_weights[0][c] * w * -row.log_softmax(0)[c])
        for row, w, c in zip(out, weight, y, strict=True)
    ]
    assert float(total) == pytest.approx(sum(each), rel=1e-5) and count == 12
    labels = torch.stack([y == 0, y == 1], dim=1).float()
    both = torch.ones(12, 2, dtype=torch.bool)
    both[0, 1] = False
    goal = Objective.fit("multilabel", "mse", True, labels, both,
                          class_weight="balanced")  # fmt: skip
    weights = goal.weights(labels)
    assert weights is not None
    for column in range(2):
        here = both[:, column]
        sums = [weights[here & (labels[:, column] == v), column].sum() for v in (0, 1)]
        assert float(sums[0]) == pytest.approx(float(sums[1]))
        assert float(sums[0] + sums[1]) == pytest.approx(int(here.sum()))
