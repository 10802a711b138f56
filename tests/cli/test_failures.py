"""Errors and warnings become lines for people."""

from __future__ import annotations

import errno
import warnings

import pytest

from sekgnn.cli.failures import describe, warnings_as_notes
from sekgnn.errors import CacheWarning, GraphInputWarning, OutputError


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
    ]
