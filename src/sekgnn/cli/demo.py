"""``sekgnn demo``: encode, tell apart and count, on made-up graphs."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sekgnn.cli.demo_training import DEMO_EPOCHS, count_cycles

if TYPE_CHECKING:
    from sekgnn.reports.encoding_comparison import Comparison

NAMES = ("rook 4×4", "Shrikhande")
_KINDS = {
    "across_diagonal/1": "walks from a neighbour of v back to it",
    "across_off_diagonal/1": "walks from a neighbour of v to another",
}
_STEPS = (1, 2, 3, 4, 6, 12)


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="folder for the results")
    ] = Path("demo"),
    graphs: Annotated[int, typer.Option(help="how many random graphs")] = 2000,
    seed: Annotated[int, typer.Option(help="of the random graphs")] = 0,
    epochs: Annotated[
        int, typer.Option(help="of training; 0 leaves training out")
    ] = DEMO_EPOCHS,
) -> None:
    """Encode random graphs, tell two famous graphs apart, learn to count 4-cycles.

    Needs no data and no network. Writes encodings.npz, rook_shrikhande.png,
    summary.json, two run folders and a report page to the output folder, replacing
    those of an earlier run.
    """
    from sekgnn.checks import check_positive
    from sekgnn.cli.demo_graphs import demo_graphs
    from sekgnn.cli.encoding_job import Input, run_job
    from sekgnn.cli.progress import progress_bar
    from sekgnn.encoding.spec import WalkEncoding
    from sekgnn.files import write_atomically
    from sekgnn.graphs import rook_graph, shrikhande_graph
    from sekgnn.reports.encoding_comparison import compare_graphs, explain_neighbours
    from sekgnn.reports.encoding_figure import comparison_png

    check_positive("--graphs", graphs)
    check_positive("--seed", seed, 0)
    check_positive("--epochs", epochs, 0)
    output.mkdir(parents=True, exist_ok=True)
    spec = WalkEncoding(
        num_shells=2, walk_length=12, scope=("graph", "internal"), radius=1
    )

    typer.echo(f"1. Encode {graphs} random graphs")
    with progress_bar("drawing graphs") as progress:
        drawn, families = demo_graphs(graphs, seed, progress)
    with progress_bar("encoding") as progress:
        result = run_job(
            Input(drawn),
            spec,
            output / "encodings.npz",
            dtype="float32",
            progress=progress,
        )
    for family, count in families.items():
        typer.echo(f"   {count:>6}  {family}")
    typer.echo(result.sentence())

    typer.echo(f"\n2. Tell {NAMES[0]} from {NAMES[1]}, which 3-WL cannot")
    pair = (rook_graph(4), shrikhande_graph())
    comparison = compare_graphs(*pair, spec)
    _print_tables(comparison)
    figure = output / "rook_shrikhande.png"
    png = comparison_png(pair, NAMES, comparison)
    write_atomically(figure, lambda file: file.write(png))

    typer.echo("\n3. What tells them apart")
    verdicts = [verdict.sentence() for verdict in comparison.scopes]
    why = explain_neighbours(pair, NAMES, comparison)
    for sentence in (*verdicts, why):
        _print_item(sentence)
    errors = count_cycles(output, epochs, seed) if epochs else {}
    summary = {
        "seed": seed,
        "families": families,
        "encoding": result.to_dict(),
        "comparison": {
            "graphs": list(NAMES),
            "scopes": [verdict.to_dict() for verdict in comparison.scopes],
            "verdicts": verdicts,
            "why": why,
        },
        "figure": str(figure),
        "test_mae_of_4_cycles": errors,
    }
    text = json_format.dumps(summary, indent=2, ensure_ascii=False) + "\n"
    record = output / "summary.json"
    write_atomically(record, lambda file: file.write(text.encode()))
    typer.echo(f"\nwrote {figure} and {record}")


def _print_tables(comparison: Comparison) -> None:
    """Print a few numbers of node 0 in both scopes, graph beside graph."""
    from rich.console import Console
    from rich.table import Table

    for kind, meaning in _KINDS.items():
        table = Table(title=f"{kind}: {meaning}, summed")
        table.add_column("t", justify="right")
        for verdict in comparison.scopes:
            for heading in (*NAMES, "gap"):
                table.add_column(f"{verdict.scope}\n{heading}", justify="right")
        for step in _STEPS:
            cells = [str(step)]
            for verdict in comparison.scopes:
                c = comparison.spec.channels.index(f"{verdict.scope}/{kind}")
                a, b = (float(e[0, c, step - 1]) for e in comparison.encodings)
                apart = abs(a - b) > verdict.tolerance
                gap = f"[bold]{abs(a - b):.4f}[/bold]" if apart else "0"
                cells += [f"{a:.4f}", f"{b:.4f}", gap]
            table.add_row(*cells)
        Console().print(table)


def _print_item(sentence: str) -> None:
    import textwrap

    typer.echo(
        textwrap.fill(sentence, 88, initial_indent=" - ", subsequent_indent="   ")
    )
