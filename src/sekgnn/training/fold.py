"""One training of a run in a folder of its own; finished ones are never repeated."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sekgnn.datasets import Split
from sekgnn.errors import GraphInputError
from sekgnn.files import write_atomically
from sekgnn.parallel import Progress
from sekgnn.training.batches import JoinedGraphs
from sekgnn.training.build import make_model
from sekgnn.training.config import RunConfig
from sekgnn.training.fit import CHECKPOINT_FILE, fit
from sekgnn.training.history import EpochReport
from sekgnn.training.learning_data import LearningData
from sekgnn.training.objective import Objective, check_monitor, make_objective
from sekgnn.training.prediction_table import test_headings, test_rows, to_csv
from sekgnn.training.predictions import predict_batches
from sekgnn.training.record import PREDICTIONS_FILE, FoldRecord
from sekgnn.training.run_folder import make_folder
from sekgnn.training.task_note import TaskNote

FOLD_FILE = "fold.json"


@dataclass(frozen=True, eq=False)
class Preparation:
    """Everything that trainings of a run share.

    Attributes:
        config: Of the run.
        data: Graphs and targets.
        splits: One per training.
        joined: The graphs with hops and encodings.
    """

    config: RunConfig
    data: LearningData
    splits: list[Split]
    joined: JoinedGraphs


def fold_seeds(seed: int, number: int) -> tuple[int, int]:
    """Return the seeds of weights and of order for fold ``number``, from 0."""
    state = np.random.SeedSequence([seed, number]).generate_state(2, np.uint32)
    return int(state[0]), int(state[1])


def fold_objective(config: RunConfig, data: LearningData, train: Any) -> Objective:
    """Return loss and metrics, with mean and scale of the training targets.

    Raises:
        ConfigError: If loss or monitor do not fit the kind of task.
    """
    y, mask = data.subset(train).targets()
    objective = make_objective(data.kind, config.loss, config.normalize, y, mask)
    check_monitor(objective.kind, config.monitor)
    return objective


def run_fold(
    prepared: Preparation,
    number: int,
    folder: Path,
    *,
    progress: Progress | None = None,
    report: EpochReport | None = None,
) -> FoldRecord:
    """Train and test one fold in ``folder``, or return what it holds already.

    Args:
        prepared: What all folds share.
        number: Of the fold, from 0.
        folder: For its files.
        progress: Called with (done, total) batches.
        report: Called with (epoch, values) after every epoch.

    Raises:
        ConfigError: If the loss is not finite.
        ModelFileError: If the checkpoint in ``folder`` is damaged.
        OutputError: If a file cannot be written.
    """
    finished = folder / FOLD_FILE
    if finished.is_file():
        return read_fold(finished)
    make_folder(folder)
    config, data, split = prepared.config, prepared.data, prepared.splits[number]
    weights, order = fold_seeds(config.seed, number)
    model = make_model(config, data, weights)
    objective = fold_objective(config, data, split.train)
    note = TaskNote.of(data, objective, config.max_neighbors, config.seed)
    watched = split.val if config.selects_on_validation else split.test
    done = fit(
        model,
        objective,
        prepared.joined,
        split.train,
        watched,
        config,
        folder=folder,
        about={"task": note.to_dict()},
        seed=order,
        progress=progress,
        report=report,
    )
    batches = prepared.joined.evaluation_batches(
        split.test, max(config.batch_size, 256)
    )
    found = predict_batches(done.model, batches)
    metrics = {f"test_{k}": v for k, v in found.metrics(objective).items()}
    record = FoldRecord(
        split={
            part: np.sort(getattr(split, part)).tolist()
            for part in ("train", "val", "test")
            if getattr(split, part).size
        },
        curves=done.curves,
        kept_epoch=done.kept_epoch,
        metrics=metrics,
        seconds=done.seconds,
    )
    table = to_csv(test_headings(note), test_rows(note, found, number + 1))
    write_atomically(folder / PREDICTIONS_FILE, lambda file: file.write(table))
    text = json.dumps(asdict(record)).encode()
    write_atomically(finished, lambda file: file.write(text))
    (folder / CHECKPOINT_FILE).unlink(missing_ok=True)
    return record


def read_fold(path: Path) -> FoldRecord:
    """Return the record of a finished fold.

    Raises:
        GraphInputError: If the file is damaged.
    """
    try:
        return FoldRecord(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise GraphInputError(
            f"{path} is damaged ({error}); remove it to train this part again."
        ) from error
