"""Parameter checks shared by every room: say what was expected and what came."""

from __future__ import annotations

import difflib
import numbers
import os
from collections.abc import Iterable

from sekgnn.errors import ConfigError, GraphInputError

_MEMORY_SHARE = 0.5  # of the machine's memory that one thing may take


def check_positive(name: str, value: object, minimum: int = 1) -> int:
    """Return ``value`` as an int of at least ``minimum``, or raise.

    Raises:
        ConfigError: If it is not an integer or too small.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise ConfigError(f"{name} must be an integer, got {value!r}.")
    if int(value) < minimum:
        raise ConfigError(f"{name} must be at least {minimum}, got {int(value)}.")
    return int(value)


def check_choice(name: str, value: object, choices: Iterable[str]) -> str:
    """Return ``value`` if it is one of ``choices``, or raise and suggest the nearest.

    Raises:
        ConfigError: If it is not among them.
    """
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


def check_memory(needed: int, what: str, cure: str) -> None:
    """Raise if something would take more than half of the machine's memory.

    Args:
        needed: Bytes.
        what: That needs them, such as ``"this graph"``.
        cure: What to do instead.

    Raises:
        GraphInputError: If so; says how much it would be.
    """
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return
    if needed > _MEMORY_SHARE * memory:
        raise GraphInputError(
            f"{what} would take about {needed / 2**30:,.1f} GiB of the "
            f"{memory / 2**30:,.1f} GiB that this machine has; {cure}."
        )
