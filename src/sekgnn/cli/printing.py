"""What commands print: text, notes, JSON and tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import typer

_LONGEST = 1200  # characters of a message


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
