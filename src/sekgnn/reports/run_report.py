"""The report on finished runs: one page of HTML, a table and figures in a folder.

The page needs nothing from elsewhere: figures are part of it, all text is escaped. It
holds the table, then every run with all it takes to repeat it.
"""

from __future__ import annotations

import base64
import json
import os
import shlex
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from sekgnn.files import write_files
from sekgnn.parallel import Progress
from sekgnn.reports.finished_runs import Run, load_runs
from sekgnn.reports.paired_differences import (
    NOTE,
    PairedDifference,
    paired_cells,
    paired_differences,
    paired_markdown,
)
from sekgnn.reports.run_curves import curves_png
from sekgnn.reports.run_predictions import predictions_png, read_predictions
from sekgnn.reports.run_table import (
    NOTHING,
    TableRow,
    cells,
    show_result,
    show_seconds,
    show_value,
    table_markdown,
    table_rows,
)
from sekgnn.reports.step_curves import step_curves, step_markdown, step_png
from sekgnn.training.config import RunConfig, config_fields
from sekgnn.training.run_folder import CONFIG_FILE
from sekgnn.training.run_record import RECORD_FILE, RunRecord

PAGE_FILE = "report.html"
TABLE_FILE = "table.md"
STEPS_FILE, STEPS_FIGURE = "steps.md", "steps.png"
Figures = Mapping[str, bytes]
_PARTS = ("train", "val", "test")
_SHOWN = 12  # classes or targets that are named
_HEADLINE = (
    "Accuracies in percent. Read a number together with what its epoch was chosen by: "
    "a choice by test graphs makes it better than what new graphs would see."
)
_STYLE = """
:root { color-scheme: light dark; --ink: #1d2127; --paper: #ffffff; --grey: #6d747d;
  --line: #dde1e6; --soft: #f5f6f8; --link: #0b62a4; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e7eb; --paper: #15181c; --grey: #949ba5; --line: #343a42;
    --soft: #1e2227; --link: #74b7ec; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 1.5rem; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; } h2 { margin-top: 3rem; border-top: 2px solid var(--line);
  padding-top: 1rem; overflow-wrap: anywhere; } h3 { margin: 1.6rem 0 .4rem; }
a { color: var(--link); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .875rem;
  font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .7rem; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
th { background: var(--soft); white-space: nowrap; }
tr.default td, tr.default th, .note { color: var(--grey); }
.note { font-size: .875rem; }
.side { display: flex; flex-wrap: wrap; gap: 0 2rem; }
pre { background: var(--soft); padding: .7rem; overflow-x: auto; }
figure { margin: 1rem 0; }
img { max-width: 100%; height: auto; background: #ffffff; border-radius: 4px; }
"""
# even if something were not escaped, nothing would be run or fetched
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


@dataclass(frozen=True)
class Report:
    """What was written.

    Attributes:
        output: Where.
        files: Names of the files.
        rows: The table.
        pairs: Runs on the same folds, compared.
        left_out: Runs that have none of the metrics asked for.
        unfinished: Folders of runs that have not finished.
    """

    output: Path
    files: tuple[str, ...]
    rows: list[TableRow]
    pairs: list[PairedDifference]
    left_out: tuple[str, ...]
    unfinished: tuple[str, ...]

    @property
    def page(self) -> Path:
        """The page."""
        return self.output / PAGE_FILE


def write_report(
    runs: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    metrics: Sequence[str] = (),
    progress: Progress | None = None,
) -> Report:
    """Make a table, figures and one page from finished runs.

    Runs of the paper's ablation get a page and a figure of their own, ``steps.md`` and
    ``steps.png``. Everything is read and drawn before the first file is written.

    Args:
        runs: Run folders or their ``record.json``.
        output: Folder, made if it is missing.
        metrics: What to show instead of each run's own metrics.
        progress: Called with (done, total) runs.

    Raises:
        GraphInputError: If a run is missing or damaged, or none has finished.
        OutputError: If a file cannot be written.
    """
    paths = [Path(run) for run in runs]
    begun = [
        path
        for path in paths
        if (path / CONFIG_FILE).is_file() and not (path / RECORD_FILE).is_file()
    ]
    found = load_runs([path for path in paths if path not in begun] or begun)
    rows = table_rows(found, list(metrics))
    files: dict[str, bytes] = {}
    figures: dict[str, dict[str, bytes]] = {}
    for i, run in enumerate(found, start=1):
        figures[run.slug] = drawn = _figures(run)
        files |= {f"{run.slug}-{name}.png": png for name, png in drawn.items()}
        if progress is not None:
            progress(i, len(found))
    pairs = paired_differences(found, list(metrics))
    files[TABLE_FILE] = (table_markdown(rows) + paired_markdown(pairs)).encode()
    files[PAGE_FILE] = run_page(found, rows, figures, pairs).encode()
    curves = step_curves(rows)
    if curves:
        files[STEPS_FILE] = step_markdown(curves, STEPS_FIGURE).encode()
        files[STEPS_FIGURE] = step_png(curves)
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    write_files(folder, files)
    shown = {row.run for row in rows}
    left_out = tuple(run.name for run in found if run.name not in shown)
    unfinished = tuple(run.name for run in begun)
    return Report(folder, tuple(files), rows, pairs, left_out, unfinished)


