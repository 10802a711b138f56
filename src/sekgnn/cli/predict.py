"""``sekgnn predict``, ``fingerprint`` and ``evaluate``: a trained model on graphs."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

import typer

from sekgnn.cli.options import (
    COLUMNS,
    DATA_ROOT,
    DEVICE,
    JSON,
    NEW_GRAPHS,
    QUIET,
    SKIP_INVALID,
    SMILES,
    THREADS,
    TRAINED_MODEL,
    option,
)
from sekgnn.cli.printing import note, progress_bar, say, say_json
from sekgnn.errors import ConfigError
from sekgnn.files import atomic_path


def predict(
    run: Path = TRAINED_MODEL,
    data: Path = NEW_GRAPHS,
    output: Path | None = option(
        None, "CSV file to write", "--output", "-o", shown="stdout"
    ),
    smiles: list[str] | None = SMILES,
    skip_invalid: bool = SKIP_INVALID,
    columns: list[str] | None = COLUMNS,
    chunk_size: int = option(1024, "number of graphs in memory at a time", low=1),
    threads: int = THREADS,
    accelerator: str = DEVICE,
    json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Predict for new graphs, with class probabilities.

    The columns of a table are kept in order, and predictions are appended.
    Input is read and written piece by piece, so it may be larger than memory. The
    output appears only when it is complete. Graphs that do not fit the model are
    refused. With --skip-invalid, rows whose SMILES cannot be read have blank
    predictions, and are named.
    """
    if output is None and json:
        raise ConfigError("--json prints to stdout; name a file with --output.")
    import torch

    from sekgnn.training.predict_file import FilePredictions
    from sekgnn.training.predictor import Predictor

    torch.set_num_threads(threads)
    done = FilePredictions(
        Predictor.load(run, accelerator),
        data,
        smiles=smiles,
        skip_invalid=skip_invalid,
        columns=columns or None,
    )
    screen = output is None and sys.stdout.isatty()  # a bar would be in the way
    bar = progress_bar("graphs", shown=not (quiet or json or screen))
    with ExitStack() as stack:
        progress = stack.enter_context(bar)
        file: TextIO = sys.stdout
        if output is not None:
            draft = stack.enter_context(atomic_path(output))
            opened = draft.open("w", encoding="utf-8", newline="")
            file = stack.enter_context(opened)
        elif isinstance(file, TextIOWrapper) and not screen:
            file.reconfigure(encoding="utf-8")  # as in a file, whatever the locale
        done.write(file, chunk_size=chunk_size, progress=progress)
    if output is None:
        if done.skipped and not quiet:
            note(done.sentence().rstrip(";") + ".")
    elif json:
        say_json(done.to_dict(), indent=2)
    elif not quiet:
        say(f"{done.sentence()} wrote {output}")


def fingerprint(
    run: Path = TRAINED_MODEL,
    data: Path = NEW_GRAPHS,
    output: Path = option(
        ...,
        "file to write, .npz or .parquet",
        "--output",
        "-o",
        suffixes=(".npz", ".parquet"),
    ),
    smiles: list[str] | None = SMILES,
    skip_invalid: bool = SKIP_INVALID,
    columns: list[str] | None = COLUMNS,
    threads: int = THREADS,
    accelerator: str = DEVICE,
    quiet: bool = QUIET,
) -> None:
    """Write the vectors that a trained network has learned for graphs.

    A vector is the input of the network's last layer; those of an ensemble are
    concatenated. An npz file holds the array vectors, float32 [G, C], and an
    array per column; a Parquet file holds one row per graph, with the vector
    in columns v0, v1, ...
    """
    import torch

    from sekgnn.training.predict_file import FilePredictions
    from sekgnn.training.predictor import Predictor

    torch.set_num_threads(threads)
    done = FilePredictions(
        Predictor.load(run, accelerator),
        data,
        smiles=smiles,
        skip_invalid=skip_invalid,
        columns=columns or None,
    )
    with progress_bar("graphs", shown=not quiet) as progress:
        done.write_vectors(output, progress=progress)
    if not quiet:
        words = done.sentence().replace("predicted", "made vectors of")
        say(f"{words} wrote {output}")


def evaluate(
    run: Path = typer.Argument(..., help="run folder, or model file with INPUT"),
    data: Path | None = typer.Argument(
        None,
        metavar="[INPUT]",
        help="other graphs with targets: CSV, Parquet or JSON lines file, or TU folder",
        show_default="the run's own data",
    ),
    part: str = option("test", "part of the run's own data: train, val or test"),
    target: list[str] | None = option(
        None, "columns or keys of INPUT that hold the targets", shown="as in training"
    ),
    smiles: list[str] | None = SMILES,
    skip_invalid: bool = SKIP_INVALID,
    data_root: Path | None = DATA_ROOT,
    accelerator: str = DEVICE,
    json: bool = JSON,
) -> None:
    """Measure a trained model: on its own test graphs, or on others with targets."""
    from sekgnn.training.predict_file import evaluate_file, evaluate_run
    from sekgnn.training.run_record import plain_json

    if data is None:
        folds = evaluate_run(run, part, data_root, accelerator)
        name = f"{part} part of {run}"
    else:
        names = tuple(target or ())
        folds = [
            evaluate_file(
                run,
                data,
                names,
                smiles=smiles,
                skip_invalid=skip_invalid,
                accelerator=accelerator,
            )
        ]
        name = str(data)
    metrics = {
        metric: sum(fold[metric] for fold in folds) / len(folds) for metric in folds[0]
    }
    if json:
        values = {"of": name, "folds": len(folds), "metrics": plain_json(metrics)}
        say_json(values, indent=2)
        return
    say(name + (f", mean of {len(folds)} folds" if len(folds) > 1 else ""))
    for metric, value in metrics.items():
        say(f"  {metric:<18} {value:.6g}")
