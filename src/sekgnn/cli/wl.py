"""``sekgnn wl`` and ``explore``: do tests tell two graphs apart, and why?"""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sekgnn.cli.options import JSON, KERNEL_THREADS, NO_LABELS, UNDIRECTED, option
from sekgnn.cli.printing import note, say, say_json
from sekgnn.cli.wl_options import build_test, graph_argument, with_test_options

if TYPE_CHECKING:
    from sekgnn.graphs import Graph

SEPARATED, NOT_SEPARATED = 0, 1
GRAPH = "graph: file, family such as rook:4, smiles:... or graph6:..."


@with_test_options
def wl(
    first: str = typer.Argument(..., metavar="A", help=GRAPH),
    second: str = typer.Argument(..., metavar="B", help=GRAPH),
    all: bool = option(False, "run every test and print a row for each", "--all"),
    no_labels: bool = NO_LABELS,
    undirected: str = UNDIRECTED,
    plot: Path | None = option(
        None,
        "draw both graphs, coloured by round, to this .png, .svg or .pdf",
        suffixes=(".png", ".svg", ".pdf"),
    ),
    certificate: Path | None = option(
        None,
        "write the verdict to this .json, which python -m "
        "sekgnn.wl.check_certificate checks",
    ),
    json: bool = JSON,
    threads: int | None = KERNEL_THREADS,
    **options: Any,
) -> None:
    """Say whether a Weisfeiler-Lehman test separates two graphs, and why.

    The exit code is 0 if they are separated, 1 if not, 2 after an error. With
    --all it is 0 if any test separates them.
    """
    from sekgnn.errors import ConfigError
    from sekgnn.files import write_atomically
    from sekgnn.wl import compare

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
        write_atomically(certificate, content)
    say(verdict.to_json() if json else verdict.explain())
    raise typer.Exit(SEPARATED if verdict.separated else NOT_SEPARATED)


def _ask_all(
    first: Graph,
    second: Graph,
    names: tuple[str, str],
    json: bool,
    threads: int | None,
) -> bool:
    """Print each test's row as soon as it is known; return whether any separates."""
    from sekgnn.errors import GraphInputError, MissingExtraError
    from sekgnn.wl import TESTS, compare
    from sekgnn.wl.refinement import Batch

    Batch.of((first, second))  # graphs that no test takes are an error, not a verdict
    verdicts = []
    if not json:
        say(f"{'test':<14}{'verdict':<16}{'round':>6}{'rounds':>8}{'seconds':>9}")
    for name in TESTS:
        try:
            verdict = compare(first, second, name, names=names, threads=threads)
        except (GraphInputError, MissingExtraError) as error:  # too large, no igraph
            note(f"{name} is left out: {error}")
            continue
        verdicts.append(verdict)
        if not json:
            answer = "separated" if verdict.separated else "not separated"
            at = "" if verdict.round is None else verdict.round
            cells = f"{name:<14}{answer:<16}{at:>6}{verdict.rounds:>8}"
            say(f"{cells}{verdict.seconds:>9.3f}")
    if not verdicts:
        raise GraphInputError("no test could be run, so there is no verdict.")
    if json:
        facts = [verdict.to_dict() for verdict in verdicts]
        say_json({"graphs": list(names), "verdicts": facts})
    return any(verdict.separated for verdict in verdicts)


@with_test_options
def explore(
    output: Path = option(
        ..., "page to write (.html), or folder for a gallery", "--output", "-o"
    ),
    first: str = typer.Argument("", metavar="A", help=GRAPH),
    second: str = typer.Argument("", metavar="B", help=GRAPH),
    gallery: bool = option(False, "write six famous pairs and an index", "--gallery"),
    no_labels: bool = NO_LABELS,
    undirected: str = UNDIRECTED,
    **options: Any,
) -> None:
    """Write a page that shows two graphs, round by round, as each test sees them.

    The page is one file that needs no network: both graphs coloured by class, where
    1-WL, K-hop, Subgraph, SEK and 2-FWL stop and why, and the walks around every node.
    It begins with the chosen test.
    """
    from sekgnn.errors import ConfigError
    from sekgnn.wl import compare
    from sekgnn.wl.explorer.page import check_sizes

    if gallery:
        if first or options:
            raise ConfigError(
                "--gallery has its own pairs and tests; leave out graphs and the "
                "options of a test."
            )
        _write_gallery(output)
        return
    if not second:
        raise ConfigError("explore takes two graphs, A and B, or --gallery.")
    if output.suffix not in (".html", ".htm"):
        raise ConfigError(
            f"--output is a page, such as page.html, got {str(output)!r}."
        )
    chosen = build_test(options.pop("test", "sek"), options)
    a, b = (
        graph_argument(text, labels=not no_labels, undirected=undirected)
        for text in (first, second)
    )
    check_sizes([a.num_nodes, b.num_nodes])  # before tests take their time
    verdict = compare(a, b, chosen, names=(first, second))
    page = verdict.to_html(output)
    say(verdict.sentence())
    say(f"wrote {output} ({len(page) / 1000:,.0f} kB); open it in a browser")


def _write_gallery(folder: Path) -> None:
    """Write all pages; after a failure the earlier ones stay."""
    from sekgnn.files import write_files
    from sekgnn.wl.explorer.gallery import gallery_pages

    pages = gallery_pages()
    name, page = next(pages)  # a missing extra is an error before a folder is made
    folder.mkdir(parents=True, exist_ok=True)
    while name:
        write_files(folder, {name: page.encode()})
        name, page = next(pages, ("", ""))
    say(f"wrote {folder / 'index.html'}; open it in a browser")
