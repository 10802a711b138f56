"""A run repeats itself, never looks at the test graphs early, and tells the truth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.training.helpers import (
    config,
    leavings,
    records,
    run,
    weights,
    write_lines,
)

from sekgnn.errors import ConfigError, GraphInputError, GraphInputWarning
from sekgnn.models import load_model
from sekgnn.training.objective import Objective
from sekgnn.training.predict_file import evaluate_run
from sekgnn.training.predictions import predict_batches
from sekgnn.training.predictor import Predictor
from sekgnn.training.run_record import RunRecord
from sekgnn.training.training import Training


def test_the_same_config_gives_the_same_numbers_and_another_seed_others(
    lines: Path, tmp_path: Path
) -> None:
    found = []
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        run(config(lines, dropout=0.2, seed=seed, epochs=2), tmp_path / name)
        found.append(leavings(tmp_path / name))
    assert found[0] == found[1]
    assert found[0]["weights"] != found[2]["weights"]
    assert found[0]["curves"] != found[2]["curves"]


@pytest.mark.parametrize(
    ("target", "more"),
    [
        ("size", {"model": "sek-gin", "walk_length": 4}),
        ("ring", {"monitor": "accuracy"}),
        ("size,weight", {"loss": "mae", "monitor": "r2"}),
        ("big,odd", {}),
    ],
)
def test_results_are_those_of_the_model_file(
    lines: Path, tmp_path: Path, target: str, more: dict[str, Any]
) -> None:
    """Whoever loads the model and tests it gets the numbers of the record."""
    settings = config(lines, target, **more)
    record = run(settings, tmp_path / "run")
    training = Training(settings)
    (split,) = training.splits
    model = load_model(tmp_path / "run" / "model.safetensors")
    goal = training.objective()
    for part in ("val", "test"):
        batches = training.prepare().batches(getattr(split, part), 4)
        found = predict_batches(model, batches)
        predicted = goal.predictions(found.out)
        measured = Predictor((), [goal]).measure(predicted, found.y, found.mask)
        values = {f"{part}_{k}": v for k, v in measured.items()}
        if part == "test":
            reported = {r.metric: r.value for r in record.results}
            assert values == pytest.approx(reported, rel=1e-4, nan_ok=True)
        values["val_loss"] = found.loss(goal)
        curves = record.folds[0].curves
        kept = {k: c[record.folds[0].kept_epoch - 1] for k, c in curves.items()}
        for name in set(values) & set(kept) if part == "val" else ():
            assert values[name] == pytest.approx(kept[name], rel=1e-4, nan_ok=True)
    curve = np.array(record.folds[0].curves[f"val_{settings.monitor}"])
    best = np.argmax if settings.monitor in ("accuracy", "r2") else np.argmin
    assert record.folds[0].kept_epoch == best(curve) + 1


def test_the_model_file_says_what_its_outputs_mean(lines: Path, tmp_path: Path) -> None:
    from safetensors import safe_open

    run(config(lines, "ring", epochs=1), tmp_path / "run")
    with safe_open(str(tmp_path / "run" / "model.safetensors"), "pt") as file:
        text = " ".join(file.metadata().values())
    assert '"yes"' in text
    training = Training(config(lines, "ring"))
    note = training.objective()
    assert Objective.from_dict(note.to_dict()) == note
    assert note.classes == ("no", "yes")


@pytest.mark.parametrize("protocol", ["holdout", "nested", "xu2019", "fixed"])
def test_targets_of_test_graphs_never_influence_training(
    tmp_path: Path, protocol: str
) -> None:
    """Change them: curves of training and validation, and weights, stay the same.

    The rate is high, so that losses rise at times and a rate that followed the test
    loss would show.
    """
    plain = write_lines(tmp_path / "a.jsonl", records())
    more: dict[str, Any] = {
        "protocol": protocol, "folds": 2, "plateau_patience": 0, "lr": 0.3, "epochs": 6,
    }  # fmt: skip
    settings = config(plain, **more)
    test = Training(settings).splits[0].test
    items = records()
    for i in test.tolist():
        items[i]["size"] += 100.0
    other = write_lines(tmp_path / "b.jsonl", items)
    first = run(settings, tmp_path / "one").folds[0]
    second = run(config(other, **more), tmp_path / "two").folds[0]
    assert first.split == second.split
    for name, curve in first.curves.items():
        if not name.startswith("test_"):
            assert second.curves[name] == curve, name
    assert first.metrics != second.metrics
    assert first.kept_epoch == second.kept_epoch
    deep = "" if protocol == "holdout" else "fold-01"
    one, two = weights(tmp_path / "one" / deep), weights(tmp_path / "two" / deep)
    assert all((one[name] == two[name]).all() for name in one)


def test_xu2019_lets_the_rate_follow_the_training_loss(
    lines: Path, tmp_path: Path
) -> None:
    """A rate that is too high makes the training loss rise, and the rate fall."""
    settings = config(
        lines, protocol="xu2019", folds=2, epochs=8, lr=0.3, plateau_patience=0
    )
    for fold in run(settings, tmp_path / "run").folds:
        rate, best = 0.3, float("inf")
        for lr, loss in zip(fold.curves["lr"], fold.curves["train_loss"], strict=True):
            assert lr == pytest.approx(rate)
            rate = rate if loss < best * (1 - 1e-4) else rate * 0.5
            best = min(best, loss) if loss < best * (1 - 1e-4) else best
        assert fold.kept_epoch == 8


@pytest.mark.parametrize("protocol", ["holdout", "nested", "fixed"])
def test_without_a_choice_the_last_epoch_is_kept_and_every_graph_trains(
    lines: Path, tmp_path: Path, protocol: str
) -> None:
    """Nothing is watched; nested graphs in the order of fixed give the same weights."""
    more: dict[str, Any] = {"protocol": protocol, "folds": 3}
    if protocol != "fixed":
        more |= {"keep": "last", "refit": True}
    record = run(config(lines, **more), tmp_path / "run")
    assert record.monitor == "nothing"
    assert record.selected_on == record.headline.selected_on
    for fold in record.folds:
        assert fold.split.keys() == {"train", "test"}
        assert sorted(fold.split["train"] + fold.split["test"]) == list(range(30))
        assert fold.curves.keys() == {"lr", "train_loss"}
        assert fold.kept_epoch == 3
    told = "all settings stand before" if protocol == "fixed" else "the last epoch"
    assert told in record.selected_on
    with pytest.raises(GraphInputError, match=f"no val part.*{protocol}"):
        evaluate_run(tmp_path / "run", "val")


def test_the_last_epoch_may_be_kept_where_another_was_better(lines: Path) -> None:
    """The same training; only what is kept of it differs."""
    more: dict[str, Any] = {"lr": 0.1, "epochs": 6}
    best = Training(config(lines, keep="best", **more)).fit()
    last = Training(config(lines, keep="last", **more)).fit()
    assert best.curves == last.curves
    assert best.kept_epoch < last.kept_epoch == 6


def test_a_finished_run_is_returned_and_not_repeated(
    lines: Path, tmp_path: Path
) -> None:
    settings = config(lines, epochs=1)
    first = run(settings, tmp_path / "run")
    times = {p: p.stat().st_mtime_ns for p in (tmp_path / "run").iterdir()}
    lines.unlink()  # not even the data is needed
    again = run(settings, tmp_path / "run")
    assert again.headline.value == pytest.approx(first.headline.value, rel=1e-6)
    assert {p: p.stat().st_mtime_ns for p in (tmp_path / "run").iterdir()} == times


def test_a_run_writes_nothing_when_its_config_cannot_work(
    lines: Path, tmp_path: Path
) -> None:
    for more in (
        {"monitor": "auroc"},
        {"target": "nothing"},
        {"hidden_channels": 0},
        {"model": "gin", "num_hops": 2},
        {"data": "no-such-file.csv"},
        {"dropout": 1.5},
    ):
        with pytest.raises((ConfigError, GraphInputError)):
            run(config(lines, **more), tmp_path / "run")
        assert not (tmp_path / "run").exists()


def test_a_split_of_ones_own_decides_who_tests(tmp_path: Path) -> None:
    lines = write_lines(tmp_path / "data.jsonl", records())
    split = tmp_path / "split.json"
    split.write_text('{"train": [0,1,2,3,4,5,6,7], "val": [8,9], "test": [11,10]}')
    record = run(config(lines, split=str(split), epochs=1), tmp_path / "run")
    assert record.folds[0].split["test"] == [10, 11]
    text = (tmp_path / "run" / "predictions.csv").read_text()
    assert [line.split(",")[0] for line in text.splitlines()[1:]] == ["10", "11"]


def test_positions_of_a_split_never_shift_silently(tmp_path: Path) -> None:
    """Graphs without targets are left out, which would renumber all after them."""
    lines = write_lines(tmp_path / "data.jsonl", records())
    split = tmp_path / "split.json"
    split.write_text('{"train": [0,1,2,3], "val": [8,9], "test": [11,10]}')
    with pytest.raises(GraphInputError, match="6 graphs without a target"):
        run(config(lines, "weight", split=str(split)), tmp_path / "run")


def test_a_run_never_continues_with_other_data(lines: Path, tmp_path: Path) -> None:
    settings = config(lines)

    def stop(epoch: int, _: dict[str, float]) -> None:
        raise ConnectionError("something unforeseen")

    with pytest.raises(ConnectionError):
        run(settings, tmp_path / "run", report=stop)
    items = records()
    write_lines(lines, [*items[:-1], {**items[-1], "size": 5.5}])
    with pytest.raises(ConfigError, match="the data has changed since the run"):
        run(settings, tmp_path / "run")
    write_lines(lines, items)
    assert len(run(settings, tmp_path / "run").folds[0].curves["lr"]) == 3


def test_missing_targets_are_left_out_of_a_run(tmp_path: Path) -> None:
    lines = write_lines(tmp_path / "data.jsonl", records())
    with pytest.warns(GraphInputWarning, match=r"6 graphs without .*\(6 empty"):
        record = run(config(lines, "weight", epochs=1), tmp_path / "run")
    assert record.data["graphs"] == 24
    both = run(config(lines, "size,weight", epochs=1), tmp_path / "both")
    assert both.data["graphs"] == 30


def test_the_record_holds_config_data_and_versions(lines: Path, tmp_path: Path) -> None:
    settings = config(lines, epochs=1, lr=0.00123456789)
    run(settings, tmp_path / "run")
    record = RunRecord.load(tmp_path / "run")
    assert type(settings).from_dict(record.config) == settings
    assert record.data["kind"] == "regression"
    assert len(record.data["fingerprint"]) == 64
    assert record.versions["torch"]
    assert record.num_parameters == sum(
        w.numel() for n, w in weights(tmp_path / "run").items() if "running" not in n
        and "num_batches" not in n
    )  # fmt: skip
