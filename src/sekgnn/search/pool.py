"""Several processes that work on one study."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sekgnn.search.space import SearchSpace
from sekgnn.search.storage import Direction, open_study, quiet_optuna
from sekgnn.search.validation import Validation
from sekgnn.search.worker import Worker
from sekgnn.training.config import RunConfig
from sekgnn.training.learning_data import LearningData
from sekgnn.training.processes import run_processes


@dataclass(frozen=True, eq=False)
class Job:
    """What a process needs to work on a study; everything can be pickled.

    Attributes:
        base: Config without the keys that are searched over.
        space: What to search over.
        url: Of the storage.
        name: Of the study.
        direction: ``"minimize"`` or ``"maximize"``.
        identity: What all trials have in common.
        sampler: How points are proposed.
        pruner: When trainings are stopped.
        trials: How many there are to be in the end.
        ends: When no more trial is begun, seconds since the epoch.
        root: The data folder of benchmarks.
        data: Graphs and targets, if they do not come from a file.
    """

    base: RunConfig
    space: SearchSpace
    url: str
    name: str
    direction: Direction
    identity: dict[str, Any]
    sampler: str
    pruner: str
    trials: int
    ends: float | None
    root: str | Path | None
    data: LearningData | None

    def work(
        self, study: Any, validation: Validation, tell: Callable[[int], None] | None
    ) -> None:
        """Do trials in this process."""
        deadline = None
        if self.ends is not None:
            deadline = time.monotonic() + self.ends - time.time()
        Worker(
            study,
            self.url,
            self.base,
            self.space,
            validation,
            self.sampler,
            self.pruner,
        ).work(self.trials, deadline, tell)


def work_in_processes(job: Job, jobs: int, look: Callable[[], bool]) -> None:
    """Work on a study in ``jobs`` new processes, until all have ended.

    A process that dies does not end the others: they do its trial again.

    Args:
        job: What to do.
        jobs: Number of processes.
        look: Called now and then; returns whether there are enough trials.

    Raises:
        ConfigError: If a process failed and there are not enough trials.
    """
    failures: list[Exception] = []
    run_processes(_work, [(job,)] * jobs, look=look, failed=failures.append)
    if failures and not look():
        raise failures[0]


def _work(job: Job) -> None:
    """Work in a new process, which has to load the data itself."""
    with quiet_optuna():
        validation = Validation(job.base, job.root, data=job.data)
        study = open_study(job.url, job.name, job.direction, job.identity)
        job.work(study, validation, None)
