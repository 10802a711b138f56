"""A whole run: data, protocol, trainings, record."""

from __future__ import annotations

import os
import warnings
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import torch

from sekgnn.datasets import GraphTask
from sekgnn.errors import ConfigError, GraphInputError, GraphInputWarning
from sekgnn.files import write_atomically
from sekgnn.models import GraphModel
from sekgnn.parallel import Progress
from sekgnn.provenance import package_versions, source_commit
from sekgnn.training.batches import JoinedGraphs, encoding_cache
from sekgnn.training.build import make_model
from sekgnn.training.config import RunConfig
from sekgnn.training.fold import Preparation, fold_objective, fold_seeds, run_fold
from sekgnn.training.fold_pool import run_folds
from sekgnn.training.history import EpochReport
from sekgnn.training.learning_data import LearningData, without_masked
from sekgnn.training.protocols import SELECTS_ON, make_splits, summarise
from sekgnn.training.record import (
    PREDICTIONS_FILE,
    RECORD_FILE,
    FoldRecord,
    RunRecord,
)
from sekgnn.training.run_folder import (
    check_same_config,
    check_same_data,
    locked,
    make_folder,
    remove_drafts,
    write_config,
)
from sekgnn.training.sources import load_data

PACKAGES = ("sekgnn", "torch", "torch-geometric", "lightning", "numpy", "numba",
            "scipy", "torchmetrics")  # fmt: skip


def prepare(
    config: RunConfig,
    root: str | Path | None = None,
    *,
    data: LearningData | None = None,
    progress: Progress | None = None,
) -> Preparation:
    """Load the data of a run, make its splits, hops and encodings.

    Everything that can be wrong with a config shows here, before a file is written.

    Args:
        config: Of the run.
        root: The data folder of benchmarks; by default what ``SEKGNN_DATA`` names.
        data: Graphs and targets, if they are loaded already.
        progress: Called with (done, total) while encodings are computed.

    Raises:
        ConfigError: If a key cannot work.
        GraphInputError: If the data is wrong, or cannot be split so.
        DataNotFoundError: If benchmark data is missing and cannot be had.
    """
    everything = load_data(config, root) if data is None else data
    loaded = without_masked(everything)
    left_out = len(everything.task) - len(loaded.task)
    if left_out and config.split is not None:
        raise GraphInputError(
            f"{loaded.name}: {left_out} graphs without a target are left out, so that "
            "positions in split would be those of others; remove them from the data."
        )
    if left_out:
        text = f"{loaded.name}: {left_out} graphs have no target and are left out."
        warnings.warn(text, GraphInputWarning, stacklevel=2)
    splits = make_splits(config, loaded, root)
    model = make_model(config, loaded, 0)
    fold_objective(config, loaded, splits[0].train)
    joined = JoinedGraphs(
        loaded.task.graphs,
        model.num_hops,
        model.encoding,
        max_neighbors=config.max_neighbors,
        seed=config.seed,
        cache_dir=encoding_cache(),
        progress=progress,
    )
    return Preparation(config, loaded, splits, joined)


