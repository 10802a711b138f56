"""``sekgnn models``: every model, what it is, what it reads and what it costs."""

from __future__ import annotations

import json as json_format
from typing import Any

import typer

from sekgnn.cli.shared_options import Json


def models(json: Json = False) -> None:
    """List every model: what it computes and reads, its power and its cost."""
    facts = collect()
    typer.echo(json_format.dumps(facts) if json else _as_text(facts))


def collect() -> list[dict[str, Any]]:
    """Return what is known of every model as plain JSON values; loads no torch."""
    from sekgnn.models.options import MODEL_KINDS, model_costs

    costs = model_costs()
    out = []
    for name, kind in MODEL_KINDS.items():
        about = kind.about
        reads = {
            "encoding": "encoding" in kind.parts,
            "edge_features": kind.edges,
            "coordinates": kind.coordinates,
        }
        row: dict[str, Any] = {"name": name, "reads": reads, "options": kind.options()}
        if about is not None:
            row |= {
                "family": about.family,
                "paper": about.paper,
                "equation": about.equation,
                "bound": about.bound,
                "tables": list(about.tables),
            }
        out.append({**row, "cost": costs.get(name)})
    return out


def _as_text(facts: list[dict[str, Any]]) -> str:
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
