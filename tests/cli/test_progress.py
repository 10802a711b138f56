"""A bar for people at a terminal, a line now and then in a log file."""

from __future__ import annotations

import io
import sys

import pytest

from sekgnn.cli.printing import progress_bar, progress_stages


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_log_file_gets_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every half minute; a total of 0 is none, and only what is done is told."""
    now = iter([0.0, 10.0, 31.0, 40.0, 62.0, 0.0, 31.0])
    monkeypatch.setattr("sekgnn.cli.printing.monotonic", lambda: next(now))
    with progress_bar("work") as move:
        assert move is not None
        for done in range(1, 5):
            move(done, 8)
    with progress_bar("graphs") as move:
        assert move is not None
        move(7, 0)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "work: 2 of 8 (25 %) after 31 s",
        "work: 4 of 8 (50 %) after 62 s",
        "graphs: 7 after 31 s",
    ]


def test_a_bar_on_stderr(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with progress_bar("work", shown=False) as move:
        assert move is None
    assert screen.getvalue() == ""
    with progress_stages() as stage:  # two at once; rich allows one display only
        first, second = stage("first [iso]"), stage("second")
        assert first is not None and second is not None
        first(1, 1)
        second(1, 2)
        second(7, 0)
    for words in ("first [iso]", "second", "second: 7"):
        assert words in screen.getvalue()
    assert capsys.readouterr().out == ""


def test_what_goes_on_within_a_stage(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Below the bar in a terminal; in a log file with the line, or if work is long."""
    now = iter([0.0, 1.0, 40.0, 41.0, 45.0])
    monkeypatch.setattr("sekgnn.cli.printing.monotonic", lambda: next(now))
    with progress_stages() as stage:
        move = stage("training")
        assert move is not None
        stage.begin("network 1 of 3")
        stage.detail("epoch 2 of 60: training loss 0.5")
        move(2, 8)
        stage.begin("forest")
        move(8, 8)
    assert capsys.readouterr().err.splitlines() == [
        "training: 2 of 8 (25 %) after 40 s; network 1 of 3, "
        "epoch 2 of 60: training loss 0.5",
        "training: forest begins after 41 s",
    ]
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    with progress_stages() as stage:
        stage("training")
        stage.begin("network 1 of 3")
        stage.detail("epoch 2 of 60: training loss 0.5")
    assert "network 1 of 3, epoch 2 of 60: training loss 0.5" in screen.getvalue()
