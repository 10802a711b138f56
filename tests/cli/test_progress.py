"""The progress bar is for people at a terminal only."""

from __future__ import annotations

import io
import sys

import pytest

from sekgnn.cli.progress import progress_bar, progress_stages


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_no_terminal_no_bar() -> None:
    with progress_bar("work") as move:
        assert move is None


def test_a_bar_on_stderr(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with progress_bar("work", shown=False) as move:
        assert move is None
    assert screen.getvalue() == ""
    with progress_bar("work") as move:
        assert move is not None
        move(1, 2)
        move(2, 2)
    assert "work" in screen.getvalue()
    assert capsys.readouterr().out == ""


def test_stages_share_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two bars at once; rich allows one display only."""
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with progress_stages() as stage:
        first, second = stage("first"), stage("second")
        assert first is not None and second is not None
        first(1, 1)
        second(1, 2)
    assert "first" in screen.getvalue() and "second" in screen.getvalue()
