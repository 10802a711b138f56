"""A queue of runs: their states, and their training, shortest first."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from sekgnn.errors import ConfigError
from sekgnn.paper.recipes import Recipe
from sekgnn.reports.finished_runs import Run, load_runs
from sekgnn.reports.run_table import show_result
from sekgnn.training.config import RunConfig
from sekgnn.training.run_folder import (
    CONFIG_FILE,
    FolderInUseError,
    is_in_use,
    read_config,
)
from sekgnn.training.run_record import RECORD_FILE, RunRecord

State = Literal["done", "running", "begun", "missing", "other config"]
EARLIER = "earlier"
"""Folder beside the run folders: records of runs by earlier recipes, same names."""
STATES: tuple[State, ...] = ("done", "running", "begun", "missing", "other config")
"""Of a run: finished; being trained; interrupted; not begun; or its folder holds a run
of another config."""


@dataclass(frozen=True)
class QueueEntry:
    """A run of the queue and its state.

    Attributes:
        recipe: The run.
        state: One of :data:`STATES`.
        seconds: Time taken, or expected on one core.
    """

    recipe: Recipe
    state: State
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return the run and its state as plain JSON values."""
        return {
            "table": self.recipe.table,
            "run": self.recipe.name,
            "system": self.recipe.row,
            "columns": self.recipe.columns,
            "state": self.state,
            "seconds": round(self.seconds, 1),
        }


def look(recipes: Sequence[Recipe], runs: Path) -> list[QueueEntry]:
    """Return the state of each run, in order; ``runs`` holds their folders."""
    return [_look(recipe, runs / recipe.name) for recipe in recipes]


def _look(recipe: Recipe, folder: Path) -> QueueEntry:
    state: State = "missing"
    seconds = recipe.seconds
    if (folder / CONFIG_FILE).is_file():
        existing = RunConfig.from_dict(read_config(folder / CONFIG_FILE))
        if recipe.config.differences(existing):
            state = "other config"
        elif (folder / RECORD_FILE).is_file():
            state, seconds = "done", RunRecord.load(folder).seconds
        else:
            state = "begun"
    if state in ("missing", "begun") and is_in_use(folder):
        state = "running"
    return QueueEntry(recipe, state, seconds)


def count_sentence(entries: Sequence[QueueEntry]) -> str:
    """Return the number of runs in each state, and the core hours left."""
    counts = Counter(entry.state for entry in entries)
    remaining = sum(p.seconds for p in entries if p.state in ("begun", "missing"))
    words = [f"{counts[state]} {state}" for state in STATES if counts[state]]
    return (
        f"{', '.join(words) or 'no runs'}; about {remaining / 3600:.1f} core hours left"
    )


def status_lines(entries: Sequence[QueueEntry]) -> list[str]:
    """Return a line per run, and the counts."""
    width = max((len(entry.recipe.name) for entry in entries), default=0)
    lines = [
        f"{entry.recipe.table}  {entry.recipe.name:<{width}}  {entry.state:<12} "
        f"{'' if entry.state == 'done' else '~'}{entry.seconds:,.0f} s"
        for entry in entries
    ]
    return [*lines, count_sentence(entries)]


def shown_runs(entries: Sequence[QueueEntry], runs: Path) -> tuple[list[Run], set[str]]:
    """Return the runs shown in tables, and the names of those by earlier recipes.

    A run that is not done is represented by its earlier recipe's record, if any.
    """
    done = {entry.recipe.name for entry in entries if entry.state == "done"}
    earlier = {
        entry.recipe.name
        for entry in entries
        if (runs.parent / EARLIER / entry.recipe.name / RECORD_FILE).is_file()
    } - done
    names = [p.recipe.name for p in entries if p.recipe.name in done | earlier]
    folders = [runs.parent / EARLIER if n in earlier else runs for n in names]
    paths = [folder / name for folder, name in zip(folders, names, strict=True)]
    return load_runs(paths), earlier


def shortest_first(entries: Sequence[QueueEntry]) -> list[Recipe]:
    """Return the runs to train: interrupted ones, then the shortest."""
    waiting = [entry for entry in entries if entry.state in ("begun", "missing")]
    waiting.sort(key=lambda entry: (entry.state != "begun", entry.seconds))
    return [entry.recipe for entry in waiting]


def _now() -> float:
    """Return the wall-clock time, which all processes share."""
    return time.time()


class _OutOfTimeError(Exception):
    """The budget is spent."""


def train_queue(
    recipes: Sequence[Recipe],
    runs: Path,
    *,
    jobs: int = 1,
    budget: float | None = None,
    data_root: str | Path | None = None,
    log: Callable[[str], None] | None = None,
) -> list[str]:
    """Train runs one after the other, or several at a time.

    Every process takes the first run that is neither done nor in use, so queues in
    several terminals share the work. The same call resumes after an interruption.

    Args:
        recipes: In the order to be trained.
        runs: Folder of the run folders.
        jobs: Processes.
        budget: Seconds after which all stop; a run expected to take longer than the
            rest is not begun. A network stops after an epoch, and resumes there.
        data_root: The data folder of benchmarks.
        log: Called with a line when a run begins, ends or fails; with several
            processes, only when it fails.

    Returns:
        A line per run that failed.
    """
    ends = None if budget is None else _now() + budget
    if jobs == 1:
        return _work(recipes, runs, ends, data_root, log)
    from sekgnn.training.processes import run_processes

    failed: list[str] = []

    def note(error: Exception) -> None:
        failed.extend(str(error).splitlines())

    arguments = [(recipes, runs, ends, data_root)] * jobs
    run_processes(_work_alone, arguments, lambda: None, note)
    return failed


def _work_alone(
    recipes: Sequence[Recipe],
    runs: Path,
    ends: float | None,
    data_root: str | Path | None,
) -> None:
    """Work in a separate process, which reports failures as an error."""
    failed = _work(recipes, runs, ends, data_root, None)
    if failed:
        raise ConfigError("\n".join(failed))


def _work(
    recipes: Sequence[Recipe],
    runs: Path,
    ends: float | None,
    data_root: str | Path | None,
    log: Callable[[str], None] | None,
) -> list[str]:
    from sekgnn.training.run import train

    def say(text: str) -> None:
        if log is not None:
            log(text)

    def check_time(*_: object) -> None:
        if ends is not None and _now() > ends:
            raise _OutOfTimeError

    failed = []
    for number, recipe in enumerate(recipes, start=1):
        folder = runs / recipe.name
        if (folder / RECORD_FILE).is_file() or is_in_use(folder):
            continue
        if ends is not None and _now() + recipe.seconds > ends:
            say(f"{recipe.name}: about {recipe.seconds:,.0f} s, more than is left")
            continue
        say(f"{recipe.name}: {number} of {len(recipes)}")
        try:
            record = train(
                output=folder,
                config=recipe.config,
                data_root=data_root,
                progress=check_time,
                report=check_time,
            )
        except FolderInUseError:  # another process was faster
            continue
        except _OutOfTimeError:
            say(f"{recipe.name}: out of time; the same command continues it")
            break
        except (ValueError, OSError, ImportError, MemoryError) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            failed.append(f"{recipe.name}: {reason}")
            say(f"{recipe.name} failed: {reason}")
            continue
        say(f"{recipe.name}: {_headline(record)}, {record.seconds:,.0f} s")
    return failed


def _headline(record: RunRecord) -> str:
    result = record.headline
    return f"{result.metric} {show_result(result.metric, result.value, result.spread)}"
