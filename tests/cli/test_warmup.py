"""After ``sekgnn warmup`` no command compiles anything."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

NOTE = "compiling kernels, once per installation"


def sekgnn(cache: Path, *args: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "sekgnn.cli.main", *args],
        env=os.environ | {"SEKGNN_CACHE": str(cache), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stderr


@pytest.mark.slow
def test_nothing_is_left_to_compile(tmp_path: Path) -> None:
    assert NOTE in sekgnn(tmp_path, "warmup")
    table = tmp_path / "in.csv"
    table.write_text("smiles,y\n" + "\n".join(f"{'C' * n}O,{n}" for n in range(1, 11)))
    training = "--smiles", "smiles", "--target", "y", "--epochs", "1"
    for command in (
        ("warmup",),
        ("wl", "rook:4", "shrikhande"),
        ("encode", str(table), "--output", str(tmp_path / "out.npz")),
        ("train", str(table), *training, "--output", str(tmp_path / "run")),
    ):
        assert NOTE not in sekgnn(tmp_path, *command), command
