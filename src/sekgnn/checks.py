"""Checks of parameters, claimed sizes and optional packages, with cause and cure."""

from __future__ import annotations

import difflib
import importlib
import numbers
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sekgnn.errors import ConfigError, GraphInputError, MissingExtraError

MOST_LEVELS = 10_000
"""The most hops, shells, steps or layers; more are a typing error or an attack."""
MOST = 2**63 - 1
"""The most of anything else that is counted: more fits no integer type."""

_SHARE = 0.9  # of the free memory for one answer
_SMALL = 1 << 26  # bytes that need no check

_GROUP_FILES = (  # limit and use of the control group, of both versions
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
    ),
)


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
    """Return a seed, an integer in [0, 2^64), or raise a ConfigError."""
    return check_positive("seed", seed, 0, 2**64 - 1)


def check_choice(name: str, value: object, choices: Iterable[str]) -> str:
    """Return one of ``choices``, or raise a ConfigError that suggests the nearest."""
    names = list(choices)
    if isinstance(value, str) and value in names:
        return value
    raise ConfigError(
        f"{name} must be one of {names}, got {value!r}.{nearest(value, names)}"
    )


def nearest(value: object, known: Iterable[str]) -> str:
    """Return a question that suggests the nearest of ``known``, or an empty string.

    Example:
        >>> nearest("mutg", ["BZR", "MUTAG"])
        " Did you mean 'MUTAG'?"
    """
    names = {name.lower(): name for name in known}
    near = difflib.get_close_matches(str(value).lower(), names, n=1)
    return f" Did you mean {names[near[0]]!r}?" if near else ""


def free_bytes() -> int | None:
    """Return the free memory; ``None`` if the system does not tell.

    The least that the machine, the control group (containers, batch systems) and the
    limit of the process (``ulimit -v``) leave.
    """
    limits = []
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                limits.append(1024 * int(line.split()[1]))
    except (OSError, ValueError, IndexError):
        pass
    for limit, used in _GROUP_FILES:
        try:
            limits.append(int(Path(limit).read_text()) - int(Path(used).read_text()))
        except (OSError, ValueError):  # none, or "max"
            continue
    try:
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        if soft != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            limits.append(soft - pages * os.sysconf("SC_PAGE_SIZE"))
    except (ImportError, OSError, ValueError, IndexError):
        pass
    return max(0, min(limits)) if limits else None


def check_memory(
    needed: int,
    what: str,
    cure: str = "use a machine with more memory, or smaller input",
    error: type[ValueError] = GraphInputError,
) -> None:
    """Refuse work that cannot fit into memory, before any of it is allocated.

    ``what``, a singular subject, needs ``needed`` bytes; ``cure`` says what to do.

    Raises:
        ValueError: Of type ``error``, if more than nine tenths of the free memory are
            needed; names both sizes.
    """
    free = free_bytes() if needed > _SMALL else None
    if free is not None and needed > _SHARE * free:
        raise error(
            f"{what} needs about {gib(needed)}, and {gib(free)} are free; {cure}."
        )


def check_claim(
    claimed: int, what: str, supporting: int, of: str, spare: int = 1 << 20
) -> None:
    """Refuse a size that the input claims but does not support.

    Raises:
        GraphInputError: If more than ``spare`` are claimed, and 64 for each of the
            ``supporting`` items; ``what`` and ``of`` name both in the plural.
    """
    most = spare + 64 * supporting
    if claimed > most:
        raise GraphInputError(
            f"{claimed:,} {what} are claimed, but there are only {supporting:,} {of}; "
            f"at most {most:,} are accepted then. Renumber, and leave out {what} "
            "without any data."
        )


def gib(size: float) -> str:
    """Return a number of bytes in words.

    Example:
        >>> gib(3 << 29)
        '1.5 GiB'
    """
    return f"{size / 2**30:,.1f} GiB"


def require(module: str, extra: str | None) -> Any:
    """Import ``module``, or name the command that installs it, with its ``extra``."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        target = f"'sekgnn[{extra}]'" if extra else package
        raise MissingExtraError(
            f"{package} is needed here and could not be imported ({error}). "
            f"Install it with: pip install {target}"
        ) from None  # the reason is in the message: one error, not two
