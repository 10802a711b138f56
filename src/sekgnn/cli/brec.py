"""``sekgnn brec``: how many pairs of BREC does a test separate?"""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import Annotated, Any

import typer

from sekgnn.cli.shared_options import Json, KernelThreads
from sekgnn.cli.wl_options import build_test, with_test_options


@with_test_options
def brec(
    category: Annotated[
        list[str] | None,
        typer.Option(
            help="basic, simple_regular, strongly_regular, four_vertex, "
            "distance_regular, extension, cfi; several may follow",
            show_default="all",
        ),
    ] = None,
    copies: Annotated[
        int, typer.Option(help="relabelled copies of each graph, never to be separated")
    ] = 1,
    seed: Annotated[int, typer.Option(help="seed of the copies")] = 0,
    all: Annotated[
        bool, typer.Option("--all", help="run every test and write the results page")
    ] = False,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="folder for the results of --all")
    ] = Path("results/brec"),
    data_root: Annotated[
        Path | None,
        typer.Option(help="folder with brec/brec.g6.txt", show_default="SEKGNN_DATA"),
    ] = None,
    threads: KernelThreads = None,
    json: Json = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="no progress bar")
    ] = False,
    **options: Any,
) -> None:
    """Score a Weisfeiler-Lehman test on the 400 pairs of BREC.

    Every graph is also compared with relabelled copies of itself, and the
    number of false separations is printed.

    --all writes exact.json, exact.md and exact.png to the output folder. What
    an interrupted run has finished is kept in exact.partial.json: the same
    command continues from there.
    """
    from sekgnn.brec.exact_score import score_exact
    from sekgnn.checks import check_positive
    from sekgnn.cli.progress import progress_bar
    from sekgnn.datasets.brec import BREC
    from sekgnn.errors import ConfigError

    check_positive("--copies", copies, 0)
    check_positive("--seed", seed, 0)
    if threads is not None:
        check_positive("--threads", threads)
    test = options.pop("test", "sek")
    if all and options:
        raise ConfigError(
            "--all runs the tests of the scoreboard as they are; leave out the options "
            "of a single test."
        )
    chosen = build_test(test, options)
    pairs = BREC(data_root)
    if category:
        pairs = pairs.select(*category)
    shown = not (quiet or json)
    settings: dict[str, Any] = dict(
        pairs=pairs, copies=copies, seed=seed, threads=threads
    )
    if all:
        _run_all(settings, output, json, shown)
        return
    with progress_bar("pairs", shown=shown) as progress:
        score = score_exact(chosen, progress=progress, **settings)
    typer.echo(json_format.dumps(score.to_dict()) if json else score.table())


def _run_all(settings: dict[str, Any], output: Path, json: bool, shown: bool) -> None:
    """Run the whole scoreboard and write its page."""
    from contextlib import ExitStack

    from sekgnn.brec.board import BOARD, run_board
    from sekgnn.cli.failures import resumable
    from sekgnn.cli.progress import progress_bar
    from sekgnn.files import write_files
    from sekgnn.graphs.extras import require
    from sekgnn.parallel import Progress
    from sekgnn.reports.brec_page import brec_page, brec_png

    require("igraph", "iso")
    output.mkdir(parents=True, exist_ok=True)
    partial = output / "exact.partial.json"
    with ExitStack() as stack, resumable():

        def row(label: str) -> Progress | None:
            stack.close()  # the bar of the row before
            return stack.enter_context(progress_bar(label, shown=shown))

        board = run_board(BOARD, partial=partial, progress=row, **settings)
    files = {
        "exact.png": brec_png(board),
        "exact.md": brec_page(board).encode(),
        "exact.json": board.to_json().encode(),
    }
    write_files(output, files)
    partial.unlink(missing_ok=True)
    if json:
        typer.echo(board.to_json(), nl=False)
        return
    for entry in board.rows:
        score = entry.score
        typer.echo(f"{score.separated:>4}  {score.seconds:>8.2f} s  {entry.label}")
    typer.echo(
        f"{board.false_separations} false separations; wrote exact.json, exact.md and "
        f"exact.png to {output}"
    )
