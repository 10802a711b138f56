"""What commands print: text, notes, JSON, tables, and progress on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from sekgnn.cli.bars import Bars
    from sekgnn.parallel import Progress

_LONGEST = 1200  # characters of a message

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


class Stages:
    """Starts a bar per stage of some work; this one shows nothing."""

    def __call__(self, text: str) -> Progress | None:
        """Start a stage; return a callback (done, total), or None if none is shown."""
        return None

    def begin(self, text: str) -> None:
        """Say what is begun within the stage."""

    def detail(self, text: str) -> None:
        """Say how far that is, as often as one likes."""


@contextmanager
def progress_stages(*, shown: bool = True) -> Iterator[Stages]:
    """Yield what starts a bar per stage of some work; finished ones go.

    Without a terminal, as in a log file, a line is printed from time to time instead.
    """
    if not shown:
        yield Stages()
        return
    if not sys.stderr.isatty():
        yield _Lines()
        return
    from sekgnn.cli.bars import Bars

    with Bars() as display:
        yield _Bars(display)


class _Lines(Stages):
    """Prints a line every half minute, and what is begun if the stage lasts so long."""

    def __init__(self) -> None:
        self.stage = self.begun = self.how_far = ""
        self.start = self.last = 0.0

    def __call__(self, text: str) -> Progress:
        self.stage, self.begun, self.how_far = text, "", ""
        start = last = self.start = monotonic()

        def tell(done: int, total: int) -> None:
            nonlocal last
            now = monotonic()
            if now - last < SECONDS_BETWEEN_LINES:
                return
            last = now
            share = f" of {total} ({100 * done // total} %)" if total else ""
            within = f"; {_joined(self.begun, self.how_far)}" if self.begun else ""
            line = f"{text}: {done}{share} after {now - start:.0f} s{within}"
            print(line, file=sys.stderr, flush=True)

        return tell

    def begin(self, text: str) -> None:
        self.begun, self.how_far = text, ""
        seconds = monotonic() - self.start
        if seconds >= SECONDS_BETWEEN_LINES:
            line = f"{self.stage}: {text} begins after {seconds:.0f} s"
            print(line, file=sys.stderr, flush=True)

    def detail(self, text: str) -> None:
        self.how_far = text


class _Bars(Stages):
    """Shows a bar per stage in a terminal, and below what is going on in it."""

    def __init__(self, display: Bars) -> None:
        self.display = display
        self.begun = ""

    def __call__(self, text: str) -> Progress:
        display = self.display
        for earlier in display.tasks:
            if earlier.finished:
                display.remove_task(earlier.id)
        task = display.add_task(text, total=None, start=False)

        def move(done: int, total: int) -> None:
            display.start_task(task)
            label = text if total else f"{text}: {done}"
            display.update(task, completed=done, total=total or None, description=label)

        return move

    def begin(self, text: str) -> None:
        self.begun = text
        self.display.say(text)

    def detail(self, text: str) -> None:
        self.display.say(_joined(self.begun, text))


def _joined(begun: str, how_far: str) -> str:
    return f"{begun}, {how_far}" if how_far else begun
