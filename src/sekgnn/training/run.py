"""A whole run in a folder: its trainings, one after the other or side by side."""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timezone
from itertools import chain, count
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sekgnn.datasets import GraphTask
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.files import make_folder, write_files
from sekgnn.parallel import Progress
from sekgnn.provenance import package_versions, source_commit
from sekgnn.training.baseline import Baseline, make_baseline, summarise_baseline
from sekgnn.training.config import RunConfig
from sekgnn.training.data import load_data
from sekgnn.training.loop import EpochReport, NotFiniteError, Status
from sekgnn.training.paired import Outcome
from sekgnn.training.predictions import (
    available_device,
    prediction_table,
)
from sekgnn.training.predictor import Predictor
from sekgnn.training.processes import run_processes
from sekgnn.training.run_folder import (
    CHECKPOINT_FILE,
    CURVES_FILE,
    FOLD_FILE,
    MODEL_FILE,
    check_same_config,
    check_same_data,
    fold_folders,
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
    is_better_high,
    selected_on,
    summarise,
)
from sekgnn.training.settings import chosen_config
from sekgnn.training.training import Trained, Training, share_of

_Work = tuple[int, int | None, Path]
"""Number of a split, of a network where there are several, and their folder."""
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
    status: Status | None = None,
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
        report: Called with (epoch, values) after every epoch of this process.
        status: Called with what is begun in this process, such as ``"network 2 of 3"``.
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
    settings, _ = chosen_config(config, keys, preset)
    folder = default_folder(settings) if output is None else Path(output)
    main = is_main_process(settings)
    if main:
        check_same_config(settings, folder)
    if main and (folder / RECORD_FILE).is_file():
        return _finished(settings, folder, data)
    training = Training(settings, data, data_root=data_root)
    training.prepare(encoding_progress)
    described = training.data.describe()
    if not main:
        fold = run_fold(training, 0, folder)
        return _record(training, described, [fold], "", [torch.get_num_threads()])
    baseline = make_baseline(training)
    make_folder(folder)
    with locked(folder):
        started = datetime.now(timezone.utc).isoformat(timespec="seconds")
        check_same_config(settings, folder)  # nobody was faster
        write_config(settings, folder)
        check_same_data(described["fingerprint"], folder)
        threads = note_threads(torch.get_num_threads(), folder)
        folders = fold_folders(folder, len(training.splits))
        tell = _teller(settings, folders, progress)
        told: dict[str, Any] = {"progress": progress, "report": report}
        if len(folders) == 1:  # what was trained is kept before baselines begin
            told["tested"] = lambda fold: _record(
                training, described, [fold], started, threads
            ).save(folder)
        else:
            told = {"report": _each(lambda *_: tell(), report)}
            tell()
        if jobs > 1:
            _side_by_side(settings, data, data_root, jobs, folders, tell)
        folds = []
        for number, fold_folder in enumerate(folders):
            told["status"] = _of_fold(status, number, len(folders))
            folds.append(run_fold(training, number, fold_folder, baseline, **told))
        if len(folders) > 1:
            _join_predictions(folders, folder)
        try:
            record = _record(training, described, folds, started, threads)
        except (LookupError, TypeError) as error:
            raise GraphInputError(
                f"a {FOLD_FILE} in {folder} is not of this run ({error} is missing or "
                "wrong); remove it to train this part again."
            ) from error
        record.save(folder)
    return record


