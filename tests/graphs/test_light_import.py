"""Importing the room must not load what only some users need."""

from __future__ import annotations

import subprocess
import sys

import pytest

from sekgnn.checks import require
from sekgnn.errors import MissingExtraError

HEAVY = ("torch", "torch_geometric", "scipy", "networkx", "rdkit", "pyarrow", "numba")


def test_import_is_light() -> None:
    code = f"import sys, sekgnn.graphs; print([m for m in {HEAVY} if m in sys.modules])"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"


def test_missing_packages_name_the_command() -> None:
    extra = r"pip install 'sekgnn\[mol\]'"
    with pytest.raises(MissingExtraError, match=extra) as caught:
        require("no_such_package.part", "mol")
    assert caught.value.__suppress_context__  # one error, not two tracebacks
    with pytest.raises(MissingExtraError, match=r"pip install no_such_package$"):
        require("no_such_package.part", None)
    assert require("math", None).pi > 3
