"""Single target values as they stand in files: a number, a name, or missing."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sekgnn.errors import GraphInputError

Value = float | str
"""A number (true and false are 1 and 0) or a name."""

_MISSING = {"", "nan", "na", "n/a", "null", "none", "?"}
_TRUTH = {"true": 1.0, "false": 0.0}


@dataclass(frozen=True)
class TargetColumn:
    """A target of every graph.

    Attributes:
        name: What it is called.
        values: One per graph; ``None`` where it is missing.
        places: Where each stands, such as ``row 3 (line 4)``.
        source: The file or object it is from.
    """

    name: str
    values: tuple[Value | None, ...]
    places: tuple[str, ...]
    source: str

    @property
    def present(self) -> list[tuple[str, Value]]:
        """Places and values of those that are not missing."""
        pairs = zip(self.places, self.values, strict=True)
        return [(place, value) for place, value in pairs if value is not None]

    @property
    def texts(self) -> list[tuple[str, str]]:
        """Places and values that are no numbers."""
        return [(p, v) for p, v in self.present if isinstance(v, str)]

    def wrong(self, place: str, reason: str) -> GraphInputError:
        """Return an error that names source, place and column."""
        where = f", {place}" if place else ""
        return GraphInputError(f"{self.source}{where}, target {self.name!r}: {reason}")


def read_column(
    name: str, values: Sequence[Any], places: Sequence[str], source: str
) -> TargetColumn:
    """Return a column of values from a file or another library.

    Missing are ``None``, NaN, and texts such as an empty one, ``nan`` and ``NA``.

    Raises:
        GraphInputError: If a value is infinite or neither number nor text, or all are
            missing.

    Example:
        >>> read_column("y", ["1", "", "cat", True], ["a", "b", "c", "d"], "x").values
        (1.0, None, 'cat', 1.0)
    """
    found = tuple(
        _value(name, value, f"{source}, {place}")
        for value, place in zip(values, places, strict=True)
    )
    column = TargetColumn(name, found, tuple(places), source)
    if not column.present:
        raise column.wrong("", "all values are missing; there is nothing to learn.")
    return column


def _value(name: str, value: Any, place: str) -> Value | None:
    if value is None:
        return None
    if isinstance(value, str):
        text = value.strip()
        if text.lower() in _MISSING:
            return None
        if text.lower() in _TRUTH:
            return _TRUTH[text.lower()]
        try:
            number = float(text) if "_" not in text else None
        except ValueError:
            number = None
        if number is None:
            return text
    elif isinstance(value, bool | np.bool_ | numbers.Real):
        number = float(value)
    else:
        raise GraphInputError(
            f"{place}, target {name!r}: a number or a text is needed, got "
            f"{type(value).__name__}."
        )
    if math.isinf(number):
        raise GraphInputError(
            f"{place}, target {name!r}: {value} is not finite; correct it, or leave "
            "the field empty if it is missing."
        )
    return None if math.isnan(number) else number
