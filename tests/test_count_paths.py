"""The script that counts what commands pass runs, and tells rooms and containers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "tools" / "count_paths.py"


@pytest.mark.slow
def test_a_test_of_two_graphs_is_counted() -> None:
    """It takes packed graphs, and needs neither models nor torch's loaders."""
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "wl"], capture_output=True, text=True, check=True
    )
    counts = json.loads(done.stdout.rpartition("COUNTED ")[2])
    assert counts["files"] < counts["functions"]
    assert {"Batch", "Verdict"} <= {*counts["containers"]}
    assert "GraphTask" not in counts["containers"]
    assert counts["rooms"] < 9


def test_every_room_is_counted() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "rooms"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    lines = [line.strip("|` ").split("|") for line in done.stdout.splitlines()]
    rows = {name.strip("` "): numbers for name, *numbers in lines[2:]}
    assert {"core", "cli", "graphs", "fuzz", "sum"} <= rows.keys()
    files = len([*(SCRIPT.parents[1] / "src" / "sekgnn").rglob("*.py")])
    assert int(rows["sum"][0]) == files and rows["fuzz"][0].strip() == "0"
