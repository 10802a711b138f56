"""What all scores share: counts by category, as text, and records of many lines."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from sekgnn.datasets.brec import CATEGORIES


class ScoredPair(Protocol):
    """A pair of BREC, and what came of it."""

    @property
    def category(self) -> str:
        """A key of :data:`sekgnn.datasets.CATEGORIES`, or your own."""


def by_category(pairs: Sequence[ScoredPair], *facts: str) -> dict[str, tuple[int, ...]]:
    """Return how many pairs of each category there are, and of how many a fact holds.

    Facts are attributes of a pair that are true or false. There is a count per fact and
    the number of pairs, for the categories that occur, in the order of tables.
    """
    counts = {}
    others = sorted({pair.category for pair in pairs} - {*CATEGORIES})
    for category in (*CATEGORIES, *others):
        chosen = [pair for pair in pairs if pair.category == category]
        if chosen:
            held = (sum(getattr(pair, fact) for pair in chosen) for fact in facts)
            counts[category] = (*held, len(chosen))
    return counts


def count_table(
    columns: Sequence[str], rows: Mapping[str, Sequence[int]], total: Sequence[int]
) -> list[str]:
    """Return the lines of a table: a row per category, and the total."""
    names = [(CATEGORIES.get(key, key), counts) for key, counts in rows.items()]
    widths = [max(6, len(column) + 2) for column in columns]
    lines = [("category", columns), *names, ("total", total)]
    return [
        f"{name:<20}" + "".join(f"{x:>{w}}" for x, w in zip(cells, widths, strict=True))
        for name, cells in lines
    ]


def json_rows(head: Mapping[str, Any], name: str, rows: Sequence[Any]) -> str:
    """Return a JSON object: ``head``, then a list with a line for each of ``rows``."""
    lines = [f" {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    body = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in rows)
    return "\n".join(["{", *lines, f' "{name}": [', body, " ]", "}"]) + "\n"