def _figures(run: Run) -> dict[str, bytes]:
    """Return the figures of a run by what they show."""
    drawn = {"curves": curves_png(run.record, run.name)}
    if run.predictions is not None:
        table = read_predictions(run.predictions)
        drawn["predictions"] = predictions_png(run.record, table, run.name)
    return drawn


def run_page(
    runs: Sequence[Run],
    rows: Sequence[TableRow],
    figures: Mapping[str, Figures] | None = None,
    pairs: Sequence[PairedDifference] = (),
) -> str:
    """Return a page of HTML that needs no other file.

    Args:
        runs: In the order of the page.
        rows: Of the summary, from :func:`~sekgnn.reports.run_table.table_rows`.
        figures: Per ``slug`` of a run, PNG files by what they show.
        pairs: Runs on the same folds, compared.
    """
    anchors = {run.name: f"run-{i}" for i, run in enumerate(runs, start=1)}
    head, body, notes = cells(rows)
    number = f"{len(runs)} runs" if len(runs) != 1 else "1 run"
    parts = [
        _note(_HEADLINE),
        _table(head, body, links=[anchors[row.run] for row in rows]),
        *(_note(text) for text in notes),
    ]
    if pairs:
        parts += [_heading(3, "Paired differences"), _note(NOTE)]
        parts.append(_table(*paired_cells(pairs)))
    for run in runs:
        parts += _section(run, anchors[run.name], (figures or {}).get(run.slug, {}))
    return _page(f"sekgnn: {number}", parts)


def _section(run: Run, anchor: str, figures: Figures) -> list[str]:
    record = run.record
    return [
        _heading(2, run.name, anchor),
        _heading(3, "Results"),
        _results(record),
        *_targets(record),
        *(_note(text) for text in [record.baseline_sentence()] if text is not None),
        *(_picture(png, f"{run.name}: {text}") for text, png in figures.items()),
        _heading(3, "Data"),
        _facts({str(name): _listed(v) for name, v in record.data.items()}),
        _heading(3, "Trainings"),
        _folds(record),
        _heading(3, "Config"),
        _note("Grey: default values."),
        *_config(record),
        _heading(3, "Made with"),
        _facts(_provenance(record)),
        _note("To repeat the run, save this as config.yaml:"),
        _code(config_yaml(record)),
        _code(f"sekgnn train --config config.yaml --output {shlex.quote(run.slug)}"),
    ]


def _results(record: RunRecord) -> str:
    head = ["metric", "value", "protocol", "the epoch was chosen by", "epoch"]
    rows = [
        [
            result.metric,
            show_result(result.metric, result.value, result.spread),
            result.protocol,
            result.selected_on,
            NOTHING if result.epoch is None else str(result.epoch),
        ]
        for result in record.results
        if not result.metric.endswith("]")
    ]
    return _table(head, rows)


def _targets(record: RunRecord) -> list[str]:
    """Show the metrics of each of several targets, in its unit."""
    head, rows = record.target_table()
    return [_heading(3, "Each target"), _table(head, rows)] if rows else []


def _folds(record: RunRecord) -> str:
    """Show how large the parts of every fold are, and what its training gave."""
    parts = [p for p in _PARTS if any(p in fold.split for fold in record.folds)]
    found = dict.fromkeys(m for fold in record.folds for m in fold.metrics)
    metrics = [name for name in found if not name.endswith("]")]
    head = ["fold", *parts, "epochs", "kept epoch", *metrics, "seconds"]
    rows = []
    for i, fold in enumerate(record.folds, start=1):
        sizes = [str(len(fold.split[p])) if p in fold.split else "" for p in parts]
        epochs = max(map(len, fold.curves.values()), default=0)
        values = [show_value(m, fold.metrics.get(m)) for m in metrics]
        kept, seconds = str(fold.kept_epoch), show_seconds(fold.seconds)
        rows.append([str(i), *sizes, str(epochs), kept, *values, seconds])
        for name, member in fold.members.items():
            alone = [show_value(m, member.get(m)) for m in metrics]
            blank = [""] * (len(parts) + 2)
            rows.append([f"{i}, {name} alone", *blank, *alone, ""])
    return _table(head, rows)


