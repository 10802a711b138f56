"""A progress bar on stderr, shown only to people."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from sekgnn.parallel import Progress


@contextmanager
def progress_bar(text: str, *, shown: bool = True) -> Iterator[Progress | None]:
    """Yield a callback (done, total) that moves a bar, or None if there is none.

    Args:
        text: What is being done.
        shown: Whether the user wants a bar; without a terminal there is none anyway.
    """
    if not shown or not sys.stderr.isatty():
        yield None
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
        task = bars.add_task(text, total=None)

        def move(done: int, total: int) -> None:
            bars.update(task, completed=done, total=total)

        yield move
