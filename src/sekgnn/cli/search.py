"""``sekgnn search``: the config that is best on validation graphs."""

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
    merged_config,
    option,
    with_config_options,
)
from sekgnn.cli.printing import print_table, progress_stages, say

if TYPE_CHECKING:
    from sekgnn.search import SearchRecord


@with_config_options
def search(
    data: str | None = typer.Argument(
        None,
        help="dataset, or file or folder of your own, as for train",
        show_default=False,
    ),
    *,
    space: str = option(
        ...,
        "search space: molecules; tu, counting, graph_property, qm9 (the paper's); or "
        "a YAML file",
    ),
    trials: int | None = option(
        None,
        "number of trials in all, earlier ones included",
        shown="30, or the whole grid",
    ),
    output: Path | None = option(
        None,
        "folder for the results",
        "--output",
        "-o",
        shown="searches/DATA-MODEL-SPACE",
    ),
    config: Path | None = CONFIG_FILE,
    sampler: str = option("tpe", "how trials are proposed: tpe, random or grid"),
    pruner: str = option(
        "median", "how poor trials are stopped: median, hyperband or none"
    ),
    storage: str | None = option(
        None,
        "URL of an Optuna storage, to spread a search over machines",
        shown="study.db in the folder",
    ),
    study_name: str = option("search", "name of the study"),
    jobs: int = option(1, "number of trials to run side by side"),
    timeout: float | None = option(None, "start no trial after this many seconds"),
    data_root: Path | None = DATA_ROOT,
    threads: int = THREADS,
    json: bool = JSON,
    quiet: bool = QUIET,
    **keys: Any,
) -> None:
    """Search for the config that is best on validation graphs.

    The folder holds best.yaml, ready for sekgnn train -c, trials.csv and search.json.
    The same command continues a search, up to --trials in all; several may work on one
    study at once. Test graphs are not looked at.
    """
    from sekgnn.checks import require
    from sekgnn.training.space import load_space

    settings = merged_config(data, config, keys)
    wanted = load_space(space)
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
    """Print the best trial and the criterion of its selection."""
    assert record.best is not None
    rows = [(key, str(value)) for key, value in record.best["keys"].items()]
    rows.append((record.monitor, f"{record.best['value']:.5g}"))
    title = f"best of {record.done} trials"
    print_table(title, ("key", "value"), rows, title_justify="left")
    counts = ", ".join(f"{n} {state}" for state, n in record.trials.items() if n)
    say(f"trials: {counts}")
    say(f"selected on: {record.selected_on}; no test graph was looked at")
    say(f"train it: sekgnn train -c {folder / 'best.yaml'}")
