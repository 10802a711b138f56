"""A folder with table, figures and page of finished runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sekgnn.files import write_files
from sekgnn.parallel import Progress
from sekgnn.reports.run_curves import curves_png
from sekgnn.reports.run_folder import Run, load_runs
from sekgnn.reports.run_page import run_page
from sekgnn.reports.run_prediction_file import read_predictions
from sekgnn.reports.run_predictions import predictions_png
from sekgnn.reports.run_table import TableRow, table_markdown, table_rows
from sekgnn.training.record import RECORD_FILE
from sekgnn.training.run_folder import CONFIG_FILE

PAGE_FILE = "report.html"
TABLE_FILE = "table.md"


@dataclass(frozen=True)
class Report:
    """What was written.

    Attributes:
        folder: Where.
        files: Names of the files.
        rows: The table.
        left_out: Runs that have none of the metrics asked for.
        unfinished: Folders of runs that have not finished.
    """

    folder: Path
    files: tuple[str, ...]
    rows: list[TableRow]
    left_out: tuple[str, ...]
    unfinished: tuple[str, ...]

    @property
    def page(self) -> Path:
        """The page."""
        return self.folder / PAGE_FILE


def write_report(
    runs: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    metrics: Sequence[str] = (),
    progress: Progress | None = None,
) -> Report:
    """Make a table, figures and one page from finished runs.

    Everything is read and drawn before the first file is written.

    Args:
        runs: Run folders or their ``record.json``.
        output: Folder, made if it is missing.
        metrics: What to show instead of each run's own metrics.
        progress: Called with (done, total) runs.

    Raises:
        GraphInputError: If a run is missing or damaged, or none has finished.
        OutputError: If a file cannot be written.
    """
    begun = [Path(run) for run in runs if _is_unfinished(Path(run))]
    found = load_runs([Path(run) for run in runs if Path(run) not in begun] or begun)
    rows = table_rows(found, list(metrics))
    files: dict[str, bytes] = {}
    figures: dict[str, dict[str, bytes]] = {}
    for i, run in enumerate(found, start=1):
        figures[run.slug] = drawn = _figures(run)
        files |= {f"{run.slug}-{name}.png": png for name, png in drawn.items()}
        if progress is not None:
            progress(i, len(found))
    files[TABLE_FILE] = table_markdown(rows).encode()
    files[PAGE_FILE] = run_page(found, rows, figures).encode()
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    write_files(folder, files)
    shown = {row.run for row in rows}
    left_out = tuple(run.name for run in found if run.name not in shown)
    unfinished = tuple(run.name for run in begun)
    return Report(folder, tuple(files), rows, left_out, unfinished)


def _is_unfinished(path: Path) -> bool:
    """Tell whether a folder holds a run that has only begun."""
    return (path / CONFIG_FILE).is_file() and not (path / RECORD_FILE).is_file()


def _figures(run: Run) -> dict[str, bytes]:
    """Return the figures of a run by what they show."""
    drawn = {"curves": curves_png(run.record, run.name)}
    if run.predictions is not None:
        table = read_predictions(run.predictions)
        drawn["predictions"] = predictions_png(run.record, table, run.name)
    return drawn
