"""Targets: values as they stand in files, the kind of task they make, and arrays."""

from __future__ import annotations

import math
import numbers
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_choice
from sekgnn.errors import ConfigError, GraphInputError

TaskKind = Literal["binary", "multiclass", "multilabel", "regression"]
TASK_KINDS = ("binary", "multiclass", "multilabel", "regression")
"""What targets can be."""
_MOST = float(np.finfo(np.float32).max)
MOST_NUMBERED_CLASSES = 10
"""Integers with more different values than this are a quantity, not classes."""

Label = int | float | str

Value = float | str
"""A number (true and false are 1 and 0) or a name."""

_MISSING = {"", "nan", "na", "n/a", "n.a.", "#n/a", "<na>", "null", "none", "?"}
_NUMBER = r"[+-]?(\d+([.,]\d+)?|[.,]\d+)([eE][+-]?\d+)?"
_COMMA = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+)?,\d+([eE][+-]?\d+)?")
_BOUND = re.compile(rf"(<|>|≤|≥|~|<=|>=)\s*{_NUMBER}")
_WITH_UNIT = re.compile(rf"{_NUMBER}\s*[^\d\s.,].*")
_UNIT = re.compile(r"[\[(]([^\[\]()]+)[\])]\s*$")
_TRUTH = {"true": 1.0, "false": 0.0}


@dataclass(frozen=True)
class TargetColumn:
    """A target of every graph."""

    name: str
    values: tuple[Value | None, ...]  # None where missing
    places: tuple[str, ...]  # such as row 3 (line 4)
    source: str  # the file or object it is from

    @property
    def present(self) -> list[tuple[str, Value]]:
        """Places and values of those that are not missing."""
        pairs = zip(self.places, self.values, strict=True)
        return [(place, value) for place, value in pairs if value is not None]

    @property
    def texts(self) -> list[tuple[str, str]]:
        """Places and values that are not numbers."""
        return [(p, v) for p, v in self.present if isinstance(v, str)]

    def wrong(self, place: str, reason: str) -> GraphInputError:
        """Return an error that names source, place and column."""
        where = f", {place}" if place else ""
        return GraphInputError(f"{self.source}{where}, target {self.name!r}: {reason}")


def unit_of(name: str) -> str:
    """Return the unit that a heading names in brackets at its end, or nothing.

    Example:
        >>> unit_of("solubility [mg/L]"), unit_of("mp (°C)"), unit_of("logP")
        ('mg/L', '°C', '')
    """
    found = _UNIT.search(name)
    return found[1].strip() if found else ""


def is_missing(value: Any) -> bool:
    """Tell whether a value of a file stands for none."""
    if isinstance(value, str):
        return value.strip().lower() in _MISSING
    return value is None or (isinstance(value, float) and math.isnan(value))


def not_a_number(value: object) -> str:
    """Return the likely cause why a text is no number, and its cure; or nothing.

    Example:
        >>> not_a_number("1,5")
        ' It has a decimal comma: write 1.5, or export the table with decimal points.'
        >>> not_a_number("5 mg")[:34]
        ' It holds more than a number, such'
    """
    text = str(value).strip()
    if _COMMA.fullmatch(text):
        plain = text.replace(".", "").replace(",", ".")
        return (
            f" It has a decimal comma: write {plain}, or export the table with decimal "
            "points."
        )
    if _BOUND.fullmatch(text):
        return " It is a bound: give a number, or leave the field empty."
    if _WITH_UNIT.fullmatch(text):
        return (
            " It holds more than a number, such as a unit: leave the number alone, and "
            "name the unit in the heading, as in 'mp [°C]'."
        )
    return " If it stands for a missing value, leave the field empty."


