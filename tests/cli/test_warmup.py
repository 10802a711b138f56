"""After ``sekgnn warmup`` its kernels are there for every other process."""

from __future__ import annotations

import subprocess
import sys

import pytest

NOTE = "compiling kernels, once per installation"


def sekgnn(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "sekgnn.cli.main", *args],
        capture_output=True,
        text=True,
        check=True,
    )


@pytest.mark.slow
def test_nothing_is_left_to_compile() -> None:
    """With the cache that all tests share, so that it is compiled once for all."""
    assert "compiled code is in" in sekgnn("warmup").stdout
    for command in (("warmup",), ("wl", "rook:4", "shrikhande")):
        assert NOTE not in sekgnn(*command).stderr, command
