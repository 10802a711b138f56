"""``sekgnn brec``: how many pairs of BREC does a test, or a network, separate?"""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sekgnn.cli.brec_network import all_flags, flags_of_networks, run_network
from sekgnn.cli.failures import say
from sekgnn.cli.field_flags import with_flags
from sekgnn.cli.shared_options import Json, Quiet
from sekgnn.cli.wl_options import build_test

if TYPE_CHECKING:
    from sekgnn.brec.board import Board


@with_flags(all_flags, lambda item: item.metadata.get("title", "Which test"))
def brec(
    category: Annotated[
        list[str] | None,
        typer.Option(
            help="categories of pairs: basic, simple_regular, strongly_regular, "
            "four_vertex, distance_regular, extension or cfi",
            show_default="all",
        ),
    ] = None,
    copies: Annotated[
        int | None,
        typer.Option(
            help="number of relabelled copies of each graph, never to be separated",
            show_default="1; 32 for networks",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            help="seed of copies and weights",
            show_default="0; 2023 for networks",
        ),
    ] = None,
    all: Annotated[
        bool, typer.Option("--all", help="run every test and write the results page")
    ] = False,
    no_run: Annotated[
        bool,
        typer.Option("--no-run", help="write the page of --all again, from exact.json"),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="folder for the results of --all, JSON file for those of --model",
            show_default="results/brec; results/brec/trained.json for networks",
        ),
    ] = None,
    data_root: Annotated[
        Path | None,
        typer.Option(
            "--data",
            "--data-root",
            help="BREC as its authors publish it: the folder of the seven raw npy "
            "files, or brec_v3.npy; or a folder of benchmark data",
            show_default="$SEKGNN_DATA",
        ),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(
            help="number of threads of compiled kernels, or of torch for networks",
            show_default="all usable cores; as --jobs for networks",
        ),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    **options: Any,
) -> None:
    """Score a Weisfeiler-Lehman test, or a network, on the 400 pairs of BREC.

    Every graph is also compared with relabelled copies of itself, and the
    number of false separations is printed.

    --all writes exact.json, exact.md and exact.png to the output folder. What
    an interrupted run has finished is kept in exact.partial.json: the same
    command continues from there. With --no-run nothing is tested: page and
    figure are made again from exact.json.

    --model trains a new network on each pair, and adds a row to trained.json
    and trained.md. The same command continues an interrupted run; with other
    --numbers or --category the row grows.
    """
    from sekgnn.brec.exact_score import score_exact
    from sekgnn.checks import check_positive
    from sekgnn.cli.progress import progress_bar
    from sekgnn.datasets.brec import BREC
    from sekgnn.errors import ConfigError

    check_positive("--copies", 1 if copies is None else copies, 0)
    check_positive("--seed", seed or 0, 0)
    if threads is not None:
        check_positive("--threads", threads)
    shown = not (quiet or json)
    test = options.pop("test", None)
    if "model" in options:
        if all or test is not None:
            raise ConfigError("--model scores a network; leave out --test and --all.")
        drawn = {"copies": copies, "seed": seed}
        options |= {key: value for key, value in drawn.items() if value is not None}
        file = output or Path("results/brec/trained.json")
        run_network(options, category, data_root, file, threads, json, shown)
        return
    for item in flags_of_networks():
        if item.name in options:
            flag = f"--{item.name.replace('_', '-')}"
            raise ConfigError(f"{flag} is an option of networks; give --model too.")
    if no_run and not all:
        raise ConfigError("--no-run writes the page of --all again; give --all too.")
    if all and options:
        raise ConfigError(
            "--all runs the tests of the scoreboard as they are; leave out the options "
            "of a single test."
        )
    if no_run:
        board = _read_board(output or Path("results/brec"))
        _write_board(board, output or Path("results/brec"), json, shown)
        return
    if "self_loops" in options:  # networks take both; for a test the last one holds
        options["self_loops"] = options["self_loops"][-1]
    chosen = build_test(test or "sek", options)
    pairs = BREC(data_root)
    if category:
        pairs = pairs.select(*category)
    settings: dict[str, Any] = dict(
        pairs=pairs,
        copies=1 if copies is None else copies,
        seed=seed or 0,
        threads=threads,
    )
    if all:
        _run_all(settings, output or Path("results/brec"), json, shown)
        return
    with progress_bar("pairs", shown=shown) as progress:
        score = score_exact(chosen, progress=progress, **settings)
    say(json_format.dumps(score.to_dict()) if json else score.table())


def _run_all(settings: dict[str, Any], output: Path, json: bool, shown: bool) -> None:
    """Run the whole scoreboard and write its page."""
    from contextlib import ExitStack

    from sekgnn.brec.board import BOARD, run_board
    from sekgnn.cli.failures import resumable
    from sekgnn.cli.progress import progress_bar
    from sekgnn.graphs.extras import require
    from sekgnn.parallel import Progress

    require("igraph", "iso")
    output.mkdir(parents=True, exist_ok=True)
    partial = output / "exact.partial.json"
    with ExitStack() as stack, resumable():

        def row(label: str) -> Progress | None:
            stack.close()  # the bar of the row before
            return stack.enter_context(progress_bar(label, shown=shown))

        board = run_board(BOARD, partial=partial, progress=row, **settings)
    _write_board(board, output, json, shown)
    partial.unlink(missing_ok=True)


def _read_board(output: Path) -> Board:
    """Return the scoreboard that was written to a folder."""
    from sekgnn.brec.board import Board
    from sekgnn.errors import GraphInputError

    record = output / "exact.json"
    try:
        return Board.from_json(record.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise GraphInputError(
            f"{record} cannot be read: {error}. Leave out --no-run to make it."
        ) from error


def _write_board(board: Board, output: Path, json: bool, shown: bool) -> None:
    """Write record, page and figure, and say what they hold."""
    from sekgnn.files import write_files
    from sekgnn.reports.brec_page import brec_page, brec_png

    files = {
        "exact.png": brec_png(board),
        "exact.md": brec_page(board).encode(),
        "exact.json": board.to_json().encode(),
    }
    write_files(output, files)
    if json:
        say(board.to_json(), nl=False)
        return
    if not shown:
        return
    for entry in board.rows:
        score = entry.score
        say(f"{score.separated:>4}  {score.seconds:>8.2f} s  {entry.label}")
    say(
        f"{board.false_separations} false separations; wrote exact.json, exact.md and "
        f"exact.png to {output}"
    )
