"""Bars in a terminal; apart, as rich takes a while to import."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text


class Bars(Progress):
    """A bar per task on stderr, and a line of text below them."""

    def __init__(self) -> None:
        self.line = ""
        super().__init__(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )

    def say(self, text: str) -> None:
        """Show some text below the bars."""
        self.line = text

    def get_renderables(self) -> Iterable[RenderableType]:
        """Yield the bars and the text."""
        yield from super().get_renderables()
        if self.line:
            yield Text(self.line, style="dim", no_wrap=True, overflow="ellipsis")