def run_fold(
    training: Training,
    number: int,
    folder: Path,
    baseline: Baseline | None = None,
    *,
    progress: Progress | None = None,
    report: EpochReport | None = None,
    status: Status | None = None,
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
    # interrupted before, or by, its baselines: networks are as they were left
    told: dict[str, Any] = {"progress": progress, "report": report, "status": status}
    tried: list[dict[str, Any]] = []
    if training.config.grid:
        best, tried = fit_points(training, number, folder, **told)
        members = [best]
    else:
        members = training.fit_members(number, folder, **told)
    record, table, together = _tested(training, members, tried)
    text = json.dumps(asdict(record)).encode()
    write_files(folder, {PREDICTIONS_FILE: table, FOLD_FILE: text})
    if baseline is not None:
        if tested is not None:
            tested(record)
        reached = baseline.fold(number, members, record.seconds, together, status)
        record = replace(record, baseline=reached)
        write_files(folder, {FOLD_FILE: json.dumps(asdict(record)).encode()})
    for member in member_folders(folder, training.config.ensemble):
        (member / CHECKPOINT_FILE).unlink(missing_ok=True)
    for point in point_folders(folder, len(tried)):
        shutil.rmtree(point, ignore_errors=True)
    return record


def _tested(
    training: Training,
    members: Sequence[Trained],
    tried: list[dict[str, Any]],
) -> tuple[FoldRecord, bytes, Outcome]:
    """Return the record of a training's models, and what they say of test graphs.

    That is a table of their joint predictions, and the same to compare others with.
    """
    first, number = members[0], members[0].number
    predictor = Predictor.of(members)
    predictor.calibrate(members)
    tested = [member.evaluate() for member in members]
    mean, spread = predictor.join(rows.out for rows in tested)
    truth = tested[0].y, tested[0].mask
    alone = {}
    if len(members) > 1:
        for i, (member, rows) in enumerate(zip(members, tested, strict=True), start=1):
            name = f"network {i}" if member.model.learns else member.model.name
            own = member.note.predictions(rows.out)
            alone[name] = _of_test(Predictor.of([member]).measure(own, *truth))
    split = training.splits[number]
    spent = [one["seconds"] for one in tried] or [one.seconds for one in members]
    known = predictor.calibration
    threshold = None if known is None else known.threshold
    together = Outcome(first.note, torch.from_numpy(mean), tested[0], threshold)
    record = FoldRecord(
        split={
            part: np.sort(chosen).tolist()
            for part in ("train", "val", "calibration", "test")
            if (chosen := getattr(split, part)).size
        },
        curves=first.curves,
        kept_epoch=first.kept_epoch,
        metrics=_of_test(predictor.measure(together.predicted, *truth, spread)),
        seconds=sum(spent),
        members=alone,
        calibration={} if known is None else asdict(known),
        tried=tried,
    )
    columns = predictor.columns(mean, spread)
    names = training.data.names(tested[0].graph.tolist())
    table = prediction_table(first.note, tested[0], columns, number + 1, names)
    return record, table, together


def _of_test(metrics: dict[str, float]) -> dict[str, float]:
    return {f"test_{name}": value for name, value in metrics.items()}


def fit_points(
    training: Training,
    number: int,
    output: Path,
    *,
    progress: Progress | None = None,
    report: EpochReport | None = None,
    status: Status | None = None,
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
        tell = share_of(progress, i, len(folders))
        if status is not None:
            status(f"point {i + 1} of {len(folders)}")
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


def _each(first: EpochReport, second: EpochReport | None) -> EpochReport:
    """Return what calls one after the other."""
    if second is None:
        return first

    def report(epoch: int, values: dict[str, float]) -> None:
        first(epoch, values)
        second(epoch, values)

    return report


def _of_fold(status: Status | None, number: int, count: int) -> Status | None:
    """Return what is called with what is begun in a fold, from 0, of several."""
    if status is None or count == 1:
        return status
    return lambda text: status(f"fold {number + 1} of {count}, {text}")


def default_folder(config: RunConfig) -> Path:
    """Return where a run is written by default.

    A folder with a run of another config stays as it is: the next free number is taken.
    """
    model = config.model.rpartition(":")[2]
    first = Path("runs") / f"{Path(config.data or 'graphs').stem}-{model}"
    numbered = (first.with_name(f"{first.name}-{number}") for number in count(2))
    return next(folder for folder in chain([first], numbered) if _fits(folder, config))


def _fits(folder: Path, config: RunConfig) -> bool:
    """Tell whether a run can be begun, continued or found in a folder."""
    try:
        check_same_config(config, folder)
    except ConfigError:
        return False
    return True


def is_main_process(config: RunConfig) -> bool:
    """Tell whether this is the process that writes, or one that was started later.

    Batch systems number processes that have nothing to do with each other, too: the
    numbers mean something only if the config asks for several processes.
    """
    if config.devices * config.num_machines == 1:
        return True
    names = ("RANK", "LOCAL_RANK", "NODE_RANK", "SLURM_PROCID", "JSM_NAMESPACE_RANK")
    return all(os.environ.get(name, "0") == "0" for name in names)


def _side_by_side(
    config: RunConfig,
    data: GraphTask | None,
    data_root: str | Path | None,
    jobs: int,
    folders: Sequence[Path],
    tell: Callable[[], None],
) -> None:
    """Train folds, or the networks of one split, in ``jobs`` new processes.

    Networks are trained up to their end only: :func:`run_fold` goes on from there.
    """
    waiting: list[_Work] = [
        (number, None, folder)
        for number, folder in enumerate(folders)
        if not (folder / FOLD_FILE).is_file()
    ]
    if len(folders) == 1 and waiting:
        members = member_folders(folders[0], config.ensemble)
        waiting = [(0, member, folder) for member, folder in enumerate(members)]
        if len(members) == 1:
            return
    shares = [waiting[i::jobs] for i in range(min(jobs, len(waiting)))]
    arguments = [(config, data, data_root, share) for share in shares]
    run_processes(_do_share, arguments, look=tell)


def _do_share(
    config: RunConfig,
    data: GraphTask | None,
    data_root: str | Path | None,
    share: Sequence[_Work],
) -> None:
    """Do a share of the work in a new process, which has to prepare the data itself."""
    training = Training(config, data, data_root=data_root)
    baseline = make_baseline(training)
    for number, member, folder in share:
        if member is None:
            run_fold(training, number, folder, baseline)
        else:
            training.fit(number, member, output=folder)


def _teller(
    config: RunConfig, folders: Sequence[Path], progress: Progress | None
) -> Callable[[], None]:
    """Return what tells ``progress`` how many epochs of all folds are done."""
    points = len(config.points) if config.grid else 0
    networks = points or config.ensemble
    whole = networks * (config.epochs if config.has_epochs else 1)

    def done(folder: Path) -> int:
        if (folder / FOLD_FILE).is_file():
            return whole
        cut = point_folders if points else member_folders
        return sum(map(_epochs, cut(folder, networks)))

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


def _finished(config: RunConfig, folder: Path, data: GraphTask | None) -> RunRecord:
    """Return the record of a finished run, if it is of the data as they are now."""
    record = RunRecord.load(folder)
    if data is None and Path(config.data).exists():
        data = load_data(config)
    if data is not None:
        now = data.with_targets().fingerprint()
        if now != record.data.get("fingerprint"):
            raise ConfigError(
                f"the data has changed since the run in {folder} finished; choose "
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
    chosen = training.change(config.at(folds[0].point)) if config.grid else training
    device = available_device(config.accelerator, config.dtype)
    return RunRecord(
        config=config.to_dict(),
        data=described,
        model=chosen.model_config,
        num_parameters=chosen.num_parameters,
        protocol=config.protocol,
        selected_on=selected_on(config),
        monitor=f"val_{config.monitor}" if config.keeps_best else "nothing",
        folds=tuple(folds),
        results=summarise(config, folds, training.objective().metric_names),
        versions=package_versions(PACKAGES),
        commit=source_commit(),
        started=started,
        seconds=sum(fold.seconds for fold in folds),
        device=f"{device}, {' then '.join(map(str, threads))} threads",
        baseline=summarise_baseline(training, folds),
    )


def _join_predictions(folders: list[Path], folder: Path) -> None:
    """Write the predictions of all folds to one file."""
    first, *others = [(fold / PREDICTIONS_FILE).read_bytes() for fold in folders]
    rows = [table.split(b"\n", 1)[1] for table in others]
    write_files(folder, {PREDICTIONS_FILE: b"".join([first, *rows])})
