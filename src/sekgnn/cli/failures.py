"""Errors and warnings as lines for people."""

from __future__ import annotations

import errno
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import typer
from typer.core import TyperGroup

from sekgnn.cli.printing import note, one_line, say
from sekgnn.errors import (
    CacheWarning,
    ConfigError,
    GraphInputError,
    GraphInputWarning,
    MissingExtraError,
    ModelFileError,
    ResumeWarning,
)

FAILED = 2
INTERRUPTED = 130  # 128 + SIGINT, what shells expect
BROKEN_PIPE = 141  # 128 + SIGPIPE

_NOTES = (GraphInputWarning, CacheWarning, ResumeWarning)
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
        except Terminated as error:
            _report(error.message, error)
            raise
        except _EXPECTED as error:
            if isinstance(error, OSError) and error.errno == errno.EPIPE:
                # the reader of our output has gone; 1 would mean "not separated"
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                raise typer.Exit(BROKEN_PIPE) from None
            _report(describe(error), error)
            raise typer.Exit(FAILED) from None


class Terminated(SystemExit):
    """SIGTERM, which batch systems send before they kill, and a message about it."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.message = "terminated; nothing unfinished was left behind."


@contextmanager
def resumable() -> Iterator[None]:
    """Make Ctrl-C and SIGTERM in this block tell the user that nothing is lost."""
    rest = "the same command continues from what is finished."
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"interrupted; {rest}") from None
    except Terminated as error:
        error.message = f"terminated; {rest}"
        raise


def describe(error: BaseException) -> str:
    """Return the message of an error for the user."""
    if isinstance(error, MemoryError):
        return f"not enough memory. {error}".strip()
    if isinstance(error, OSError) and error.strerror:
        file = "" if error.filename is None else f"{error.filename}: "
        return f"{file}{error.strerror}."
    return str(error) or type(error).__name__


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Show this library's warnings as notes, others as Python does."""
    with warnings.catch_warnings():
        for kind in _NOTES:
            warnings.simplefilter("always", kind)
        usual = warnings.showwarning

        def show(message: Any, category: type[Warning], *place: Any) -> None:
            if issubclass(category, _NOTES):
                note(str(message))
            else:
                usual(message, category, *place)

        warnings.showwarning = cast("Any", show)
        yield


def _report(message: str, error: BaseException) -> None:
    """Print the line, or let the error through if it is to be debugged."""
    if os.environ.get("SEKGNN_DEBUG", "0") not in ("", "0"):
        raise error
    sys.stdout.flush()
    say(f"error: {one_line(message)}", err=True)
