"""Several folds at a time, each in a process of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sekgnn.parallel import Progress
from sekgnn.training.config import RunConfig
from sekgnn.training.fit import CURVES_FILE
from sekgnn.training.fold import FOLD_FILE, Preparation, read_fold, run_fold
from sekgnn.training.learning_data import LearningData
from sekgnn.training.processes import run_processes
from sekgnn.training.record import FoldRecord


def run_folds(
    prepared: Preparation,
    folders: Sequence[Path],
    jobs: int,
    root: str | Path | None = None,
    data: LearningData | None = None,
    progress: Progress | None = None,
) -> list[FoldRecord]:
    """Train all folds, ``jobs`` at a time; finished ones are read.

    Args:
        prepared: What all folds share.
        folders: One per fold.
        jobs: Processes; 1 trains in this one.
        root: The data folder of benchmarks.
        data: Graphs and targets, if the config does not name them.
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
    shares = [waiting[i::jobs] for i in range(min(jobs, len(waiting)))]
    run_processes(
        _train,
        [
            (prepared.config, root, data, [(i, folders[i]) for i in own])
            for own in shares
        ],
        look=tell,
        failed=_raise,
    )
    return [read_fold(folder / FOLD_FILE) for folder in folders]


def _raise(error: Exception) -> None:
    raise error


def _train(
    config: RunConfig,
    root: str | Path | None,
    data: LearningData | None,
    places: list[tuple[int, Path]],
) -> None:
    """Train some folds in a new process, which has to prepare the data itself."""
    from sekgnn.training.run import prepare

    prepared = prepare(config, root, data=data)
    for number, folder in places:
        run_fold(prepared, number, folder)


def _epochs(folder: Path) -> int:
    """Return how many epochs of a fold are done, from its file of curves."""
    try:
        with (folder / CURVES_FILE).open("rb") as file:
            return max(0, sum(1 for _ in file) - 1)
    except OSError:
        return 0
