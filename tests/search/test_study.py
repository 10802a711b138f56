"""Laws of a search: what is tried, what is counted, what is best, what is refused."""

from __future__ import annotations

import copy
import csv
import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

optuna: Any = pytest.importorskip("optuna")

from sekgnn.datasets.graph_task import GraphTask  # noqa: E402
from sekgnn.errors import ConfigError, OutputError  # noqa: E402
from sekgnn.search import SearchRecord, SearchSpace, search  # noqa: E402
from sekgnn.search.worker import Outcome, Report, Validation  # noqa: E402
from sekgnn.training.config import RunConfig  # noqa: E402
from sekgnn.training.loop import NotFiniteError  # noqa: E402
from sekgnn.training.run import run_fold  # noqa: E402
from sekgnn.training.run_folder import read_config  # noqa: E402
from sekgnn.training.training import Training  # noqa: E402

from .conftest import BASE  # noqa: E402

GRID = SearchSpace.from_dict({"lr": [0.01, 0.03], "batch_size": [8, 16, 32]})
WIDE = SearchSpace.from_dict({"lr": {"low": 1e-3, "high": 0.1, "log": True},
                              "batch_size": [8, 16, 32]})  # fmt: skip


def table(folder: Path) -> list[dict[str, str]]:
    with (folder / "trials.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def points(record: SearchRecord) -> list[dict[str, Any]]:
    """Return what was tried, in the order of the slots."""
    rows = [row for row in record.rows if row["state"] in ("complete", "pruned")]
    keys = SearchSpace(record.space).keys
    return [{k: row[k] for k in keys} for row in sorted(rows, key=lambda r: r["slot"])]


def test_grid_tries_every_point_once(
    tmp_path: Path, data: GraphTask, no_training: list[RunConfig]
) -> None:
    record = search(BASE, GRID, tmp_path, sampler="grid", pruner="none", data=data)
    tried = [(c.lr, c.batch_size) for c in no_training]
    assert sorted(tried) == sorted((p["lr"], p["batch_size"]) for p in GRID.points())
    assert [c for c in no_training if replace(c, lr=0.001, batch_size=16) != BASE] == []
    assert record.trials == {"complete": 6, "pruned": 0, "fail": 0, "running": 0}
    again = search(
        BASE, GRID, tmp_path, sampler="grid", pruner="none", data=data, trials=99
    )
    assert len(no_training) == 6
    assert again.best == record.best


def test_best_config_reproduces_the_least_value_of_the_table(
    tmp_path: Path, data: GraphTask
) -> None:
    """Trained again, as ``sekgnn train`` does, best.yaml has the very same value."""
    space = SearchSpace.from_dict({"lr": [0.003, 0.03], "num_layers": [1, 2]})
    record = search(
        BASE, space, tmp_path / "s", sampler="grid", pruner="none", data=data
    )
    rows = table(tmp_path / "s")
    values = [float(row["value"]) for row in rows]
    assert len(values) == 4
    assert record.best is not None
    assert record.best["value"] == min(values)
    config = RunConfig.from_dict(read_config(tmp_path / "s" / "best.yaml"))
    best = rows[values.index(min(values))]
    assert (config.lr, config.num_layers) == (
        float(best["lr"]), int(best["num_layers"]),
    )  # fmt: skip
    fold = run_fold(Training(config, data), 0, tmp_path / "run")
    assert min(fold.curves["val_loss"]) == min(values)
    assert fold.kept_epoch == record.best["kept_epochs"][0]
    saved = json.loads((tmp_path / "s" / "search.json").read_text("utf-8"))
    assert saved["best"] == record.best
    assert saved["trials"]["complete"] == 4
    assert "validation graphs" in saved["selected_on"]


@pytest.mark.parametrize("sampler", ["tpe", "random"])
def test_a_continued_search_equals_one_in_one_go(
    tmp_path: Path, data: GraphTask, no_training: list[RunConfig], sampler: str
) -> None:
    uninterrupted = search(
        BASE, WIDE, tmp_path / "a", trials=14, sampler=sampler, data=data
    )
    assert uninterrupted.done == 14
    for trials in (5, 11, 14):
        continued = search(
            BASE, WIDE, tmp_path / "b", trials=trials, sampler=sampler, data=data
        )
        assert continued.done == trials
    assert points(continued) == points(uninterrupted)
    assert len({json.dumps(point) for point in points(uninterrupted)}) == 14
    assert continued.best == uninterrupted.best


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit])
def test_an_interrupted_trial_is_done_again(
    tmp_path: Path,
    data: GraphTask,
    monkeypatch: pytest.MonkeyPatch,
    interruption: type[BaseException],
) -> None:
    calls: list[float] = []

    def fragile(self: Validation, config: RunConfig, report: Report) -> Outcome:
        calls.append(config.lr)
        if len(calls) == 3:
            raise interruption
        return Outcome(config.lr, (1,), 1, 0.0)

    monkeypatch.setattr(Validation, "value", fragile)
    with pytest.raises(interruption):
        search(BASE, GRID, tmp_path, sampler="grid", data=data)
    rows = table(tmp_path)
    assert [row["state"] for row in rows] == ["complete", "complete", "fail"]
    assert rows[2]["reason"] == f"interrupted by {interruption.__name__}"
    record = search(BASE, GRID, tmp_path, sampler="grid", data=data)
    assert record.trials == {"complete": 6, "pruned": 0, "fail": 1, "running": 0}
    assert calls[2] == calls[3]
    assert len({json.dumps(point) for point in points(record)}) == 6


