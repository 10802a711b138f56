"""Several processes that work on one study."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import torch

from sekgnn.errors import ConfigError
from sekgnn.search.space import SearchSpace
from sekgnn.search.storage import Direction, open_study, quiet_optuna
from sekgnn.search.validation import Validation
from sekgnn.search.worker import Worker
from sekgnn.training.config import RunConfig
from sekgnn.training.learning_data import LearningData

_POLL_SECONDS = 0.5


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
    context = multiprocessing.get_context("spawn")
    threads = max(1, torch.get_num_threads() // jobs)
    running: dict[Any, Any] = {}
    failures: list[Exception] = []
    try:
        for _ in range(jobs):
            receive, send = context.Pipe(duplex=False)
            process = context.Process(target=_work, args=(job, threads, send))
            process.start()
            send.close()
            running[process] = receive
        while running:
            sentinels = [process.sentinel for process in running]
            multiprocessing.connection.wait(sentinels, timeout=_POLL_SECONDS)
            for process in [p for p in running if not p.is_alive()]:
                failure = _failure(process, running.pop(process))
                if failure is not None:
                    failures.append(failure)
            look()
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.join()
    if failures and not look():
        raise failures[0]


def _failure(process: Any, receive: Any) -> Exception | None:
    """Return what went wrong in a process that has ended, if something did."""
    process.join()
    if process.exitcode == 0:
        return None
    try:
        if receive.poll():
            error = receive.recv()
            if isinstance(error, Exception):
                return error
    except (EOFError, OSError):
        pass
    return ConfigError(
        f"a process of the search ended with code {process.exitcode}, perhaps for lack "
        "of memory; repeat the command to continue, with fewer jobs."
    )


def _end(number: int, frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


def _work(job: Job, threads: int, send: Any) -> None:
    """Work in a new process, which has to load the data itself."""
    signal.signal(signal.SIGTERM, _end)  # so that a trial is given up, not left behind
    torch.set_num_threads(threads)
    try:
        with quiet_optuna():
            validation = Validation(job.base, job.root, data=job.data)
            study = open_study(job.url, job.name, job.direction, job.identity)
            job.work(study, validation, None)
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except (ValueError, OSError) as error:
        send.send(error)
        raise SystemExit(1) from None
