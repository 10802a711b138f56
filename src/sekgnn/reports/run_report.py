"""The report on finished runs: one page of HTML, a table and figures in a folder.

The page is one file (:mod:`sekgnn.reports.html`). It holds the table, then every run
with everything needed to repeat it.
"""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from sekgnn.files import write_files
from sekgnn.parallel import Progress
from sekgnn.reports import html
from sekgnn.reports.finished_runs import Run, load_runs
from sekgnn.reports.molecule_drawing import worst_molecules
from sekgnn.reports.paired_differences import (
    NOTE,
    PairedDifference,
    paired_cells,
    paired_differences,
    paired_markdown,
)
from sekgnn.reports.ranking import rankings
from sekgnn.reports.run_figures import (
    curve_pngs,
    prediction_pngs,
    read_predictions,
    things_of,
)
from sekgnn.reports.run_table import (
    NOTHING,
    Lookup,
    TableRow,
    cells,
    run_row,
    show_difference,
    show_result,
    show_seconds,
    show_value,
    table_markdown,
    table_rows,
)
from sekgnn.training.config import RunConfig, config_fields
from sekgnn.training.run_folder import CONFIG_FILE, json_yaml
from sekgnn.training.run_record import PAIRED_ERROR, RECORD_FILE, RunRecord

PAGE_FILE = "report.html"
TABLE_FILE = "table.md"
Figures = Mapping[str, bytes]
Pages = Callable[[Sequence[Run], Sequence[TableRow]], dict[str, bytes]]
"""Makes further files of a report, by name."""
_PARTS = ("train", "val", "calibration", "test")
_SHOWN = 12  # classes or targets that are named
_HEADLINE = (
    "Accuracies and coverage in percent. Read a number together with what its epoch "
    "was chosen by: a choice by the test part makes it better than what new data "
    "would show. A click on a heading sorts a table."
)


@dataclass(frozen=True)
class Report:
    """The report that was written.

    Attributes:
        rows: The table.
        pairs: Runs on the same folds, compared.
        left_out: Runs without any of the requested metrics.
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
    *,
    published: Lookup | None = None,
    pages: Pages | None = None,
) -> Report:
    """Make a table, figures and one page from finished runs, or their ``record.json``.

    Everything is read and drawn before the first file is written.

    Args:
        runs: Their folders.
        output: Folder for the files.
        metrics: To show instead of each run's own.
        progress: Called with (done, total) runs.
        published: Finds numbers to stand beside those of runs.
        pages: Makes further files.

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
    loaded = load_runs([path for path in paths if path not in begun] or begun)
    rows = table_rows(loaded, list(metrics), published)
    files: dict[str, bytes] = {}
    figures: dict[str, dict[str, bytes]] = {}
    pieces: dict[str, list[str]] = {}
    for i, run in enumerate(loaded, start=1):
        figures[run.slug] = drawn = curve_pngs(run.record, run.name)
        if run.predictions is not None:
            table = read_predictions(run.predictions)
            drawn |= prediction_pngs(run.record, table, run.name)
            if run.record.data.get("kind") == "regression":
                ranked = rankings(table, f"test {things_of(run.record)}")
                pieces[run.slug] = [*ranked, *worst_molecules(table)]
        files |= {f"{run.slug}-{name}.png": png for name, png in drawn.items()}
        if progress is not None:
            progress(i, len(loaded))
    pairs = paired_differences(loaded, list(metrics))
    files[TABLE_FILE] = (table_markdown(rows) + paired_markdown(pairs)).encode()
    files[PAGE_FILE] = run_page(loaded, rows, figures, pairs, pieces).encode()
    if pages is not None:
        files |= pages(loaded, rows)
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    write_files(folder, files)
    shown = {row.run for row in rows}
    left_out = tuple(run.name for run in loaded if run.name not in shown)
    unfinished = tuple(run.name for run in begun)
    return Report(folder, tuple(files), rows, pairs, left_out, unfinished)


