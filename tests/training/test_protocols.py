"""Protocols: who tests, and which number is read off the curves."""

from __future__ import annotations

from math import nan
from pathlib import Path

import numpy as np
import pytest
from tests.training.helpers import config, fold_record, records, write_lines

from sekgnn.errors import GraphInputError
from sekgnn.training.config import RunConfig
from sekgnn.training.data import load_data
from sekgnn.training.objective import METRICS
from sekgnn.training.run_folder import fold_folders
from sekgnn.training.run_record import summarise
from sekgnn.training.splits import make_splits

ACCURACY = [
    fold_record(test_accuracy=[0.5, 0.9, 0.6, 0.7]),
    fold_record(test_accuracy=[0.8, 0.5, 0.9, 0.6]),
]  # means 0.65, 0.7, 0.75, 0.65


@pytest.mark.parametrize("protocol", ["xu2019", "wijesinghe2022"])
def test_curves_of_classes_read_three_ways(protocol: str) -> None:
    """The best shared epoch is the third; each fold's own best is 0.9."""
    results = summarise(RunConfig(protocol=protocol), ACCURACY, METRICS["binary"])
    assert results[0].protocol == protocol
    found = {result.protocol: result for result in results}
    shared = found["xu2019"]
    assert shared.value == pytest.approx(0.75)
    assert shared.epoch == 3
    assert shared.spread == pytest.approx(0.15)
    best = found["wijesinghe2022"]
    assert best.value == pytest.approx(0.9)
    assert (best.spread, best.epoch) == (0.0, None)
    last = found["last epoch"]
    assert last.value == pytest.approx(0.65)
    assert last.epoch == 4
    assert last.selected_on == "nothing: the last epoch"
    assert {result.metric for result in results} == {"test_accuracy"}


def test_curves_of_errors_are_better_when_low() -> None:
    folds = [
        fold_record(test_mae=[3.0, 1.0, 2.0]),
        fold_record(test_mae=[1.0, 4.0, 2.0]),
    ]
    found = {
        result.protocol: (result.value, result.epoch)
        for result in summarise(RunConfig(protocol="xu2019"), folds, ["mae"])
    }
    assert found == {
        "xu2019": (2.0, 1),  # means 2, 2.5, 2: the earliest of equals
        "wijesinghe2022": (1.0, None),
        "last epoch": (2.0, 3),
    }


def test_selection_on_validation_reports_the_metrics_of_kept_weights() -> None:
    names = ("mae", "mse", "rmse", "log10_mse", "r2")
    folds = [
        fold_record(**{f"test_{name}": [float(i + n)] for n, name in enumerate(names)})
        for i in (0, 2)
    ]
    results = summarise(RunConfig(protocol="nested"), folds, names)
    assert [r.metric for r in results] == [f"test_{name}" for name in names]
    assert [(r.value, r.spread) for r in results] == [(n + 1.0, 1.0) for n in range(5)]
    (one, *_) = summarise(RunConfig(), folds[:1], names)
    assert (one.value, one.spread) == (0.0, None)


@pytest.mark.parametrize("protocol", ["xu2019", "wijesinghe2022", "nested", "fixed"])
def test_every_graph_tests_once_and_never_where_it_trains(
    lines: Path, protocol: str
) -> None:
    settings = config(lines, "ring", protocol=protocol, folds=4)
    data = load_data(settings)
    splits = make_splits(settings, data)
    tests = np.concatenate([split.test for split in splits])
    assert sorted(tests.tolist()) == list(range(30))
    for split in splits:
        parts = [*split.train.tolist(), *split.val.tolist(), *split.test.tolist()]
        assert sorted(parts) == list(range(30))
        assert bool(split.val.size) == (protocol == "nested")
    again = make_splits(config(lines, "ring", protocol="xu2019", folds=4), data)
    for one, other in zip(splits, again, strict=True):
        assert np.array_equal(one.test, other.test)


def test_a_class_missing_from_training_names_class_and_fold(tmp_path: Path) -> None:
    """Of two members one tests, and the other is taken for validation."""
    items = records()
    for i, item in enumerate(items):
        item["ring"] = "a rare one" if i < 2 else item["ring"]
    lines = write_lines(tmp_path / "data.jsonl", items)
    settings = config(lines, "ring", protocol="nested", folds=2, val_fraction=0.45)
    with pytest.raises(GraphInputError, match=r"fold \d: class 'a rare one'"):
        make_splits(settings, load_data(settings))
    settings = config(lines, "ring", protocol="xu2019", folds=2)
    assert len(make_splits(settings, load_data(settings))) == 2


@pytest.mark.dataset
def test_published_folds_are_those_of_the_files(data_root: Path) -> None:
    from sekgnn.datasets import tu_folds

    settings = RunConfig(data="MUTAG", protocol="xu2019", published_folds=True)
    data = load_data(settings, data_root)
    splits = make_splits(settings, data, data_root)
    expected = tu_folds("MUTAG", data_root)
    assert len(splits) == len(expected) == 10
    for split, (train, test) in zip(splits, expected, strict=True):
        assert np.array_equal(split.train, train)
        assert np.array_equal(split.test, test)


def test_published_folds_of_other_data_are_refused(lines: Path) -> None:
    settings = config(lines, "ring", protocol="xu2019", published_folds=True)
    with pytest.raises(ValueError, match=r"fold|TU|name"):
        make_splits(settings, load_data(settings))


def test_undefined_metrics_are_no_best_epoch(lines: Path) -> None:
    """Argmax of NaN would report epoch 1 as the best of all."""
    settings = config(lines, "big,odd", protocol="xu2019", folds=2)
    folds = [fold_record(test_auroc=[0.5, 0.6]), fold_record(test_auroc=[nan, nan])]
    with pytest.raises(GraphInputError, match="fold 2"):
        summarise(settings, folds, ["auroc"])


def test_a_hundred_folds_keep_their_order() -> None:
    folders = fold_folders(Path("run"), 188)
    assert folders == sorted(folders)
    assert fold_folders(Path("run"), 3)[0].name == "fold-01"
