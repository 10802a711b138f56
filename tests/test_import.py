"""Importing the package is light, and every public name is there."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import sekgnn

HEAVY = (
    "torch",
    "torch_geometric",
    "numba",
    "scipy",
    "rdkit",
    "networkx",
    "matplotlib",
    "pyarrow",
    "lightning",
    "optuna",
    "sklearn",
)
HELP = """
import sys
from sekgnn.cli.main import app
try:
    app({args!r})
except SystemExit as end:
    assert end.code == 0, end.code
print("LOADED", [name for name in {heavy!r} if name in sys.modules])
"""


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_import_is_light() -> None:
    code = f"import sys, sekgnn; print([m for m in {HEAVY} if m in sys.modules])"
    assert run(code) == "[]"


@pytest.mark.parametrize(
    "command",
    [
        "",
        "train",
        "evaluate",
        "predict",
        "report",
        "search",
        "encode",
        "wl",
        "brec",
        "info",
        "demo",
    ],
)
def test_help_is_light(command: str) -> None:
    args = [*command.split(), "--help"]
    lines = run(HELP.format(args=args, heavy=HEAVY)).splitlines()
    assert "Usage" in lines[0] or "Usage" in "".join(lines)
    assert lines[-1] == "LOADED []"


@pytest.mark.parametrize("room", ["", "brec", "models", "nn", "search", "training"])
def test_public_names_resolve_and_unknown_ones_do_not(room: str) -> None:
    package: Any = getattr(sekgnn, room) if room else sekgnn
    for name in package.__all__:
        assert getattr(package, name) is not None
        assert name in dir(package)
    with pytest.raises(AttributeError, match="no attribute 'encoder'"):
        _ = package.encoder


def test_rooms_are_there_after_importing_the_package() -> None:
    code = "import sekgnn; print(sekgnn.hops.hop_pairs.__name__, sekgnn.wl.__name__)"
    assert run(code) == "hop_pairs sekgnn.wl"


def test_a_star_import_brings_exactly_the_public_names() -> None:
    brought: dict[str, object] = {}
    exec("from sekgnn import *", brought)
    assert set(brought) - {"__builtins__"} == set(sekgnn.__all__)