def test_pruned_trials_count_and_have_no_value(
    tmp_path: Path, data: GraphTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    def worse(self: Validation, config: RunConfig, report: Report) -> Outcome:
        number = len(seen)
        seen.append(number)
        for epoch in range(1, config.epochs + 1):
            report(epoch, float(number))
        return Outcome(float(number), (1,), 1, 0.0)

    seen: list[int] = []
    monkeypatch.setattr(Validation, "value", worse)
    record = search(BASE, WIDE, tmp_path, trials=8, data=data)
    assert record.trials == {"complete": 5, "pruned": 3, "fail": 0, "running": 0}
    assert record.done == 8
    states = {row["trial"]: (row["state"], row["value"], row["trained_epochs"])
              for row in table(tmp_path)}  # fmt: skip
    assert states["7"] == ("pruned", "", "1")
    assert record.best is not None
    assert record.best["value"] == 0


def test_pruning_leaves_a_real_training_without_a_word(
    tmp_path: Path, data: GraphTask, capfd: pytest.CaptureFixture[str]
) -> None:
    loaded = Validation(BASE, data=data)

    def stop(epoch: int, value: float) -> None:
        raise optuna.TrialPruned

    with pytest.raises(optuna.TrialPruned):
        loaded.value(BASE, stop)
    assert capfd.readouterr() == ("", "")


def test_hopeless_trials_do_not_end_the_search(
    tmp_path: Path, data: GraphTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fussy(self: Validation, config: RunConfig, report: Report) -> Outcome:
        if config.batch_size == 8:
            raise NotFiniteError("the loss is nan in epoch 1, step 1.")
        if config.batch_size == 16:
            return Outcome(float("nan"), (1,), 1, 0.0)
        return Outcome(config.lr, (1,), 1, 0.0)

    monkeypatch.setattr(Validation, "value", fussy)
    record = search(BASE, GRID, tmp_path, sampler="grid", data=data)
    assert record.trials == {"complete": 2, "pruned": 4, "fail": 0, "running": 0}
    reasons = {row["batch_size"]: row["reason"] for row in record.rows}
    assert reasons[8] == "the loss is nan in epoch 1, step 1."
    assert reasons[16] == "the validation value is nan."
    assert reasons[32] is None


def test_impossible_for_some_is_pruned_for_all_is_refused(
    tmp_path: Path, data: GraphTask
) -> None:
    some = SearchSpace.from_dict({"num_hops": [None, 2], "epochs": [1]})
    record = search(BASE, some, tmp_path / "some", sampler="grid", data=data)
    assert record.trials == {"complete": 1, "pruned": 1, "fail": 0, "running": 0}
    assert any("no num_hops" in (row["reason"] or "") for row in record.rows)
    assert [row["epochs"] for row in table(tmp_path / "some")] == ["1", "1"]
    every = SearchSpace.from_dict({"num_hops": [1, 2]})  # a GIN has one hop
    with pytest.raises(ConfigError, match="num_hops"):
        search(BASE, every, tmp_path / "every", data=data)
    assert not (tmp_path / "every").exists()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"protocol": "xu2019"}, "validation graphs"),
        ({"protocol": "wijesinghe2022"}, "validation graphs"),
        ({"protocol": "fixed"}, "validation graphs"),
        ({"keep": "last", "refit": True}, "validation graphs"),
        ({"ensemble": 2}, "ensemble"),
    ],
)
def test_what_a_search_cannot_compare_is_refused(
    tmp_path: Path, data: GraphTask, more: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        search(replace(BASE, **more), GRID, tmp_path / "s", data=data)
    assert not (tmp_path / "s").exists()


def test_the_last_epoch_counts_if_it_is_kept(data: GraphTask) -> None:
    last = replace(BASE, keep="last", epochs=3, lr=0.3)
    reported: list[float] = []
    outcome = Validation(last, data=data).value(last, lambda _, v: reported.append(v))
    curve = Training(last, data).fit().curves["val_loss"]
    assert reported == curve
    assert (outcome.value, outcome.epochs) == (curve[-1], (3,))


def test_test_targets_have_no_influence(tmp_path: Path, data: GraphTask) -> None:
    """Spoil every test target: nothing changes, not even the data's fingerprint."""
    spoilt = replace(data, graphs=tuple(map(copy.copy, data.graphs)))
    assert data.split is not None
    for i in data.split.test:
        graph = spoilt.graphs[int(i)]
        graph.y = graph.y * float("nan")
    space = SearchSpace.from_dict({"lr": {"low": 1e-3, "high": 0.1, "log": True}})
    first, second = (
        search(BASE, space, tmp_path / name, trials=3, data=task)
        for name, task in (("a", data), ("b", spoilt))
    )
    assert [row["value"] for row in first.rows] == [row["value"] for row in second.rows]
    assert first.best == second.best
    assert first.data == second.data


def test_nested_takes_the_mean_over_the_folds(data: GraphTask) -> None:
    nested = replace(BASE, protocol="nested", folds=2, epochs=1)
    loaded = Validation(nested, data=data)
    reported: list[tuple[int, float]] = []
    outcome = loaded.value(nested, lambda epoch, value: reported.append((epoch, value)))
    singles: list[float] = []
    for number, split in enumerate(loaded.splits):
        assert not set(split.val) & set(split.test)
        partial = Validation(nested, data=data)
        partial.splits = loaded.splits[: number + 1]
        singles.append(partial.value(nested).value * (number + 1) - sum(singles))
    assert outcome.value == pytest.approx(sum(singles) / 2)
    assert [epoch for epoch, _ in reported] == [1, 2]
    assert reported[-1][1] == pytest.approx(outcome.value)


def test_another_search_in_the_same_folder_is_refused(
    tmp_path: Path, data: GraphTask, no_training: list[RunConfig]
) -> None:
    search(BASE, GRID, tmp_path, trials=2, data=data)
    other = SearchSpace.from_dict({"lr": [0.01, 0.03], "batch_size": [8, 16]})
    half = replace(data, graphs=data.graphs[::-1])
    cases: list[tuple[RunConfig, SearchSpace, GraphTask, str]] = [
        (replace(BASE, hidden_channels=9), GRID, data, "hidden_channels"),
        (BASE, other, data, "batch_size"),
        (BASE, GRID, half, "validation graphs"),
    ]
    for base, space, task, words in cases:
        with pytest.raises(ConfigError, match=words):
            search(base, space, tmp_path, trials=3, data=task)
    with pytest.raises(ConfigError, match="sampler"):
        search(BASE, GRID, tmp_path, trials=3, data=data, sampler="grid")
    assert len(no_training) == 2
    more = search(replace(BASE, lr=0.7, data="x"), GRID, tmp_path, trials=3, data=data)
    assert more.done == 3  # keys that are searched over, and names of files, are free


def test_foreign_folders_and_studies_are_refused(
    tmp_path: Path, data: GraphTask, no_training: list[RunConfig]
) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "record.json").write_text("{}")
    with pytest.raises(ConfigError, match="neither"):
        search(BASE, GRID, tmp_path / "run", data=data)
    url = f"sqlite:///{tmp_path}/theirs.db"
    foreign = optuna.create_study(storage=url, study_name="theirs")
    foreign.tell(foreign.ask(), 1.0)
    with pytest.raises(ConfigError, match="not made"):
        search(BASE, GRID, tmp_path / "s", storage=url, study_name="theirs", data=data)
    with pytest.raises(ConfigError, match="URL"):
        search(BASE, GRID, tmp_path / "t", storage="study.db", data=data)


