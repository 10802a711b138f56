"""``sekgnn explore``: a page to see in what tests see of two graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sekgnn.cli.failures import say
from sekgnn.cli.wl import GRAPH, NoLabels, UndirectedEdges
from sekgnn.cli.wl_options import build_test, with_test_options


@with_test_options
def explore(
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="page to write (.html), or folder for a gallery"
        ),
    ],
    first: Annotated[str, typer.Argument(metavar="A", help=GRAPH)] = "",
    second: Annotated[str, typer.Argument(metavar="B", help=GRAPH)] = "",
    gallery: Annotated[
        bool, typer.Option("--gallery", help="write six famous pairs and an index")
    ] = False,
    no_labels: NoLabels = False,
    undirected: UndirectedEdges = "error",
    **options: Any,
) -> None:
    """Write a page that shows two graphs, round by round, as each test sees them.

    The page is one file that needs no network: both graphs coloured by class, where
    1-WL, K-hop, Subgraph, SEK and 2-FWL stop and why, and the walks around every node.
    The test that is asked for is the one it begins with.
    """
    from sekgnn.cli.graph_argument import graph_argument
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
    """Write all pages; those before a failure stay."""
    from sekgnn.files import write_files
    from sekgnn.wl.explorer import gallery_pages

    pages = gallery_pages()
    name, page = next(pages)  # whatever is missing is missed before a folder is made
    folder.mkdir(parents=True, exist_ok=True)
    while name:
        write_files(folder, {name: page.encode()})
        name, page = next(pages, ("", ""))
    say(f"wrote {folder / 'index.html'}; open it in a browser")
