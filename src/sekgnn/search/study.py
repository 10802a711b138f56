"""A search: many configs, compared on validation graphs, the best one written down.

A study has slots 0, 1, 2, ..., one for each trial that counts. Any number of processes
share a study: a trial claims a free slot by a user attribute and then looks whether
another one claims it too. Both would see that, whatever the storage, and try again; so
no slot is done twice. (Optuna's own queue is no help: two processes can take the same
trial from it if the storage is SQLite.) A trial that failed gives its slot back.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import random
import time
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from sekgnn.checks import check_choice, check_positive
from sekgnn.datasets.graph_task import GraphTask
from sekgnn.errors import ConfigError
from sekgnn.files import visible_names
from sekgnn.parallel import Progress
from sekgnn.provenance import package_versions, source_commit
from sekgnn.search.findings import (
    BEST_FILE,
    RECORD_FILE,
    TABLE_FILE,
    SearchRecord,
    rows_of,
)
from sekgnn.search.space import SearchSpace
from sekgnn.search.storage import (
    DATABASE_FILE,
    Direction,
    Watch,
    open_study,
    quiet_optuna,
    shown,
    signs_of_life,
    storage_errors,
)
from sekgnn.search.validation import Validation, selected_on
from sekgnn.training.config import RunConfig
from sekgnn.training.processes import run_processes
from sekgnn.training.run import PACKAGES
from sekgnn.training.run_record import is_better_high

SAMPLERS = ("tpe", "random", "grid")
PRUNERS = ("median", "hyperband", "none")
_WAIT_SECONDS = 0.5


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
    """Search over ``space`` and write what was found to ``output``.

    Trials are compared by the validation value of ``config.monitor``; test graphs are
    not looked at. The same call continues a search that was interrupted, and any number
    of processes may work on one study at once: a call returns when the study has
    ``trials`` that are complete or pruned, whichever process ran them.

    Args:
        config: Config of the trials, without the keys that are searched over.
        space: What to search over.
        output: A folder for ``best.yaml``, ``trials.csv``, ``search.json`` and, unless
            ``storage`` is given, ``study.db``; made if it is missing.
        trials: How many there should be in all, earlier ones included; ``None`` for
            30, or for the whole space with sampler ``"grid"``.
        storage: URL of an Optuna storage, to spread a search over machines.
        study_name: Name of the study in it.
        sampler: ``"tpe"``, ``"random"`` or ``"grid"``; seeded by ``config.seed``.
        pruner: ``"median"``, ``"hyperband"`` or ``"none"``.
        jobs: Processes to start; 1 works in this one. A script that asks for more
            needs the usual ``if __name__ == "__main__":``.
        timeout: Begin no trial after that many seconds.
        data_root: The data folder of benchmarks; by default what ``SEKGNN_DATA`` names.
        data: Graphs and targets, if they are loaded already.
        encoding_progress: Called with (done, total) while encodings are computed.
        progress: Called with (done, total) trials.

    Returns:
        The record, which is also in ``output``.

    Raises:
        ConfigError: If a key cannot work, the protocol selects on test graphs, or
            ``output`` or the study hold something else.
        GraphInputError: If the data is wrong.
        MissingExtraError: If Optuna is not installed.
        OutputError: If study or files cannot be written.
    """
    place = Path(output)
    space.check(config)
    check_choice("sampler", sampler, SAMPLERS)
    check_choice("pruner", pruner, PRUNERS)
    check_positive("jobs", jobs)
    total = 30 if trials is None else check_positive("trials", trials)
    if sampler == "grid":
        points = sum(1 for _ in space.grid())
        total = points if trials is None else min(trials, points)
    if timeout is not None and not timeout > 0:
        raise ConfigError(f"timeout must be above 0 seconds, got {timeout:g}.")
    with quiet_optuna():
        _check_folder(place)
        validation = Validation(
            config, data_root, data=data, progress=encoding_progress
        )
        _check_possible(config, space, validation)
        place.mkdir(parents=True, exist_ok=True)
        job = Job(
            config=config,
            space=space,
            url=storage or f"sqlite:///{(place / DATABASE_FILE).resolve()}",
            study_name=study_name,
            sampler=sampler,
            pruner=pruner,
            trials=total,
            ends=math.inf if timeout is None else time.time() + timeout,
            data_root=data_root,
            data=data,
        )
        worker = Worker(job, validation, progress)
        try:
            if jobs == 1:
                worker.work()
            elif worker.look():
                failures: list[Exception] = []
                run_processes(
                    _work, [(job,)] * jobs, look=worker.look, failed=failures.append
                )
                if failures and worker.look():  # others may have done what was left
                    raise failures[0]
        finally:  # what there is, however it ended
            record = _write(worker, place)
    return record


@dataclass(frozen=True, eq=False)
class Job:
    """What a process needs to work on a study; everything can be pickled.

    Attributes:
        url: Of the storage.
        ends: When no more trial is begun, seconds since the epoch.

    The others are arguments of :func:`search`.
    """

    config: RunConfig
    space: SearchSpace
    url: str
    study_name: str
    sampler: str
    pruner: str
    trials: int
    ends: float
    data_root: str | Path | None
    data: GraphTask | None

    @property
    def direction(self) -> Direction:
        """Which values of the monitor are good."""
        return "maximize" if is_better_high(self.config.monitor) else "minimize"


class NotNeededError(Exception):
    """All slots are taken."""


class Worker:
    """One process that does trials of a study until there are enough."""

    def __init__(
        self, job: Job, validation: Validation, progress: Progress | None = None
    ) -> None:
        self.job, self.validation, self._progress = job, validation, progress
        self.identity = _identity(job, validation)
        self.study = open_study(job.url, job.study_name, job.direction, self.identity)
        self.study.pruner = _pruner(
            job.pruner, job.config.epochs, len(validation.splits)
        )
        self.watch = Watch(self.study)
        self._failed = False

    def look(self) -> bool:
        """Return whether there is more to do, and tell how much is done."""
        with storage_errors(self.job.url):
            done = sum(
                t.state.name in ("COMPLETE", "PRUNED") for t in self.watch.trials()
            )
        if self._progress is not None:
            self._progress(min(done, self.job.trials), self.job.trials)
        return done < self.job.trials

    def work(self) -> None:
        """Run trials until the study has enough, whichever process ran them."""
        while self.look() and time.time() < self.job.ends:
            parent = multiprocessing.parent_process()
            if parent is not None and not parent.is_alive():
                raise SystemExit(1)
            with storage_errors(self.job.url):
                if _free_slot(self.study, self.job.trials) is None:
                    time.sleep(_WAIT_SECONDS)  # for others, who may yet fail
                    continue
                self._failed = False
                try:
                    self.study.optimize(self._trial, n_trials=1, catch=NotNeededError)
                except ValueError:  # others thought that this process was gone
                    if self._failed:
                        raise

    def _trial(self, trial: Any) -> float:
        """Do one trial; what Optuna optimises."""
        from optuna.exceptions import TrialPruned, UpdateFinishedTrialError
        from optuna.trial import TrialState

        try:
            with signs_of_life(trial):
                slot = claim(self.study, trial, self.job.trials)
                self.study.sampler = _sampler(self.job, slot)
                return self._train(trial, self.job.space.suggest(trial))
        except (TrialPruned, UpdateFinishedTrialError, NotNeededError):
            raise
        except (ConfigError, MemoryError) as error:
            trial.set_user_attr("reason", str(error) or "not enough memory")
            raise TrialPruned from error
        except BaseException as error:
            self._failed = True
            with suppress(UpdateFinishedTrialError):
                trial.set_user_attr("reason", f"interrupted by {type(error).__name__}")
                if not isinstance(error, Exception | KeyboardInterrupt):
                    self.study.tell(trial, state=TrialState.FAIL)  # Optuna would not
            raise

    def _train(self, trial: Any, point: dict[str, Any]) -> float:
        """Return the validation value of a point, unless it is pruned."""
        from optuna.exceptions import TrialPruned

        def report(epoch: int, value: float) -> None:
            trial.report(value, epoch)
            if trial.should_prune():
                raise TrialPruned

        outcome = self.validation.value(replace(self.job.config, **point), report)
        if not math.isfinite(outcome.value):
            raise ConfigError(f"the validation value is {outcome.value}.")
        trial.set_user_attr("kept_epochs", list(outcome.epochs))
        trial.set_user_attr("num_parameters", outcome.num_parameters)
        trial.set_user_attr("seconds", round(outcome.seconds, 3))
        return outcome.value


def claim(study: Any, trial: Any, slots: int) -> int:
    """Return the slot of a new trial, which no other trial has, if one is left."""
    pause = random.SystemRandom()  # others may have seeded theirs alike
    while True:
        slot = _free_slot(study, slots, trial.number)
        if slot is None:
            raise NotNeededError
        trial.set_user_attr("slot", slot)
        if slot not in _taken(study, trial.number):
            return slot
        trial.set_user_attr("slot", None)
        time.sleep(pause.uniform(0, 0.2))


def _free_slot(study: Any, slots: int, but: int | None = None) -> int | None:
    """Return the first slot that no trial has, but for the trial of a number."""
    taken = _taken(study, but)
    return next((slot for slot in range(slots) if slot not in taken), None)


def _taken(study: Any, but: int | None) -> set[int | None]:
    return {
        t.user_attrs.get("slot")
        for t in study.get_trials(deepcopy=False)
        if t.state.name != "FAIL" and t.number != but
    }


def _work(job: Job) -> None:
    """Work in a new process, which has to load the data itself."""
    with quiet_optuna():
        Worker(job, Validation(job.config, job.data_root, data=job.data)).work()


def _sampler(job: Job, slot: int) -> Any:
    """Return the sampler of one trial.

    It depends on the slot of the trial alone, so that a continued search, or one of
    several processes, does not repeat the random numbers of another.
    """
    from optuna import samplers

    seed = job.config.seed
    own = int(np.random.SeedSequence([seed, slot, 7]).generate_state(1)[0])
    if job.sampler == "tpe":
        return samplers.TPESampler(seed=own)
    if job.sampler == "random":
        return samplers.RandomSampler(seed=own)
    points = list(job.space.grid())
    point = points[np.random.default_rng(seed).permutation(len(points))[slot]]
    return samplers.PartialFixedSampler(point, samplers.RandomSampler(seed=own))


def _pruner(name: str, epochs: int, folds: int) -> Any:
    """Return a pruner for ``folds`` trainings, one after the other."""
    from optuna import pruners

    if name == "median":
        return pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=epochs // 10)
    if name == "hyperband":
        total = epochs * folds
        return pruners.HyperbandPruner(
            min_resource=max(1, total // 27), max_resource=total
        )
    return pruners.NopPruner()


def _write(worker: Worker, place: Path) -> SearchRecord:
    """Write what the study holds now to its folder.

    Several processes may do so at once: the last to write looks again whether the
    study has changed since it was read.
    """
    job, config = worker.job, worker.job.config
    splits, data = worker.validation.splits, worker.validation.data
    record, written = None, None
    while True:
        with storage_errors(job.url):
            rows = rows_of(worker.watch.trials(), job.space)
        finished = [row for row in rows if row.state != "running"]
        if record is not None and finished == written:
            return record
        written = finished
        record = SearchRecord(
            study_name=job.study_name,
            storage=shown(job.url),
            config=config.to_dict(),
            space=job.space.to_dict(),
            sampler=job.sampler,
            pruner=job.pruner,
            monitor=f"val_{config.monitor}",
            direction=job.direction,
            selected_on=selected_on(config, len(splits)),
            data={
                "name": data.name,
                "graphs": len(data),
                "fingerprint": worker.identity["data"],
            },
            requested=job.trials,
            rows=rows,
            versions=package_versions((*PACKAGES, "optuna")),
            commit=source_commit(),
        )
        record.save(place)


def _check_folder(place: Path) -> None:
    """Raise if a folder holds something else."""
    found = set(visible_names(place))
    foreign = sorted(found - {DATABASE_FILE, RECORD_FILE, TABLE_FILE, BEST_FILE})
    if foreign and not found & {DATABASE_FILE, RECORD_FILE}:
        raise ConfigError(
            f"{place} is neither the folder of a search nor empty (it holds "
            f"{foreign[0]}); choose another output."
        )


def _check_possible(
    config: RunConfig, space: SearchSpace, validation: Validation
) -> None:
    """Raise, with the error of the first, if no point of the space can be trained."""
    errors = []
    for point in space.points(ends=True):
        try:
            return validation.check(replace(config, **point))
        except ConfigError as error:
            errors.append(error)
    raise ConfigError(f"no point of the space can be trained: {errors[0]}")


def _identity(job: Job, validation: Validation) -> dict[str, Any]:
    """Return what all trials of a study must have in common.

    Data counts by content, not by name, so that paths may differ between machines.
    """
    skipped = {item.name for item in fields(job.config) if item.metadata.get("free")}
    skipped |= {"data", "split", *job.space.keys}
    values = job.config.to_dict()
    return {
        "config": {k: v for k, v in values.items() if k not in skipped},
        "space": job.space.to_dict(),
        "order of the space": list(job.space.keys),  # of the points of a grid, too
        "data": validation.fingerprint(),
        "sampler": job.sampler,
        "pruner": job.pruner,
    }
