"""After ``sekgnn warmup`` no other command has anything left to compile."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

LATER = """
from sekgnn.cli.main import app
from sekgnn.kernel import _Cache

app(["warmup"], standalone_mode=False)
load = _Cache.load_overload

def told(cache, sig, context):
    found = load(cache, sig, context)
    if found is None:
        print("LEFT OUT", cache._function.__module__, cache._function.__name__, sig)
    return found

_Cache.load_overload = told
for command in (
    "warmup",
    "wl rook:4 shrikhande",
    "encode in.csv --output out.npz",
    "train in.csv --target y --epochs 1 --output run",
):
    app(command.split(), standalone_mode=False)
"""


@pytest.mark.slow
def test_nothing_is_left_to_compile(own_cache: Path, tmp_path: Path) -> None:
    """Kernels themselves come from the cache that all tests share."""
    assert own_cache.is_dir()
    rows = [f"{'C' * n}O,{n}" for n in range(1, 11)]
    (tmp_path / "in.csv").write_text("\n".join(["smiles,y", *rows]) + "\n")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", LATER],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "compiled code is in" in done.stdout
    assert "LEFT OUT" not in done.stdout
    assert (tmp_path / "run" / "record.json").exists()
