"""The page of commands: each with its arguments and flags, as its help shows them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from sekgnn.cli.main import app

HEAD = (
    "# Commands\n\nFor looking up a flag: every command, as `sekgnn COMMAND --help` "
    "shows it.\n"
)


def page() -> str:
    """Return the page in Markdown."""
    group: Any = typer.main.get_command(app)
    return "\n".join([HEAD, *_sections(group, "sekgnn")]) + "\n"


def _sections(group: Any, path: str) -> Iterator[str]:
    for name, command in sorted(group.commands.items()):
        called = f"{path} {name}"
        if hasattr(command, "commands"):
            yield from _sections(command, called)
            continue
        context = typer.Context(command, info_name=called)
        params = [p for p in command.get_params(context) if p.name != "help"]
        usage = " ".join(command.collect_usage_pieces(context))
        yield f"## {called}\n\n`{called} {usage}`\n"
        yield f"{inspect.cleandoc(command.help or '')}\n"
        if params:
            yield "| | |\n|---|---|"
            yield "\n".join(_row(param, context) for param in params) + "\n"


def _row(param: Any, context: Any) -> str:
    """Return the line of an argument or a flag: how it is written, what it is."""
    name, help = (re.sub(r"\s+", " ", text) for text in param.get_help_record(context))
    help = re.sub(r"([|<>*_])", r"\\\1", help)
    return f"| `{name.replace('|', ', ')}` | {help} |"


def write(path: Path) -> None:
    """Write the page, if it has changed."""
    text = page()
    if not path.is_file() or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")
