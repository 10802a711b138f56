"""``sekgnn report``: finished runs as a table, figures and a page."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from sekgnn.reports.run_folder import Run
    from sekgnn.reports.run_table import TableRow


def report(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="run folders or their record.json"),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="folder for the report")
    ],
    metric: Annotated[
        str | None,
        typer.Option(
            help="what to show instead, such as test_mae; several with commas",
            show_default="each run's own",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="no progress bar, no table")
    ] = False,
) -> None:
    """Make a table, figures and one page from finished runs.

    Writes report.html, table.md and, for every run, RUN-curves.png and
    RUN-predictions.png (if it has predictions.csv) to the output folder. A
    number of the paper stands beside a result that can be compared with it.
    """
    from sekgnn.cli.failures import note
    from sekgnn.cli.progress import progress_bar
    from sekgnn.files import atomic_path
    from sekgnn.reports.run_folder import load_runs
    from sekgnn.reports.run_page import run_page
    from sekgnn.reports.run_table import table_markdown, table_rows

    found = load_runs(runs)
    metrics = [name.strip() for name in (metric or "").split(",") if name.strip()]
    rows = table_rows(found, metrics)
    shown = {row.run for row in rows}
    for run in found:
        if run.name not in shown:
            note(f"{run.name} has no {', '.join(metrics)}; the table is without it.")
    files: dict[str, bytes] = {}
    figures: dict[str, dict[str, bytes]] = {}
    with progress_bar("drawing", shown=not (quiet or json)) as progress:
        for i, run in enumerate(found, start=1):
            figures[run.slug] = drawn = _figures(run)
            files |= {f"{run.slug}-{name}.png": png for name, png in drawn.items()}
            if progress is not None:
                progress(i, len(found))
    files["table.md"] = table_markdown(rows).encode()
    files["report.html"] = run_page(found, rows, figures).encode()
    output.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        with atomic_path(output / name) as draft:
            draft.write_bytes(content)
    if json:
        typer.echo(_json(rows, output, files))
    elif not quiet:
        typer.echo(_terminal(rows))
        typer.echo(f"wrote report.html, table.md and {len(files) - 2} PNG to {output}")


def _figures(run: Run) -> dict[str, bytes]:
    """Return the figures of a run by what they show."""
    from sekgnn.reports.run_curves import curves_png
    from sekgnn.reports.run_prediction_file import read_predictions
    from sekgnn.reports.run_predictions import predictions_png

    drawn = {"curves": curves_png(run.record, run.name)}
    if run.predictions is not None:
        table = read_predictions(run.predictions)
        drawn["predictions"] = predictions_png(run.record, table, run.name)
    return drawn


def _terminal(rows: list[TableRow]) -> str:
    import shutil

    from sekgnn.reports.run_table import table_terminal

    return table_terminal(rows, max(shutil.get_terminal_size().columns, 80))


def _json(rows: list[TableRow], output: Path, files: dict[str, bytes]) -> str:
    values = {
        "output": str(output),
        "files": sorted(files),
        "rows": [_finite(row.to_dict()) for row in rows],
    }
    return json_format.dumps(values, ensure_ascii=False, allow_nan=False)


def _finite(value: Any) -> Any:
    """Return JSON values; null for numbers that are not finite."""
    import math

    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
