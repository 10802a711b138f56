"""Bad input ends with exit code 2, one line that helps, and no half-written file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from sekgnn.encoding import encoding_file
from sekgnn.encoding.encoder import encode
from sekgnn.graphs import path_graph, to_graph6

from .conftest import Run, RunMain, assert_refused


def check_failure(result: Result, folder: Path, *words: str) -> None:
    assert_refused(result, *words)
    left = [file.name for file in folder.iterdir() if not file.name.startswith("in")]
    assert left == [], "a partial output was left"


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_disk_full_while_writing(run: Run, tmp_path: Path, suffix: str) -> None:
    """A real write that the system refuses: files may not exceed a few bytes."""
    resource = pytest.importorskip("resource")
    source = tmp_path / "in.g6"
    source.write_text(f"{to_graph6(path_graph(500))}\n")
    output = tmp_path / f"in-out{suffix}"
    assert run("encode", source, "-o", output).exit_code == 0  # kernels are compiled
    output.write_text("older")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        result = run("encode", source, "-o", output)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    check_failure(result, tmp_path, "cannot write", "File too large")
    assert output.read_text() == "older"


def test_no_memory(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "in.g6"
    source.write_text("Bw\nBw\n")

    def failing(packed: Any, *args: Any, **kwargs: Any) -> Any:
        if packed.num_graphs == 2:  # not while warming up
            raise MemoryError
        return encode(packed, *args, **kwargs)

    monkeypatch.setattr(encoding_file, "encode", failing)
    result = run("encode", source, "-o", tmp_path / "out.npz")
    check_failure(result, tmp_path, "not enough memory")


def test_debug_shows_the_traceback(
    run_main: RunMain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEKGNN_DEBUG", "1")
    done = run_main("encode", tmp_path / "in.g6", "-o", tmp_path / "out.npz")
    assert (done.code, done.out) == (2, "")
    assert "Traceback" in done.err and "does not exist" in done.err


def test_the_installed_command(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sekgnn.cli.main", "encode", "in.g6", "-o", "out.npz"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "SEKGNN_DEBUG": "0"},
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: in.g6 does not exist; check the path.\n"


SLOW = """
import time
from sekgnn.cli import main
from sekgnn.encoding import encoding_file

def encode(packed, *args, **kwargs):
    if packed.num_nodes == 3:  # not while warming up
        time.sleep(60)

encoding_file.encode = encode
main.main()
"""


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
)
def test_signals_leave_nothing_behind(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    (tmp_path / "in.g6").write_text("Bw\n")
    with subprocess.Popen(
        [sys.executable, "-c", SLOW, "encode", "in.g6", "-o", "out.npz"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    ) as process:
        end = time.monotonic() + 50
        while len(list(tmp_path.iterdir())) < 2 and time.monotonic() < end:
            time.sleep(0.02)  # until the draft is there
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=50)
    assert process.returncode == code
    assert stdout == ""
    assert stderr.count("\n") == 1
    assert "Traceback" not in stderr
    assert [file.name for file in tmp_path.iterdir()] == ["in.g6"]
