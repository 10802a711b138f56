"""Errors and warnings become lines for people."""

from __future__ import annotations

import errno
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from sekgnn.cli.failures import describe, warnings_as_notes
from sekgnn.cli.printing import note, say
from sekgnn.errors import CacheWarning, GraphInputWarning, OutputError, ResumeWarning


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (PermissionError(errno.EACCES, "Permission denied", "a.npz"), "a.npz: Perm"),
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device."),
        (OutputError("cannot write a.npz: full"), "cannot write a.npz: full"),
        (MemoryError(), "not enough memory."),
        (ValueError(), "ValueError"),
    ],
)
def test_describe(error: BaseException, text: str) -> None:
    assert describe(error).startswith(text)


def test_only_our_warnings_become_notes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    others: list[str] = []

    def usual(message: object, *args: object, **kwargs: object) -> None:
        others.append(str(message))

    monkeypatch.setattr(warnings, "showwarning", usual)
    with warnings_as_notes():
        for _ in range(2):
            warnings.warn("two self-loops dropped", GraphInputWarning, stacklevel=1)
        warnings.warn("cache is damaged", CacheWarning, stacklevel=1)
        warnings.warn("other threads", ResumeWarning, stacklevel=1)
        with pytest.raises(RuntimeWarning):
            warnings.warn("an error stays one", RuntimeWarning, stacklevel=1)
        warnings.simplefilter("always", RuntimeWarning)
        warnings.warn("other", RuntimeWarning, stacklevel=1)
    assert warnings.showwarning is usual
    assert others == ["other"]
    assert capsys.readouterr().err.splitlines() == [
        "note: two self-loops dropped",
        "note: two self-loops dropped",
        "note: cache is damaged",
        "note: other threads",
    ]


def test_messages_are_one_printable_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Names of files may hold line ends and what terminals obey."""
    note("a\n  b \x1b[2Jc\x9b31m é")
    say("a\nb\x1b[0m", nl=False)
    found = capsys.readouterr()
    assert found.err == "note: a b \\u001b[2Jc\\u009b31m é\n"
    assert found.out == "a\nb\\u001b[0m"
    note("x" * 100_000 + " the cure")
    assert len(capsys.readouterr().err) < 2000


def test_a_reader_that_goes_away_is_no_verdict(tmp_path: Path) -> None:
    """1 would mean "not separated"."""
    code = "from sekgnn.cli.main import main; main()"
    command = [sys.executable, "-c", code, "wl", "path:4", "path:4"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
        assert p.stdout is not None and p.stderr is not None
        p.stdout.close()
        said = p.stderr.read()
        assert p.wait(timeout=300) == 141
        assert said == b"" or said.startswith(b"compiling kernels")
