"""The one place where errors and warnings become lines for people."""

from __future__ import annotations

import errno
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

import typer
from typer.core import TyperGroup

from sekgnn.errors import (
    CacheWarning,
    ConfigError,
    GraphInputError,
    GraphInputWarning,
    MissingExtraError,
    ModelFileError,
)

FAILED = 2
INTERRUPTED = 130  # 128 + SIGINT, what shells expect

_NOTES = (GraphInputWarning, CacheWarning)
_EXPECTED = (
    GraphInputError,
    ConfigError,
    MissingExtraError,
    ModelFileError,
    OSError,
    MemoryError,
)


class ReportingGroup(TyperGroup):
    """Commands whose expected failures are one line on stderr and an exit code.

    With ``SEKGNN_DEBUG=1`` the traceback is shown instead.
    """

    def invoke(self, ctx: Any) -> Any:
        """Run the command and report how it failed, if it did."""
        try:
            with warnings_as_notes():
                return super().invoke(ctx)
        except KeyboardInterrupt as error:
            default = "interrupted; nothing unfinished was left behind."
            _report(str(error) or default, error)
            raise typer.Exit(INTERRUPTED) from None
        except _EXPECTED as error:
            if isinstance(error, OSError) and error.errno == errno.EPIPE:
                raise  # the reader of our output has gone: typer ends quietly
            _report(describe(error), error)
            raise typer.Exit(FAILED) from None


@contextmanager
def resumable() -> Iterator[None]:
    """Say of Ctrl-C in this block that nothing is lost."""
    try:
        yield
    except KeyboardInterrupt:
        message = "interrupted; the same command continues from what is finished."
        raise KeyboardInterrupt(message) from None


def describe(error: BaseException) -> str:
    """Return what to tell the user about ``error``."""
    if isinstance(error, MemoryError):
        return f"not enough memory. {error}".strip()
    if isinstance(error, OSError) and error.strerror:
        place = "" if error.filename is None else f"{error.filename}: "
        return f"{place}{error.strerror}."
    return str(error) or type(error).__name__


def note(message: str) -> None:
    """Print something worth knowing on stderr."""
    typer.echo(f"note: {message}", err=True)


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Show this library's warnings as notes, others as Python does."""
    with warnings.catch_warnings():
        for kind in _NOTES:
            warnings.simplefilter("always", kind)
        usual = warnings.showwarning

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, _NOTES):
                note(str(message))
            else:
                usual(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        yield


def _report(message: str, error: BaseException) -> None:
    """Print the line, or let the error through if it is to be debugged."""
    if os.environ.get("SEKGNN_DEBUG", "0") not in ("", "0"):
        raise error
    sys.stdout.flush()
    typer.echo(f"error: {message}", err=True)
