"""Progress bars on stderr, shown only to people."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sekgnn.parallel import Progress

Stage = Callable[[str], Progress | None]
"""Starts a bar with some text; None if there are no bars."""


@contextmanager
def progress_bar(text: str, *, shown: bool = True) -> Iterator[Progress | None]:
    """Yield a callback (done, total) that moves a bar, or None if there is none.

    Args:
        text: What is being done.
        shown: Whether the user wants a bar; without a terminal there is none anyway.
    """
    with progress_stages(shown=shown) as stage:
        yield stage(text)


@contextmanager
def progress_stages(*, shown: bool = True) -> Iterator[Stage]:
    """Yield a function that starts a bar per stage of some work, one below the other.

    Args:
        shown: Whether the user wants bars; without a terminal there are none anyway.
    """
    if not shown or not sys.stderr.isatty():
        yield lambda text: None
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
            task = bars.add_task(text, total=None, start=False)

            def move(done: int, total: int) -> None:
                bars.start_task(task)
                bars.update(task, completed=done, total=total)

            return move

        yield stage
