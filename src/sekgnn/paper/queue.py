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
"""Folder beside that of the run folders: records of runs by recipes that they had
before, under the same names."""
STATES: tuple[State, ...] = ("done", "running", "begun", "missing", "other config")
"""Of a run: finished; a process is at work; interrupted; nothing there yet; or the
folder holds a run of another config."""


@dataclass(frozen=True)
class Place:
    """A run of the queue and its state.

    Attributes:
        recipe: The run.
        state: One of :data:`STATES`.
        seconds: The time it took, or is expected to take on one core.
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


def look(recipes: Sequence[Recipe], runs: Path) -> list[Place]:
    """Return the state of each run, whose folder lies in ``runs``, in order."""
    return [_look(recipe, runs / recipe.name) for recipe in recipes]


def _look(recipe: Recipe, folder: Path) -> Place:
    state: State = "missing"
    seconds = recipe.seconds
    if (folder / CONFIG_FILE).is_file():
        own = RunConfig.from_dict(read_config(folder / CONFIG_FILE))
        if recipe.config.differences(own):
            state = "other config"
        elif (folder / RECORD_FILE).is_file():
            state, seconds = "done", RunRecord.load(folder).seconds
        else:
            state = "begun"
    if state in ("missing", "begun") and is_in_use(folder):
        state = "running"
    return Place(recipe, state, seconds)


def count_sentence(places: Sequence[Place]) -> str:
    """Return the number of runs in each state, and the core hours left."""
    counts = Counter(place.state for place in places)
    left = sum(p.seconds for p in places if p.state in ("begun", "missing"))
    words = [f"{counts[state]} {state}" for state in STATES if counts[state]]
    return f"{', '.join(words) or 'no runs'}; about {left / 3600:.1f} core hours left"


def status_lines(places: Sequence[Place]) -> list[str]:
    """Return a line per run, and the counts."""
    width = max((len(place.recipe.name) for place in places), default=0)
    lines = [
        f"{place.recipe.table}  {place.recipe.name:<{width}}  {place.state:<12} "
        f"{'' if place.state == 'done' else '~'}{place.seconds:,.0f} s"
        for place in places
    ]
    return [*lines, count_sentence(places)]


def shown_runs(places: Sequence[Place], runs: Path) -> tuple[list[Run], set[str]]:
    """Return the runs that tables show, and the names of those by earlier recipes.

    A run that is not done is shown as its earlier recipe made it, if there is a record.
    """
    done = {place.recipe.name for place in places if place.state == "done"}
    earlier = {
        place.recipe.name
        for place in places
        if (runs.parent / EARLIER / place.recipe.name / RECORD_FILE).is_file()
    } - done
    names = [p.recipe.name for p in places if p.recipe.name in done | earlier]
    folders = [runs.parent / EARLIER if n in earlier else runs for n in names]
    found = [folder / name for folder, name in zip(folders, names, strict=True)]
    return load_runs(found), earlier


def shortest_first(places: Sequence[Place]) -> list[Recipe]:
    """Return the runs to train: those begun, then the shortest."""
    waiting = [place for place in places if place.state in ("begun", "missing")]
    waiting.sort(key=lambda place: (place.state != "begun", place.seconds))
    return [place.recipe for place in waiting]


def _now() -> float:
    """Return the time, which processes agree on."""
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
    tell: Callable[[str], None] | None = None,
) -> list[str]:
    """Train runs one after the other, or several at a time.

    Every process takes the first run that is neither done nor in use, so that queues in
    several terminals share the work. Whatever ends it, the same call goes on where it
    was.

    Args:
        recipes: In the order to be trained.
        runs: Folder of the run folders.
        jobs: Processes.
        budget: Seconds after which all stop; a run that would take longer than what is
            left is not begun. A network stops after an epoch, and goes on there.
        data_root: The data folder of benchmarks.
        tell: Called with a line about a run that begins, ends or fails; of several
            processes, only about those that fail.

    Returns:
        A line per run that failed.
    """
    ends = None if budget is None else _now() + budget
    if jobs == 1:
        return _work(recipes, runs, ends, data_root, tell)
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
    """Work in a process of its own, which sends failures home as an error."""
    failed = _work(recipes, runs, ends, data_root, None)
    if failed:
        raise ConfigError("\n".join(failed))


def _work(
    recipes: Sequence[Recipe],
    runs: Path,
    ends: float | None,
    data_root: str | Path | None,
    tell: Callable[[str], None] | None,
) -> list[str]:
    from sekgnn.training.run import train

    def say(text: str) -> None:
        if tell is not None:
            tell(text)

    def check(*_: object) -> None:
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
                progress=check,
                report=check,
            )
        except FolderInUseError:  # another process was faster
            continue
        except _OutOfTimeError:
            say(f"{recipe.name}: out of time; the same command goes on with it")
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
