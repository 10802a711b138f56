"""Flags of commands: those of several, and those made from fields of dataclasses."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

import typer

from sekgnn.checks import check_choice
from sekgnn.errors import ConfigError
from sekgnn.training.config import DEVICES, PAIR_KEYS, RunConfig, config_fields

F = TypeVar("F", bound=Callable[..., None])
_TYPES: dict[str, Any] = {"int": int, "float": float, "str": str, "bool": bool}


def option(default: Any, help: str, *names: str, shown: str | None = None) -> Any:
    """Return an option; ``shown`` says in words what its default means."""
    said = "none" if default is None and shown is None else shown
    return typer.Option(default, *names, help=help, show_default=said or True)


DATA_ROOT = option(None, "folder of benchmark data", shown="$SEKGNN_DATA")
TRAINED_MODEL = typer.Argument(..., help="run folder or model file")
NEW_GRAPHS = typer.Argument(
    ..., metavar="INPUT", help="graphs: CSV, Parquet or JSON lines file, or TU folder"
)
THREADS = option(1, "number of torch threads; more than one pays only on large graphs")
DEVICE = option("auto", f"device to predict on: {', '.join(DEVICES)}", "--accelerator")
SMILES = option(None, "column that holds SMILES", shown="as in training")
SKIP_INVALID = option(False, "leave out SMILES that rdkit cannot read")
KERNEL_THREADS = option(
    None, "number of threads of compiled kernels", shown="all usable cores"
)
CONFIG_FILE = option(None, "YAML file with config keys", "--config", "-c")
JSON = option(False, "print one JSON object", "--json")
QUIET = option(
    False, "show no progress and no summary of what is written", "--quiet", "-q"
)
NO_LABELS = option(False, "leave out atoms and bonds of SMILES", "--no-labels")
UNDIRECTED = option(
    "error", "what to do with edges listed in one direction only: error or add"
)


def with_flags(
    items: Iterable[Any] | Callable[[], Iterable[Any]], titles: Callable[[Any], str]
) -> Callable[[F], F]:
    """Give a command, whose last parameter is ``**keys``, a flag per field.

    Flags that are not given are not passed on. Fields without help have no flag. Their
    metadata may hold ``help``, ``choices``, ``flag`` if it is not the name, ``several``
    if it takes several values, and ``shown``: what to say about a default. Instead of
    fields, ``items`` may be a function that returns them when the command is used.
    """

    def decorate(command: F) -> F:
        if not callable(items):
            return _flagged(command, items, titles)
        out: Any = _flagged(command, (), titles)
        out.complete = lambda: _flagged(command, items(), titles)
        return cast("F", out)

    return decorate


def _flagged(command: F, items: Iterable[Any], titles: Callable[[Any], str]) -> F:
    """Return the command with a flag for each of the fields."""
    described = [item for item in items if "help" in item.metadata]
    own = inspect.signature(command, eval_str=True).parameters.values()
    parameters = [
        *(p for p in own if p.kind is not inspect.Parameter.VAR_KEYWORD),
        *(_flag(item, titles(item)) for item in described),
    ]

    def wrapped(**values: Any) -> None:
        keys = {item.name: values.pop(item.name) for item in described}
        given = {name: v for name, v in keys.items() if v is not None and v != []}
        for item in described:
            value, choices = given.get(item.name, []), item.metadata.get("choices")
            for one in value if isinstance(value, list) else [value]:
                if choices:
                    check_choice(_name(item), one, choices)
        command(**values, **given)

    wrapped.__name__ = command.__name__
    wrapped.__doc__ = command.__doc__
    wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in parameters}
    return wrapped  # type: ignore[return-value]


def _flag(item: Any, title: str) -> inspect.Parameter:
    """Return the parameter of one field."""
    words = re.split(r"[\[\] |,.]+", str(item.type))
    base = next((_TYPES[word] for word in words if word in _TYPES), str)
    flag, help = _name(item), str(item.metadata["help"])
    choices = [*item.metadata.get("choices", ())]
    if len(choices) > 1:  # else the help itself names the one there is
        help += f": {', '.join(choices[:-1])} or {choices[-1]}"
    option = typer.Option(
        f"{flag}/--no-{flag[2:]}" if base is bool else flag,
        help=help,
        show_default=item.metadata.get("shown") or default_text(item),
        rich_help_panel=title,
    )
    several = item.metadata.get("several") or "tuple" in words
    kind: Any = list[base] if several else base  # type: ignore[valid-type]
    return inspect.Parameter(
        item.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[kind | None, option],
    )


def _name(item: Any) -> str:
    return f"--{item.metadata.get('flag', item.name).replace('_', '-')}"


def default_text(item: Any) -> str:
    """Return the default of a field in words."""
    default = item.default
    if isinstance(default, bool):
        return _name(item)[2:] if default else f"no-{_name(item)[2:]}"
    if isinstance(default, tuple):
        default = " ".join(str(value) for value in default)
    return "none" if default in (None, "") else str(default)


def name_and_value(flag: str, text: str) -> tuple[str, Any]:
    """Return ``name=value`` as a pair, the value read as YAML reads it."""
    from sekgnn.parsing import parse_yaml

    name, found, value = text.partition("=")
    if not found or not name:
        raise ConfigError(f"{flag} takes name=value, got {text!r}.")
    try:
        return name.replace("-", "_"), parse_yaml(value)
    except ValueError:
        return name.replace("-", "_"), value


with_config_options = with_flags(
    [item for item in config_fields() if item.name != "data"],
    lambda item: str(item.metadata["section"]).capitalize(),
)
"""Give a command a flag per config key; ``data`` is the command's argument."""


def merged_config(
    data: str | None,
    file: Path | None,
    keys: dict[str, Any],
    preset: str | None = None,
) -> RunConfig:
    """Return a preset, changed by a file, changed by argument and flags given."""
    from sekgnn.training.run_folder import load_config

    for name in PAIR_KEYS:
        if name in keys:
            flag = f"--{name.replace('_', '-')}"
            keys[name] = dict(name_and_value(flag, text) for text in keys[name])
    given = keys if data is None else {**keys, "data": data}
    return load_config(file, given, preset)
