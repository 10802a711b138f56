"""Flags: shared ones, those made of fields of dataclasses, several values of one."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar, cast

import typer
from typer.core import TyperCommand, TyperOption

from sekgnn.checks import check_choice, check_positive
from sekgnn.errors import ConfigError
from sekgnn.parameters import parameter
from sekgnn.training.config import (
    DEVICES,
    PAIR_KEYS,
    SECTIONS,
    RunConfig,
    config_fields,
)

F = TypeVar("F", bound=Callable[..., None])
_TYPES: dict[str, Any] = {"int": int, "float": float, "str": str, "bool": bool}
_WORDS = {  # the lists of an option's values
    "--scope": ["encoding.walk_encoding:SCOPES"],
    "--parts": ["wl.encodings.walks:PARTS"],
    "--encoding": ["wl:EXACT_ENCODINGS", "encoding.substructure:ENCODINGS"],
    "--patterns": ["encoding.patterns:PATTERNS"],
    "--category": ["datasets:CATEGORIES"],
    "--blend": ["training.config:TREES"],
}
_PAIRS = ("--encoding-options", "--model-options", "--grid")  # name=value
_OPEN = (
    "--target", "--metric", "--columns", "--split-by", "--features", "--only",
    "--arrays", "--smiles",
)  # fmt: skip
_NUMBERS = ("--radius",)

Sections = Mapping[str, Iterable[Field[Any]]]
"""Fields by the heading under which the help lists their flags."""


def free_field(name: str, type: Any, help: str, **metadata: Any) -> Field[Any]:
    """Return a field of no dataclass, for a flag that several of them share."""
    item: Field[Any] = parameter(None, help, **metadata)
    item.name, item.type = name, type
    return item


def option(
    default: Any,
    help: str,
    *names: str,
    shown: str | None = None,
    low: int | None = None,
    choices: Sequence[str] = (),
    suffixes: Sequence[str] = (),
    **more: Any,
) -> Any:
    """Return an option that is checked before the command starts.

    ``shown`` is the default in words, ``low`` the least integer, ``suffixes`` are the
    endings that a file may have, and ``choices``, all values, are added to the help.
    """

    def check(param: typer.CallbackParam, value: Any) -> Any:
        flag = max(param.opts, key=len)
        for one in value if isinstance(value, list) else [value]:
            if one is None:
                continue
            if low is not None:
                check_positive(flag, one, low)
            if choices:
                check_choice(flag, one, choices)
            if suffixes and one.suffix.lower() not in suffixes:
                raise ConfigError(
                    f"{flag} must end in {either(suffixes)}, got {str(one)!r}."
                )
        return value

    if len(choices) > 1:  # a single one is named by the help itself
        help += f": {either(choices)}"
    if shown is None and default is None:
        shown = "none"
    if low is not None or choices or suffixes:  # typer inspects each callback
        more["callback"] = check
    return typer.Option(default, *names, help=help, show_default=shown or True, **more)


def either(words: Sequence[str]) -> str:
    """Return words as a list for people.

    Example:
        >>> either(["cpu", "gpu", "tpu"])
        'cpu, gpu or tpu'
    """
    return " or ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)


DATA_ROOT = option(None, "folder of benchmark data", shown="$SEKGNN_DATA")
TRAINED_MODEL = typer.Argument(..., help="run folder or model file")
NEW_GRAPHS = typer.Argument(
    ..., metavar="INPUT", help="graphs: CSV, Parquet or JSON lines file, or TU folder"
)
THREADS = option(
    1, "number of torch threads; more than one pays only on large graphs", low=1
)
DEVICE = option("auto", f"device to predict on: {', '.join(DEVICES)}", "--accelerator")
COLUMNS = option(
    None,
    "columns or keys of INPUT to write first; row is its number there",
    shown="all columns of a table",
)
SMILES = option(
    None,
    "columns that hold SMILES; those of a row are one graph",
    shown="as in training",
)
SKIP_INVALID = option(False, "leave out SMILES that rdkit cannot read")
KERNEL_THREADS = option(
    None, "number of threads of compiled kernels", shown="all usable cores", low=1
)
CONFIG_FILE = option(None, "YAML file with config keys", "--config", "-c")
JSON = option(False, "print one JSON object", "--json")
QUIET = option(
    False, "show no progress and no summary of what is written", "--quiet", "-q"
)
NO_LABELS = option(False, "leave out atoms and bonds of SMILES", "--no-labels")
UNDIRECTED = option(
    "error",
    "what to do with edges listed in one direction only",
    choices=("error", "add"),
)


def with_flags(sections: Sections | Callable[[], Sections]) -> Callable[[F], F]:
    """Give a command, whose last parameter is ``**keys``, a flag per field.

    Flags that are not given are not passed on. Fields without help have no flag. Of
    the metadata of :func:`~sekgnn.parameters.parameter`, ``flag`` is the flag if it is
    not the name, and ``several`` lets it take several values. Instead of sections, a
    function may return them. Flags are made when the command is used.
    """

    def decorate(command: F) -> F:
        out: Any = _flagged(command, {})
        out.complete = lambda: _flagged(
            command, sections() if callable(sections) else sections
        )
        return cast("F", out)

    return decorate


def _flagged(command: F, sections: Sections) -> F:
    parameters = [
        parameter
        for parameter in inspect.signature(command, eval_str=True).parameters.values()
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    flags = {
        item.name: _flag(item, title)
        for title, items in sections.items()
        for item in items
        if "help" in item.metadata
    }

    def wrapped(**values: Any) -> None:
        left_out = [name for name in flags if values[name] in (None, [])]
        command(**{k: v for k, v in values.items() if k not in left_out})

    wrapped.__name__ = command.__name__
    wrapped.__doc__ = command.__doc__
    parameters += flags.values()
    wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in parameters}
    return wrapped  # type: ignore[return-value]


def _flag(item: Field[Any], title: str) -> inspect.Parameter:
    words = re.split(r"[\[\] |,.]+", str(item.type))
    kind: Any = next((_TYPES[word] for word in words if word in _TYPES), str)
    flag = flag_of(item)
    described = option(
        None,
        item.metadata["help"],
        f"{flag}/--no-{flag[2:]}" if kind is bool else flag,
        shown=default_text(item),
        choices=item.metadata.get("choices", ()),
        rich_help_panel=title,
    )
    if item.metadata.get("several") or "tuple" in words:
        kind = list[kind]
    return inspect.Parameter(
        item.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=described,
        annotation=kind | None,
    )


def flag_of(item: Field[Any]) -> str:
    """Return the flag of a field.

    Example:
        >>> flag_of(free_field("num_hops", "int", "K"))
        '--num-hops'
    """
    return f"--{item.metadata.get('flag', item.name).replace('_', '-')}"


def default_text(item: Field[Any]) -> str:
    """Return the default of a field in words."""
    default = item.default
    if item.metadata.get("shown"):
        return str(item.metadata["shown"])
    if isinstance(default, bool):
        return flag_of(item)[2:] if default else f"no-{flag_of(item)[2:]}"
    if isinstance(default, tuple):
        default = " ".join(str(value) for value in default)
    return "none" if default in (None, "") else str(default)


def name_and_value(flag: str, text: str) -> tuple[str, Any]:
    """Return ``name=value`` as a pair, the value read as YAML reads it."""
    from sekgnn.parsing import parse_yaml

    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ConfigError(f"{flag} takes name=value, got {text!r}.")
    try:
        return name.replace("-", "_"), parse_yaml(value)
    except ValueError:
        return name.replace("-", "_"), value


with_config_options = with_flags(
    {
        section.capitalize(): [
            item
            for item in config_fields()
            if item.metadata["section"] == section and item.name != "data"
        ]
        for section in SECTIONS
    }
)
"""Give a command a flag per config key; ``data`` is the command's argument."""


