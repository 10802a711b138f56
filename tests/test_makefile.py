"""``make results`` trains what is missing and makes its report even if a run failed.

A shell script stands in for ``sekgnn`` and ``python``: it notes its arguments and fails
on demand.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="needs make")


@pytest.mark.parametrize("code", [0, 2])
def test_results(code: int, tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "results" / "runs" / "star3-k-gin").mkdir(parents=True)
    for name in ("sekgnn", "python"):
        script = tmp_path / ".venv" / "bin" / name
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(
            f'#!/bin/sh\necho "$@" >> calls\n[ $1 != reproduce ] || exit {code}\n'
        )
        script.chmod(0o755)
    (tmp_path / ".venv" / ".installed").touch()
    clean = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    command = ["make", "results", "--no-print-directory"]
    made = subprocess.run(command, cwd=tmp_path, env=clean, check=False)
    assert (made.returncode == 0) == (code == 0)
    first, second, third = (tmp_path / "calls").read_text().splitlines()
    assert first == "reproduce all --output results"
    assert second.startswith("report results/runs/star3-k-gin --output")
    assert third == "-m studies.results_page"
