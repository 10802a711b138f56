"""``sekgnn brec``: the BREC score of a test or a network."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, fields
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sekgnn.checks import check_positive
from sekgnn.cli.failures import resumable
from sekgnn.cli.options import (
    JSON,
    QUIET,
    flag_of,
    free_field,
    merged_config,
    option,
    with_flags,
)
from sekgnn.cli.printing import progress_bar, progress_stages, say, say_json
from sekgnn.cli.wl_options import build_test, flags_of_tests
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.files import make_folder, visible_names, write_files
from sekgnn.parameters import parameter
from sekgnn.training.config import config_fields

if TYPE_CHECKING:
    from sekgnn.brec.record import AnyScore
    from sekgnn.datasets import BREC

_UNUSED = ("edge_features", "max_neighbors")  # BREC's graphs are small and plain
_FOLDER = Path("results/brec")


@dataclass(frozen=True)
class _Row:
    """Options of a score of a network."""

    name: str | None = parameter(None, "name of the row", shown="that of the model")
    subset: str | None = parameter(
        None,
        "numbers of the pairs that the recipe was chosen on, such as 0-59,110, or a "
        "file with them",
    )
    numbers: str | None = parameter(
        None,
        "numbers of the pairs to train on, such as 0-59,110, or a file with them",
        shown="all",
    )
    jobs: int = parameter(1, "number of pairs to train on side by side")


def _networks() -> dict[str, list[Any]]:
    """Return the fields of a network, of its training and of its row."""
    from sekgnn.brec.protocol import RPCProtocol

    keys = {
        item.name: item
        for item in config_fields()
        if (item.metadata["section"] in ("model", "encoding") or item.name == "dtype")
        and item.name not in _UNUSED
    }
    about = {**keys["model"].metadata, "shown": "none: a test"}
    keys["model"] = free_field("model", keys["model"].type, **about)
    return {
        "Which network": [*keys.values()],
        "Its training": [*fields(RPCProtocol)],
        "Its row": [*fields(_Row)],
    }


def _sections() -> dict[str, list[Any]]:
    """Return the flags of tests, some shared with networks, then those of networks."""
    networks = _networks()
    tests = flags_of_tests(networks["Which network"])
    shared = {flag_of(item) for item in tests}
    return {"Which test": tests} | {
        title: [item for item in items if flag_of(item) not in shared]
        for title, items in networks.items()
    }


@with_flags(_sections)
def brec(
    category: list[str] | None = option(
        None,
        "categories of pairs: basic, simple_regular, strongly_regular, "
        "four_vertex, distance_regular, extension or cfi",
        shown="all",
    ),
    copies: int | None = option(
        None,
        "number of relabelled copies of each graph, never to be separated",
        shown="1; 32 for networks",
        low=0,
    ),
    seed: int | None = option(
        None, "seed of copies and weights", shown="0; 2023 for networks", low=0
    ),
    all: bool = option(False, "run every test and write the results page", "--all"),
    no_run: bool = option(
        False, "write the page of --all again, from exact.json", "--no-run"
    ),
    output: Path | None = option(
        None,
        "folder for the results of --all, JSON file for those of --model",
        "--output",
        "-o",
        shown="results/brec; results/brec/trained.json for networks",
    ),
    data_root: Path | None = option(
        None,
        "BREC as its authors publish it: the folder of the seven raw npy "
        "files, or brec_v3.npy; or a folder of benchmark data",
        "--data",
        "--data-root",
        shown="$SEKGNN_DATA",
    ),
    threads: int | None = option(
        None,
        "number of threads of compiled kernels, or of torch for networks",
        shown="all usable cores; as --jobs for networks",
        low=1,
    ),
    json: bool = JSON,
    quiet: bool = QUIET,
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
    from sekgnn.datasets.wl_benchmarks import BREC

    def pairs() -> BREC:
        every = BREC(data_root)
        return every.select(*category) if category else every

    shown = not (quiet or json)
    test = options.pop("test", None)
    if "model" in options:
        if all or test is not None:
            raise ConfigError("--model scores a network; leave out --test and --all.")
        drawn = {"copies": copies, "seed": seed}
        options |= {key: value for key, value in drawn.items() if value is not None}
        file = output or _FOLDER / "trained.json"
        _run_network(options, pairs, file, threads, json, shown)
        return
    _, *networks = _sections().values()
    for item in chain(*networks):
        if item.name in options:
            raise ConfigError(
                f"{flag_of(item)} is an option of networks; give --model too."
            )
    if no_run and not all:
        raise ConfigError("--no-run writes the page of --all again; give --all too.")
    if all and options:
        raise ConfigError(
            "--all runs the tests of the scoreboard as they are; leave out the options "
            "of a single test."
        )
    folder = output or _FOLDER
    if no_run:
        _write_board(_finished_board(folder), folder, json, shown)
        return
    if "self_loops" in options:  # networks take both; for a test the last one holds
        options["self_loops"] = options["self_loops"][-1]
    chosen = build_test(test or "sek", options)
    settings: dict[str, Any] = {
        "pairs": pairs(),
        "copies": 1 if copies is None else copies,
        "seed": seed or 0,
        "threads": threads,
    }
    if all:
        _run_all(settings, folder, json, shown)
        return
    from sekgnn.brec.exact import score_exact

    with progress_bar("pairs", shown=shown) as progress:
        score = score_exact(chosen, progress=progress, **settings)
    say_json(score.to_dict()) if json else say(score.table())


def _finished_board(folder: Path) -> tuple[AnyScore, ...]:
    from sekgnn.brec.record import read_scores

    cure = "leave out --no-run to make it."
    scores = read_scores(folder / "exact.json", cure.capitalize(), trained=False)
    if not scores:
        raise GraphInputError(f"{folder} has no exact.json; {cure}")
    return scores


def _run_all(settings: dict[str, Any], output: Path, json: bool, shown: bool) -> None:
    """Run the whole scoreboard and write its page."""
    from sekgnn.brec.exact import run_board
    from sekgnn.checks import require
    from sekgnn.wl import ladder

    require("igraph", "iso")
    visible_names(make_folder(output))
    partial = output / "exact.partial.json"
    with progress_stages(shown=shown) as row, resumable():
        scores = run_board(ladder.BOARD, partial=partial, progress=row, **settings)
    _write_board(scores, output, json, shown)
    partial.unlink(missing_ok=True)


def _write_board(
    scores: tuple[AnyScore, ...], output: Path, json: bool, shown: bool
) -> None:
    """Write record, page and figure, and print what they hold."""
    from sekgnn.reports.brec_page import brec_files

    files = brec_files(scores)
    write_files(output, files)
    if json:
        say(files["exact.json"].decode(), nl=False)
    elif shown:
        for score in scores:
            say(f"{score.separated:>4}  {score.seconds:>8.2f} s  {score.label}")
        wrong = sum(score.failures for score in scores)
        names = "exact.json, exact.md and exact.png"
        say(f"{wrong} false separations; wrote {names} to {output}")


def _run_network(
    options: dict[str, Any],
    pairs_of: Callable[[], BREC],
    output: Path,
    threads: int | None,
    json: bool,
    shown: bool,
) -> None:
    """Train a network on every pair, and add its row to the board in ``output``."""
    from sekgnn.brec.protocol import RPCProtocol

    encodings = options.pop("encodings", None)
    if encodings is not None:
        if len(encodings) > 1:
            raise ConfigError("a network reads one --encoding.")
        options["encoding"] = encodings[0]
    network, training, about = (
        {item.name: options.pop(item.name) for item in items if item.name in options}
        for items in _networks().values()
    )
    for name in options:
        flag = f"--{name.replace('_', '-')}"
        raise ConfigError(f"{flag} means nothing to --model; leave it out.")
    config = merged_config(None, None, network)
    protocol, row = RPCProtocol(**training), _Row(**about)
    check_positive("--jobs", row.jobs)
    pairs = pairs_of()
    import torch

    from sekgnn.brec.recipes import Recipe, pair_numbers, pairs_folder, run_recipe
    from sekgnn.reports.brec_page import trained_files

    if row.numbers is not None:
        wanted = {*pair_numbers(row.numbers)}
        pairs = type(pairs).of(pair for pair in pairs if pair.index in wanted)
    subset = None if row.subset is None else pair_numbers(row.subset)
    recipe = Recipe.of(config)
    name = row.name or config.model
    torch.set_num_threads(threads or row.jobs)
    more: dict[str, Any] = {"pairs": pairs, "subset": subset, "jobs": row.jobs}
    with progress_bar("pairs", shown=shown) as progress, resumable():
        scores = run_recipe(
            name, recipe, output, protocol=protocol, progress=progress, **more
        )
    files = trained_files(scores, output.name)
    write_files(output.parent, files)
    shutil.rmtree(pairs_folder(output, name), ignore_errors=True)
    score = next(each for each in scores if each.name == name)
    if json:
        say_json(score.to_dict())
    elif shown:
        say(score.table())
        if score.subset is not None:
            rest = score.outside.counts()
            right = f"{rest['separated']} of {rest['total']}"
            say(
                f"Outside the {len(score.subset)} pairs that it was chosen on: {right} "
                f"(released: {rest['released']})."
            )
        say(f"wrote {output} and {next(iter(files))}")
