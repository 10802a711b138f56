"""What commands print: text, notes, JSON, tables, and progress on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from sekgnn.parallel import Progress

_LONGEST = 1200  # characters of a message

Stage = Callable[[str], "Progress | None"]
"""Starts a bar with some text; None if no progress is shown."""

SECONDS_BETWEEN_LINES = 30.0
"""In a log file; shorter work leaves no line."""


def say(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print text that may hold names of files or columns.

    Whatever is not printable, such as the escape sequences of terminals, is shown as
    in JSON.
    """
    if not text.isprintable():
        text = "".join(
            c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text
        )
    typer.echo(text, err=err, nl=nl)


def say_json(values: Any, **style: Any) -> None:
    """Print one JSON object; ``style`` is that of ``json.dumps``."""
    say(json.dumps(values, **style))


def note(message: str) -> None:
    """Print something worth knowing on stderr, in one line."""
    say(f"note: {one_line(message)}", err=True)


def one_line(message: str) -> str:
    """Return a message without line breaks, its middle left out if it is long."""
    line = " ".join(piece.strip() for piece in message.splitlines() if piece.strip())
    if len(line) > _LONGEST:
        line = f"{line[: _LONGEST - 300]} [...] {line[-300:]}"
    return line


def print_table(
    title: str,
    head: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    numbers: bool = False,
    width: int | None = None,
    **style: Any,
) -> None:
    """Print a table; ``numbers`` aligns all columns but the first to the right.

    Cells are strings, shown as they are, or rich's ``Text``.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title, style="table.title"), **style)
    for i, heading in enumerate(head):
        justify: Any = "right" if numbers and i else "left"
        table.add_column(Text(heading), justify=justify, overflow="fold")
    for row in rows:
        table.add_row(*(Text(c) if isinstance(c, str) else c for c in row))
    Console(width=width).print(table)


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
        TextColumn("{task.description}", markup=False),
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
