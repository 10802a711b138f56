"""``sekgnn evaluate``: test a finished run again, or on other graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sekgnn.cli.failures import say
from sekgnn.cli.shared_options import DataRoot, Device, Json, SkipInvalid, SmilesColumn


def evaluate(
    run: Annotated[Path, typer.Argument(help="run folder, or model file with INPUT")],
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="[INPUT]",
            help="other graphs with targets: CSV, Parquet or JSON lines file, or "
            "TU folder",
            show_default="the run's own data",
        ),
    ] = None,
    part: Annotated[
        str, typer.Option(help="part of the run's own data: train, val or test")
    ] = "test",
    target: Annotated[
        list[str] | None,
        typer.Option(
            help="columns or keys of INPUT that hold the targets",
            show_default="as in training",
        ),
    ] = None,
    smiles: SmilesColumn = None,
    skip_invalid: SkipInvalid = False,
    data_root: DataRoot = None,
    accelerator: Device = "auto",
    json: Json = False,
) -> None:
    """Measure a trained model: on its own test graphs, or on others with targets."""
    import json as json_format
    import math

    from sekgnn.training.predictor import evaluate_file, evaluate_run

    if data is None:
        folds = evaluate_run(run, part, data_root, accelerator)
        name = f"{part} graphs of {run}"
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
        plain = {k: v if math.isfinite(v) else None for k, v in metrics.items()}
        values = {"of": name, "folds": len(folds), "metrics": plain}
        say(json_format.dumps(values, indent=2))
        return
    say(name + (f", mean of {len(folds)} folds" if len(folds) > 1 else ""))
    for metric, value in metrics.items():
        say(f"  {metric:<18} {value:.6g}")
