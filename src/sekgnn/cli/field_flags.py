"""Flags made from the fields of dataclasses: each option is described once."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from typing import Annotated, Any, TypeVar, cast

import typer

from sekgnn.checks import check_choice

F = TypeVar("F", bound=Callable[..., None])
_TYPES: dict[str, Any] = {"int": int, "float": float, "str": str, "bool": bool}


def with_flags(
    items: Iterable[Any] | Callable[[], Iterable[Any]], titles: Callable[[Any], str]
) -> Callable[[F], F]:
    """Give a command, whose last parameter is ``**keys``, a flag per field.

    Flags that are not given are not passed on. Fields without help have no flag. Their
    metadata may hold ``help``, ``choices``, ``flag`` if it is not the name, ``several``
    if it takes several values, and ``shown``: what to say about a default.

    Args:
        items: The fields, or a function that returns them when the command is used.
        titles: The heading of a field in the help.
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
    parameters = [
        *(
            parameter
            for parameter in inspect.signature(
                command, eval_str=True
            ).parameters.values()
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD
        ),
        *(_flag(item, titles(item)) for item in described),
    ]

    def wrapped(**values: Any) -> None:
        keys = {item.name: values.pop(item.name) for item in described}
        given = {name: v for name, v in keys.items() if v is not None and v != []}
        for item in described:
            _check_choices(item, given.get(item.name, []))
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
    flag = _name(item)
    option = typer.Option(
        f"{flag}/--no-{flag[2:]}" if base is bool else flag,
        help=_help(item),
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


def _help(item: Any) -> str:
    """Return the help of a field, with its choices."""
    choices = [*item.metadata.get("choices", ())]
    if len(choices) < 2:  # the help itself names the one there is
        return str(item.metadata["help"])
    words = " or ".join(filter(None, (", ".join(choices[:-1]), choices[-1])))
    return f"{item.metadata['help']}: {words}"


def default_text(item: Any) -> str:
    """Return the default of a field in words."""
    default = item.default
    if isinstance(default, bool):
        return _name(item)[2:] if default else f"no-{_name(item)[2:]}"
    if isinstance(default, tuple):
        default = " ".join(str(value) for value in default)
    return "none" if default in (None, "") else str(default)


def _check_choices(item: Any, given: Any) -> None:
    """Raise if a value is not among the choices of its field."""
    choices = item.metadata.get("choices")
    for value in given if isinstance(given, list) else [given]:
        if choices:
            check_choice(_name(item), value, choices)


def name_and_value(flag: str, text: str) -> tuple[str, Any]:
    """Return ``name=value`` as a pair, the value read as YAML reads it.

    Raises:
        ConfigError: If it is not of that form.
    """
    from sekgnn.errors import ConfigError
    from sekgnn.parsing import parse_yaml

    name, found, value = text.partition("=")
    if not found or not name:
        raise ConfigError(f"{flag} takes name=value, got {text!r}.")
    try:
        return name.replace("-", "_"), parse_yaml(value)
    except ValueError:
        return name.replace("-", "_"), value