def test_a_study_that_cannot_be_written(
    tmp_path: Path, data: GraphTask, no_training: list[RunConfig]
) -> None:
    search(BASE, GRID, tmp_path, trials=1, data=data)
    (tmp_path / "study.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(OutputError, match=r"study\.db"):
        search(BASE, GRID, tmp_path, trials=2, data=data)


def test_higher_is_better_where_it_is(
    tmp_path: Path, data: GraphTask, no_training: list[RunConfig]
) -> None:
    record = search(
        replace(BASE, monitor="r2"), GRID, tmp_path, sampler="grid", pruner="none",
        data=data,
    )  # fmt: skip
    assert record.direction == "maximize"
    assert record.best is not None
    assert record.best["value"] == max(float(row["value"]) for row in table(tmp_path))


def test_timeout_begins_nothing_new(
    tmp_path: Path, data: GraphTask, no_training: list[RunConfig]
) -> None:
    record = search(BASE, GRID, tmp_path, trials=50, timeout=1e-6, data=data)
    assert record.done == 0
    with pytest.raises(ConfigError, match="complete"):
        record.best_config()


def test_damaged_studies_are_refused_before_anything_is_trained(
    tmp_path: Path, data: GraphTask, no_training: list[RunConfig]
) -> None:
    """Whatever Optuna or SQLite makes of the bytes; they stay as they are."""
    urls = {"log": str(tmp_path / "a.log"), "db": f"sqlite:///{tmp_path / 'a.db'}"}
    for url in urls.values():
        search(BASE, GRID, tmp_path / url[-2:], storage=url, trials=1, data=data)
    no_training.clear()
    log, db = ((tmp_path / f"a.{kind}").read_bytes() for kind in urls)
    middle = log.index(b"\n") + 20
    for kind, content in (
        ("log", log[:-20]),
        ("log", log[:-20] + b"\n"),
        ("log", log[:middle] + b"\n" + log[middle:]),
        ("log", b'{"op_code": 0}\n' + log),
        ("log", b"[1]\n"),
        ("log", b"[" * 5000 + b"\n"),
        ("log", b"\xff\xfe\n"),
        ("db", db[: len(db) // 2]),
        ("db", b"no database" * 100),
        ("db", db[:1024] + bytes(len(db) - 1024)),
    ):
        file = tmp_path / f"a.{kind}"
        file.write_bytes(content)
        with pytest.raises((ConfigError, OutputError), match=file.name) as caught:
            search(BASE, GRID, tmp_path / "new", storage=urls[kind], data=data)
        assert "\n" not in str(caught.value)
        assert file.read_bytes() == content
    assert not no_training


@pytest.mark.parametrize("form", ["{}/study.log", "sqlite:///{}/study.db"])
def test_no_study_is_unpickled(
    tmp_path: Path,
    data: GraphTask,
    no_training: list[RunConfig],
    monkeypatch: pytest.MonkeyPatch,
    form: str,
) -> None:
    """A study may come from others; unpickling it would run their code."""

    def refuse(*args: object, **options: object) -> None:
        raise AssertionError("something was unpickled")

    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    for trials in (2, 4):
        record = search(
            BASE, WIDE, tmp_path, trials=trials, storage=form.format(tmp_path),
            data=data,
        )  # fmt: skip
        assert record.done == trials