def _config(record: RunRecord) -> list[str]:
    """Show the config by section; what this version does not know comes last."""
    section = {item.name: str(item.metadata["section"]) for item in config_fields()}
    grey = _defaults(record)
    parts = ['<div class="side">']
    for title in [*dict.fromkeys(section.values()), "other"]:
        shown = {
            name: _listed(value)
            for name, value in record.config.items()
            if section.get(name, "other") == title
        }
        if shown:
            parts += ["<div>", _note(title), _facts(shown, grey), "</div>"]
    return [*parts, "</div>"]


def _defaults(record: RunRecord) -> list[str]:
    """Return the keys of a config that have their default values."""
    defaults = RunConfig().to_dict()
    return [k for k, v in record.config.items() if k in defaults and v == defaults[k]]


def config_yaml(record: RunRecord) -> str:
    """Return the keys of a run's config that are not defaults, one per line.

    Values are written as JSON, which is YAML, too.
    """
    defaults = _defaults(record)
    return "\n".join(
        f"{name}: {json.dumps(value, ensure_ascii=False)}"
        for name, value in record.config.items()
        if name not in defaults
    )


def _provenance(record: RunRecord) -> dict[str, str]:
    versions = ", ".join(f"{name} {v}" for name, v in record.versions.items())
    return {
        "parameters": f"{record.num_parameters:,}",
        "kept epoch by": record.monitor,
        "versions": versions or NOTHING,
        "commit": record.commit or NOTHING,
        "started": record.started or NOTHING,
        "seconds": show_seconds(record.seconds),
        "device": record.device,
        "model": _listed(record.model),
    }


def _listed(value: Any) -> str:
    """Return a value as people read it."""
    if value is None or value == "":
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_listed(item)}" for name, item in value.items())
    if isinstance(value, list | tuple):
        shown = ", ".join(str(item) for item in value[:_SHOWN])
        more = f", … ({len(value)})" if len(value) > _SHOWN else ""
        return (shown + more) or NOTHING
    return f"{value:g}" if isinstance(value, float) else str(value)


def _page(title: str, body: Iterable[str]) -> str:
    """Return a whole page: a title in plain text, and pieces of HTML."""
    content = "\n".join(body)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>{escape(title)}</h1>
{content}
</body>
</html>
"""


def _table(
    head: Sequence[str], rows: Sequence[Sequence[str]], links: Sequence[str] = ()
) -> str:
    """Return a table of plain text; the first cell of a row may link to an anchor."""
    lines = ["<tr>" + "".join(f"<th>{escape(name)}</th>" for name in head) + "</tr>"]
    for i, row in enumerate(rows):
        texts = [escape(text) for text in row]
        if links:
            texts[0] = f'<a href="#{escape(links[i])}">{texts[0]}</a>'
        lines.append("<tr>" + "".join(f"<td>{text}</td>" for text in texts) + "</tr>")
    return '<div class="wide"><table>\n' + "\n".join(lines) + "\n</table></div>"


def _facts(values: Mapping[str, str], grey: Container[str] = ()) -> str:
    """Return a table of names and values; those whose names are in ``grey`` in grey."""
    lines = []
    for name, value in values.items():
        row = '<tr class="default">' if name in grey else "<tr>"
        lines.append(f"{row}<th>{escape(name)}</th><td>{escape(value)}</td></tr>")
    return '<div class="wide"><table>\n' + "\n".join(lines) + "\n</table></div>"


def _heading(level: int, text: str, anchor: str = "") -> str:
    """Return a heading of plain text."""
    mark = f' id="{escape(anchor)}"' if anchor else ""
    return f"<h{level}{mark}>{escape(text)}</h{level}>"


def _note(text: str) -> str:
    """Return a paragraph in small print."""
    return f'<p class="note">{escape(text)}</p>'


def _code(text: str) -> str:
    """Return text to be copied."""
    return f"<pre><code>{escape(text)}</code></pre>"


def _picture(png: bytes, text: str) -> str:
    """Return a PNG that is part of the page, with a description."""
    content = base64.b64encode(png).decode("ascii")
    return (
        f'<figure><img alt="{escape(text)}" src="data:image/png;base64,{content}">'
        f"<figcaption>{_note(text)}</figcaption></figure>"
    )
