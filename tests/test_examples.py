"""Every example runs as it stands, and is short enough to read at a glance."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted(Path(__file__).parents[1].glob("examples/*.py"))
LONGEST = 25


ALL = """
import runpy, sys
for path in sys.argv[1:]:
    print("EXAMPLE", path)
    runpy.run_path(path, run_name="__main__")
"""


@pytest.mark.slow
def test_the_examples_run(tmp_path: Path) -> None:
    """One after the other in one process, which imports torch once."""
    done = subprocess.run(
        [sys.executable, "-c", ALL, *map(str, EXAMPLES)],
        cwd=tmp_path,  # what they write is not left in the project
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    printed = done.stdout.split("EXAMPLE ")[1:]
    for example, text in zip(EXAMPLES, printed, strict=True):
        assert text.removeprefix(str(example)).strip(), "an example shows something"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short(example: Path) -> None:
    assert len(example.read_text().splitlines()) <= LONGEST
