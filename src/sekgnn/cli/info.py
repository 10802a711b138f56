"""``sekgnn info`` and ``models``: the installation, and the models to choose from."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

from sekgnn.cli.options import JSON
from sekgnn.cli.printing import say, say_json

_PACKAGES = (
    "numpy", "scipy", "numba", "torch", "torch_geometric", "lightning-fabric",
    "pyarrow", "matplotlib", "rdkit", "optuna",
)  # fmt: skip
BENCHMARKS = ("brec", "counting", "csl", "exp", "graph_property", "sr25", "tu")
"""Folders that ``SEKGNN_DATA`` may hold."""


def info(json: bool = JSON) -> None:
    """Show versions, cores, the folder of compiled code and the data available."""
    facts = collect()
    say_json(facts) if json else say(_as_text(facts))


def collect() -> dict[str, Any]:
    """Return the facts as plain JSON values, without importing torch."""
    from sekgnn._version import __version__
    from sekgnn.kernel import kernel_folder
    from sekgnn.parallel import usable_cores
    from sekgnn.provenance import package_versions

    root = os.environ.get("SEKGNN_DATA") or None
    folder = Path(root or "")
    versions = package_versions(_PACKAGES)
    benchmarks = [name for name in BENCHMARKS if root and (folder / name).is_dir()]
    return {
        "versions": {
            "sekgnn": __version__,
            "python": versions["python"],
            **{name: versions.get(name) for name in _PACKAGES},
        },
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "usable_cores": usable_cores(),
        "compiled_code": str(kernel_folder()),
        "data": {
            "root": root,
            "exists": root is not None and folder.is_dir(),
            "benchmarks": benchmarks,
        },
    }


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


def models(json: bool = JSON) -> None:
    """List every model: what it computes and reads, its power and its cost."""
    from sekgnn.models.options import model_facts

    facts = model_facts()
    say_json(facts) if json else say(_models_text(facts))


def _models_text(facts: list[dict[str, Any]]) -> str:
    """Return a few lines per model."""
    lines = []
    for row in facts:
        read = [name.replace("_", " ") for name, there in row["reads"].items() if there]
        lines.append(f"{row['name']} ({row.get('family', 'your own')})")
        values = {
            "paper": row.get("paper"),
            "computes": row.get("equation"),
            "reads": ", ".join(["graph", "node features", *read]),
            "bounded by": row.get("bound") or "no test of graphs",
            "in tables": ", ".join(map(str, row.get("tables", ()))) or "none",
            "cost": _cost(row["cost"]),
        }
        lines += [f"  {key:<11} {value}" for key, value in values.items() if value]
    lines.append(
        "cost: an epoch on PROTEINS, relative to gin; bounded by: a test of sekgnn wl; "
        "tables: of the SEK-GNN paper"
    )
    return "\n".join(lines)


def _cost(cost: dict[str, float] | None) -> str:
    if cost is None:
        return "not measured"
    return f"{cost['seconds']:g} x the time, {cost['memory']:g} x the memory"
