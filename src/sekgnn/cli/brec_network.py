"""``sekgnn brec --model``: a trained network on the pairs of BREC."""

from __future__ import annotations

import json as json_format
import shutil
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from sekgnn.checks import check_positive
from sekgnn.cli.config_options import merged_config
from sekgnn.cli.failures import say
from sekgnn.cli.field_flags import default_text
from sekgnn.cli.wl_options import Flag, flags_of_tests, said_defaults
from sekgnn.errors import ConfigError

_UNUSED = ("edge_features", "max_neighbors")  # BREC's graphs are small and plain


def _about(help: str, default: Any = None, **more: Any) -> Any:
    return field(default=default, metadata={"help": help, **more})


@dataclass(frozen=True)
class _Row:
    """Options of a row of the scoreboard."""

    name: str | None = _about("name of the row", shown="that of the model")
    subset: str | None = _about(
        "numbers of the pairs that the recipe was chosen on, such as 0-59,110, or a "
        "file with them"
    )
    numbers: str | None = _about(
        "numbers of the pairs to train on, such as 0-59,110, or a file with them",
        shown="all",
    )
    jobs: int = _about("number of pairs to train on side by side", 1)


def _sections() -> dict[str, list[Any]]:
    """Return the fields that describe a network, its training and its row."""
    from sekgnn.brec.model_score import RPCProtocol
    from sekgnn.training.config import config_fields

    keys = [
        item
        for item in config_fields()
        if (item.metadata["section"] in ("model", "encoding") or item.name == "dtype")
        and item.name not in _UNUSED
    ]
    return {
        "Which network": keys,
        "Its training": [*fields(RPCProtocol)],
        "Its row": [*fields(_Row)],
    }


def all_flags() -> list[Flag]:
    """Return the options of tests, some of which networks have, then the others'."""
    networks = {item.name: item for item in _sections()["Which network"]}
    return [
        *(_shared(item, networks.get(item.key)) for item in flags_of_tests()),
        *flags_of_networks(),
    ]


def _shared(item: Flag, key: Any) -> Flag:
    """Return the flag of a test, which says what it is to networks, too."""
    about = dict(item.metadata)
    if key is not None:
        about["help"] += ", networks"
        defaults = {text: [*who] for text, who in about["defaults"].items()}
        defaults.setdefault(_default(key), []).append("networks")
        about["shown"] = said_defaults(defaults)
        about["several"] |= "tuple" in str(key.type)
    return item._replace(metadata=about)


def _default(item: Any) -> str:
    if item.name == "model":
        return "none: a test"
    return item.metadata.get("shown") or default_text(item)


def flags_of_networks() -> list[Flag]:
    """Return the options of networks that tests do not have, below their headings."""
    of_tests = {item.metadata.get("flag") for item in flags_of_tests()}
    return [
        Flag(
            item.name,
            str(item.type),
            {**item.metadata, "shown": _default(item), "title": title},
        )
        for title, items in _sections().items()
        for item in items
        if "help" in item.metadata and item.name.replace("_", "-") not in of_tests
    ]


def run_network(
    options: dict[str, Any],
    category: list[str] | None,
    data_root: Path | None,
    output: Path,
    threads: int | None,
    json: bool,
    shown: bool,
) -> None:
    """Train a network on every pair, and add its row to the scoreboard.

    Args:
        options: The flags that were given, ``model`` among them.
        category: Categories to look at; all if none are named.
        data_root: The data folder.
        output: The record; a page of the same name is written beside it.
        threads: Of torch, in all processes together.
        json: Whether to print the score as JSON.
        shown: Whether to show progress and a summary.

    Raises:
        ConfigError: If an option means nothing to networks, or a value cannot work.
    """
    from sekgnn.brec.model_score import RPCProtocol
    from sekgnn.cli.failures import resumable
    from sekgnn.cli.progress import progress_bar
    from sekgnn.datasets.brec import BREC

    encodings = options.pop("encodings", None)
    if encodings is not None:
        if len(encodings) > 1:
            raise ConfigError("a network reads one --encoding.")
        options["encoding"] = encodings[0]
    parts: list[dict[str, Any]] = []
    for items in _sections().values():
        names = {item.name for item in items}
        parts.append({k: options.pop(k) for k in names & options.keys()})
    for name in options:
        flag = f"--{name.replace('_', '-')}"
        raise ConfigError(f"{flag} means nothing to --model; leave it out.")
    config = merged_config(None, None, parts[0])
    protocol, row = RPCProtocol(**parts[1]), _Row(**parts[2])
    check_positive("--jobs", row.jobs)
    pairs = BREC(data_root)
    if category:
        pairs = pairs.select(*category)
    import torch

    from sekgnn.brec.trained import Recipe, pair_numbers, pairs_folder, run_recipe
    from sekgnn.files import write_files
    from sekgnn.reports.brec_page import trained_page

    if row.numbers is not None:
        wanted = {*pair_numbers(row.numbers)}
        pairs = BREC.of(pair for pair in pairs if pair.index in wanted)
    subset = None if row.subset is None else pair_numbers(row.subset)
    recipe = Recipe.of(config)
    name = row.name or config.model
    torch.set_num_threads(threads or row.jobs)
    with progress_bar("pairs", shown=shown) as progress, resumable():
        board = run_recipe(
            name,
            recipe,
            output,
            pairs=pairs,
            protocol=protocol,
            subset=subset,
            jobs=row.jobs,
            progress=progress,
        )
    page = output.with_suffix(".md")
    write_files(
        output.parent,
        {
            page.name: trained_page(board).encode(),
            output.name: board.to_json().encode(),
        },
    )
    shutil.rmtree(pairs_folder(output, name), ignore_errors=True)
    (found,) = (each for each in board.rows if each.name == name)
    if json:
        say(json_format.dumps(found.score.to_dict()))
        return
    if not shown:
        return
    say(found.score.table())
    if found.subset is not None:
        rest = found.outside.counts()
        say(
            f"Outside the {len(found.subset)} pairs that it was chosen on: "
            f"{rest.separated} of {rest.total} (released: {rest.released})."
        )
    say(f"wrote {output} and {page.name}")
