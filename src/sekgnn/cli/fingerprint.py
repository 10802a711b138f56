"""``sekgnn fingerprint``: what a trained network makes of graphs, as vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sekgnn.cli.shared_options import (
    Device,
    NewGraphs,
    Quiet,
    SkipInvalid,
    SmilesColumn,
    Threads,
    TrainedModel,
)


def fingerprint(
    run: TrainedModel,
    data: NewGraphs,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="file to write, .npz or .parquet")
    ],
    smiles: SmilesColumn = None,
    skip_invalid: SkipInvalid = False,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            help="columns or keys of INPUT to write before the vectors; row is its "
            "number there",
            show_default="all columns of a table",
        ),
    ] = None,
    threads: Threads = 1,
    accelerator: Device = "auto",
    quiet: Quiet = False,
) -> None:
    """Write the vectors of graphs that a trained network has learned.

    A vector is what the last layer of the network reads; those of an ensemble
    stand one after the other. An npz file holds them as vectors, float32
    [G, C], and every column under its own name; a Parquet file one row per
    graph, the vector in columns v0, v1, ...
    """
    from sekgnn.checks import check_positive
    from sekgnn.cli.progress import progress_bar
    from sekgnn.errors import ConfigError

    if output.suffix not in (".npz", ".parquet"):
        raise ConfigError(f"--output must end in .npz or .parquet, got {output}.")
    check_positive("--threads", threads)
    import torch

    from sekgnn.training.fingerprint import write_fingerprints

    torch.set_num_threads(threads)
    with progress_bar("graphs", shown=not quiet) as progress:
        done = write_fingerprints(
            run,
            data,
            output,
            smiles=smiles,
            skip_invalid=skip_invalid,
            columns=columns or None,
            accelerator=accelerator,
            progress=progress,
        )
    if not quiet:
        words = done.sentence().replace("predicted", "made vectors of")
        typer.echo(f"{words} wrote {output}")
