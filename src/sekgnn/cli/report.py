"""``sekgnn report``: finished runs as a table, figures and a page."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sekgnn.cli.options import JSON, QUIET, option
from sekgnn.cli.printing import note, progress_bar, say, say_json

if TYPE_CHECKING:
    from sekgnn.reports.run_report import Report


def report(
    runs: list[Path] = typer.Argument(
        ..., metavar="RUN...", help="run folders or their record.json"
    ),
    output: Path = option(..., "folder for the report", "--output", "-o"),
    metric: list[str] | None = option(
        None, "metrics to show, such as test_mae", shown="those of each run"
    ),
    json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Make a table, figures and one page from finished runs.

    Writes report.html, table.md and, for every run, RUN-loss.png,
    RUN-metric.png and RUN-predictions.png (if it has predictions.csv; one per
    target of several) to the output folder. Comparable numbers of the paper
    stand beside the results. Runs on the same folds are compared fold by fold,
    and runs that differ only in the seed are averaged. Runs of the paper's
    ablation over walk lengths also make steps.md and steps.png.
    """
    from sekgnn.paper.paper_numbers import paper_number_of
    from sekgnn.paper.step_curves import step_pages
    from sekgnn.reports.paired_differences import paired_terminal
    from sekgnn.reports.run_report import write_report
    from sekgnn.reports.run_table import table_terminal

    metrics = metric or []
    with progress_bar("drawing", shown=not (quiet or json)) as progress:
        made = write_report(
            runs,
            output,
            metrics,
            progress,
            published=paper_number_of,
            pages=step_pages,
        )
    for name in made.unfinished:
        note(f"{name} has not finished and is left out of the report.")
    for name in made.left_out:
        note(f"{name} has no {', '.join(metrics)} and is left out of the table.")
    if json:
        _say_json(made)
    elif not quiet:
        width = max(shutil.get_terminal_size().columns, 80)
        say(table_terminal(made.rows, width))
        if made.pairs:
            say(paired_terminal(made.pairs))
        pages = sorted(name for name in made.files if not name.endswith(".png"))
        pictures = len(made.files) - len(pages)
        say(f"wrote {', '.join(pages)} and {pictures} PNG to {output}")


def _say_json(made: Report) -> None:
    from sekgnn.training.run_record import plain_json

    values = {
        "output": str(made.output),
        "files": sorted(made.files),
        "rows": [plain_json(row.to_dict()) for row in made.rows],
        "pairs": [pair.to_dict() for pair in made.pairs],
    }
    say_json(values, ensure_ascii=False, allow_nan=False)