def merged_config(
    data: str | None,
    file: Path | None,
    keys: dict[str, Any],
    preset: str | None = None,
) -> RunConfig:
    """Return a config: a preset, overridden by a file, overridden by the flags."""
    from sekgnn.training.settings import load_config

    return load_config(file, flag_keys(data, keys), preset)


def flag_keys(data: str | None, keys: dict[str, Any]) -> dict[str, Any]:
    """Return config keys as flags give them, those with names and values as dicts."""
    for name in PAIR_KEYS:
        if name in keys:
            flag = f"--{name.replace('_', '-')}"
            keys[name] = dict(name_and_value(flag, text) for text in keys[name])
    return keys if data is None else {**keys, "data": data}


class _Option(TyperOption):
    """An option that shows a default in words like any other, without brackets."""

    def _get_default_string(self, *, show_default_is_str: bool, **more: Any) -> str:
        if show_default_is_str:
            return str(self.show_default)
        return super()._get_default_string(show_default_is_str=False, **more)


class ManyValuesCommand(TyperCommand):
    """A command in which a repeatable option may list its values after one flag.

    Only further values that belong to the option are taken, so that an argument may
    follow: in ``--scope graph internal rook:4`` the last word is an argument. Where
    any word can be a value, arguments must come first: ``data.csv --target a b``.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, those of :func:`with_flags` among them."""
        complete = getattr(self.callback, "complete", None)
        if complete is not None:
            app = typer.Typer(add_completion=False)
            app.command()(complete())
            whole: Any = typer.main.get_command(app)
            self.params, self.callback = whole.params, whole.callback
        params: list[Any] = super().get_params(ctx)
        for param in params:
            if isinstance(param, TyperOption):
                param.__class__ = _Option
        return params

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Repeat the flag before each further value, then parse as usual."""
        repeatable = {
            flag
            for param in self.get_params(ctx)
            if getattr(param, "multiple", False) and not param.is_flag
            for flag in param.opts
        }
        return super().parse_args(ctx, repeat_flags(args, repeatable))


def repeat_flags(args: list[str], repeatable: set[str]) -> list[str]:
    """Return ``args`` with the flag repeated before each value of an option.

    Example:
        >>> repeat_flags(["--radius", "1", "2", "--num-hops", "3"], {"--radius"})
        ['--radius', '1', '--radius', '2', '--num-hops', '3']
    """
    out: list[str] = []
    flag = ""  # the option whose values may still go on
    expects = False
    arguments_first = bool(args) and not args[0].startswith("-")
    for i, arg in enumerate(args):
        if expects:
            expects = False
        elif arg == "--":
            return out + args[i:]
        elif arg in repeatable:
            flag, expects = arg, True
        elif flag and _is_value(flag, arg, arguments_first):
            out.append(flag)
        else:
            flag = ""
        out.append(arg)
    return out


def _is_value(flag: str, arg: str, arguments_first: bool) -> bool:
    if flag in _PAIRS:
        return "=" in arg and not arg.startswith("-")
    if flag in _OPEN:
        is_file = flag == "--smiles" and Path(arg).is_file()  # took one value before
        return arguments_first and not arg.startswith("-") and not is_file
    if flag in _NUMBERS:
        return arg.isascii() and arg.isdigit()
    sources = (source.split(":") for source in _WORDS.get(flag, ()))
    return any(
        arg in getattr(import_module(f"sekgnn.{module}"), name)
        for module, name in sources
    )
