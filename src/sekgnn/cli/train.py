"""``sekgnn train``: data in, a trained and tested model out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sekgnn.cli.failures import resumable
from sekgnn.cli.options import (
    CONFIG_FILE,
    DATA_ROOT,
    JSON,
    QUIET,
    THREADS,
    flag_keys,
    option,
    with_config_options,
)
from sekgnn.cli.printing import print_table, progress_stages, say
from sekgnn.training.run_folder import PRESET_NAMES

if TYPE_CHECKING:
    from sekgnn.training.run_record import RunRecord


@with_config_options
def train(
    data: str | None = typer.Argument(
        None,
        help="dataset (counting, graph_property, MUTAG, ..., QM9), or your own "
        "CSV, TSV, Parquet or JSON lines file, TU folder or folder of shards",
        show_default=False,
    ),
    *,
    output: Path | None = option(
        None, "run folder to write", "--output", "-o", shown="runs/DATA-MODEL"
    ),
    config: Path | None = CONFIG_FILE,
    preset: str | None = option(
        None, f"config keys to begin with: {' or '.join(PRESET_NAMES)}"
    ),
    data_root: Path | None = DATA_ROOT,
    jobs: int | None = option(
        None,
        "number of folds, or networks of an ensemble, to train side by side",
        shown="all usable cores for folds, else 1",
        low=1,
    ),
    threads: int = THREADS,
    json: bool = JSON,
    quiet: bool = QUIET,
    **keys: Any,
) -> None:
    """Train a model, test it, and leave a run folder.

    The folder holds config.yaml, model.safetensors, metrics.csv, predictions.csv and
    record.json. If the run is interrupted, the same command continues it.
    """
    from sekgnn.training.run_folder import chosen_config

    settings, words = chosen_config(config, flag_keys(data, keys), preset)
    import torch

    from sekgnn.parallel import resolve_threads
    from sekgnn.training.run import default_folder, is_main_process
    from sekgnn.training.run import train as run
    from sekgnn.training.run_record import RunRecord

    torch.set_num_threads(threads)
    usable = resolve_threads(None)
    folder = output or default_folder(settings)
    main = is_main_process(settings)
    shown = main and not (quiet or json)
    if shown and words:
        say(words)
    with progress_stages(shown=shown) as stage, resumable():
        run(
            output=folder,
            config=settings,
            data_root=data_root,
            # an ensemble is spread over processes only if that is asked for
            jobs=jobs or (1 if settings.protocol == "holdout" else usable),
            encoding_progress=stage("encoding"),
            progress=stage("training"),
        )
    if not main:
        return
    record = RunRecord.load(folder)  # rounded, as the same command finds it later
    if json:
        say(results_json(record), nl=False)
    elif not quiet:
        print_results(record)
        for reason, count in (record.data.get("left_out") or {}).items():
            say(f"left out: {count} {reason}")
        sentence = record.baseline_sentence()
        if sentence is not None:
            say(sentence)
        say(f"run folder: {folder}")


def results_json(record: RunRecord) -> str:
    """Return the results of a run as JSON, with ``null`` for non-finite numbers."""
    import json

    values = json.loads(record.to_json())
    shown = {name: values[name] for name in ("protocol", "results", "baseline")}
    return json.dumps(shown, indent=2) + "\n"


def print_results(record: RunRecord) -> None:
    """Print the results of a run, each with how its epoch was selected."""
    name = record.data["name"]
    targets = ", ".join(record.data["targets"])
    title = f"{name}: {targets} · {record.config['model']}"
    split_by = record.config.get("split_by", ["random"])
    if split_by != ["random"]:
        title += f" · split by {' '.join(split_by)}"
    rows = []
    for result in record.results:
        if result.metric.endswith("]"):
            continue
        value = f"{result.value:.5g}"
        if result.spread is not None:
            value += f" ± {result.spread:.2g}"
        rows.append((result.metric, value, result.protocol, result.selected_on))
    head = ("metric", "value", "protocol", "the epoch was chosen by")
    print_table(title, head, rows)
    metrics, targets_rows = record.target_table()
    if targets_rows:
        short = [metric.removeprefix("test_") for metric in metrics]
        print_table("each target, in its unit, test part", short, targets_rows)
