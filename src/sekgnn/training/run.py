"""A whole run in a folder: its trainings, one after the other or side by side."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sekgnn.datasets import GraphTask
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.files import make_folder, write_files
from sekgnn.parallel import Progress
from sekgnn.parsing import parse_as
from sekgnn.provenance import package_versions, source_commit
from sekgnn.training.baseline import Baseline, make_baseline, summarise_baseline
from sekgnn.training.calibration import Calibration, best_threshold, check_enough
from sekgnn.training.config import RunConfig
from sekgnn.training.devices import available_device
from sekgnn.training.ensemble import fit_members, fit_points
from sekgnn.training.loop import EpochReport
from sekgnn.training.predictions import (
    Predictions,
    all_metrics,
    predicted_columns,
    prediction_table,
)
from sekgnn.training.predictor import Predictor
from sekgnn.training.processes import run_processes
from sekgnn.training.protocols import selected_on, summarise
from sekgnn.training.run_folder import (
    CHECKPOINT_FILE,
    CURVES_FILE,
    FOLD_FILE,
    check_same_config,
    check_same_data,
    fold_folders,
    load_config,
    locked,
    member_folders,
    note_threads,
    point_folders,
    write_config,
)
from sekgnn.training.run_record import (
    PREDICTIONS_FILE,
    RECORD_FILE,
    FoldRecord,
    RunRecord,
)
from sekgnn.training.sources import load_data
from sekgnn.training.training import Trained, Training

PACKAGES = ("sekgnn", "torch", "torch-geometric", "lightning-fabric", "numpy", "numba",
            "scipy", "torchmetrics")  # fmt: skip


def train(
    data: str | os.PathLike[str] | GraphTask | None = None,
    output: str | os.PathLike[str] | None = None,
    *,
    config: str | os.PathLike[str] | RunConfig | None = None,
    preset: str | None = None,
    data_root: str | Path | None = None,
    jobs: int = 1,
    encoding_progress: Progress | None = None,
    progress: Progress | None = None,
    report: EpochReport | None = None,
    **keys: Any,
) -> RunRecord:
    """Train a model, test it, and leave a run folder: ``sekgnn train`` as a function.

    The same call continues a run that was interrupted, however that was, and ends with
    the same numbers as if it had not been. A finished run is returned as it is.

    Args:
        data: Name of a dataset, file or folder of your own, or graphs in memory such as
            ``pyg_task(dataset)`` or ``networkx_task(graphs, targets)``.
        output: The run folder; ``runs/DATA-MODEL`` by default.
        config: A config or YAML file that ``keys`` change.
        preset: Name of keys that a YAML file and ``keys`` change: ``"small"``, ...
        data_root: The data folder of benchmarks; what ``SEKGNN_DATA`` names by default.
        jobs: Folds, or networks of an ensemble, to train at a time, each in a process
            of its own. A script that asks for more than one needs the usual
            ``if __name__ == "__main__":``.
        encoding_progress: Called with (done, total) while encodings are computed.
        progress: Called with (done, total): batches, or epochs of all folds.
        report: Called with (epoch, values) after every epoch of a single training.
        **keys: Those of :class:`~sekgnn.training.RunConfig`.

    Returns:
        The record, which is also in the folder.

    Warns:
        ResumeWarning: If an interrupted run goes on with another number of threads.

    Raises:
        ConfigError: If a key is unknown or cannot work, the folder holds something else
            or is in use, the data has changed since, or the loss is not finite.
        GraphInputError: If the data is wrong, or cannot be split so.
        OutputError: If a file cannot be written; what was there is unchanged.
        ModelFileError: If the checkpoint in the folder is damaged.

    Example:
        >>> import networkx as nx, tempfile
        >>> from sekgnn.datasets import networkx_task
        >>> task = networkx_task([nx.path_graph(n) for n in range(3, 23)], range(20))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     train(task, folder, model="gin", epochs=1).headline.metric
        'test_mae'
    """
    if isinstance(data, str | os.PathLike):
        keys, data = {**keys, "data": str(data)}, None
    settings = load_config(config, keys, preset)
    place = default_folder(settings) if output is None else Path(output)
    main = is_main_process(settings)
    if main:
        check_same_config(settings, place)
    if main and (place / RECORD_FILE).is_file():
        return _finished(settings, place, data)
    training = Training(settings, data, data_root=data_root)
    training.prepare(encoding_progress)
    _check_calibration(training)
    described = training.data.describe()
    if not main:
        own = [run_fold(training, 0, place)]
        return _record(training, described, own, "", [torch.get_num_threads()])
    baseline = make_baseline(training)
    make_folder(place)
    with locked(place):
        started = datetime.now(timezone.utc).isoformat(timespec="seconds")
        check_same_config(settings, place)  # nobody was faster
        write_config(settings, place)
        check_same_data(described["fingerprint"], place)
        threads = note_threads(torch.get_num_threads(), place)
        side_by_side = partial(_side_by_side, settings, data, data_root, jobs)
        if len(training.splits) == 1:
            if jobs > 1 and settings.ensemble > 1 and not (place / FOLD_FILE).is_file():
                members = member_folders(place, settings.ensemble)
                # what is finished has a checkpoint, from which run_fold takes it
                tell = _teller(settings, [place], progress)
                side_by_side(_train_members, [*enumerate(members)], tell)
            folds = [
                run_fold(training, 0, place, baseline, progress=progress, report=report)
            ]
        else:
            folders = fold_folders(place, len(training.splits))
            tell = _teller(settings, folders, progress)
            tell()
            if jobs > 1:
                rest = [*enumerate(folders)]
                waiting = [(i, f) for i, f in rest if not (f / FOLD_FILE).is_file()]
                side_by_side(_train_folds, waiting, tell)
            folds = [
                run_fold(training, i, folder, baseline, report=lambda *_: tell())
                for i, folder in enumerate(folders)
            ]
            _join_predictions(folders, place)
        try:
            record = _record(training, described, folds, started, threads)
        except (LookupError, TypeError) as error:
            raise GraphInputError(
                f"a {FOLD_FILE} in {place} is not of this run ({error} is missing or "
                "wrong); remove it to train this part again."
            ) from error
        record.save(place)
    return record


def default_folder(config: RunConfig) -> Path:
    """Return where a run is written by default."""
    model = config.model.rpartition(":")[2]
    return Path("runs") / f"{Path(config.data or 'graphs').stem}-{model}"


def is_main_process(config: RunConfig) -> bool:
    """Tell whether this is the process that writes, or one that was started later.

    Batch systems number processes that have nothing to do with each other, too: the
    numbers mean something only if the config asks for several processes.
    """
    if config.devices * config.num_machines == 1:
        return True
    names = ("RANK", "LOCAL_RANK", "NODE_RANK", "SLURM_PROCID", "JSM_NAMESPACE_RANK")
    return all(os.environ.get(name, "0") == "0" for name in names)


def run_fold(
    training: Training,
    number: int,
    folder: Path,
    baseline: Baseline | None = None,
    *,
    progress: Progress | None = None,
    report: EpochReport | None = None,
) -> FoldRecord:
    """Train and test split ``number`` in ``folder``, or return what it holds already.

    Takes and raises what :meth:`Training.fit` does, and a baseline to report beside it.
    """
    finished = folder / FOLD_FILE
    if finished.is_file():
        return _read_fold(finished)
    make_folder(folder)
    tried: list[dict[str, Any]] = []
    told: dict[str, Any] = {"progress": progress, "report": report}
    if training.config.grid:
        best, tried = fit_points(training, number, folder, **told)
        members = [best]
    else:
        members = fit_members(training, number, folder, **told)
    first, predictor = members[0], Predictor.of(members)
    calibration = _calibrated(predictor, members, number)
    tested = _evaluated(members, number, "test")
    mean, spread = predictor.join(found.out for found in tested)
    truth = tested[0].y, tested[0].mask

    def metrics(
        predicted: Tensor, calibration: Calibration | None = None
    ) -> dict[str, float]:
        found = all_metrics(first.note, predicted, *truth, calibration)
        return {f"test_{name}": value for name, value in found.items()}

    split = training.splits[number]
    spent = [one["seconds"] for one in tried] or [one.seconds for one in members]
    record = FoldRecord(
        split={
            part: np.sort(own).tolist()
            for part, own in (
                ("train", split.train),
                ("val", split.val),
                ("calibration", training.calibrating[number]),
                ("test", split.test),
            )
            if own.size
        },
        curves=first.curves,
        kept_epoch=first.kept_epoch,
        metrics=metrics(torch.from_numpy(mean), calibration),
        seconds=sum(spent),
        members={
            f"network {i}" if one.model.learns else "forest": metrics(
                one.note.objective.predictions(found.out)
            )
            for i, (one, found) in enumerate(zip(members, tested, strict=True), start=1)
            if len(members) > 1
        },
        baseline={} if baseline is None else baseline.fold(number),
        calibration={} if calibration is None else calibration.to_dict(),
        tried=tried,
    )
    columns = predicted_columns(first.note, mean, spread, calibration)
    names = training.data.names(tested[0].graph.tolist())
    table = prediction_table(first.note, tested[0], columns, number + 1, names)
    text = json.dumps(asdict(record)).encode()
    write_files(folder, {PREDICTIONS_FILE: table, FOLD_FILE: text})
    for place in member_folders(folder, training.config.ensemble):
        (place / CHECKPOINT_FILE).unlink(missing_ok=True)
    for place in point_folders(folder, len(tried)):
        shutil.rmtree(place, ignore_errors=True)
    return record


def _evaluated(members: Sequence[Trained], number: int, part: str) -> list[Predictions]:
    """Return what every model of a training says of a part of its split."""
    return [one.training.evaluate(one, number, part) for one in members]


def _calibrated(
    predictor: Predictor, members: Sequence[Trained], number: int
) -> Calibration | None:
    """Return what validation graphs say about the mean prediction of members."""
    config, goal = members[0].training.config, predictor.note.objective

    def said(part: str) -> tuple[Tensor, Tensor, Tensor]:
        found = _evaluated(members, number, part)
        mean, _ = predictor.join(one.out for one in found)
        return torch.from_numpy(mean), found[0].y, found[0].mask

    known = Calibration()
    if config.confidence is not None:
        known = Calibration.fit(goal, config.confidence, *said("calibration"))
    if config.threshold is not None:
        cut = best_threshold(goal, config.threshold, *said("val"))
        known = replace(known, threshold=cut)
    return None if known == Calibration() else known


def _check_calibration(training: Training) -> None:
    """Raise if validation graphs are too few for the confidence that is asked for.

    Raises:
        GraphInputError: If so, or if targets are of nodes, which are not drawn one by
            one.
    """
    data, confidence = training.data, training.config.confidence
    if training.config.threshold is not None and training.kind != "binary":
        raise ConfigError(
            f"threshold is for two classes; {data.name} is {training.kind}."
        )
    if confidence is None:
        return
    if data.level != "graph":
        raise GraphInputError("confidence is for targets of graphs, not of nodes.")
    for number, chosen in enumerate(training.calibrating, start=1):
        where = (
            data.name if len(training.splits) == 1 else f"{data.name}, fold {number}"
        )
        for name, column in zip(data.target_names, data.mask[chosen].T, strict=True):
            check_enough(int(column.sum()), confidence, f"{where}, target {name!r}")


def _read_fold(path: Path) -> FoldRecord:
    """Return the record of a finished fold."""
    try:
        return parse_as(FoldRecord, path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise GraphInputError(
            f"{path} is damaged ({error}); remove it to train this part again."
        ) from error


def _side_by_side(
    config: RunConfig,
    data: GraphTask | None,
    data_root: str | Path | None,
    jobs: int,
    work: Callable[[Training, Sequence[tuple[int, Path]]], object],
    folders: Sequence[tuple[int, Path]],
    tell: Callable[[], None],
) -> None:
    """Do the work of numbered folders in new processes, ``jobs`` at a time."""
    shares = [folders[i::jobs] for i in range(min(jobs, len(folders)))]
    arguments = [(work, config, data, data_root, share) for share in shares]
    run_processes(_do_share, arguments, look=tell)


def _do_share(
    work: Callable[[Training, Sequence[tuple[int, Path]]], object],
    config: RunConfig,
    data: GraphTask | None,
    data_root: str | Path | None,
    folders: Sequence[tuple[int, Path]],
) -> None:
    """Do a share of the work in a new process, which has to prepare the data itself."""
    work(Training(config, data, data_root=data_root), folders)


def _train_members(training: Training, folders: Sequence[tuple[int, Path]]) -> None:
    """Train some networks of an ensemble, each up to its end."""
    for member, folder in folders:
        make_folder(folder)
        training.fit(0, member, output=folder)


def _train_folds(training: Training, folders: Sequence[tuple[int, Path]]) -> None:
    """Train and test some folds."""
    baseline = make_baseline(training)
    for number, folder in folders:
        run_fold(training, number, folder, baseline)


def _teller(
    config: RunConfig, folders: Sequence[Path], progress: Progress | None
) -> Callable[[], None]:
    """Return what tells ``progress`` how many epochs of all folds are done."""
    points = len(config.points) if config.grid else 0
    parts = points or config.ensemble
    whole = parts * (config.epochs if config.has_epochs else 1)

    def done(folder: Path) -> int:
        if (folder / FOLD_FILE).is_file():
            return whole
        cut = point_folders if points else member_folders
        return sum(map(_epochs, cut(folder, parts)))

    def tell() -> None:
        if progress is not None:
            progress(sum(map(done, folders)), whole * len(folders))

    return tell


def _epochs(folder: Path) -> int:
    """Return how many epochs of a fold are done, from its file of curves."""
    try:
        with (folder / CURVES_FILE).open("rb") as file:
            return max(0, sum(1 for _ in file) - 1)
    except OSError:
        return 0


def _finished(config: RunConfig, place: Path, data: GraphTask | None) -> RunRecord:
    """Return the record of a finished run, if it is of the data as they are now."""
    record = RunRecord.load(place)
    if data is None and Path(config.data).exists():
        data = load_data(config)
    if data is not None:
        now = data.with_targets().fingerprint()
        if now != record.data.get("fingerprint"):
            raise ConfigError(
                f"the data has changed since the run in {place} finished; choose "
                "another output to train on it."
            )
    return record


def _record(
    training: Training,
    described: dict[str, Any],
    folds: list[FoldRecord],
    started: str,
    threads: Sequence[int],
) -> RunRecord:
    config = training.config
    own = training.change(config.at(folds[0].point)) if config.grid else training
    selects = config.keeps_best
    place = available_device(config.accelerator, config.dtype)
    return RunRecord(
        config=config.to_dict(),
        data=described,
        model=own.model_config,
        num_parameters=own.num_parameters,
        protocol=config.protocol,
        selected_on=selected_on(config),
        monitor=f"val_{config.monitor}" if selects else "nothing",
        folds=tuple(folds),
        results=summarise(
            config, training.kind, folds, training.objective().metric_names
        ),
        versions=package_versions(PACKAGES),
        commit=source_commit(),
        started=started,
        seconds=sum(fold.seconds for fold in folds),
        device=f"{place}, {' then '.join(map(str, threads))} threads",
        baseline=summarise_baseline(training, folds),
    )


def _join_predictions(folders: list[Path], place: Path) -> None:
    """Write the predictions of all folds to one file."""
    parts = [(folder / PREDICTIONS_FILE).read_bytes() for folder in folders]
    rows = [part.split(b"\n", 1)[1] for part in parts[1:]]
    write_files(place, {PREDICTIONS_FILE: b"".join([parts[0], *rows])})