def read_column(
    name: str, values: Sequence[Any], places: Sequence[str], source: str
) -> TargetColumn:
    """Return a column of values from a file or another library.

    Missing are ``None``, NaN, and strings such as an empty one, ``nan`` and ``NA``.

    Raises:
        GraphInputError: If a value is infinite or neither number nor string, or all are
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
        try:
            number = float(value)
        except OverflowError:  # an integer of hundreds of digits
            number = math.inf
    else:
        raise GraphInputError(
            f"{place}, target {name!r}: a number or a string is needed, got "
            f"{type(value).__name__}."
        )
    if math.isinf(number):
        raise GraphInputError(
            f"{place}, target {name!r}: {value} is not finite; correct it, or leave "
            "the field empty if it is missing."
        )
    return None if math.isnan(number) else number


@dataclass(frozen=True, eq=False)
class Targets:
    """Targets as arrays; class numbers for binary and multiclass tasks."""

    kind: TaskKind
    names: tuple[str, ...]
    y: NDArray[Any]  # int64 [G], or of regression float64 [G, T], of labels float32
    mask: NDArray[np.bool_]  # false where a target is missing, [G, T]; y is 0 there
    classes: tuple[Label, ...] | None = None  # the label of every class number


def encode_targets(
    columns: Sequence[TargetColumn],
    kind: TaskKind | None = None,
    classes: Sequence[Label] | None = None,
) -> Targets:
    """Return targets as arrays, and what kind of task they make.

    Without ``kind``: several targets are multilabel if all values are 0 or 1, else
    regression. One target is a class if its values are names, or integers with at most
    ``MOST_NUMBERED_CLASSES`` different values, each twice on average; else
    regression.

    Args:
        columns: The targets.
        kind: The kind of task, if it is known.
        classes: The labels in their order, if they are known, as when a trained model
            meets new data; by default those that occur, sorted.

    Raises:
        ConfigError: If ``kind`` does not fit the number of targets.
        GraphInputError: If a value does not fit the kind, a label is not in
            ``classes``, a class has one member only, or all values are equal.
    """
    names = tuple(column.name for column in columns)
    if not columns or len(set(names)) != len(names):
        raise ConfigError(f"targets must be different columns, got {list(names)}.")
    chosen = _kind(columns, kind, classes)
    mask = np.array([[v is not None for v in c.values] for c in columns]).T
    if chosen in ("binary", "multiclass"):
        labels = tuple(classes) if classes is not None else _classes(columns[0], chosen)
        numbers = _class_numbers(columns[0], labels)
        return Targets(chosen, names, numbers, mask, labels)
    for column in columns:
        _check_numbers(column, binary=chosen == "multilabel")
    rows = [[0.0 if v is None else v for v in c.values] for c in columns]
    dtype = np.float64 if chosen == "regression" else np.float32
    return Targets(chosen, names, np.array(rows, dtype=dtype).T.copy(), mask)


def _kind(
    columns: Sequence[TargetColumn],
    kind: TaskKind | None,
    classes: Sequence[Label] | None,
) -> TaskKind:
    if kind is None and classes is None:
        found = _guess(columns)
        for column in columns if found != "multilabel" else ():
            values = {value for _, value in column.present}
            if len(values) == 1:
                reason = f"all values are {values.pop()}; there is nothing to learn."
                raise column.wrong("", reason)
        return found
    if kind is None:
        assert classes is not None
        kind = "binary" if len(classes) == 2 else "multiclass"
    check_choice("kind", kind, TASK_KINDS)
    if len(columns) > 1 and kind in ("binary", "multiclass"):
        raise ConfigError(
            f"kind {kind!r} is for one target, got {len(columns)}; choose one, or "
            "'multilabel' or 'regression'."
        )
    return kind


def _guess(columns: Sequence[TargetColumn]) -> TaskKind:
    if len(columns) > 1:
        values = {value for column in columns for _, value in column.present}
        return "multilabel" if values <= {0.0, 1.0} else "regression"
    (column,) = columns
    values = {value for _, value in column.present}
    repeated = 2 * len(values) <= len(column.present)
    if column.texts:
        place, text = column.texts[0]
        if not repeated:
            raise column.wrong(
                place,
                f"{text!r} is not a number, and {len(values)} different values in "
                f"{len(column.present)} rows are too many for classes; correct it, or "
                f"say what kind of task this is.{not_a_number(text)}",
            )
        if all(_COMMA.fullmatch(text) for _, text in column.texts):
            reason = f"{text!r} is not a number.{not_a_number(text)} If these are "
            raise column.wrong(place, f"{reason}names of classes, set kind.")
        return "binary" if len(values) == 2 else "multiclass"
    whole = all(float(value).is_integer() for value in values)
    if whole and repeated and len(values) <= MOST_NUMBERED_CLASSES:
        return "binary" if len(values) == 2 else "multiclass"
    return "regression"


def _label(value: object, named: bool) -> Label:
    """Return a value as label: integers as int, all as strings if some are names."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value) if named or isinstance(value, str) else value  # type: ignore[return-value]


def _classes(column: TargetColumn, kind: TaskKind) -> tuple[Label, ...]:
    """Return the labels that occur, sorted, each at least twice."""
    named = bool(column.texts)
    members = Counter(_label(value, named) for _, value in column.present)
    labels: tuple[Label, ...] = tuple(sorted(members))
    if len(labels) < 2 or (kind == "binary" and len(labels) > 2):
        needed = "two" if kind == "binary" else "two or more"
        shown = ", ".join(map(str, labels[:10]))
        raise column.wrong(
            "", f"kind {kind!r} needs {needed} classes, found {len(labels)}: {shown}."
        )
    for place, value in column.present:
        label = _label(value, named)
        if members[label] == 1:
            raise column.wrong(
                place,
                f"class {label!r} has this one member, which cannot be in training and "
                "test; remove or rename it.",
            )
    return labels


def _class_numbers(
    column: TargetColumn, labels: tuple[Label, ...]
) -> NDArray[np.int64]:
    named = any(isinstance(label, str) for label in labels)
    number = {label: i for i, label in enumerate(labels)}
    out = np.zeros(len(column.values), dtype=np.int64)
    for i, value in enumerate(column.values):
        if value is None:
            continue
        label = _label(value, named)
        if label not in number:
            shown = ", ".join(map(str, labels[:10]))
            reason = f"class {label!r} is unknown; the classes are {shown}."
            raise column.wrong(column.places[i], reason)
        out[i] = number[label]
    return out


def _check_numbers(column: TargetColumn, binary: bool) -> None:
    for place, value in column.present:
        if isinstance(value, str):
            reason = f"{value!r} is not a number.{not_a_number(value)}"
            raise column.wrong(place, reason)
        if abs(value) > _MOST:
            reason = f"{value:g} is beyond what float32 holds; use other units."
            raise column.wrong(place, reason)
        if binary and value not in (0.0, 1.0):
            raise column.wrong(place, f"{value:g} is neither 0 nor 1 (multilabel).")
