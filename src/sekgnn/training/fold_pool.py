"""Several folds at a time, each in a process of its own."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from sekgnn.errors import ConfigError
from sekgnn.parallel import Progress
from sekgnn.training.config import RunConfig
from sekgnn.training.fit import CURVES_FILE
from sekgnn.training.fold import FOLD_FILE, Preparation, read_fold, run_fold
from sekgnn.training.record import FoldRecord

_POLL_SECONDS = 0.5


def run_folds(
    prepared: Preparation,
    folders: Sequence[Path],
    jobs: int,
    root: str | Path | None = None,
    progress: Progress | None = None,
) -> list[FoldRecord]:
    """Train all folds, ``jobs`` at a time; finished ones are read.

    Args:
        prepared: What all folds share.
        folders: One per fold.
        jobs: Processes; 1 trains in this one.
        root: The data folder of benchmarks.
        progress: Called with (done, total) epochs of all folds.

    Raises:
        ConfigError: If a fold fails, or its process dies.
    """
    total = prepared.config.epochs * len(folders)

    def tell() -> None:
        if progress is not None:
            progress(sum(_epochs(folder) for folder in folders), total)

    tell()
    if jobs == 1:
        return [
            run_fold(prepared, i, folder, report=lambda *_: tell())
            for i, folder in enumerate(folders)
        ]
    waiting = [i for i, f in enumerate(folders) if not (f / FOLD_FILE).is_file()]
    context = multiprocessing.get_context("spawn")
    running: dict[Any, Any] = {}
    threads = max(1, torch.get_num_threads() // jobs)
    try:
        for own in (waiting[i::jobs] for i in range(min(jobs, len(waiting)))):
            receive, send = context.Pipe(duplex=False)
            places = [(i, folders[i]) for i in own]
            process = context.Process(
                target=_train, args=(prepared.config, root, places, threads, send)
            )
            process.start()
            send.close()
            running[process] = receive
        while running:
            sentinels = [process.sentinel for process in running]
            multiprocessing.connection.wait(sentinels, timeout=_POLL_SECONDS)
            for process in [p for p in running if not p.is_alive()]:
                _check(process, running.pop(process))
            tell()
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.join()
    return [read_fold(folder / FOLD_FILE) for folder in folders]


def _check(process: Any, receive: Any) -> None:
    """Raise what went wrong in a process, if something did."""
    process.join()
    if process.exitcode == 0:
        return
    error = None
    try:
        if receive.poll():
            error = receive.recv()
    except (EOFError, OSError):
        pass
    if isinstance(error, Exception):
        raise error
    raise ConfigError(
        f"a process that trained folds ended with code {process.exitcode}, perhaps for "
        "lack of memory; repeat the command to continue, with fewer jobs."
    )


def _train(
    config: RunConfig,
    root: str | Path | None,
    places: list[tuple[int, Path]],
    threads: int,
    send: Any,
) -> None:
    """Train some folds in a new process, which has to load the data itself."""
    from sekgnn.training.run import prepare

    torch.set_num_threads(threads)
    try:
        prepared = prepare(config, root)
        for number, folder in places:
            run_fold(prepared, number, folder)
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except (ValueError, OSError) as error:
        send.send(error)
        raise SystemExit(1) from None


def _epochs(folder: Path) -> int:
    """Return how many epochs of a fold are done, from its file of curves."""
    try:
        with (folder / CURVES_FILE).open("rb") as file:
            return max(0, sum(1 for _ in file) - 1)
    except OSError:
        return 0