def run(
    config: RunConfig,
    folder: str | os.PathLike[str],
    *,
    root: str | Path | None = None,
    data: GraphTask | LearningData | None = None,
    jobs: int = 1,
    encoding_progress: Progress | None = None,
    progress: Progress | None = None,
    report: EpochReport | None = None,
) -> RunRecord:
    """Train and test as ``config`` says, in ``folder``.

    The same call continues a run that was interrupted, however that was, and ends with
    the same numbers as if it had not been. A finished run is returned as it is.

    Args:
        config: Data, protocol, model, training.
        folder: For everything the run leaves behind; made if it is missing.
        root: The data folder of benchmarks; by default what ``SEKGNN_DATA`` names.
        data: Graphs and targets in memory, such as ``pyg_task(dataset)`` or
            ``networkx_task(graphs, targets)``, instead of what ``config`` names.
        jobs: Folds to train at a time, each in a process of its own. A script that asks
            for more than one needs the usual ``if __name__ == "__main__":``.
        encoding_progress: Called with (done, total) while encodings are computed.
        progress: Called with (done, total): batches, or epochs of all folds.
        report: Called with (epoch, values) after every epoch of a single training.

    Returns:
        The record, which is also in ``folder``.

    Raises:
        ConfigError: If a key cannot work, ``folder`` holds something else or is in use,
            the data has changed since, or the loss is not finite.
        GraphInputError: If the data is wrong, or cannot be split so.
        OutputError: If a file cannot be written; what was there is unchanged.
        ModelFileError: If the checkpoint in ``folder`` is damaged.
    """
    place = Path(folder)
    main = is_main_process()
    if main:
        check_same_config(config, place)
    if isinstance(data, GraphTask):
        data = LearningData(config.data or "graphs", data, "memory")
    if main and (place / RECORD_FILE).is_file():
        return _finished(config, place, data)
    prepared = prepare(config, root, data=data, progress=encoding_progress)
    model = make_model(config, prepared.data, fold_seeds(config.seed, 0)[0])
    described = prepared.data.describe()
    if not main:
        folds = [run_fold(prepared, 0, place)]
        return _record(prepared, described, model, folds, "")
    make_folder(place)
    with locked(place):
        started = datetime.now(timezone.utc).isoformat(timespec="seconds")
        check_same_config(config, place)  # nobody was faster
        remove_drafts(place)
        write_config(config, place)
        check_same_data(described["fingerprint"], place)
        if len(prepared.splits) == 1:
            folds = [run_fold(prepared, 0, place, progress=progress, report=report)]
        else:
            folders = fold_folders(place, len(prepared.splits))
            folds = run_folds(prepared, folders, jobs, root, data, progress)
            _join_predictions(folders, place)
        record = _record(prepared, described, model, folds, started)
        record.save(place)
    return record


def fold_folders(place: Path, count: int) -> list[Path]:
    """Return the folders of a run's folds, whose order is that of their names."""
    width = max(2, len(str(count)))
    return [place / f"fold-{i:0{width}d}" for i in range(1, count + 1)]


def _finished(config: RunConfig, place: Path, data: LearningData | None) -> RunRecord:
    """Return the record of a finished run, if it is of the data as they are now.

    Raises:
        ConfigError: If the data has changed since.
    """
    record = RunRecord.load(place)
    if data is None and Path(config.data).exists():
        data = load_data(config)
    if data is not None:
        now = without_masked(data).fingerprint()
        if now != record.data.get("fingerprint"):
            raise ConfigError(
                f"the data has changed since the run in {place} finished; choose "
                "another output to train on it."
            )
    return record


def is_main_process() -> bool:
    """Tell whether this is the process that writes, or one that was started later."""
    names = ("RANK", "LOCAL_RANK", "NODE_RANK", "SLURM_PROCID", "JSM_NAMESPACE_RANK")
    return all(os.environ.get(name, "0") == "0" for name in names)


def _record(
    prepared: Preparation,
    described: dict[str, Any],
    model: GraphModel,
    folds: list[FoldRecord],
    started: str,
) -> RunRecord:
    config = prepared.config
    selects = config.selects_on_validation
    return RunRecord(
        config=config.to_dict(),
        data=described,
        model=model.to_config(),
        num_parameters=model.num_parameters,
        protocol=config.protocol,
        selects_on=SELECTS_ON[config.protocol].format(monitor=config.monitor),
        monitor=f"val_{config.monitor}" if selects else "nothing",
        folds=tuple(folds),
        results=summarise(config, prepared.data.kind, folds),
        versions=package_versions(PACKAGES),
        commit=source_commit(),
        started=started,
        seconds=sum(fold.seconds for fold in folds),
        device=f"{config.accelerator}, {torch.get_num_threads()} threads",
    )


def _join_predictions(folders: list[Path], place: Path) -> None:
    """Write the predictions of all folds to one file."""
    parts = [(folder / PREDICTIONS_FILE).read_bytes() for folder in folders]
    heading = parts[0].split(b"\n", 1)[0]
    rows = b"".join(part.split(b"\n", 1)[1] for part in parts)
    write_atomically(
        place / PREDICTIONS_FILE, lambda file: file.write(heading + b"\n" + rows)
    )
