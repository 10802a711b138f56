"""An ensemble is the mean of its members, each as if it were alone."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.training.helpers import check_evaluation, config, run, signalled_run, table

from sekgnn.datasets import read_task
from sekgnn.errors import GraphInputWarning, ModelFileError
from sekgnn.training.predict_file import evaluate_run
from sekgnn.training.predictor import Predictor
from sekgnn.training.run_record import RunRecord
from sekgnn.training.training import Training

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")

MORE: dict[str, Any] = {"epochs": 2, "dropout": 0.2}


@pytest.mark.parametrize("target", ["ring", "size,weight", "big,odd"])
def test_an_ensemble_is_the_mean_of_its_members_trained_alone(
    lines: Path, tmp_path: Path, target: str
) -> None:
    """Predictions, metrics, files: two folds of three networks."""
    folds: dict[str, Any] = {**MORE, "protocol": "nested", "folds": 2}
    folder = tmp_path / "run"
    record = run(config(lines, target, **folds, ensemble=3), folder)
    alone = Training(config(lines, target, **folds))
    graphs = read_task(lines).graphs
    assert record.num_parameters == 3 * alone.num_parameters
    for number, fold in enumerate(record.folds):
        members = [alone.fit(number, member) for member in range(3)]
        goal = members[0].note
        tested = [member.evaluate() for member in members]
        each = [goal.predictions(found.out) for found in tested]
        assert not torch.allclose(each[0], each[1])
        note, truth = members[0].note, (tested[0].y, tested[0].mask)
        wanted = Predictor((), [note]).measure(torch.stack(each).mean(0), *truth)
        assert fold.metrics == pytest.approx(
            {f"test_{k}": v for k, v in wanted.items()}, rel=1e-6, nan_ok=True
        )
        assert [*fold.members] == ["network 1", "network 2", "network 3"]
        for found, own in zip(each, fold.members.values(), strict=True):
            measured = Predictor((), [note]).measure(found, *truth)
            single = {f"test_{k}": v for k, v in measured.items()}
            assert own == pytest.approx(single, nan_ok=True)
        place = folder / f"fold-0{number + 1}"
        predictor = Predictor.load(place)
        mean = np.mean(
            [Predictor([m.model], [m.note]).predict(graphs) for m in members], axis=0
        )
        np.testing.assert_allclose(predictor.predict(graphs), mean, rtol=1e-6)
        assert [len(table(p)) for p in sorted(place.glob("*/metrics.csv"))] == [3] * 3
    assert len(Predictor.load(folder).models) == 6
    check_evaluation(folder)
    (folder / "fold-02" / "member-03" / "model.safetensors").unlink()
    with pytest.raises(ModelFileError, match="2 of 3 models"):
        evaluate_run(folder)


@pytest.mark.parametrize("target", ["ring", "size"])
def test_a_forest_has_half_of_the_weight(
    lines: Path, tmp_path: Path, target: str
) -> None:
    """It is the forest of a run by itself, saved and predicted with."""
    more: dict[str, Any] = {"protocol": "fixed", "folds": 2}
    folder, alone = tmp_path / "run", tmp_path / "alone"
    settings = config(lines, target, **MORE, **more, ensemble=2, blend="forest")
    record = run(settings, folder)
    of_trees = config(lines, target, **more).without_network("forest")
    forest = run(of_trees, alone)
    graphs = read_task(lines).graphs
    for number, fold in enumerate(record.folds, start=1):
        place = f"fold-0{number}"
        networks = [
            Predictor.load(file).predict(graphs)
            for file in sorted((folder / place).glob("member-*/model.safetensors"))
        ]
        trees = Predictor.load(alone / place).predict(graphs)
        mean = (np.mean(networks, axis=0) + trees) / 2
        found = Predictor.load(folder / place).predict(graphs)
        np.testing.assert_allclose(found, mean, rtol=1e-6)
        wanted = forest.folds[number - 1].metrics
        assert [*fold.members] == ["network 1", "network 2", "forest"]
        assert fold.members["forest"] == pytest.approx(wanted, nan_ok=True)
    check_evaluation(folder)


@pytest.mark.parametrize("target", ["ring", "size,weight"])
def test_validation_graphs_weigh_networks_and_trees(
    lines: Path, tmp_path: Path, target: str
) -> None:
    """The record has the weights, prediction and evaluation use them."""
    folder = tmp_path / "run"
    trees = ("forest", "boosting")
    settings = config(lines, target, **MORE, ensemble=2, blend=trees)
    (fold,) = run(settings, folder).folds
    weights = dict(fold.calibration["weights"])
    assert [*weights] == ["network", *trees]
    assert sum(weights.values()) == pytest.approx(1)
    assert [*fold.members] == ["network 1", "network 2", *trees]
    graphs, predictor = read_task(lines).graphs, Predictor.load(folder)
    files = [*sorted(folder.glob("member-*")), *(folder / name for name in trees)]
    each = [
        Predictor.load(file / "model.safetensors").predict(graphs) for file in files
    ]
    shares = [weights["network"] / 2] * 2 + [weights[name] for name in trees]
    np.testing.assert_allclose(
        predictor.predict(graphs), np.tensordot(shares, each, axes=1), rtol=1e-6
    )
    check_evaluation(folder)


def test_an_ensemble_killed_in_its_second_network_continues(
    lines: Path, tmp_path: Path
) -> None:
    settings = config(lines, **MORE, ensemble=2, schedule="cosine", keep="last")
    told: list[tuple[int, int]] = []
    run(settings, tmp_path / "whole", progress=lambda *done: told.append(done))
    assert told == sorted(told) and told[-1] == (told[-1][1],) * 2
    fits = 0

    def second(epoch: int, _: dict[str, float]) -> None:
        nonlocal fits
        fits += epoch == 1
        if fits == 2:
            raise ConnectionError("something unforeseen")

    with pytest.raises(ConnectionError):
        run(settings, tmp_path / "killed", report=second)
    with pytest.warns(GraphInputWarning, match="has not finished"):
        Predictor.load(tmp_path / "killed")
    again: list[int] = []
    run(settings, tmp_path / "killed", report=lambda epoch, _: again.append(epoch))
    assert again == [1, 2]  # of the second network only
    assert signalled_run(settings, tmp_path / "hit", 2) == -signal.SIGKILL
    run(settings, tmp_path / "hit")
    whole = RunRecord.load(tmp_path / "whole")
    for name in ("killed", "hit"):
        found = RunRecord.load(tmp_path / name)
        assert found.results == whole.results
        assert found.folds[0].members == whole.folds[0].members
        assert not list((tmp_path / name).rglob("last.ckpt"))
