"""``sekgnn theorem1``: the paper's first theorem on random regular graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def theorem1(
    nodes: Annotated[
        list[int] | None,
        typer.Option(
            help="n, nodes of a graph; may be repeated",
            show_default="50, 100, 200, 500, 1000, 2000",
        ),
    ] = None,
    degree: Annotated[
        list[int] | None,
        typer.Option(help="r, at least 3; may be repeated", show_default="3, 4"),
    ] = None,
    hops: Annotated[
        list[int] | None,
        typer.Option(
            help="K, radius of the ego-nets; may be repeated", show_default="1 to 7"
        ),
    ] = None,
    graphs: Annotated[int, typer.Option(help="graphs for each n and r")] = 10,
    seed: Annotated[int, typer.Option(help="of the random graphs")] = 0,
    no_self_loops: Annotated[
        bool, typer.Option("--no-self-loops", help="walk on A instead of A + I")
    ] = False,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="folder for the results")
    ] = Path("results/theorem1"),
    threads: Annotated[
        int | None, typer.Option(help="threads", show_default="all usable cores")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="print the record")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="no progress bar, no summary")
    ] = False,
) -> None:
    """Count which nodes 2K steps of a walk tell apart on random regular graphs.

    Writes theorem1.json, theorem1.md and theorem1.png to the output folder,
    replacing those of an earlier run. What an interrupted run has finished is
    kept in theorem1.partial.json: the same command continues from there.
    """
    from sekgnn.checks import check_positive
    from sekgnn.cli.failures import resumable
    from sekgnn.cli.progress import progress_bar
    from sekgnn.files import write_files
    from sekgnn.graphs.extras import require
    from sekgnn.reports.theorem1_figure import theorem1_png
    from sekgnn.reports.theorem1_page import theorem1_page
    from sekgnn.reports.theorem1_summary import summary
    from sekgnn.studies.theorem1 import run_theorem1
    from sekgnn.studies.theorem1_config import Theorem1Config

    lists = {"nodes": nodes, "degrees": degree, "hops": hops}
    config = Theorem1Config(
        **{name: tuple(values) for name, values in lists.items() if values},
        graphs=graphs,
        seed=seed,
        self_loops=not no_self_loops,
    )
    if threads is not None:
        check_positive("--threads", threads)
    require("igraph", "iso")
    output.mkdir(parents=True, exist_ok=True)
    partial = output / "theorem1.partial.json"
    shown = not (quiet or json)
    with progress_bar("counting", shown=shown) as progress, resumable():
        record = run_theorem1(
            config, partial=partial, threads=threads, progress=progress
        )
    files = {
        "theorem1.png": theorem1_png(record),
        "theorem1.md": theorem1_page(record).encode(),
        "theorem1.json": record.to_json().encode(),
    }
    write_files(output, files)
    partial.unlink(missing_ok=True)
    if json:
        typer.echo(record.to_json(), nl=False)
    elif not quiet:
        typer.echo(summary(record))
        typer.echo(f"wrote theorem1.json, theorem1.md and theorem1.png to {output}")
