"""Checks that claimed sizes fit into memory, before any of it is allocated."""

from __future__ import annotations

import os
from pathlib import Path

from sekgnn.errors import GraphInputError

_SHARE = 0.9  # of the free memory that one answer may take
_SMALL = 1 << 26  # bytes that are never worth a look

_GROUP_FILES = (  # limit and use of the control group, of both versions
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
    ),
)


def free_bytes() -> int | None:
    """Return the free memory; ``None`` if the system does not say.

    The least of what the machine, the control group (containers, batch systems) and the
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
    """Refuse what cannot fit into memory, before any of it is allocated.

    ``what``, a singular subject, needs ``needed`` bytes; ``cure`` says what to do.

    Raises:
        ValueError: Of type ``error``, if more than nine tenths of the free memory are
            needed; says how much is needed and how much is free.
    """
    free = free_bytes() if needed > _SMALL else None
    if free is not None and needed > _SHARE * free:
        raise error(
            f"{what} needs about {gib(needed)}, and {gib(free)} are free; {cure}."
        )


def check_claim(
    claimed: int, what: str, found: int, of: str, spare: int = 1 << 20
) -> None:
    """Refuse a size that a few bytes claim and nothing else in the input supports.

    Raises:
        GraphInputError: If more than ``spare`` and 64 for each of the ``found`` things
            that could need it are claimed; ``what`` and ``of`` name both in the plural.
    """
    if claimed > spare + 64 * found:
        raise GraphInputError(
            f"{claimed:,} {what} are claimed, but there are only {found:,} {of}; at "
            f"most {spare + 64 * found:,} are read then. Renumber, and leave out "
            f"{what} that nothing is known of."
        )


def gib(size: float) -> str:
    """Return a number of bytes in words.

    Example:
        >>> gib(3 << 29)
        '1.5 GiB'
    """
    return f"{size / 2**30:,.1f} GiB"
