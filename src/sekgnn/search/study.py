"""A search: many configs, compared on validation graphs, and the best one."""

from __future__ import annotations

import math
import os
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from sekgnn.checks import check_choice, check_positive
from sekgnn.datasets.graph_task import GraphTask
from sekgnn.errors import ConfigError
from sekgnn.files import visible_names
from sekgnn.parallel import Progress
from sekgnn.provenance import package_versions, source_commit
from sekgnn.search.record import (
    BEST_FILE,
    RECORD_FILE,
    TABLE_FILE,
    SearchRecord,
    trial_row,
)
from sekgnn.search.storage import (
    DATABASE_FILE,
    open_study,
    quiet_optuna,
    shown,
    storage_errors,
)
from sekgnn.search.worker import Validation, Worker
from sekgnn.training.config import RunConfig
from sekgnn.training.processes import run_processes
from sekgnn.training.run import PACKAGES
from sekgnn.training.run_record import is_better_high
from sekgnn.training.space import SearchSpace

SAMPLERS = ("tpe", "random", "grid")
PRUNERS = ("median", "hyperband", "none")


def search(
    config: RunConfig,
    space: SearchSpace,
    output: str | os.PathLike[str],
    *,
    trials: int | None = None,
    storage: str | None = None,
    study_name: str = "search",
    sampler: str = "tpe",
    pruner: str = "median",
    jobs: int = 1,
    timeout: float | None = None,
    data_root: str | Path | None = None,
    data: GraphTask | None = None,
    encoding_progress: Progress | None = None,
    progress: Progress | None = None,
) -> SearchRecord:
    """Search over ``space`` and write the results to ``output``.

    Trials are compared by the validation value of ``config.monitor``; test graphs are
    not used. The same call continues an interrupted search, and several processes may
    work on one study: a call returns when the study has ``trials`` complete or pruned
    trials, whichever process ran them.

    Args:
        config: Config of the trials, without the searched keys.
        space: The search space.
        output: A folder for ``best.yaml``, ``trials.csv``, ``search.json`` and, unless
            ``storage`` is given, ``study.db``; created if missing.
        trials: Total number of trials, including earlier ones; ``None`` for 30, or for
            the whole space with sampler ``"grid"``.
        storage: URL of an Optuna storage, to spread a search over machines.
        study_name: Name of the study in the storage.
        sampler: ``"tpe"``, ``"random"`` or ``"grid"``; seeded by ``config.seed``.
        pruner: ``"median"``, ``"hyperband"`` or ``"none"``.
        jobs: Processes to start; 1 works in this one. With several, a script needs the
            usual ``if __name__ == "__main__":``.
        timeout: Seconds after which no trial begins.
        data_root: The data folder of benchmarks; by default ``SEKGNN_DATA``.
        data: Graphs and targets, if already loaded.
        encoding_progress: Called with (done, total) while encodings are computed.
        progress: Called with (done, total) trials.

    Returns:
        The record, also written to ``output``.

    Raises:
        ConfigError: If a key is invalid, the protocol selects on test graphs, or
            ``output`` or the study belong to something else.
        GraphInputError: If the data is invalid.
        MissingExtraError: If Optuna is not installed.
        OutputError: If study or files cannot be written.
    """
    folder = Path(output)
    space.check(config)
    check_choice("sampler", sampler, SAMPLERS)
    check_choice("pruner", pruner, PRUNERS)
    check_positive("jobs", jobs)
    total = 30 if trials is None else check_positive("trials", trials)
    if sampler == "grid":
        if space.size is None:
            raise ConfigError(
                "the space is infinite, for it has a range without a step; list its "
                "choices, give it a step, or choose another sampler."
            )
        total = min(trials or space.size, space.size)
    if timeout is not None and not timeout > 0:
        raise ConfigError(f"timeout must be above 0 seconds, got {timeout:g}.")
    ends = math.inf if timeout is None else time.time() + timeout
    url = storage or f"sqlite:///{(folder / DATABASE_FILE).resolve()}"
    with quiet_optuna():
        _check_folder(folder)
        validation = Validation(
            config, data_root, data=data, progress=encoding_progress
        )
        _check_possible(space, validation)
        folder.mkdir(parents=True, exist_ok=True)
        record = SearchRecord(
            study_name=study_name,
            storage=shown(url),
            config=config.to_dict(),
            space=space.parts,
            sampler=sampler,
            pruner=pruner,
            monitor=f"val_{config.monitor}",
            direction="maximize" if is_better_high(config.monitor) else "minimize",
            selected_on=validation.selected_on,
            data={
                "name": validation.data.name,
                "graphs": len(validation.data),
                "fingerprint": validation.fingerprint(),
            },
            requested=total,
            versions=package_versions((*PACKAGES, "optuna")),
            commit=source_commit(),
        )
        with storage_errors(url):
            study = open_study(url, record)
            study.pruner = _pruner(pruner, config.epochs, len(validation.splits))
            worker = Worker(study, record, validation, ends, progress)
            try:
                if jobs == 1:
                    worker.work()
                elif worker.unfinished():
                    failures: list[Exception] = []
                    job = partial(
                        search, config, space, output, trials=total, storage=url,
                        study_name=study_name, sampler=sampler, pruner=pruner,
                        timeout=timeout, data_root=data_root, data=data,
                    )  # fmt: skip
                    run_processes(
                        job, [()] * jobs, look=worker.unfinished, failed=failures.append
                    )
                    if failures and worker.unfinished():
                        raise failures[0]
            finally:  # also after an interruption
                record = _write(worker, folder)
    return record


def _pruner(name: str, epochs: int, folds: int) -> Any:
    """Return a pruner for ``folds`` consecutive trainings."""
    from optuna import pruners

    if name == "median":
        return pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=epochs // 10)
    if name == "hyperband":
        total = epochs * folds
        return pruners.HyperbandPruner(
            min_resource=max(1, total // 27), max_resource=total
        )
    return pruners.NopPruner()


def _write(worker: Worker, folder: Path) -> SearchRecord:
    """Write the files of a search, and return the record with its trials.

    Several processes may write at once, so each repeats until the study is unchanged.
    """
    record, written = worker.record, None
    while True:
        params = worker.space.parts.keys()
        rows = tuple(
            trial_row(trial, worker.space)
            for trial in worker.trials()
            if params <= trial.params.keys()
        )
        finished = [row for row in rows if row["state"] != "running"]
        if finished == written:
            return record
        record, written = replace(record, rows=rows), finished
        record.save(folder)


def _check_folder(folder: Path) -> None:
    """Raise ConfigError if a folder has other contents."""
    names = set(visible_names(folder))
    foreign = sorted(names - {DATABASE_FILE, RECORD_FILE, TABLE_FILE, BEST_FILE})
    if foreign and not names & {DATABASE_FILE, RECORD_FILE}:
        raise ConfigError(
            f"{folder} is neither the folder of a search nor empty (it holds "
            f"{foreign[0]}); choose another output."
        )


def _check_possible(space: SearchSpace, validation: Validation) -> None:
    """Raise the error of the first point if no point can be trained."""
    errors = []
    for point in space.points():
        try:
            return validation.check(validation.config.change(point))
        except ConfigError as error:
            errors.append(error)
    raise ConfigError(f"no point of the space can be trained: {errors[0]}")
