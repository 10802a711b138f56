"""``sekgnn search``: which keys of a config are best on validation graphs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sekgnn.cli.config_options import merged_config, with_config_options
from sekgnn.cli.failures import say
from sekgnn.cli.shared_options import ConfigFile, DataRoot, Json, Quiet, Threads

if TYPE_CHECKING:
    from sekgnn.search import SearchRecord


@with_config_options
def search(
    data: Annotated[
        str | None,
        typer.Argument(
            help="dataset, or file or folder of your own, as for train",
            show_default=False,
        ),
    ] = None,
    *,
    space: Annotated[
        str,
        typer.Option(
            help="what to search over: tu, counting, graph_property, qm9 (the paper's "
            "spaces), or a YAML file"
        ),
    ],
    trials: Annotated[
        int | None,
        typer.Option(
            help="number of trials in all, earlier ones included",
            show_default="30, or the whole grid",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="folder for the results",
            show_default="searches/DATA-MODEL-SPACE",
        ),
    ] = None,
    config: ConfigFile = None,
    sampler: Annotated[
        str, typer.Option(help="how trials are proposed: tpe, random or grid")
    ] = "tpe",
    pruner: Annotated[
        str, typer.Option(help="how poor trials are stopped: median, hyperband or none")
    ] = "median",
    storage: Annotated[
        str | None,
        typer.Option(
            help="URL of an Optuna storage, to spread a search over machines",
            show_default="study.db in the folder",
        ),
    ] = None,
    study_name: Annotated[str, typer.Option(help="name of the study")] = "search",
    jobs: Annotated[int, typer.Option(help="number of trials to run side by side")] = 1,
    timeout: Annotated[
        float | None,
        typer.Option(
            help="start no trial after this many seconds", show_default="none"
        ),
    ] = None,
    data_root: DataRoot = None,
    threads: Threads = 1,
    json: Json = False,
    quiet: Quiet = False,
    **keys: Any,
) -> None:
    """Search for the config that is best on validation graphs.

    The folder holds best.yaml, ready for sekgnn train -c, trials.csv and search.json.
    The same command continues a search, up to --trials in all; several may work on one
    study at once. Test graphs are not looked at.
    """
    from sekgnn.checks import check_positive
    from sekgnn.cli.failures import resumable
    from sekgnn.cli.progress import progress_stages
    from sekgnn.graphs.extras import require
    from sekgnn.search.space import load_space

    settings = merged_config(data, config, keys)
    wanted = load_space(space)
    check_positive("--threads", threads)
    require("optuna", "search")
    import torch

    from sekgnn.search.study import search as run_search

    torch.set_num_threads(threads)
    model = settings.model.rpartition(":")[2]
    name = f"{Path(settings.data).stem}-{model}-{Path(space).stem}"
    folder = output or Path("searches") / name
    shown = not (quiet or json)
    with progress_stages(shown=shown) as stage, resumable():
        record = run_search(
            settings,
            wanted,
            folder,
            trials=trials,
            storage=storage,
            study_name=study_name,
            sampler=sampler,
            pruner=pruner,
            jobs=jobs,
            timeout=timeout,
            data_root=data_root,
            encoding_progress=stage("encoding"),
            progress=stage("trials"),
        )
    if json:
        say(record.to_json(), nl=False)
    record.best_config()  # says why, if there is none
    if shown:
        print_best(record, folder)


def print_best(record: SearchRecord, folder: Path) -> None:
    """Print the best trial, and what it was selected on."""
    from rich.console import Console
    from rich.table import Table

    assert record.best is not None
    table = Table(title=f"best of {record.done} trials", title_justify="left")
    table.add_column("key")
    table.add_column("value")
    for key, value in record.best["keys"].items():
        table.add_row(key, str(value))
    table.add_section()
    table.add_row(record.monitor, f"{record.best['value']:.5g}")
    Console().print(table)
    counts = ", ".join(f"{n} {state}" for state, n in record.trials.items() if n)
    say(f"trials: {counts}")
    say(f"selected on: {record.selected_on}; no test graph was looked at")
    say(f"train it: sekgnn train -c {folder / 'best.yaml'}")
