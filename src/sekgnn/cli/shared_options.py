"""Options that several commands have, described once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sekgnn.training.config import DEVICES

DataRoot = Annotated[
    Path | None,
    typer.Option(help="folder of benchmark data", show_default="$SEKGNN_DATA"),
]
TrainedModel = Annotated[Path, typer.Argument(help="run folder or model file")]
NewGraphs = Annotated[
    Path,
    typer.Argument(
        metavar="INPUT", help="graphs: CSV, Parquet or JSON lines file, or TU folder"
    ),
]
Threads = Annotated[
    int,
    typer.Option(
        help="number of torch threads; more than one pays only on large graphs"
    ),
]
Device = Annotated[
    str,
    typer.Option("--accelerator", help=f"device to predict on: {', '.join(DEVICES)}"),
]
SmilesColumn = Annotated[
    str | None,
    typer.Option(help="column that holds SMILES", show_default="as in training"),
]
SkipInvalid = Annotated[
    bool, typer.Option(help="leave out SMILES that rdkit cannot read")
]
KernelThreads = Annotated[
    int | None,
    typer.Option(
        help="number of threads of compiled kernels", show_default="all usable cores"
    ),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config", "-c", help="YAML file with config keys", show_default="none"
    ),
]
Json = Annotated[bool, typer.Option("--json", help="print one JSON object")]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet", "-q", help="show no progress and no summary of what is written"
    ),
]
