"""A record names what it was made with."""

from __future__ import annotations

import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from unittest.mock import Mock

import pytest

from sekgnn import provenance
from sekgnn.provenance import package_versions, source_commit


def git(folder: Path, *args: str) -> str:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    done = subprocess.run(
        ["git", "-C", str(folder), *identity, *args],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def commit(folder: Path, name: str) -> str:
    """Change a file, commit it, and return the commit's short name."""
    file = folder / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(file.read_text() + "more\n" if file.exists() else "first\n")
    git(folder, "add", name)
    git(folder, "commit", "-q", "-m", name)
    return git(folder, "rev-parse", "--short", "HEAD")


def test_versions() -> None:
    versions = package_versions(["numpy", "no-such-package", "numba"])
    assert versions == {
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "numba": version("numba"),
    }
    assert list(versions) == ["python", "numpy", "numba"]
    assert package_versions([]) == {"python": platform.python_version()}


def test_commit_is_the_last_that_changed_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "init", "-q")
    monkeypatch.setattr(provenance, "__file__", str(tmp_path / "package" / "p.py"))
    (tmp_path / "package").mkdir()
    assert source_commit() is None  # nothing committed
    commit(tmp_path, "docs/a.md")
    assert source_commit() is None  # not the package
    first = commit(tmp_path, "package/p.py")
    assert source_commit() == first
    commit(tmp_path, "docs/a.md")
    assert source_commit() == first
    second = commit(tmp_path, "package/q.py")
    assert source_commit() == second != first


def test_no_commit_without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "__file__", str(tmp_path / "p.py"))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert source_commit() is None
    for failure in (FileNotFoundError("git"), subprocess.TimeoutExpired("git", 10)):
        monkeypatch.setattr(subprocess, "run", Mock(side_effect=failure))
        assert source_commit() is None
