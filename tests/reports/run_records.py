"""Records of runs, made by hand."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from sekgnn.reports.finished_runs import Run
from sekgnn.training.config import RunConfig
from sekgnn.training.run_record import PREDICTIONS_FILE, FoldRecord, Result, RunRecord

ON_VAL = "the loss of the validation graphs"
ON_TEST = "the test folds: best epoch of their mean"
ON_EACH = "the test folds: best epoch of each"


def holdout(
    data: str = "counting",
    targets: Sequence[str] = ("triangle",),
    model: str = "sek-gin",
    *,
    metrics: dict[str, float] | None = None,
    curves: dict[str, list[float]] | None = None,
    **more: Any,
) -> RunRecord:
    """Return a regression with one split; its results are ``metrics`` in order."""
    if metrics is None:
        metrics = {"test_mae": 0.0125, "test_mse": 0.00075}
    if curves is None:
        curves = {
            "lr": [1e-3, 1e-3, 5e-4],
            "train_loss": [1.0, 0.4, 0.02],
            "val_loss": [1.1, 0.5, 0.6],
            "val_mae": [0.9, 0.5, 0.55],
        }
    split = {"train": [0, 1, 2, 3], "val": [4], "test": [5, 6]}
    values = {
        "config": RunConfig(data=data, model=model, epochs=3, lr=0.002).to_dict(),
        "data": facts(data, "regression", targets),
        "model": {"hidden_channels": 64},
        "num_parameters": 12345,
        "protocol": "holdout",
        "selected_on": ON_VAL,
        "monitor": "val_loss",
        "folds": (FoldRecord(split, curves, 2, metrics, 61.5),),
        "results": tuple(
            Result(name, value, None, "holdout", ON_VAL)
            for name, value in metrics.items()
        ),
        "versions": {"python": "3.x", "torch": "9.9"},
        "commit": "abc1234",
        "started": "2030-01-02T03:04:05+00:00",
        "seconds": 61.5,
    }
    return RunRecord(**{**values, **more})


def folds(
    data: str = "MUTAG", model: str = "sek-gin", number: int = 10, **more: Any
) -> RunRecord:
    """Return a classification with folds, reported by three protocols."""
    trainings = []
    for i in range(number):
        curves = {
            "train_loss": [0.7, 0.5, 0.3 + 0.01 * i],
            "test_loss": [0.7, 0.6, 0.5 + 0.02 * i],
            "test_accuracy": [0.6, 0.9, 0.7 + 0.02 * i],
        }
        split = {"train": list(range(number)), "test": [i]}
        last = {"test_accuracy": curves["test_accuracy"][-1]}
        trainings.append(FoldRecord(split, curves, 3, last, 5.0))
    values = {
        "config": RunConfig(data=data, model=model, protocol="xu2019").to_dict(),
        "data": facts(data, "binary", ["class"], ["no", "yes"]),
        "model": {},
        "num_parameters": 999,
        "protocol": "xu2019",
        "selected_on": ON_TEST,
        "monitor": "nothing",
        "folds": tuple(trainings),
        "results": (
            Result("test_accuracy", 0.905, 0.051, "xu2019", ON_TEST, 2),
            Result("test_accuracy", 0.95, 0.03, "wijesinghe2022", ON_EACH),
            Result("test_accuracy", 0.79, 0.06, "last epoch", "nothing"),
        ),
        "seconds": 5.0 * number,
    }
    return RunRecord(**{**values, **more})


def facts(
    name: str, kind: str, targets: Sequence[str], classes: list[str] | None = None
) -> dict[str, Any]:
    """Return what a record says about its data."""
    return {
        "name": name,
        "source": f"{name}.npz",
        "fingerprint": "f0" * 32,
        "graphs": 7,
        "kind": kind,
        "level": "graph",
        "targets": list(targets),
        "classes": classes,
        "units": None,
    }


def as_run(record: RunRecord, name: str = "a") -> Run:
    return Run(name, name, record)


def save(
    record: RunRecord,
    folder: Path,
    head: Sequence[str] = (),
    rows: Iterable[Sequence[object]] = (),
) -> Path:
    """Write a run folder, with predictions if there is a head, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    record.save(folder)
    if head:
        write_predictions(folder / PREDICTIONS_FILE, head, rows)
    return folder


def write_predictions(
    path: Path, head: Sequence[str], rows: Iterable[Sequence[object]]
) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(head)
        writer.writerows(rows)
    return path