def run_page(
    runs: Sequence[Run],
    rows: Sequence[TableRow],
    figures: Mapping[str, Figures] | None = None,
    pairs: Sequence[PairedDifference] = (),
    pieces: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """Return a self-contained page of HTML.

    ``figures`` holds PNG files by their subject, for the ``slug`` of each run, and
    ``pieces`` more HTML to stand below them.
    """
    anchors = {run.name: f"run-{i}" for i, run in enumerate(runs, start=1)}
    head, body, notes = cells(rows)
    number = f"{len(runs)} runs" if len(runs) != 1 else "1 run"
    links = [anchors[row.run] for row in rows]
    parts = [
        html.note(_HEADLINE),
        html.table(head, body, keep=("run", "value"), links=links),
        *map(html.note, notes),
    ]
    if pairs:
        parts += [html.heading(3, "Paired differences"), html.note(NOTE)]
        keep = ("first run", "second run", "first - second", "verdict")
        parts.append(html.table(*paired_cells(pairs), keep=keep))
    for run in runs:
        drawn = (figures or {}).get(run.slug, {})
        below = (pieces or {}).get(run.slug, ())
        parts += _section(run, anchors[run.name], drawn, below)
    return html.page(f"sekgnn: {number}", parts)


def _section(
    run: Run, anchor: str, figures: Figures, pieces: Sequence[str]
) -> list[str]:
    record = run.record
    command = f"sekgnn train --config config.yaml --output {shlex.quote(run.slug)}"
    drawn = [html.picture(png, f"{run.name}: {text}") for text, png in figures.items()]
    about = {str(name): _listed(value) for name, value in record.data.items()}
    baseline = record.baseline_sentence()
    return [
        html.heading(2, run.name, anchor),
        html.heading(3, "Results"),
        _results(run),
        *_targets(record),
        *_intervals(record),
        *_baselines(record),
        *(() if baseline is None else [html.note(baseline)]),
        *([html.box("cards", drawn)] if drawn else ()),
        *pieces,
        html.heading(3, "Trainings"),
        _folds(record),
        html.heading(3, "Details"),
        html.folded("Data", [html.facts(about)]),
        html.folded("Config", [html.note("Grey: default values."), *_config(record)]),
        html.folded("Made with", [html.facts(_provenance(record))]),
        html.folded(
            "To repeat the run",
            [
                html.note("Save this as config.yaml:"),
                html.code(config_yaml(record)),
                html.code(command),
            ],
        ),
    ]


def _results(run: Run) -> str:
    head = ["metric", "value", "protocol", "the epoch was chosen by", "epochs"]
    rows = []
    for result in run.record.results:
        if not result.metric.endswith("]") and not _of_intervals(result.metric):
            value = show_result(result.metric, result.value, result.spread)
            lasted = run_row(run, result).lasted
            protocol, words = result.protocol, result.selected_on
            rows.append([result.metric, value, protocol, words, lasted])
    return html.table(head, rows, keep=("metric", "value"))


def _targets(record: RunRecord) -> list[str]:
    """Show the metrics of each of several targets, in its unit."""
    head, rows = record.target_table()
    shown = [i for i, name in enumerate(head) if not _of_intervals(name)]
    shown = [i for i in shown if head[i] != "unit" or any(row[i] for row in rows)]
    if not rows:
        return []
    names = [head[i] for i in shown]
    body = [[row[i] for i in shown] for row in rows]
    return [html.heading(3, "Each target"), html.table(names, body, keep=names)]


def _baselines(record: RunRecord) -> list[str]:
    """Show what models without a network reach on the same splits."""
    tables = [fold.baseline for fold in record.folds]
    names = [name for name in record.baseline.get("each", ()) if name in tables[0]]
    if not names:
        return []
    known = {
        result.metric: result.value
        for result in record.results
        if result.protocol == record.protocol and result.metric in tables[0][names[0]]
    }
    compared = record.baseline["metric"]
    rows = [["this model", *(show_value(*item) for item in known.items()), ""]]
    for name in names:
        folds = [table.get(name) or {} for table in tables]
        means = {metric: fmean(_numbers(folds, metric)) for metric in known}
        lead = known.get(compared, math.nan) - means.get(compared, math.nan)
        ahead = show_difference(compared, lead)
        error = math.hypot(*_numbers(folds, PAIRED_ERROR)) / len(folds)
        if math.isfinite(error):
            ahead += f" ± {show_value(compared, error)}"
        rows.append([name, *(show_value(*item) for item in means.items()), ahead])
    head = ["model", *known, f"{compared}: this model - other"]
    about = "± is the standard error of the difference, over the same test graphs."
    title = html.heading(3, "Without a network")
    return [title, html.table(head, rows, keep=head), html.note(about)]


def _numbers(tables: Sequence[Mapping[str, Any]], name: str) -> list[float]:
    """Return a number of every table, NaN where there is none."""
    values = [table.get(name) for table in tables]
    return [math.nan if value is None else float(value) for value in values]


def _of_intervals(metric: str) -> bool:
    return metric in ("test_coverage", "test_interval_width", "test_set_size")


def _intervals(record: RunRecord) -> list[str]:
    """Show how often intervals, or sets of classes, hold the truth, by target."""
    asked = record.config.get("confidence")
    measured = {r.metric: r for r in record.results if r.protocol == record.protocol}
    targets = [str(name) for name in record.data.get("targets") or ()]
    if not asked or "test_coverage" not in measured or not targets:
        return []
    graphs = [fold.calibration.get("graphs") or () for fold in record.folds]
    sets = any(name.startswith("test_set_size") for name in measured)
    size = "set_size" if sets else "interval_width"
    rows = []
    for i, name in enumerate(targets):
        of = f"[{name}]" if len(targets) > 1 else ""
        share, wide = (measured.get(f"test_{word}{of}") for word in ("coverage", size))
        if share is not None and wide is not None:
            counts = sorted({str(counted[i]) for counted in graphs if i < len(counted)})
            covered = show_result("coverage", share.value, share.spread)
            mean = show_result(size, wide.value, wide.spread)
            asked_for = show_result("coverage", asked, None)
            rows.append([name, asked_for, covered, mean, ", ".join(counts)])
    what = "class in their set" if sets else "value in their interval"
    words = (
        f"How many of the test graphs have their true {what}, beside what was asked "
        "for. Sizes come from errors on graphs that were kept apart to calibrate them."
    )
    sizes = "mean number of classes" if sets else "mean width"
    head = ["target", "confidence", "coverage", sizes, "graphs that calibrate"]
    title = html.heading(3, "Intervals" if not sets else "Sets of classes")
    keep = ("target", "coverage", sizes)
    return [title, html.note(words), html.table(head, rows, keep=keep)]


def _folds(record: RunRecord) -> str:
    """Show the sizes of every fold's parts and the results of its training."""
    parts = [p for p in _PARTS if any(p in fold.split for fold in record.folds)]
    found = dict.fromkeys(m for fold in record.folds for m in fold.metrics)
    metrics = [name for name in found if not name.endswith("]")]
    head = ["fold", *parts, "kept epoch", *metrics, "seconds"]
    rows = []
    for i, fold in enumerate(record.folds, start=1):
        sizes = [str(len(fold.split[p])) if p in fold.split else "" for p in parts]
        epochs = max(map(len, fold.curves.values()), default=0)
        values = [show_value(m, fold.metrics.get(m)) for m in metrics]
        kept, seconds = f"{fold.kept_epoch} of {epochs}", show_seconds(fold.seconds)
        rows.append([str(i), *sizes, kept, *values, seconds])
        for name, member in fold.members.items():
            alone = [show_value(m, member.get(m)) for m in metrics]
            rows.append([f"{i}, {name} alone", *sizes, "", *alone, ""])
    return html.table(head, rows, keep=("fold", *metrics, "seconds"))


def _config(record: RunRecord) -> list[str]:
    """Show the config by section; unknown keys come last."""
    section = {item.name: str(item.metadata["section"]) for item in config_fields()}
    grey = _defaults(record)
    parts = []
    for title in [*dict.fromkeys(section.values()), "other"]:
        shown = {
            name: _listed(value)
            for name, value in record.config.items()
            if section.get(name, "other") == title
        }
        if shown:
            pieces = html.note(title) + html.facts(shown, grey)
            parts.append(f"<div>{pieces}</div>")
    return [html.box("side", parts)]


def _defaults(record: RunRecord) -> list[str]:
    """Return the config keys with default values."""
    defaults = RunConfig().to_dict()
    return [k for k, v in record.config.items() if k in defaults and v == defaults[k]]


def config_yaml(record: RunRecord) -> str:
    """Return a run's config as YAML, one key per line, without defaults."""
    defaults = _defaults(record)
    return json_yaml({k: v for k, v in record.config.items() if k not in defaults})


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
    """Return a value as text for people."""
    if value is None or value == "":
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        named = [f"{name}: {_listed(item)}" for name, item in value.items()]
        return ", ".join(named) or NOTHING
    if isinstance(value, list | tuple):
        shown = ", ".join(str(item) for item in value[:_SHOWN])
        more = f", … ({len(value)})" if len(value) > _SHOWN else ""
        return (shown + more) or NOTHING
    return f"{value:g}" if isinstance(value, float) else str(value)
