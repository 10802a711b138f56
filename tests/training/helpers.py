"""Small data, small configs, and processes that end badly."""

from __future__ import annotations

import csv
import json
import multiprocessing
import os
import random
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from sekgnn.nn.hop_loader import GraphSource
from sekgnn.training.config import RunConfig
from sekgnn.training.data import task_source
from sekgnn.training.predict_file import evaluate_run
from sekgnn.training.run import train
from sekgnn.training.run_folder import MODEL_FILE
from sekgnn.training.run_record import FoldRecord, RunRecord

FORKS = multiprocessing.get_context("fork")
SMALL: dict[str, Any] = {
    "model": "gin",
    "hidden_channels": 8,
    "num_layers": 2,
    "epochs": 3,
    "batch_size": 8,
    "lr": 0.01,
    "val_fraction": 0.2,
    "test_fraction": 0.2,
    "baseline": False,
}


def graph_source(
    graphs: Sequence[Any], num_hops: int, encoding: Any = None, **more: Any
) -> GraphSource:
    """Return the source of the batches of some graphs, for a model that reads so."""
    source = task_source(graphs, (num_hops, encoding, "float32", 0), **more)
    assert isinstance(source, GraphSource)
    return source


def records(count: int = 30, seed: int = 0) -> list[dict[str, Any]]:
    """Return paths and cycles: a class, a number, two labels, some of them missing."""
    draw = random.Random(seed)
    out = []
    for i in range(count):
        n = draw.randint(3, 7)
        edges = [[u, u + 1] for u in range(n - 1)] + ([[0, n - 1]] if i % 2 else [])
        out.append(
            {
                "edges": edges,
                "num_nodes": n,
                "ring": "yes" if i % 2 else "no",
                "size": n + draw.random(),
                "weight": None if i % 5 == 4 else 10 * n + draw.random(),
                "big": int(n > 4),
                "odd": None if i % 3 == 2 else n % 2,
            }
        )
    return out


def write_lines(path: Path, items: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(item) + "\n" for item in items))
    return path


def config(path: Path, target: str = "size", **more: Any) -> RunConfig:
    """Return a config of a training that takes a second."""
    return RunConfig.from_dict(
        {**SMALL, "data": str(path), "target": target.split(","), **more}
    )


def run(settings: RunConfig, folder: str | Path, **more: Any) -> RunRecord:
    """Train a config in a folder."""
    return train(output=folder, config=settings, **more)


def fork(work: Callable[[], object]) -> int:
    """Do something in a copy of this process; return its exit code."""
    process = FORKS.Process(target=work)
    process.start()
    process.join(120)
    assert process.exitcode is not None
    return process.exitcode


def signalled_run(
    settings: RunConfig, folder: Path, epoch: int, number: int = signal.SIGKILL
) -> int:
    """Train in another process, which a signal hits after some epoch."""

    def report(done: int, _: dict[str, float]) -> None:
        if done == epoch:
            os.kill(os.getpid(), number)

    return fork(lambda: run(settings, folder, report=report))


def check_evaluation(folder: Path) -> None:
    """Raise unless the models of a run have the metrics of its record."""
    folds = RunRecord.load(folder).folds
    for again, fold in zip(evaluate_run(folder), folds, strict=True):
        wanted = {k.removeprefix("test_"): v for k, v in fold.metrics.items()}
        assert again == pytest.approx(wanted, rel=1e-4, nan_ok=True)


def table(path: Path) -> list[list[str]]:
    with path.open(newline="") as file:
        return list(csv.reader(file))


def leavings(folder: Path) -> dict[str, Any]:
    """Return what a finished run must have in common with its repetition."""
    record = RunRecord.load(folder)
    return {
        "curves": [fold.curves for fold in record.folds],
        "kept": [fold.kept_epoch for fold in record.folds],
        "metrics.csv": table(folder / "metrics.csv"),
        "predictions.csv": (folder / "predictions.csv").read_bytes(),
        "results": record.results,
        "weights": {name: value.tolist() for name, value in weights(folder).items()},
    }


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / MODEL_FILE)


def fold_record(**curves: list[float]) -> FoldRecord:
    """Return a fold with nothing but curves."""
    last = {name: curve[-1] for name, curve in curves.items()}
    return FoldRecord({"train": [0], "test": [1]}, curves, 1, last, 0.0)
