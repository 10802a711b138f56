"""What is solved is the minimum, and runs keep, continue and predict with it."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.training.helpers import (
    config,
    leavings,
    records,
    run,
    signalled_run,
    weights,
    write_lines,
)

from sekgnn.datasets import read_task
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.nn.batch_loader import BatchLoader
from sekgnn.training import closed_form
from sekgnn.training.closed_form import (
    aim_at_the_rest,
    read_rows,
    solve_linear,
    solve_skip,
)
from sekgnn.training.objective import Objective
from sekgnn.training.predictions import Rows
from sekgnn.training.predictor import Predictor
from sekgnn.training.training import Training

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


def table(rows: int, width: int, y: Any, seed: int = 0) -> Rows:
    x = torch.randn(rows, width, generator=torch.Generator().manual_seed(seed)).double()
    y = torch.as_tensor(y(x))
    mask = torch.ones(rows, 1 if y.dim() == 1 else y.size(1), dtype=torch.bool)
    number = torch.arange(rows)
    return Rows(number, torch.zeros_like(number), x, y, mask, torch.ones(rows))


def test_ridge_is_numpys_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    """One penalty, missing targets, units: against the normal equations."""
    found = table(50, 4, lambda x: x[:, :2] @ x.new_tensor([[2.0, 1], [0, 3]]) + 5)
    found.mask[::7, 1] = False
    goal = Objective.fit("regression", "mse", True, found.y, found.mask)
    monkeypatch.setattr(closed_form, "_RIDGE", [0.03])
    weight, bias = solve_linear(goal, 2, found, found)
    wanted = goal.wanted(found.y).numpy()
    for target in range(2):
        here = found.mask[:, target].numpy()
        x, y = found.out.numpy()[here], wanted[here, target]
        centred = x - x.mean(axis=0)
        top = np.linalg.norm(centred, 2) ** 2
        normal = centred.T @ centred + 0.03 * top * np.eye(4)
        expected = np.linalg.solve(normal, centred.T @ (y - y.mean()))
        np.testing.assert_allclose(weight[target], expected, rtol=1e-10)
        np.testing.assert_allclose(
            bias[target], y.mean() - x.mean(axis=0) @ expected, rtol=1e-10, atol=1e-12
        )


def test_pieces_and_company_change_no_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows folded in a few at a time; targets solved together or one by one."""
    found = table(60, 4, lambda x: torch.stack([x.sum(1), x.prod(1), x[:, 0]], dim=1))
    found = found._replace(weight=torch.arange(60) / 30)
    found.mask[::5, 2] = False
    goal = Objective.fit("regression", "mae", True, found.y, found.mask)
    whole = solve_linear(goal, 3, found, found)
    monkeypatch.setattr(closed_form, "_ROWS", 0)  # pieces of a few rows
    for ours, expected in zip(solve_linear(goal, 3, found, found), whole, strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-9, atol=1e-9)
    for target in range(3):
        y, mask = found.y[:, [target]], found.mask[:, [target]]
        alone = Objective.fit("regression", "mae", True, y, mask)
        own = found._replace(y=y, mask=mask)
        weight, bias = solve_linear(alone, 1, own, own)
        torch.testing.assert_close(weight[0], whole[0][target], rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(bias[0], whole[1][target], rtol=1e-9, atol=1e-9)


def test_a_network_learns_the_rest_of_every_target_in_its_own_unit(
    lines: Path,
) -> None:
    """What the solved layer misses is 1 on average, and predictions stay as solved."""
    keys = {"model": "gin", "norm": "none", "skip": True, "dtype": "float64"}
    training = Training(config(lines, "size,weight", **keys))
    model, goal = training.model(), training.objective()
    chosen = training.splits[0].train
    batches = training.prepare().batches(chosen, 99)
    model.fit_inputs(lambda: batches)
    solve_skip(model, goal, batches, [])
    table = read_rows(model, batches, model.compute)
    solved = goal.predictions(table.out)
    noisy = table.y + torch.randn(
        table.y.shape, generator=torch.Generator().manual_seed(0)
    ) * torch.tensor([1.0, 10.0])
    rest = aim_at_the_rest(model, goal, [*_with(batches, noisy)])
    again = read_rows(model, batches, model.compute)
    torch.testing.assert_close(rest.predictions(again.out), solved)
    error = torch.where(table.mask, again.out - rest.wanted(noisy), 0.0)
    left = error.square().sum(0) / table.mask.sum(0)
    torch.testing.assert_close(left, torch.ones(2).double())


def _with(batches: Any, y: Any) -> Any:
    for batch in batches:
        batch.y = y
        yield batch


@pytest.mark.parametrize("val", [True, False])
def test_the_penalty_follows_the_noise(val: bool) -> None:
    """Exact targets ask for none; noise in many features for a strong one."""
    exact = table(60, 5, lambda x: x[:, :1] * 3)
    goal = Objective.fit("regression", "mse", True, exact.y, exact.mask)
    weight, bias = solve_linear(goal, 1, exact, exact if val else None)
    out = goal.predictions(exact.out @ weight.t() + bias)
    torch.testing.assert_close(out, exact.y, rtol=1e-12, atol=1e-12)
    draw = torch.Generator().manual_seed(1)
    noise = table(60, 50, lambda x: torch.randn(60, 1, generator=draw).double())
    other = table(60, 50, lambda x: torch.randn(60, 1, generator=draw).double(), 2)
    weight, _ = solve_linear(Objective("regression", "mse", (0.0,), (1.0,)), 1, noise,
                             other if val else None)  # fmt: skip
    assert weight.norm() < 0.1


@pytest.mark.parametrize("kind", ["binary", "multiclass", "multilabel", "bce"])
def test_classes_are_at_the_minimum_of_the_penalised_loss(
    kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs = {"binary": 2, "bce": 1}.get(kind, 3)
    if kind in ("binary", "multiclass"):
        found = table(80, 4, lambda x: x[:, :outputs].argmax(1))
    else:
        found = table(80, 4, lambda x: (x[:, :outputs] > 0.3).double())
    goal = Objective("regression", "bce") if kind == "bce" else Objective(kind)
    alpha = 0.01
    monkeypatch.setattr(closed_form, "_LOGISTIC", [alpha])
    weight, bias = solve_linear(goal, outputs, found, found)
    weight.requires_grad_(), bias.requires_grad_()
    total, count = goal.loss_sum(found.out @ weight.t() + bias, found.y, found.mask)
    loss = total / count + 0.5 * alpha * weight.square().sum()
    for gradient in torch.autograd.grad(loss, (weight, bias)):
        assert gradient.abs().max() < 1e-4
    assert float(total.detach()) / int(count) < 0.5


KINDS = ("ring", "size,weight", "big,odd", "size")


@pytest.mark.parametrize("target", KINDS)
@pytest.mark.parametrize("protocol", ["holdout", "nested", "xu2019"])
def test_ridge_runs_as_a_network_does(
    target: str, protocol: str, lines: Path, tmp_path: Path
) -> None:
    more: dict[str, Any] = {
        "model": "ridge",
        "num_layers": None,
        "hidden_channels": None,
        "folds": 2,
    }
    settings = config(lines, target, protocol=protocol, walk_length=4, **more)
    record = run(settings, tmp_path / "run")
    assert all(len(v) == 1 for f in record.folds for v in f.curves.values())
    predictor = Predictor.load(tmp_path / "run")
    assert all(model.precision == "float64" for model in predictor.models)
    training = Training(settings)
    split = training.splits[0]
    found = Predictor(predictor.models[:1], predictor.notes[:1])
    metrics = found.metrics(training.data.subset(split.test))
    for name, value in record.folds[0].metrics.items():
        close = pytest.approx(value, rel=1e-6, abs=1e-9, nan_ok=True)
        assert metrics[name.removeprefix("test_")] == close


@pytest.mark.parametrize(
    "more",
    [
        {"optimizer": "lbfgs", "closed_form": "both", "skip": True, "dtype": "float64"},
        {"optimizer": "adamw", "closed_form": "after", "standardize": "rotate"},
        {"optimizer": "soap", "weight_decay": 1e-3},
        {"optimizer": "lbfgs", "batch_size": 100, "pooled": "frozen", "head": "mlp"},
    ],
)
def test_a_killed_run_continues_to_the_same_end(
    more: dict[str, Any], lines: Path, tmp_path: Path
) -> None:
    """Scales, axes, solved layers and the memory of L-BFGS, bit by bit."""
    model: dict[str, Any] = {
        "model": "sek-gin",
        "num_hops": 2,
        "walk_length": 4,
        "norm": "none",
    }
    settings = config(lines, epochs=4, **{**model, **more})
    run(settings, tmp_path / "whole")
    assert signalled_run(settings, tmp_path / "killed", 2) == -signal.SIGKILL
    run(settings, tmp_path / "killed")
    assert leavings(tmp_path / "killed") == leavings(tmp_path / "whole")


def test_lbfgs_does_not_depend_on_batches(
    lines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loss is that of all graphs; what does not fit in memory is cut anew."""
    common: dict[str, Any] = {
        "model": "gin",
        "norm": "none",
        "dtype": "float64",
        "optimizer": "lbfgs",
    }
    ends = []
    for size in (3, 1000):
        settings = config(lines, **{**common, "epochs": 3, "batch_size": size})
        record = run(settings, tmp_path / f"{size}")
        ends.append(record.folds[0].curves["train_loss"])
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-5)
    assert ends[0][-1] < ends[0][0]
    cut: list[int] = []
    usual = BatchLoader.__iter__

    def spy(loader: BatchLoader) -> Any:
        cut.append(len(loader))
        return usual(loader)

    monkeypatch.setattr(BatchLoader, "__iter__", spy)
    run(settings, tmp_path / "whole")
    kept = len(cut)
    monkeypatch.setattr("sekgnn.training.loop._HELD", 0)
    settings = config(lines, **{**common, "epochs": 3, "batch_size": 3})
    run(settings, tmp_path / "cut")
    assert leavings(tmp_path / "cut") == leavings(tmp_path / "3")
    assert len(cut) - kept > kept + 3  # those of every evaluation of the loss


def test_lbfgs_ends_where_loss_and_penalty_are_level(lines: Path) -> None:
    """With weight decay c it descends on the loss + c/2 times the squared weights."""
    settings = config(
        lines, model="gin", norm="none", dtype="float64", optimizer="lbfgs", epochs=40,
        keep="last", refit=True, hidden_channels=2, num_layers=1, weight_decay=0.5,
        activation="silu",
    )  # fmt: skip
    training = Training(settings, cache=False)
    model = training.fit().model
    (batch,) = training.prepare().batches(training.splits[0].train, 1000)
    total, count = training.objective().loss_sum(model(batch), batch.y, batch.y_mask)
    squares = sum(weight.square().sum() for weight in model.parameters())
    (total / count + 0.25 * squares).backward()  # type: ignore[no-untyped-call]
    for weight in model.parameters():
        assert weight.grad is not None and weight.grad.abs().max() < 1e-6
    assert any(weight.abs().max() > 1e-3 for weight in model.parameters())


def test_encodings_are_scaled_by_the_training_graphs_alone(
    lines: Path, tmp_path: Path
) -> None:
    settings = config(lines, model="sek-gin", num_hops=1, walk_length=4, epochs=1)
    run(settings, tmp_path / "run")
    training = Training(settings)
    joined = training.prepare()
    kept = weights(tmp_path / "run")
    (batch,) = joined.batches(training.splits[0].train, 1000)
    shift = kept["branches.0.fusion.standardizer.shift"]
    expected = batch.sub_enc.flatten(1).double().mean(0)
    torch.testing.assert_close(shift.double(), expected, rtol=1e-5, atol=1e-7)


def test_a_solved_skip_is_ridge_and_the_head_keeps_what_is_better(
    lines: Path, tmp_path: Path
) -> None:
    """Before training the network adds nothing: both predict alike."""
    common: dict[str, Any] = {"walk_length": 4, "dtype": "float64", "scope": "graph"}
    alone: dict[str, Any] = {
        "model": "ridge",
        "num_layers": None,
        "hidden_channels": None,
    }
    ridge = run(config(lines, **common, **alone), tmp_path / "ridge").folds[0]
    beside: dict[str, Any] = {
        "model": "sek-gin",
        "num_hops": 1,
        "skip": True,
        "pooled": "frozen",
    }
    settings = config(
        lines, **common, **beside, closed_form="both", lr=1e-12, norm="none"
    )
    network = run(settings, tmp_path / "network").folds[0]
    first = network.curves["val_mae"][0]
    assert first == pytest.approx(ridge.curves["val_mae"][0], rel=1e-4)
    solved = Predictor.load(tmp_path / "network")
    part = Training(settings).data.subset(Training(settings).splits[0].val)
    assert solved.metrics(part)["mse"] <= network.curves["val_mse"][0] * (1 + 1e-6)


def test_zeros_and_ones_are_learned_as_probabilities(tmp_path: Path) -> None:
    items = [{**item, "odd": item["num_nodes"] % 2} for item in records(40)]
    lines = write_lines(tmp_path / "data.jsonl", items)
    settings = config(lines, "odd", kind="regression", loss="bce", epochs=5)
    run(settings, tmp_path / "run")
    task = read_task(lines)
    found = Predictor.load(tmp_path / "run").predict(task.graphs)
    assert ((found > 0) & (found < 1)).all()
    with pytest.raises(ConfigError, match="0 or 1"):
        run(config(lines, "size", loss="bce"), tmp_path / "other")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"optimizer": "lbfgs", "dropout": 0.1}, "dropout does not work"),
        ({"optimizer": "lbfgs", "clip": 1.0}, "clip does not work"),
        ({"closed_form": "before"}, "set skip"),
        ({"model": "ridge"}, "has no hidden_channels"),
        ({"readout": "sum+sum"}, "must not repeat"),
        ({"readout": "std"}, "readout must be one of"),
        (
            {"model": "sek-gin", "skip": True, "aggregate": "learned"},
            "walks with aggregate moments, or a network without skip",
        ),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_written(
    more: dict[str, Any], message: str, lines: Path, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=message):
        run(config(lines, **more), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("more", "place", "message"),
    [
        (
            {"model": "sek-gnn", "aggregate": "learned"},
            "encoding.multisets",
            r"pairs .* 0\.0 GiB; the limit",
        ),
        (
            {"model": "ppgn"},
            "checks",
            r"a batch of 8 graphs of up to 7, needs about 0\.0 GiB",
        ),
    ],
)
def test_what_has_no_room_is_refused_before_anything_is_written(
    more: dict[str, Any],
    place: str,
    message: str,
    lines: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(f"sekgnn.{place}.free_bytes", lambda: 2**14)
    monkeypatch.setattr("sekgnn.checks._SMALL", 2**13)
    with pytest.raises(GraphInputError, match=message):
        run(config(lines, **more, walk_length=5), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_target_without_validation_values_has_its_penalty_from_inner_folds() -> None:
    found = table(60, 2, lambda x: x @ x.new_tensor([[3.0, 0], [0, 3]]))
    watched = found._replace(mask=found.mask.clone())
    watched.mask[:, 1] = False
    goal = Objective.fit("regression", "mse", False, found.y, found.mask)
    weight, _ = solve_linear(goal, 2, found, watched)
    torch.testing.assert_close(weight, 3 * torch.eye(2).double(), atol=1e-6, rtol=0)


def test_lbfgs_keeps_its_step_and_ends_when_it_stalls(
    tmp_path: Path, lines: Path
) -> None:
    """Of equal graphs only the mean can be learned: soon the loss stays as it is."""
    more: dict[str, Any] = {"optimizer": "lbfgs", "norm": "none", "dtype": "float64"}
    edge: dict[str, Any] = {"edges": [[0, 1]], "num_nodes": 2}
    same = [{**edge, "size": i + 0.5} for i in range(20)]
    flat = write_lines(tmp_path / "flat.jsonl", same)
    settings = config(flat, "size", model="gin", epochs=40, plateau_patience=1, **more)
    curves = run(settings, tmp_path / "run").folds[0].curves
    assert set(curves["lr"]) == {1.0}
    assert len(curves["lr"]) < 40
    assert curves["train_loss"][-1] == curves["train_loss"][-2]
    for norm in (None, "batch"):
        with pytest.raises(ConfigError, match="set norm to none or layer"):
            config(lines, **{**more, "model": "gin", "norm": norm})
