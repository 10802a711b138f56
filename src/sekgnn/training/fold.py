"""One fold of a run: the models of a split, tested together, and what they leave."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sekgnn.files import write_files
from sekgnn.parallel import Progress
from sekgnn.training.baseline import Baseline
from sekgnn.training.calibration import (
    Calibration,
    best_threshold,
    blend_weights,
)
from sekgnn.training.loop import EpochReport, NotFiniteError
from sekgnn.training.predictions import (
    Rows,
    all_metrics,
    predicted_columns,
    prediction_table,
)
from sekgnn.training.predictor import Predictor, model_kinds
from sekgnn.training.run_folder import (
    CHECKPOINT_FILE,
    CURVES_FILE,
    FOLD_FILE,
    MODEL_FILE,
    member_folders,
    point_folders,
)
from sekgnn.training.run_record import PREDICTIONS_FILE, FoldRecord, is_better_high
from sekgnn.training.training import Trained, Training


def run_fold(
    training: Training,
    number: int,
    folder: Path,
    baseline: Baseline | None = None,
    *,
    progress: Progress | None = None,
    report: EpochReport | None = None,
    tested: Callable[[FoldRecord], object] | None = None,
) -> FoldRecord:
    """Train and test split ``number`` in ``folder``, or return what it holds already.

    Takes and raises what :meth:`Training.fit` does, and a baseline to report beside it;
    ``tested`` is called with the record before that begins.
    """
    finished = folder / FOLD_FILE
    if finished.is_file():
        record = FoldRecord.load(finished)
        if baseline is None or record.baseline:
            return record
        record = replace(record, baseline=baseline.fold(number, (), record.seconds))
        write_files(folder, {FOLD_FILE: json.dumps(asdict(record)).encode()})
        return record
    told: dict[str, Any] = {"progress": progress, "report": report}
    tried: list[dict[str, Any]] = []
    if training.config.grid:
        best, tried = fit_points(training, number, folder, **told)
        members = [best]
    else:
        members = fit_members(training, number, folder, **told)
    record, table = _tested(training, number, members, tried)
    text = json.dumps(asdict(record)).encode()
    write_files(folder, {PREDICTIONS_FILE: table, FOLD_FILE: text})
    if baseline is not None:
        if tested is not None:
            tested(record)
        found = baseline.fold(number, members, record.seconds)
        record = replace(record, baseline=found)
        write_files(folder, {FOLD_FILE: json.dumps(asdict(record)).encode()})
    for member in member_folders(folder, training.config.ensemble):
        (member / CHECKPOINT_FILE).unlink(missing_ok=True)
    for point in point_folders(folder, len(tried)):
        shutil.rmtree(point, ignore_errors=True)
    return record


def _tested(
    training: Training,
    number: int,
    members: Sequence[Trained],
    tried: list[dict[str, Any]],
) -> tuple[FoldRecord, bytes]:
    """Return the record of a training's models, and the table of their predictions."""
    first, predictor = members[0], Predictor.of(members)
    calibration = _calibrated(predictor, members, number)
    tested = _evaluated(members, number, "test")
    mean, spread = predictor.join(rows.out for rows in tested)
    truth = tested[0].y, tested[0].mask

    def metrics(
        predicted: Tensor, calibration: Calibration | None = None
    ) -> dict[str, float]:
        values = all_metrics(first.note, predicted, *truth, calibration)
        return {f"test_{name}": value for name, value in values.items()}

    alone = {}
    if len(members) > 1:
        for i, (member, rows) in enumerate(zip(members, tested, strict=True), start=1):
            name = f"network {i}" if member.model.learns else member.model.name
            alone[name] = metrics(member.note.predictions(rows.out))
    split = training.splits[number]
    positions = {
        "train": split.train,
        "val": split.val,
        "calibration": training.calibrating[number],
        "test": split.test,
    }
    spent = [one["seconds"] for one in tried] or [one.seconds for one in members]
    record = FoldRecord(
        split={
            part: np.sort(chosen).tolist()
            for part, chosen in positions.items()
            if chosen.size
        },
        curves=first.curves,
        kept_epoch=first.kept_epoch,
        metrics=metrics(torch.from_numpy(mean), calibration),
        seconds=sum(spent),
        members=alone,
        calibration={} if calibration is None else asdict(calibration),
        tried=tried,
    )
    columns = predicted_columns(first.note, mean, spread, calibration)
    names = training.data.names(tested[0].graph.tolist())
    return record, prediction_table(first.note, tested[0], columns, number + 1, names)


def _evaluated(members: Sequence[Trained], number: int, part: str) -> list[Rows]:
    """Return what every model of a split says of a part; each reads its own inputs."""
    return [member.training.evaluate(member, number, part) for member in members]


