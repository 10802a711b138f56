"""``sekgnn reproduce``: the runs behind the paper's tables, then the tables."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sekgnn.cli.failures import resumable
from sekgnn.cli.options import DATA_ROOT, JSON, QUIET, THREADS, option
from sekgnn.cli.printing import note, say, say_json

if TYPE_CHECKING:
    from sekgnn.paper.queue import QueueEntry

_NAMES = ("table1", "table2", "table3", "table4", "table5")


def reproduce(
    tables: list[str] = typer.Argument(
        ..., metavar="TABLE...", help="table1, ..., table5, or all"
    ),
    only: list[str] | None = option(
        None,
        "models, datasets, targets or names of runs to keep, such as 'MUTAG-*'",
        shown="all",
    ),
    output: Path = option(
        Path("results"),
        "folder for runs/ and tables/, which may exist",
        "--output",
        "-o",
    ),
    status: bool = option(
        False, "show the state of every run, and train nothing", "--status"
    ),
    train: bool = option(True, "train missing runs before the tables are made"),
    show: str | None = typer.Option(
        None,
        metavar="RUN",
        help="run whose config is printed; trains nothing",
        show_default="none",
    ),
    configs: Path | None = option(
        None, "folder to write the configs to, a file per run; trains nothing"
    ),
    jobs: int = option(1, "number of runs to train side by side", low=1),
    budget: float | None = typer.Option(
        None,
        metavar="HOURS",
        help="hours after which training stops",
        show_default="unlimited",
    ),
    data_root: Path | None = DATA_ROOT,
    threads: int = THREADS,
    json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Train the missing runs behind the paper's tables, and make the tables.

    The shortest run comes first. The same command continues an interrupted one.
    TABLE.md, TABLE.csv and TABLE.png in OUTPUT/tables compare our numbers with the
    paper's in the same metric, and name what each was selected by.
    """
    from sekgnn.checks import check_choice
    from sekgnn.errors import ConfigError
    from sekgnn.paper.recipes import choose, recipes

    if budget is not None and not budget > 0:
        raise ConfigError(f"--budget must be above 0 hours, got {budget:g}.")
    for name in tables:
        check_choice("TABLE", name, (*_NAMES, "all"))
    chosen = _NAMES if "all" in tables else tuple(tables)
    wanted = choose(recipes(chosen), only or [])
    if show is not None:
        names = [recipe.name for recipe in wanted]
        check_choice("--show", show, names)
        say(_yaml(wanted[names.index(show)].keys), nl=False)
        return
    if configs is not None:
        from sekgnn.files import write_files

        configs.mkdir(parents=True, exist_ok=True)
        write_files(configs, {f"{r.name}.yaml": _yaml(r.keys).encode() for r in wanted})
        if not quiet:
            say(f"wrote {len(wanted)} configs to {configs}")
        return
    from sekgnn.paper.queue import (
        count_sentence,
        look,
        shortest_first,
        status_lines,
        train_queue,
    )

    runs = output / "runs"
    places = look(wanted, runs)
    if status:
        say_json(_facts(places)) if json else say("\n".join(status_lines(places)))
        return
    import torch

    from sekgnn.paper.tables import write_table

    torch.set_num_threads(threads)
    waiting = shortest_first(places)
    if not (quiet or json):
        say(count_sentence(places))
    failed: list[str] = []
    if waiting and train:
        with resumable():
            failed = train_queue(
                waiting,
                runs,
                jobs=jobs,
                budget=None if budget is None else 3600 * budget,
                data_root=data_root,
                log=None if quiet or json else say,
            )
    files = []
    for table in chosen:
        every = look(recipes((table,)), runs)
        files += write_table(table, every, runs, output / "tables")
    places = look(wanted, runs)
    if json:
        say_json(_facts(places, failed, files))
    elif not quiet:
        say(count_sentence(places))
        say(f"wrote {', '.join(files)} to {output / 'tables'}")
    for place in places:
        if place.state == "other config":
            note(f"{runs / place.recipe.name} holds a run of another config.")
    if failed:
        raise ConfigError(f"{len(failed)} runs failed. " + "; ".join(failed))


def _yaml(keys: object) -> str:
    import yaml

    return str(yaml.safe_dump(keys, sort_keys=False, default_flow_style=None))


def _facts(
    places: Iterable[QueueEntry], failed: Iterable[str] = (), files: Iterable[str] = ()
) -> dict[str, Any]:
    runs = [place.to_dict() for place in places]
    return {"runs": runs, "failed": [*failed], "files": [*files]}
