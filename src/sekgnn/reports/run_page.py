"""One page on some runs: the table, then every run with all it takes to repeat it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from sekgnn.reports import run_html as html
from sekgnn.reports.run_folder import Run
from sekgnn.reports.run_table import TableRow, cells
from sekgnn.reports.run_values import (
    NOTHING,
    show_result,
    show_seconds,
    show_value,
)
from sekgnn.training.config import RunConfig
from sekgnn.training.record import RunRecord

Figures = Mapping[str, bytes]
_PARTS = ("train", "val", "test")
_SHOWN = 12  # classes or targets that are named
_HEADLINE = (
    "Accuracies in percent. Read a number together with what its epoch was chosen by: "
    "a choice by test graphs makes it better than what new graphs would see."
)


def run_page(
    runs: Sequence[Run],
    rows: Sequence[TableRow],
    figures: Mapping[str, Figures] | None = None,
) -> str:
    """Return a page of HTML that needs no other file.

    Args:
        runs: In the order of the page.
        rows: Of the summary, from :func:`~sekgnn.reports.run_table.table_rows`.
        figures: Per ``slug`` of a run, PNG files by what they show.
    """
    anchors = {run.name: f"run-{i}" for i, run in enumerate(runs, start=1)}
    head, body, notes = cells(rows)
    number = f"{len(runs)} runs" if len(runs) != 1 else "1 run"
    parts = [
        html.note(_HEADLINE),
        html.table(head, body, links=[anchors[row.run] for row in rows]),
        *(html.note(text) for text in notes),
    ]
    for run in runs:
        parts += _section(run, anchors[run.name], (figures or {}).get(run.slug, {}))
    return html.page(f"sekgnn: {number}", parts)


def _section(run: Run, anchor: str, figures: Figures) -> list[str]:
    record = run.record
    return [
        html.heading(2, run.name, anchor),
        html.heading(3, "Results"),
        _results(record),
        *(html.picture(png, f"{run.name}: {text}") for text, png in figures.items()),
        html.heading(3, "Data"),
        html.facts(_data(record)),
        html.heading(3, "Trainings"),
        _folds(record),
        html.heading(3, "Config"),
        html.note("Grey: as it is by default."),
        *_config(record),
        html.heading(3, "Made with"),
        html.facts(_provenance(record)),
        html.note("To make it again, save this as config.yaml:"),
        html.code(config_yaml(record)),
        html.code(
            f"sekgnn train --config config.yaml --output {shlex.quote(run.slug)}"
        ),
    ]


def _results(record: RunRecord) -> str:
    head = ["metric", "value", "protocol", "the epoch was chosen by", "epoch"]
    rows = [
        [
            result.metric,
            show_result(result.metric, result.value, result.spread),
            result.protocol,
            result.selects_on,
            NOTHING if result.epoch is None else str(result.epoch),
        ]
        for result in record.results
    ]
    return html.table(head, rows)


def _data(record: RunRecord) -> list[tuple[str, str, bool]]:
    return [(str(name), _listed(v), False) for name, v in record.data.items()]


def _folds(record: RunRecord) -> str:
    """Show how large the parts of every fold are, and what its training gave."""
    parts = [p for p in _PARTS if any(p in fold.split for fold in record.folds)]
    metrics = list(dict.fromkeys(m for fold in record.folds for m in fold.metrics))
    head = ["fold", *parts, "epochs", "kept epoch", *metrics, "seconds"]
    rows = []
    for i, fold in enumerate(record.folds, start=1):
        sizes = [str(len(fold.split[p])) if p in fold.split else "" for p in parts]
        epochs = max(map(len, fold.curves.values()), default=0)
        values = [show_value(m, fold.metrics.get(m)) for m in metrics]
        rows.append(
            [
                str(i),
                *sizes,
                str(epochs),
                str(fold.kept_epoch),
                *values,
                show_seconds(fold.seconds),
            ]
        )
    return html.table(head, rows)


def _config(record: RunRecord) -> list[str]:
    """Show the config by section; what this version does not know comes last."""
    sections: dict[str, list[tuple[str, str, bool]]] = {}
    known = {item.name: item for item in fields(RunConfig)}
    for name, value in record.config.items():
        item = known.get(name)
        section = str(item.metadata["section"]) if item else "other"
        grey = item is not None and is_default(name, value)
        sections.setdefault(section, []).append((name, _listed(value), grey))
    order = list(dict.fromkeys(str(i.metadata["section"]) for i in known.values()))
    parts = ['<div class="side">']
    for section in [*order, "other"]:
        if section in sections:
            parts += ["<div>", html.note(section), html.facts(sections[section])]
            parts.append("</div>")
    return [*parts, "</div>"]


def is_default(name: str, value: Any) -> bool:
    """Tell whether a key of a config has the value it has when nobody sets it."""
    defaults: dict[str, Any] = {item.name: item.default for item in fields(RunConfig)}
    if name not in defaults:
        return False
    default = defaults[name]
    return bool(value == (list(default) if _many(default) else default))


def config_yaml(record: RunRecord) -> str:
    """Return the keys of a run's config that are not defaults, one per line.

    Values are written as JSON, which is YAML, too.
    """
    return "\n".join(
        f"{name}: {json.dumps(value, ensure_ascii=False)}"
        for name, value in record.config.items()
        if not is_default(name, value)
    )


def _provenance(record: RunRecord) -> list[tuple[str, str, bool]]:
    versions = ", ".join(f"{name} {v}" for name, v in record.versions.items())
    return [
        ("parameters", f"{record.num_parameters:,}", False),
        ("kept epoch by", record.monitor, False),
        ("versions", versions or NOTHING, False),
        ("commit", record.commit or NOTHING, False),
        ("started", record.started or NOTHING, False),
        ("seconds", show_seconds(record.seconds), False),
        ("device", record.device, False),
        ("model", _listed(record.model), False),
    ]


def _many(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _listed(value: Any) -> str:
    """Return a value as people read it."""
    if value is None or value == "":
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_listed(item)}" for name, item in value.items())
    if _many(value):
        shown = ", ".join(str(item) for item in value[:_SHOWN])
        more = f", … ({len(value)})" if len(value) > _SHOWN else ""
        return (shown + more) or NOTHING
    return f"{value:g}" if isinstance(value, float) else str(value)
