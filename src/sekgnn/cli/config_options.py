"""Every key of a run's config as a flag, made from the config itself."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from sekgnn.training.config import RunConfig

F = TypeVar("F", bound=Callable[..., None])
_TYPES: dict[str, Any] = {"int": int, "float": float, "str": str, "bool": bool}
_TITLES = {
    "data": "Data",
    "protocol": "Protocol",
    "model": "Model",
    "encoding": "Encoding",
    "training": "Training",
    "machine": "Machine",
}


def with_config_options(command: F) -> F:
    """Give a command, whose last parameter is ``**keys``, a flag per config key.

    Flags that are not given are not passed on. ``data`` is not among them: it is the
    command's argument.
    """
    own = [
        parameter
        for parameter in inspect.signature(command, eval_str=True).parameters.values()
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    flags = [_flag(item) for item in fields(RunConfig) if item.name != "data"]
    names = [parameter.name for parameter in flags]

    def wrapped(**values: Any) -> None:
        keys = {name: values.pop(name) for name in names}
        given = {name: v for name, v in keys.items() if v is not None and v != []}
        command(**values, **given)

    wrapped.__name__ = command.__name__
    wrapped.__doc__ = command.__doc__
    wrapped.__signature__ = inspect.Signature([*own, *flags])  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in (*own, *flags)}
    return wrapped  # type: ignore[return-value]


def _flag(item: Any) -> inspect.Parameter:
    """Return the parameter of one key."""
    kind = str(item.type).split(" | ")[0]
    base: Any = _TYPES.get(kind)
    if base is None:  # a tuple
        base = list[str] if "str" in kind else list[int]
    flag = f"--{item.name.replace('_', '-')}"
    names = f"{flag}/--no-{flag[2:]}" if base is bool else flag
    option = typer.Option(
        names,
        help=item.metadata["help"],
        show_default=_default(item),
        rich_help_panel=_TITLES[item.metadata["section"]],
    )
    return inspect.Parameter(
        item.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[base | None, option],
    )


def _default(item: Any) -> str:
    """Return what to say about the default of a key."""
    default = item.default
    if isinstance(default, tuple):
        default = " ".join(str(value) for value in default)
    if default is None and item.metadata["section"] == "model":
        return "the model's"
    return "none" if default in (None, "") else str(default)


def merged_config(
    data: str | None, file: Path | None, keys: dict[str, Any]
) -> RunConfig:
    """Return the config of a file, changed by the flags that were given.

    Raises:
        ConfigError: If the file or a key is wrong.
    """
    from sekgnn.training.run_folder import read_config

    values = {} if file is None else read_config(file)
    values = {str(name).replace("-", "_"): value for name, value in values.items()}
    if "target" in keys:
        texts = [t.strip() for text in keys["target"] for t in text.split(",")]
        keys["target"] = [text for text in texts if text]
    values |= keys
    if data is not None:
        values["data"] = data
    return RunConfig.from_dict(values)
