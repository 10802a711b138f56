"""``sekgnn wl``: does a test separate two graphs, and why?"""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sekgnn.cli.failures import say
from sekgnn.cli.shared_options import Json, KernelThreads
from sekgnn.cli.wl_options import build_test, with_test_options

if TYPE_CHECKING:
    from sekgnn.graphs import LabelledGraph
    from sekgnn.wl import Verdict

SEPARATED, NOT_SEPARATED = 0, 1
GRAPH = "graph: file, family such as rook:4, smiles:... or graph6:..."
NoLabels = Annotated[
    bool, typer.Option("--no-labels", help="leave out atoms and bonds of SMILES")
]
UndirectedEdges = Annotated[
    str,
    typer.Option(
        help="what to do with edges listed in one direction only: error or add"
    ),
]


@with_test_options
def wl(
    first: Annotated[str, typer.Argument(metavar="A", help=GRAPH)],
    second: Annotated[str, typer.Argument(metavar="B", help=GRAPH)],
    all: Annotated[
        bool, typer.Option("--all", help="run every test and print a row for each")
    ] = False,
    no_labels: NoLabels = False,
    undirected: UndirectedEdges = "error",
    plot: Annotated[
        Path | None,
        typer.Option(
            help="draw both graphs, coloured by round, to this .png, .svg or .pdf",
            show_default="none",
        ),
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(
            help="write the verdict with all that tools/check_certificate.py needs to "
            "check it to this .json",
            show_default="none",
        ),
    ] = None,
    json: Json = False,
    threads: KernelThreads = None,
    **options: Any,
) -> None:
    """Say whether a Weisfeiler-Lehman test separates two graphs, and why.

    The exit code is 0 if they are separated, 1 if not, 2 after an error. With
    --all it is 0 if any test separates them.
    """
    from sekgnn.checks import check_positive
    from sekgnn.cli.graph_argument import graph_argument
    from sekgnn.errors import ConfigError
    from sekgnn.files import write_atomically
    from sekgnn.wl import compare

    if plot is not None and plot.suffix not in (".png", ".svg", ".pdf"):
        raise ConfigError(f"--plot writes .png, .svg or .pdf, got {str(plot)!r}.")
    if threads is not None:
        check_positive("--threads", threads)
    test = options.pop("test", "sek")
    if all and (plot or certificate or options):
        raise ConfigError(
            "--all runs every test with its defaults; leave out --plot, --certificate "
            "and the options of a single test."
        )
    chosen = build_test(test, options)
    a, b = (
        graph_argument(text, labels=not no_labels, undirected=undirected)
        for text in (first, second)
    )
    if all:
        apart = _ask_all(a, b, (first, second), json, threads)
        raise typer.Exit(SEPARATED if apart else NOT_SEPARATED)
    verdict = compare(a, b, chosen, names=(first, second), threads=threads)
    if plot is not None:
        verdict.plot(plot)
    if certificate is not None:
        content = json_format.dumps(verdict.certificate()).encode()
        write_atomically(certificate, lambda file: file.write(content))
    say(verdict.to_json() if json else verdict.explain())
    raise typer.Exit(SEPARATED if verdict.separated else NOT_SEPARATED)


def _ask_all(
    first: LabelledGraph,
    second: LabelledGraph,
    names: tuple[str, str],
    json: bool,
    threads: int | None,
) -> bool:
    """Print a row per test, as each is done; tell whether any separates."""
    from sekgnn.cli.failures import note
    from sekgnn.errors import GraphInputError, MissingExtraError
    from sekgnn.wl import TESTS, compare
    from sekgnn.wl.batch import Batch

    Batch.of((first, second))  # what no test takes is an error, not a verdict
    found = []
    if not json:
        say(f"{'test':<14}{'verdict':<16}{'round':>6}{'rounds':>8}{'seconds':>9}")
    for name in TESTS:
        try:
            verdict = compare(first, second, name, names=names, threads=threads)
        except (GraphInputError, MissingExtraError) as error:  # too large, no igraph
            note(f"{name} is left out: {error}")
            continue
        found.append(verdict)
        if not json:
            say(_row(verdict))
    if not found:
        raise GraphInputError("no test could be run, so there is no verdict.")
    if json:
        verdicts = [verdict.to_dict() for verdict in found]
        say(json_format.dumps({"graphs": list(names), "verdicts": verdicts}))
    return any(verdict.separated for verdict in found)


def _row(verdict: Verdict) -> str:
    answer = "separated" if verdict.separated else "not separated"
    at = "" if verdict.round is None else str(verdict.round)
    return (
        f"{verdict.run.test.name:<14}{answer:<16}{at:>6}{verdict.rounds:>8}"
        f"{verdict.seconds:>9.3f}"
    )
