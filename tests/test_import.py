"""Importing the package is light, and every public name is there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.reports.run_records import holdout, save

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
    "lightning_fabric",
    "optuna",
    "sklearn",
)
HELP = """
import sys
from sekgnn.cli.main import app
for command in {commands!r}:
    try:
        app([*command.split(), "--help"])
    except SystemExit as end:
        assert end.code == 0, (command, end.code)
    print("LOADED", command, [name for name in {heavy!r} if name in sys.modules])
"""
COMMANDS = (
    "report", "", "train", "evaluate", "predict", "search", "encode", "wl", "brec",
    "info", "demo", "warmup", "explore",
)  # fmt: skip


def run(code: str, **options: Any) -> str:
    """Return what a new process prints."""
    done: subprocess.CompletedProcess[str] = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, check=True, **options,
    )  # fmt: skip
    return done.stdout.strip()


def test_import_is_light() -> None:
    code = f"import sys, sekgnn; print([m for m in {HEAVY} if m in sys.modules])"
    assert run(code) == "[]"


def test_help_is_light() -> None:
    """That of ``report`` does not even need numpy."""
    heavy = (*HEAVY, "sekgnn.reports")
    lines = run(HELP.format(commands=COMMANDS, heavy=heavy)).splitlines()
    assert [line for line in lines if line.startswith("LOADED")] == [
        f"LOADED {command} []" for command in COMMANDS
    ]
    assert sum("Usage" in line for line in lines) == len(COMMANDS)
    lines = run(HELP.format(commands=["report"], heavy=["numpy"])).splitlines()
    assert lines[-1] == "LOADED report []"


@pytest.mark.parametrize(
    "code",
    [
        "from sekgnn.cli.info import collect; assert collect()['versions']['torch']",
        "import sekgnn.brec as b; b.RPCProtocol, b.BRECScore, b.hotelling_t2",
        "app(['report', 'run', '-o', 'out', '-q'], standalone_mode=False)",
    ],
)
def test_torch_is_not_loaded_for(code: str, tmp_path: Path) -> None:
    save(holdout(), tmp_path / "run")
    begin = "import sys; from sekgnn.cli.main import app"
    loaded = "print({'torch', 'matplotlib.pyplot'} & {*sys.modules})"
    assert run(f"{begin}\n{code}\n{loaded}", cwd=tmp_path) == "set()"


@pytest.mark.parametrize(
    "room", ["", "brec", "models", "nn", "paper", "search", "training"]
)
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
