"""Testing a finished run again, on its own graphs or on others."""

from __future__ import annotations

import os
from pathlib import Path

import torch

from sekgnn.checks import check_choice
from sekgnn.datasets import read_task
from sekgnn.errors import GraphInputError, ModelFileError
from sekgnn.training.config import RunConfig
from sekgnn.training.input_options import reader_options
from sekgnn.training.learning_data import LearningData, without_masked
from sekgnn.training.predictor import Predictor
from sekgnn.training.protocols import make_splits
from sekgnn.training.record import RunRecord
from sekgnn.training.run_folder import CONFIG_FILE, read_config
from sekgnn.training.sources import load_data

PARTS = ("train", "val", "test")


def evaluate_run(
    folder: str | os.PathLike[str],
    part: str = "test",
    root: str | Path | None = None,
) -> list[dict[str, float]]:
    """Return the metrics of a run's models on a part of its own data, fold by fold.

    Args:
        folder: Of the run.
        part: ``"train"``, ``"val"`` or ``"test"``.
        root: The data folder of benchmarks.

    Raises:
        ModelFileError: If a model is missing or damaged.
        GraphInputError: If the part is empty, or the data is gone.
    """
    check_choice("part", part, PARTS)
    place = Path(folder)
    config = RunConfig.from_dict(read_config(place / CONFIG_FILE))
    record = RunRecord.load(place)
    data = without_masked(load_data(config, root))
    if data.fingerprint() != record.data.get("fingerprint"):
        raise GraphInputError(
            f"the data of {folder} has changed since, so that its split is another; "
            "name the file to evaluate on all of it."
        )
    splits = make_splits(config, data, root)
    whole = Predictor.load(place)
    if len(whole.models) != len(splits):
        raise ModelFileError(
            f"{folder} holds {len(whole.models)} models of {len(splits)} folds; others "
            "were removed."
        )
    out = []
    for model, note, split in zip(whole.models, whole.notes, splits, strict=True):
        chosen = getattr(split, part)
        if not chosen.size:
            raise GraphInputError(
                f"protocol {config.protocol} has no {part} part; choose another."
            )
        one = Predictor([model], [note])
        out.append(measure(one, data.subset(chosen)))
    return out


def evaluate_file(
    folder: str | os.PathLike[str],
    path: str | os.PathLike[str],
    target: tuple[str, ...] = (),
    *,
    smiles: str | None = None,
    skip_invalid: bool = False,
) -> dict[str, float]:
    """Return the metrics of a run's model on other graphs, whose targets are known.

    Args:
        folder: Of the run, or a model file.
        path: The graphs, in a format of ``sekgnn train``.
        target: Columns or keys of the targets; those of the training data by default.
        smiles: Column of the SMILES; that of the training data by default.
        skip_invalid: Leave out SMILES that rdkit cannot read.

    Raises:
        ModelFileError: If the model is missing or damaged.
        GraphInputError: If the file is wrong or does not fit the model.
    """
    predictor = Predictor.load(folder)
    note = predictor.note
    options = reader_options(note, path, smiles=smiles, skip_invalid=skip_invalid)
    names = () if Path(path).is_dir() else target or note.targets
    task = read_task(Path(path), names, kind=note.kind, classes=note.classes, **options)
    predictor.check(task, str(path))
    data = without_masked(LearningData(Path(path).name, task, units=note.units))
    return measure(predictor, data)


def measure(predictor: Predictor, data: LearningData) -> dict[str, float]:
    """Return the metrics of a predictor on graphs with targets."""
    predicted = torch.from_numpy(predictor.predict(data.task.graphs))
    return predictor.note.objective.metrics(predicted, *data.targets())
