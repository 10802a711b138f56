"""A grid is searched on the validation graphs of every fold, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.training.helpers import (
    check_evaluation,
    config,
    records,
    run,
    weights,
    write_lines,
)

from sekgnn.errors import ConfigError
from sekgnn.search.worker import Validation
from sekgnn.training.config import RunConfig
from sekgnn.training.loop import Loop, NotFiniteError
from sekgnn.training.predictor import Predictor
from sekgnn.training.run_record import FoldRecord, RunRecord
from sekgnn.training.training import Training

NESTED: dict[str, Any] = {"protocol": "nested", "folds": 2, "epochs": 2}
GRID: dict[str, Any] = {"num_layers": [1, 2], "jump": ["sum", "concat"]}


def chosen(fold: FoldRecord) -> dict[str, Any]:
    (one,) = (one for one in fold.tried if one["chosen"])
    return one


def without_times(fold: FoldRecord) -> list[dict[str, Any]]:
    return [{k: v for k, v in one.items() if k != "seconds"} for one in fold.tried]


@pytest.mark.parametrize(("target", "keep"), [("size", "best"), ("ring", "last")])
def test_the_best_point_on_validation_graphs_is_tested(
    lines: Path, tmp_path: Path, target: str, keep: str
) -> None:
    """By brute force: every point as a run without a grid."""
    more: dict[str, Any] = {**NESTED, "keep": keep, "grid": GRID}
    high = target == "ring"
    more["monitor"] = "accuracy" if high else "mae"
    settings = config(lines, target, **more)
    record = run(settings, tmp_path / "run")
    alone = [
        run(settings.at(point), tmp_path / str(i))
        for i, point in enumerate(settings.points)
    ]
    assert len(alone) == 4
    for number, fold in enumerate(record.folds):
        plain = [each.folds[number] for each in alone]
        values = [f.curves[f"val_{settings.monitor}"][f.kept_epoch - 1] for f in plain]
        best = values.index((max if high else min)(values))
        assert [one[f"val_{settings.monitor}"] for one in fold.tried] == values
        assert [one["chosen"] for one in fold.tried].index(True) == best
        assert fold.point == settings.points[best]
        for name in ("curves", "metrics", "split", "kept_epoch"):
            assert getattr(fold, name) == getattr(plain[best], name)
        assert fold.seconds == pytest.approx(sum(o["seconds"] for o in fold.tried))
        place = f"fold-0{number + 1}"
        mine, theirs = (weights(tmp_path / n / place) for n in ("run", str(best)))
        assert all(mine[name].equal(theirs[name]) for name in theirs)
        files = sorted(path.name for path in (tmp_path / "run" / place).iterdir())
        assert files == [
            "fold.json", "metrics.csv", "model.safetensors", "predictions.csv",
        ]  # fmt: skip
    assert "points of jump sum, concat; num_layers 1, 2" in record.selected_on
    assert RunRecord.load(tmp_path / "run").folds[1].point == record.folds[1].point
    assert len(Predictor.load(tmp_path / "run").models) == 2
    check_evaluation(tmp_path / "run")


def test_a_grid_of_one_point_is_the_run_without_it(lines: Path, tmp_path: Path) -> None:
    record = run(config(lines, **NESTED, grid={"num_layers": [2]}), tmp_path / "grid")
    plain = run(config(lines, **NESTED), tmp_path / "plain")
    assert record.model == plain.model
    assert record.num_parameters == plain.num_parameters
    for mine, theirs in zip(record.results, plain.results, strict=True):
        assert (mine.metric, mine.value) == (theirs.metric, theirs.value)
    own = ("model.safetensors", "metrics.csv", "predictions.csv")
    for file in (f"fold-0{i}/{name}" for i in (1, 2) for name in own):
        with_grid, without = (tmp_path / n / file for n in ("grid", "plain"))
        assert with_grid.read_bytes() == without.read_bytes()


def test_test_targets_change_nothing_that_is_chosen(
    lines: Path, tmp_path: Path
) -> None:
    settings = config(lines, **NESTED, grid=GRID)
    before = run(settings, tmp_path / "before").folds[0]
    items = records()
    tested = before.split["test"]
    for i, j in zip(tested, tested[1:] + tested[:1], strict=True):
        items[i]["size"] = 100 * records()[j]["size"]
    other = config(write_lines(tmp_path / "other.jsonl", items), **NESTED, grid=GRID)
    after = run(other, tmp_path / "after").folds[0]
    assert after.split == before.split and after.metrics != before.metrics
    assert without_times(after) == without_times(before)
    assert after.curves == before.curves
    mine, theirs = (weights(tmp_path / n / "fold-01") for n in ("before", "after"))
    assert all(mine[name].equal(theirs[name]) for name in mine)


def test_what_was_tried_is_not_trained_again(
    lines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = config(
        lines, **NESTED, grid={"num_hops": [1, 2, 3]}, model="k-gin", grid_points=2
    )
    whole = run(settings, tmp_path / "whole")
    epochs, fit = 0, Training.fit

    def stopped(self: Training, *args: Any, **keys: Any) -> Any:
        def report(*_: Any) -> None:
            nonlocal epochs
            epochs += 1
            if epochs in (4, 7):  # end of a point; inside the second of a fold
                raise ConnectionError("something unforeseen")

        return fit(self, *args, **{**keys, "report": report})

    monkeypatch.setattr(Training, "fit", stopped)
    for _ in range(2):
        with pytest.raises(ConnectionError):
            run(settings, tmp_path / "again")
    again = run(settings, tmp_path / "again")
    # an epoch that was stopped in its report has no checkpoint yet
    assert epochs == 2 * 2 * 2 + 2
    assert again.results == whole.results
    assert len(again.folds[0].tried) == 2
    for mine, theirs in zip(again.folds, whole.folds, strict=True):
        assert without_times(mine) == without_times(theirs)
        assert mine.curves == theirs.curves
    told: list[tuple[int, int]] = []
    run(settings, tmp_path / "told", progress=lambda *done: told.append(done))
    done = [d for d, _ in told]
    assert done == sorted(done) and {total for _, total in told} == {8}


def test_a_point_whose_loss_is_not_finite_drops_out(
    lines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = config(lines, epochs=2, grid={"num_layers": [1, 2]})
    step, failing = Loop.train_loss, [1]

    def train_loss(self: Loop) -> float:
        if self.config.num_layers in failing:
            raise NotFiniteError("the loss is not finite.")
        return step(self)

    monkeypatch.setattr(Loop, "train_loss", train_loss)
    (fold,) = run(settings, tmp_path / "one").folds
    assert fold.tried[0]["failed"] == "the loss is not finite."
    assert fold.point == {"num_layers": 2}
    failing.append(2)
    with pytest.raises(NotFiniteError):
        run(settings, tmp_path / "none")


def test_points_are_drawn_once_each_by_the_seed() -> None:
    grid = {"num_hops": [1, 2, 3, 4], "num_layers": [1, 2, 3, 4]}
    every = RunConfig(grid=tuple(grid.items())).points
    assert len(every) == 16 and every[1] == {"num_hops": 1, "num_layers": 2}
    few, other = (
        RunConfig(grid=tuple(grid.items()), grid_points=5, seed=seed).points
        for seed in (0, 1)
    )
    assert few != other and few == [point for point in every if point in few]
    assert len({json.dumps(point) for point in few}) == 5


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"grid": {"num_layer": [1]}}, "num_layers"),
        ({"grid": {"lr": [0.1]}}, "keys of grid"),
        ({"grid": {"num_hops": [1]}}, "keys of grid"),
        ({"grid": {"num_layers": []}}, "list of choices"),
        ({"grid": {"num_layers": 2}}, "list of choices"),
        ({"grid": {"num_layers": [2, 2]}}, "twice"),
        ({"grid": {"jump": ["leap"]}}, "jump"),
        ({"grid": {"num_layers": ["x"]}}, "integer"),
        ({"grid": {"num_layers": [2]}, "grid_points": 2}, "1 points"),
        ({"grid_points": 2}, "grid_points"),
        ({"grid": GRID, "protocol": "fixed"}, "'fixed'"),
        ({"grid": GRID, "protocol": "xu2019"}, "'xu2019'"),
        ({"grid": GRID, "refit": True, "keep": "last"}, "refit"),
        ({"grid": GRID, "ensemble": 2}, "single networks"),
        ({"grid": {"max_depth": [1]}, "model": "forest"}, "single networks"),
    ],
)
def test_a_grid_that_cannot_work_is_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        RunConfig.from_dict({"model": "gin", **keys})
    assert "\n" not in str(caught.value)


def test_a_point_that_cannot_be_built_is_refused_before_anything_is_written(
    lines: Path, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match="num_layers"):
        run(config(lines, grid={"num_layers": [1, 0]}), tmp_path / "run")
    assert not (tmp_path / "run").exists()
    with pytest.raises(ConfigError, match="leave it out"):
        Validation(config(lines, grid=GRID))
