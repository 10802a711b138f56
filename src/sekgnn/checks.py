"""Parameter checks: errors say what was expected and what was given."""

from __future__ import annotations

import difflib
import numbers
from collections.abc import Iterable

from sekgnn.errors import ConfigError

MOST_LEVELS = 10_000
"""The most hops, shells, steps or layers; more are a typing error or an attack."""
MOST = 2**63 - 1
"""The most of anything else that is counted: more fits no integer type."""


def check_positive(
    name: str, value: object, minimum: int = 1, maximum: int | None = MOST
) -> int:
    """Return an int from ``minimum`` to ``maximum``, or raise a ConfigError."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise ConfigError(f"{name} must be an integer, got {value!r}.")
    if int(value) < minimum:
        raise ConfigError(f"{name} must be at least {minimum}, got {int(value)}.")
    if maximum is not None and int(value) > maximum:
        raise ConfigError(f"{name} must be at most {maximum}, got {int(value)}.")
    return int(value)


def check_seed(seed: object) -> int:
    """Return a seed, an integer from 0 to below 2^64, or raise a ConfigError."""
    return check_positive("seed", seed, 0, 2**64 - 1)


def check_choice(name: str, value: object, choices: Iterable[str]) -> str:
    """Return one of ``choices``, or raise a ConfigError that suggests the nearest."""
    known = list(choices)
    if isinstance(value, str) and value in known:
        return value
    raise ConfigError(
        f"{name} must be one of {known}, got {value!r}.{nearest(value, known)}"
    )


def nearest(value: object, known: Iterable[str]) -> str:
    """Return a question that suggests the nearest of ``known``, or nothing.

    Example:
        >>> nearest("mutg", ["BZR", "MUTAG"])
        " Did you mean 'MUTAG'?"
    """
    names = {name.lower(): name for name in known}
    near = difflib.get_close_matches(str(value).lower(), names, n=1)
    return f" Did you mean {names[near[0]]!r}?" if near else ""
