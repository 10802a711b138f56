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
    found = json.loads(done.stdout.rpartition("COUNTED ")[2])
    assert found["files"] < found["functions"]
    assert {"Batch", "Verdict"} <= {*found["containers"]}
    assert "GraphTask" not in found["containers"]
    assert found["rooms"] < 9
