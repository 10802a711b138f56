"""``sekgnn predict``: a trained model on new graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sekgnn.cli.failures import say
from sekgnn.cli.shared_options import (
    Device,
    Json,
    NewGraphs,
    Quiet,
    SkipInvalid,
    SmilesColumn,
    Threads,
    TrainedModel,
)


def predict(
    run: TrainedModel,
    data: NewGraphs,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="CSV file to write", show_default="stdout"),
    ] = None,
    smiles: SmilesColumn = None,
    skip_invalid: SkipInvalid = False,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            help="columns or keys of INPUT to write before the predictions; row is its "
            "number there",
            show_default="all columns of a table",
        ),
    ] = None,
    chunk_size: Annotated[
        int, typer.Option(help="number of graphs in memory at a time")
    ] = 1024,
    threads: Threads = 1,
    accelerator: Device = "auto",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Predict for new graphs, with class probabilities.

    The columns of a table are kept, in their order, and predictions added.
    Input is read and written piece by piece, so it may be larger than memory. The
    output appears only when it is complete. Graphs that do not fit the model are
    refused.
    """
    import sys
    from contextlib import ExitStack

    from sekgnn.checks import check_positive
    from sekgnn.cli.failures import note
    from sekgnn.cli.progress import progress_bar
    from sekgnn.errors import ConfigError
    from sekgnn.files import atomic_path

    check_positive("--chunk-size", chunk_size)
    check_positive("--threads", threads)
    if output is None and json:
        raise ConfigError("--json prints to stdout; name a file with --output.")
    import torch

    from sekgnn.training.predictor import Predictor, predict_stream

    torch.set_num_threads(threads)
    predictor = Predictor.load(run, accelerator)
    options: dict[str, Any] = {
        "smiles": smiles,
        "skip_invalid": skip_invalid,
        "columns": columns or None,
        "chunk_size": chunk_size,
    }
    screen = output is None and sys.stdout.isatty()  # where a bar would be in the way
    bar = progress_bar("graphs", shown=not (quiet or json or screen))
    with ExitStack() as stack:
        progress, file = stack.enter_context(bar), sys.stdout
        if output is not None:
            draft = stack.enter_context(atomic_path(output))
            file = stack.enter_context(draft.open("w", newline=""))
        done = predict_stream(predictor, data, file, progress=progress, **options)
    if output is None:
        if done.skipped and not quiet:
            note(done.sentence().rstrip(";") + ".")
    elif json:
        import json as json_format
        from dataclasses import asdict

        say(json_format.dumps(asdict(done), indent=2))
    elif not quiet:
        say(f"{done.sentence()} wrote {output}")
