"""``sekgnn demo`` and ``example``: random graphs and real molecules to start with.

The molecules are every 131st of QM9 as qm9pack lists it, beginning with the 66th: 999
of 130,831. QM9 is in the public domain (CC0): R. Ramakrishnan, P. O. Dral, M. Rupp and
O. A. von Lilienfeld, Scientific Data 1, 140022 (2014).
"""

from __future__ import annotations

import json as json_format
import shutil
import textwrap
from pathlib import Path
from typing import Any

import typer

from sekgnn.cli.options import QUIET, option
from sekgnn.cli.printing import print_table, progress_bar, say
from sekgnn.errors import OutputError
from sekgnn.files import make_folder, visible_names, write_atomically

_KINDS = {
    "across_diagonal/1": "walks from a neighbour of v back to it",
    "across_off_diagonal/1": "walks from a neighbour of v to another",
}
_STEPS = (1, 2, 3, 4, 6, 12)
_MODELS = {"sek-gin": "SEK-GIN", "gin": "GIN"}
_SEK_KEYS: dict[str, Any] = {
    "num_hops": 2,
    "num_shells": 2,
    "walk_length": 6,
    "radius": (1, 2),
}


def demo(
    output: Path = option(Path("demo"), "folder for the results", "--output", "-o"),
    graphs: int = option(2000, "number of random graphs", low=1),
    seed: int = option(0, "seed of the random graphs", low=0),
    epochs: int = option(5, "epochs of training; 0 leaves training out", low=0),
) -> None:
    """Encode random graphs, tell two famous graphs apart, learn to count 4-cycles.

    Needs no data and no network. Writes encodings.npz, rook_shrikhande.png,
    summary.json, two run folders and a report page to the output folder, replacing
    those of an earlier run.
    """
    from sekgnn.datasets import rook_shrikhande
    from sekgnn.datasets.wl_benchmarks import demo_graphs
    from sekgnn.encoding.encoding_file import write_encodings
    from sekgnn.reports.encoding_figure import (
        ENCODING,
        NAMES,
        SHAPES,
        comparison_png,
    )
    from sekgnn.wl import Walks, compare

    visible_names(make_folder(output))

    say(f"1. Encode {graphs} random graphs")
    with progress_bar("drawing graphs") as progress:
        drawn, families = demo_graphs(graphs, seed, progress)
    with progress_bar("encoding") as progress:
        result = write_encodings(
            drawn,
            ENCODING,
            output / "encodings.npz",
            dtype="float32",
            progress=progress,
        )
    for family, count in families.items():
        say(f"   {count:>6}  {family}")
    say(result.sentence())

    say(f"\n2. Tell {NAMES[0]} from {NAMES[1]}, which 3-WL cannot")
    _print_tables()
    walks = {
        "graph": Walks("graph", num_shells=2, walk_length=12),
        "internal1": Walks("internal", radius=1, walk_length=12),
    }
    verdicts = {
        scope: compare(*rook_shrikhande(), encodings=exact, names=NAMES)
        for scope, exact in walks.items()
    }
    figure = output / "rook_shrikhande.png"
    png = comparison_png({s: verdict.separated for s, verdict in verdicts.items()})
    write_atomically(figure, png)

    say("\n3. What tells them apart, in exact arithmetic")
    why = (
        f"Without the node itself, its neighbours form {SHAPES[0]} in {NAMES[0]} and "
        f"{SHAPES[1]} in {NAMES[1]}; a walk that must avoid the node stays in the part "
        "where it starts."
    )
    for verdict in verdicts.values():
        say(textwrap.indent(verdict.explain(), "   "))
    say(textwrap.indent(textwrap.fill(why, 88), "   "))
    errors = _count_cycles(output, epochs, seed) if epochs else {}
    summary = {
        "seed": seed,
        "families": families,
        "encoding": result.to_dict(),
        "comparison": {
            "graphs": list(NAMES),
            "scopes": {s: verdict.to_dict() for s, verdict in verdicts.items()},
            "why": why,
        },
        "figure": str(figure),
        "test_mae_of_4_cycles": errors,
    }
    text = json_format.dumps(summary, indent=2, ensure_ascii=False) + "\n"
    record = output / "summary.json"
    write_atomically(record, text.encode())
    say(f"\nwrote {figure} and {record}")
    say(
        "Next, molecules: sekgnn example molecules.csv && sekgnn train molecules.csv "
        "--target cv"
    )


def _print_tables() -> None:
    """Print some values of one node in both scopes, graph beside graph."""
    from rich.text import Text

    from sekgnn.reports.encoding_figure import NAMES, PLACES, step_values

    values = {scope: step_values(scope) for scope in PLACES}
    for kind, meaning in _KINDS.items():
        rows = []
        for step in _STEPS:
            cells: list[Any] = [str(step)]
            for scope in PLACES:
                a, b = values[scope][kind][:, step - 1]
                apart = abs(a - b) > 1e-9  # far above rounding
                gap = Text(f"{abs(a - b):.4f}", style="bold") if apart else "0"
                cells += [f"{a:.4f}", f"{b:.4f}", gap]
            rows.append(cells)
        head = [f"{scope}\n{name}" for scope in PLACES for name in (*NAMES, "gap")]
        print_table(f"{kind}: {meaning}, summed", ["t", *head], rows, numbers=True)


def _count_cycles(output: Path, epochs: int, seed: int) -> dict[str, float]:
    """Train SEK-GIN and GIN to count 4-cycles, and return the test error of each."""
    import torch

    from sekgnn.paper.paper_numbers import paper_number_of
    from sekgnn.reports.run_report import write_report
    from sekgnn.training.run import train

    say("\n4. Learn to count 4-cycles, from 1500 random graphs")
    torch.set_num_threads(1)  # of graphs this small, more are slower
    errors: dict[str, float] = {}
    for model, name in _MODELS.items():
        folder = output / model
        shutil.rmtree(folder, ignore_errors=True)
        with progress_bar(f"training {name}") as progress:
            record = train(
                "counting",
                folder,
                preset="lbfgs",
                target=("cycle4",),
                generated=True,
                data_seed=seed,
                seed=seed,
                model=model,
                epochs=epochs,
                baseline=False,
                progress=progress,
                **(_SEK_KEYS if model == "sek-gin" else {}),
            )
        errors[model] = record.result("test_mae").value
        say(
            f"   {name:<8} test error {errors[model]:.4f} standard deviations of the "
            f"count ({record.num_parameters:,} parameters, {record.seconds:.0f} s)"
        )
    better = errors["gin"] / errors["sek-gin"]
    say(f"   GIN's error is {better:.0f} times that of SEK-GIN")
    runs = [output / model for model in _MODELS]
    made = write_report(runs, output / "report", published=paper_number_of)
    say(f"   report page: {made.page}")
    return errors


def example(
    output: Path = typer.Argument(Path("molecules.csv"), help="CSV file to write"),
    quiet: bool = QUIET,
) -> None:
    """Write 999 molecules of QM9 with three properties, to train and predict on.

    Columns: smiles; alpha, polarizability in cubic Bohr radii; gap between the frontier
    orbitals in Hartree; cv, heat capacity in cal/(mol K). An existing file is kept.
    """
    from importlib.resources import files

    if output.exists():
        raise OutputError(f"{output} exists; remove it, or name another file.")
    table = files("sekgnn.datasets").joinpath("molecules.csv").read_bytes()
    write_atomically(output, table)
    if not quiet:
        say(
            f"wrote {output}: 999 molecules of QM9 (CC0; Ramakrishnan et al., 2014)\n"
            f"next: sekgnn train {output} --target cv"
        )
