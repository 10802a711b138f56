"""``sekgnn info`` and ``--version``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import sekgnn
from sekgnn.cli import info
from sekgnn.parallel import usable_cores

from .conftest import Run


def test_version(run: Run) -> None:
    assert run("--version").stdout == f"sekgnn {sekgnn.__version__}\n"


def test_json(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tu").mkdir()
    (tmp_path / "other").mkdir()
    monkeypatch.setenv("SEKGNN_DATA", str(tmp_path))
    said = json.loads(run("info", "--json").stdout)
    assert said["versions"]["sekgnn"] == sekgnn.__version__
    assert said["versions"]["numpy"] == np.__version__
    assert said["usable_cores"] == usable_cores()
    assert said["data"] == {
        "root": str(tmp_path),
        "exists": True,
        "benchmarks": ["tu"],
    }
    assert said["compiled_code"].strip()


def test_text(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SEKGNN_DATA", raising=False)
    assert "SEKGNN_DATA is not set" in run("info").stdout
    monkeypatch.setenv("SEKGNN_DATA", str(tmp_path / "none"))
    assert "does not exist" in run("info").stdout
    monkeypatch.setenv("SEKGNN_DATA", str(tmp_path))
    assert "no benchmarks" in run("info").stdout
    monkeypatch.setattr(info, "_PACKAGES", ("no_such_package",))
    assert "no_such_package  not installed" in run("info").stdout
