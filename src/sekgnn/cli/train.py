"""``sekgnn train``: data in, a trained and tested model out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
from sekgnn.training.settings import PRESET_NAMES

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
    repeats: int = option(
        1, "number of runs, each with the next seed, to see what chance does", low=1
    ),
    json: bool = JSON,
    quiet: bool = QUIET,
    **keys: Any,
) -> None:
    """Train a model, test it, and leave a run folder.

    The folder holds config.yaml, model.safetensors, metrics.csv, predictions.csv and
    record.json. If the run is interrupted, the same command continues it. With
    --repeats it holds a run folder per seed, and the mean of every result is shown with
    its standard error.
    """
    from sekgnn.training.settings import chosen_config

    settings, words = chosen_config(config, flag_keys(data, keys), preset)
    import torch

    from sekgnn.parallel import resolve_threads
    from sekgnn.training.repeats import train_repeats
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
    # an ensemble is spread over processes only if that is asked for
    jobs = jobs or (1 if settings.protocol == "holdout" else usable)
    with progress_stages(shown=shown) as stage, resumable():
        options: dict[str, Any] = {
            "data_root": data_root,
            "jobs": jobs,
            "encoding_progress": stage("encoding"),
            "progress": stage("training"),
            "status": stage.begin,
            "report": epoch_report(stage.detail, settings.epochs),
        }
        if repeats > 1:
            folder = output or folder.with_name(f"{folder.name}-repeats")
            records = train_repeats(settings, folder, repeats, **options)
        else:
            run(output=folder, config=settings, **options)
    if not main:
        return
    if repeats > 1:
        if json:
            say(repeats_json(records), nl=False)
        elif not quiet:
            print_repeats([*records.values()])
            say(f"run folders: {', '.join(map(str, records))}")
        return
    record = RunRecord.load(folder)  # rounded, as the same command finds it later
    if json:
        say(results_json(record), nl=False)
    elif not quiet:
        print_results(record)
        for reason, count in (record.data.get("left_out") or {}).items():
            say(f"left out: {count} {reason}")
        for line in record.data.get("notes") or ():
            say(f"data: {line}")
        sentence = record.baseline_sentence()
        if sentence is not None:
            say(sentence)
        say(f"run folder: {folder}")


def epoch_report(
    detail: Callable[[str], None], epochs: int
) -> Callable[[int, dict[str, float]], None]:
    """Return what shows the loss of every epoch, and the first metric that is watched.

    Example:
        >>> report = epoch_report(print, 60)
        >>> report(7, {"lr": 0.002, "train_loss": 0.25, "val_loss": 0.4, "val_mae": 1})
        epoch 7 of 60: training loss 0.25, val_mae 1
    """

    def report(epoch: int, values: dict[str, float]) -> None:
        text = f"epoch {epoch} of {epochs}: training loss {values['train_loss']:.4g}"
        watched = [name for name in values if name.startswith(("val_", "test_"))]
        metric = next((name for name in watched if not name.endswith("_loss")), None)
        if metric is not None:
            text += f", {metric} {values[metric]:.4g}"
        detail(text)

    return report


def results_json(record: RunRecord) -> str:
    """Return the results of a run as JSON, with ``null`` for non-finite numbers."""
    import json

    values = json.loads(record.to_json())
    shown = {name: values[name] for name in ("protocol", "results", "baseline")}
    return json.dumps(shown, indent=2) + "\n"


def repeats_json(records: Mapping[Path, RunRecord]) -> str:
    """Return the results of several runs as JSON, and where the runs are."""
    import json

    from sekgnn.training.repeats import repeated_results
    from sekgnn.training.run_record import plain_json

    rows = [row._asdict() for row in repeated_results([*records.values()])]
    values = {"runs": [*map(str, records)], "results": plain_json(rows)}
    return json.dumps(values, indent=2) + "\n"


def print_repeats(records: Sequence[RunRecord]) -> None:
    """Print the mean of every result over several runs, and its standard error."""
    from sekgnn.training.repeats import repeated_results

    rows = [
        (row.metric, f"{row.mean:.5g} ± {row.error:.2g}", *(f"{v:.4g}" for v in row[1]))
        for row in repeated_results(records)
    ]
    seeds = [f"seed {record.config['seed']}" for record in records]
    title = _title(records[0])
    print_table(title, ("metric", "mean ± standard error", *seeds), rows)


def print_results(record: RunRecord) -> None:
    """Print the results of a run, each with how its epoch was selected."""
    rows = [
        (
            result.metric,
            f"{result.value:.5g}"
            + (f" ± {result.spread:.2g}" if result.spread is not None else ""),
            result.protocol,
            result.selected_on,
        )
        for result in record.results
        if not result.metric.endswith("]")
    ]
    head = ("metric", "value", "protocol", "the epoch was chosen by")
    same = {row[2:] for row in rows}
    if len(same) == 1:  # said once
        print_table(_title(record), head[:2], [row[:2] for row in rows])
        ((protocol, selected_on),) = same
        say(f"protocol {protocol}; the epoch was chosen by {selected_on}")
    else:
        print_table(_title(record), head, rows)
    metrics, targets_rows = record.target_table()
    if targets_rows:
        short = [metric.removeprefix("test_") for metric in metrics]
        kept = [
            i for i, name in enumerate(short)
            if name != "unit" or any(row[i] for row in targets_rows)
        ]  # fmt: skip
        units = "in its unit, " if record.data.get("kind") == "regression" else ""
        print_table(
            f"each target, {units}test part",
            [short[i] for i in kept],
            [[row[i] for i in kept] for row in targets_rows],
        )


def _title(record: RunRecord) -> str:
    name = record.data["name"]
    targets = ", ".join(record.data["targets"])
    title = f"{name}: {targets} · {record.config['model']}"
    split_by = record.config.get("split_by", ["random"])
    if split_by != ["random"]:
        title += f" · split by {' '.join(split_by)}"
    return title