def _calibrated(
    predictor: Predictor, members: Sequence[Trained], number: int
) -> Calibration | None:
    """Return what validation graphs say about the mean prediction of members."""
    config, note = members[0].training.config, predictor.note
    weighted = bool(config.blend) and config.watched == "val"
    if not weighted and config.confidence is None and config.threshold is None:
        return None

    def said(part: str) -> tuple[Tensor, Tensor, Tensor]:
        rows = _evaluated(members, number, part)
        mean, _ = predictor.join(one.out for one in rows)
        return torch.from_numpy(mean), rows[0].y, rows[0].mask

    known = Calibration()
    if weighted:
        known = Calibration(weights=_weights(predictor, members, number))
        predictor.calibration = known  # the rest is about the weighted mean
    if config.confidence is not None:
        fitted = Calibration.fit(note, config.confidence, *said("calibration"))
        known = replace(fitted, weights=known.weights)
    if config.threshold is not None:
        cut = best_threshold(note, config.threshold, *said("val"))
        known = replace(known, threshold=cut)
    return known


def _weights(
    predictor: Predictor, members: Sequence[Trained], number: int
) -> tuple[tuple[str, float], ...]:
    """Return the weight of every kind of model, by the validation graphs."""
    rows = _evaluated(members, number, "val")
    kinds = model_kinds(predictor.models)
    each: dict[str, list[Tensor]] = {kind: [] for kind in kinds}
    for kind, member, one in zip(kinds, members, rows, strict=True):
        each[kind].append(member.note.predictions(one.out).double())
    means = [torch.stack(outputs).mean(0) for outputs in each.values()]
    weights = blend_weights(predictor.note, means, rows[0].y, rows[0].mask)
    return tuple(zip(each, weights, strict=True))


def fit_members(
    training: Training,
    number: int = 0,
    output: Path | None = None,
    *,
    progress: Progress | None = None,
    report: EpochReport | None = None,
) -> list[Trained]:
    """Fit the networks of one split, then the trees to blend them with.

    Takes and raises what :meth:`Training.fit` does.
    """
    config = training.config
    count = config.ensemble
    folders: list[Any] = [None] * count
    if output is not None:
        folders = member_folders(output, count)
    members = [
        training.fit(
            number,
            member,
            output=folder,
            progress=_share(progress, member, count),
            report=report,
        )
        for member, folder in enumerate(folders)
    ]
    for trees in config.blend:
        folder = None if output is None else output / trees
        members.append(
            training.change(training.tree_config(trees)).fit(number, output=folder)
        )
    return members


def fit_points(
    training: Training,
    number: int,
    output: Path,
    *,
    progress: Progress | None = None,
    report: EpochReport | None = None,
) -> tuple[Trained, list[dict[str, Any]]]:
    """Fit every point of the config's grid to one split and take the best.

    That is the one whose kept epoch has the best monitor on the validation graphs of
    this split, of equal ones the first. Test graphs are not looked at. Every point has
    the seeds of a network without a grid; one whose loss is not finite drops out. Takes
    and raises what :meth:`Training.fit` does.

    Returns:
        The model that was chosen, whose files are in ``output``, and what was
        tried: see :class:`~sekgnn.training.FoldRecord`.
    """
    config, monitor = training.config, f"val_{training.config.monitor}"
    sign = 1 if is_better_high(monitor) else -1
    folders = point_folders(output, len(config.points))
    tried: list[dict[str, Any]] = []
    best: Trained | None = None
    chosen, top = 0, -math.inf
    for i, (point, folder) in enumerate(zip(config.points, folders, strict=True)):
        candidate = training.change(config.at(point))
        tell = _share(progress, i, len(folders))
        try:
            trained = candidate.fit(number, output=folder, progress=tell, report=report)
        except NotFiniteError as error:
            why = {"failed": str(error), "seconds": 0.0}
            tried.append({"point": point, "chosen": False, **why})
            if best is None and i == len(folders) - 1:
                raise
            continue
        value = trained.curves[monitor][trained.kept_epoch - 1]
        tried.append({
            "point": point, "chosen": False, "kept_epoch": trained.kept_epoch,
            monitor: value, "seconds": trained.seconds,
        })  # fmt: skip
        rank = -math.inf if math.isnan(value) else sign * value
        if best is None or rank > top:
            best, chosen, top = trained, i, rank
    assert best is not None  # as the last point would have raised
    tried[chosen]["chosen"] = True
    files = (MODEL_FILE, CURVES_FILE)
    write_files(output, {name: (folders[chosen] / name).read_bytes() for name in files})
    return best, tried


def _share(progress: Progress | None, number: int, count: int) -> Progress | None:
    """Return the progress of one of several equal fits, from 0, as that of all."""
    if progress is None:
        return None
    return lambda done, total: progress(number * total + done, count * total)
