"""Versions and commit for records."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def package_versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of Python and of the installed ones of ``packages``."""
    versions = {"python": platform.python_version()}
    for name in packages:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


def source_commit() -> str | None:
    """Return the last git commit that changed the package, or None outside git."""
    folder = Path(__file__).resolve().parent
    command = ("git", "-C", str(folder), "log", "-1", "--format=%h", "--", str(folder))
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None
