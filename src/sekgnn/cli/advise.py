"""``sekgnn advise``: which models can learn these targets?"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sekgnn.cli.options import (
    DATA_ROOT,
    JSON,
    KERNEL_THREADS,
    QUIET,
    merged_config,
    option,
    with_flags,
)
from sekgnn.cli.printing import print_table, progress_stages, say, say_json
from sekgnn.training.config import config_fields

if TYPE_CHECKING:
    from sekgnn.training.advise import Advice

_SCORED = ("folds", "split_by", "seed", "baseline")


@with_flags(
    {
        "Data": [
            item
            for item in config_fields()
            if item.metadata["section"] == "data" and item.name != "data"
        ],
        "Scores of ridge and forest": [
            item for item in config_fields() if item.name in _SCORED
        ],
    }
)
def advise(
    data: str = typer.Argument(
        ..., help="dataset, or file or folder of your own, as for train"
    ),
    *,
    output: Path | None = option(
        None, "page to write, .html", "--output", "-o", suffixes=(".html", ".htm")
    ),
    limit: float = option(300.0, "seconds for one test; a slower one is left out"),
    data_root: Path | None = DATA_ROOT,
    threads: int | None = KERNEL_THREADS,
    json: bool = JSON,
    quiet: bool = QUIET,
    **keys: Any,
) -> None:
    """Find the cheapest model that can tell different targets apart.

    For each class of models, cheapest first: the number of graphs (or nodes) that
    share a colour with one of another target, the lowest error that any model of
    the class can reach on these data, and the cost of encoding them. Then one
    sentence of advice, the training command, and the scores of ridge and forest.
    """
    from sekgnn.errors import ConfigError
    from sekgnn.files import check_target, write_atomically
    from sekgnn.training.advise import advise as ask

    if not limit > 0:
        raise ConfigError(f"--limit must be a number of seconds above 0, got {limit}.")
    if output is not None:
        check_target(output)
    config = merged_config(data, None, keys)
    with progress_stages(shown=not (quiet or json)) as stage:
        advice = ask(
            config, data_root=data_root, seconds=limit, threads=threads, stage=stage
        )
    if output is not None:
        from sekgnn.reports.advice_page import advice_page

        write_atomically(output, advice_page(advice).encode())
    if json:
        say_json(advice.to_dict(), ensure_ascii=False, allow_nan=False)
    elif not quiet:
        _print(advice)
        if output is not None:
            say(f"wrote {output}")


def _print(advice: Advice) -> None:
    """Print the table, the scores, the advice and the command."""
    from rich.box import SIMPLE

    from sekgnn.reports.advice_page import baseline_rows
    from sekgnn.training.advise import rows

    about = advice.data
    head, *body = rows(advice)
    title = f"{about['name']}: {', '.join(about['targets'])} · {advice.count:,}"
    width = max(shutil.get_terminal_size().columns, 120)
    title = f"{title} {advice.objects}"
    print_table(title, head, body, numbers=True, width=width, box=SIMPLE)
    for name, metric, value in baseline_rows(advice.baseline):
        say(f"{name:<8}{metric:<24}{value}")
    if "left_out" in advice.baseline:
        say(f"ridge and forest are left out: {advice.baseline['left_out']}")
    for note in advice.notes:
        say(f"note: {note}")
    say(f"\n{advice.sentence}\n{advice.command()}")
