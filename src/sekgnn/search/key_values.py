"""Values of config keys, between YAML and a config."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from sekgnn.errors import ConfigError
from sekgnn.training.config import RunConfig


def kind(key: str) -> str:
    """Return the type of a key, as text."""
    types = {item.name: str(item.type) for item in fields(RunConfig)}
    return types[key].split(" | ")[0]


def number(name: str, value: Any, kind: str) -> float:
    """Return a number of a kind, ``"int"`` or ``"float"``.

    Raises:
        ConfigError: If it is none.
    """
    if kind == "int":
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        raise ConfigError(f"{name} must be a whole number, got {value!r}.")
    try:
        if isinstance(value, bool):
            raise TypeError
        return float(value)  # YAML reads 1e-3, without a dot, as a text
    except (TypeError, ValueError):
        raise ConfigError(f"{name} must be a number, got {value!r}.") from None


def typed(key: str, value: Any) -> Any:
    """Return a value as a config keeps it: lists as tuples, numbers as numbers."""
    if kind(key).startswith("tuple"):
        return tuple(value) if isinstance(value, list | tuple) else (value,)
    if kind(key) == "float" and value is not None:
        return number(key, value, "float")
    return value


def typed_if_known(key: str, value: Any) -> Any:
    """Return :func:`typed`, or the value itself if there is no such key."""
    known = {item.name for item in fields(RunConfig)}
    return typed(key, value) if key in known else value


def plain(value: Any) -> Any:
    """Return a value as JSON and YAML know it."""
    return list(value) if isinstance(value, tuple) else value
