"""``sekgnn info``: what is installed and where things are."""

from __future__ import annotations

import json as json_format
import os
import platform
from pathlib import Path
from typing import Any

from sekgnn.cli.failures import say
from sekgnn.cli.shared_options import Json

_PACKAGES = (
    "numpy", "scipy", "numba", "torch", "torch_geometric", "lightning", "pyarrow",
    "matplotlib", "rdkit", "optuna",
)  # fmt: skip
BENCHMARKS = ("brec", "counting", "csl", "exp", "graph_property", "sr25", "tu")
"""Folders that may lie below ``SEKGNN_DATA``."""


def info(json: Json = False) -> None:
    """Show versions, cores, the folder of compiled code and the data available."""
    facts = collect()
    say(json_format.dumps(facts) if json else _as_text(facts))


def collect() -> dict[str, Any]:
    """Return all facts as plain JSON values; torch is asked about, not imported."""
    from sekgnn._version import __version__
    from sekgnn.kernel import kernel_folder
    from sekgnn.parallel import usable_cores

    return {
        "versions": {
            "sekgnn": __version__,
            "python": platform.python_version(),
            **{name: _version(name) for name in _PACKAGES},
        },
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "usable_cores": usable_cores(),
        "compiled_code": str(kernel_folder()),
        "data": _data(os.environ.get("SEKGNN_DATA")),
    }


def _version(package: str) -> str | None:
    """Return the installed version of a package, or None."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _data(root: str | None) -> dict[str, Any]:
    """Return the data folder and what is in it."""
    if not root:
        return {"root": None, "exists": False, "benchmarks": []}
    found = [name for name in BENCHMARKS if (Path(root) / name).is_dir()]
    return {"root": root, "exists": Path(root).is_dir(), "benchmarks": found}


def _as_text(facts: dict[str, Any]) -> str:
    """Return the facts as aligned lines."""
    rows = [
        (name, version or "not installed")
        for name, version in facts["versions"].items()
    ]
    rows += [
        ("platform", facts["platform"]),
        ("cores", f"{facts['usable_cores']} usable of {facts['cores']}"),
        ("compiled code", f"{facts['compiled_code']} and folders beside it"),
    ]
    data = facts["data"]
    if data["root"] is None:
        rows.append(("data", "SEKGNN_DATA is not set"))
    elif not data["exists"]:
        rows.append(("data", f"{data['root']} does not exist (SEKGNN_DATA)"))
    else:
        names = ", ".join(data["benchmarks"]) or "no benchmarks"
        rows.append(("data", f"{data['root']}: {names}"))
    return "\n".join(f"{name:<16} {value}" for name, value in rows)
