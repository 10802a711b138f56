"""Progress on stderr: bars in a terminal, occasional lines in a log file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sekgnn.parallel import Progress

Stage = Callable[[str], "Progress | None"]
"""Starts a bar with some text; None if no progress is shown."""

SECONDS_BETWEEN_LINES = 30.0
"""In a log file; shorter work leaves no line."""


@contextmanager
def progress_bar(text: str, *, shown: bool = True) -> Iterator[Progress | None]:
    """Yield a callback (done, total) that shows progress, or None if none is shown.

    A total of 0 means that it is unknown.
    """
    with progress_stages(shown=shown) as stage:
        yield stage(text)


@contextmanager
def progress_stages(*, shown: bool = True) -> Iterator[Stage]:
    """Yield a function that starts a bar per stage of some work; finished ones go.

    Without a terminal, as in a log file, a line is printed from time to time instead.
    """
    if not shown:
        yield lambda text: None
        return
    if not sys.stderr.isatty():
        yield _lines
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bars

    with Bars(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bars:

        def stage(text: str) -> Progress:
            for earlier in bars.tasks:
                if earlier.finished:
                    bars.remove_task(earlier.id)
            task = bars.add_task(text, total=None, start=False)

            def move(done: int, total: int) -> None:
                bars.start_task(task)
                label = text if total else f"{text}: {done}"
                bars.update(
                    task, completed=done, total=total or None, description=label
                )

            return move

        yield stage


def _lines(text: str) -> Progress:
    """Return a callback (done, total) that prints a line every half minute."""
    start = last = monotonic()

    def tell(done: int, total: int) -> None:
        nonlocal last
        now = monotonic()
        if now - last < SECONDS_BETWEEN_LINES:
            return
        last = now
        share = f" of {total} ({100 * done // total} %)" if total else ""
        line = f"{text}: {done}{share} after {now - start:.0f} s"
        print(line, file=sys.stderr, flush=True)

    return tell
