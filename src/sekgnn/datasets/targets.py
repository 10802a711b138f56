"""Targets: values as read, the kind of task they imply, and arrays."""

from __future__ import annotations

import math
import numbers
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypedDict, get_args

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_choice
from sekgnn.errors import ConfigError, GraphInputError

TaskKind = Literal["binary", "multiclass", "multilabel", "regression"]
TASK_KINDS: tuple[TaskKind, ...] = get_args(TaskKind)
"""All kinds of tasks."""
_MOST = float(np.finfo(np.float32).max)
MOST_NUMBERED_CLASSES = 10
"""Integers with more distinct values are a quantity, not classes."""

Label = int | float | str

Value = float | str
"""A number, or a text of the file."""

MISSING = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL")
"""Texts that mean a missing value; others, such as ``Na`` and ``None``, are labels."""
MISSING_NUMBERS = ("none", "n.a.", "?")
"""Further such texts among numbers, where case does not matter."""
_NO_LABEL = frozenset(MISSING)
_NO_NUMBER = frozenset(text.lower() for text in (*MISSING, *MISSING_NUMBERS))
_NUMBER = r"[+-]?(\d+([.,]\d+)?|[.,]\d+)([eE][+-]?\d+)?"
_COMMA = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+)?,\d+([eE][+-]?\d+)?")
_BOUND = re.compile(rf"(?P<sign><|>|≤|≥|~|<=|>=)\s*(?P<number>{_NUMBER})")
_WITH_UNIT = re.compile(rf"{_NUMBER}\s*[^\d\s.,].*")
_UNIT = re.compile(r"[\[(]([^\[\]()]+)[\])]\s*$")
_TRUTH = {"true": 1.0, "false": 0.0}
_NO_VALUE = " Correct it, or leave the field empty if it is missing."


@dataclass(frozen=True)
class TargetColumn:
    """A target of every graph."""

    name: str
    values: tuple[Value | None, ...]  # None where missing
    places: tuple[str, ...]  # such as row 3 (line 4)
    source: str  # the file or object it is from
    spelled: Mapping[int, str] = field(default_factory=dict)  # texts of missing values

    @property
    def present(self) -> list[tuple[str, Value]]:
        """Places and values that are not missing."""
        pairs = zip(self.places, self.values, strict=True)
        return [(place, value) for place, value in pairs if value is not None]

    @property
    def texts(self) -> list[tuple[str, str]]:
        """Places and values that are neither numbers nor missing."""
        return [
            (place, value)
            for place, value in self.present
            if isinstance(value, str) and as_number(value) is None
        ]

    @cached_property
    def numbers(self) -> list[float]:
        """All values as numbers, NaN where missing.

        Raises:
            GraphInputError: If one is not a finite number.
        """
        out = []
        for place, value in zip(self.places, self.values, strict=True):
            number = math.nan if value is None else as_number(value)
            if number is None:
                reason = f"{value!r} is not a number.{not_a_number(value)}"
                raise self.wrong(place, reason)
            if math.isinf(number):
                raise self.wrong(place, f"{value} is not finite.{_NO_VALUE}")
            out.append(number)
        return out

    @cached_property
    def labels(self) -> list[Label | None]:
        """All values as labels: numbers if all are spelled as numbers, else texts.

        The spelling is Python's, one per number: a column with both ``7`` and ``007``,
        ``1`` and ``1.0``, ``1000`` and ``1e3``, or ``1`` and ``true`` has texts.
        """
        numbers: dict[float, str] = {}
        for _, value in self.present:
            number = spelled_number(value)
            text = _text(value)
            if number is None or numbers.setdefault(number, text) != text:
                return [None if v is None else _text(v) for v in self.values]
        return [None if v is None else spelled_number(v) for v in self.values]

    def wrong(self, place: str, reason: str) -> GraphInputError:
        """Return an error that names source, place and column."""
        where = f", {place}" if place else ""
        return GraphInputError(f"{self.source}{where}, target {self.name!r}: {reason}")


def unit_of(name: str) -> str:
    """Return the unit in brackets at the end of a heading, or nothing.

    Example:
        >>> unit_of("solubility [mg/L]"), unit_of("mp (°C)"), unit_of("logP")
        ('mg/L', '°C', '')
    """
    unit = _UNIT.search(name)
    return unit[1].strip() if unit else ""


def as_number(value: Value) -> float | None:
    """Return a value as a number, NaN if missing; ``None`` if it is a name.

    Example:
        >>> [as_number(text) for text in ("1e3", "007", "true", "N/A", "None", "x")]
        [1000.0, 7.0, 1.0, nan, nan, None]
    """
    if not isinstance(value, str):
        return value
    text = value.strip().lower()
    if text in _NO_NUMBER:
        return math.nan
    if text in _TRUTH:
        return _TRUTH[text]
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def as_bound(value: Value | None) -> tuple[int, float] | None:
    """Return which side of a number the truth lies on, and the number; or ``None``.

    Example:
        >>> [as_bound(text) for text in (">5", "<= 0.1", "≤0.1", "~5", "5")]
        [(1, 5.0), (-1, 0.1), (-1, 0.1), None, None]
    """
    match = _BOUND.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None or match["sign"] == "~":
        return None
    number = as_number(match["number"])
    return None if number is None else (1 if match["sign"][0] in ">≥" else -1, number)


def spelled_number(value: Value) -> int | float | None:
    """Return a number, or the number of a text in Python's spelling.

    Example:
        >>> [spelled_number(v) for v in ("7", "007", "1.5", "1.50", "1e3", 2.0, "true")]
        [7, None, 1.5, None, None, 2, None]
    """
    if not isinstance(value, str):
        return int(value) if value.is_integer() else value
    for kind in (int, float):
        try:
            number = kind(value)
        except ValueError:
            continue
        if math.isfinite(number) and str(number) == value:
            return int(number) if number == int(number) else number
    return None


def is_missing(value: Any, *, number: bool = False) -> bool:
    """Return whether a value means a missing label, or a missing ``number``."""
    if isinstance(value, str):
        text = value.strip()
        return text.lower() in _NO_NUMBER if number else text in _NO_LABEL
    return value is None or (isinstance(value, float) and math.isnan(value))


def not_a_number(value: object) -> str:
    """Return why a text is likely no number, and the cure.

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
        return " It is a bound, or about: give a number, or leave the field empty."
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

    ``None``, NaN and the texts ``MISSING`` are missing values.

    Raises:
        GraphInputError: If a value is infinite or neither number nor string, or all are
            missing.

    Example:
        >>> read_column("y", ["1", "", "cat", True], ["a", "b", "c", "d"], "x").values
        ('1', None, 'cat', 'True')
    """
    pairs = zip(values, places, strict=True)
    read = tuple(_value(name, value, f"{source}, {place}") for value, place in pairs)
    spelled = {
        i: str(value).strip()
        for i, value in enumerate(values)
        if read[i] is None and value is not None
    }
    column = TargetColumn(name, read, tuple(places), source, spelled)
    if not column.present:
        raise column.wrong("", "all values are missing; there is nothing to learn.")
    return column


def _value(name: str, value: Any, place: str) -> Value | None:
    if is_missing(value):
        return None
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool | np.bool_):
        return str(value)
    if not isinstance(value, numbers.Real):
        raise GraphInputError(
            f"{place}, target {name!r}: a number or a string is needed, got "
            f"{type(value).__name__}."
        )
    try:
        number = float(value)
    except OverflowError:  # an integer of hundreds of digits
        number = math.inf
    if math.isinf(number):
        raise GraphInputError(
            f"{place}, target {name!r}: {value} is not finite.{_NO_VALUE}"
        )
    if isinstance(value, numbers.Integral) and int(number) != value:
        return str(value)  # not exact in float64
    return None if math.isnan(number) else number


class TargetFields(TypedDict):
    """Fields of a :class:`~sekgnn.datasets.graph_task.GraphTask` about its targets."""

    kind: TaskKind
    target_names: tuple[str, ...]
    classes: tuple[Label, ...] | None
    mask: NDArray[np.bool_]
    bounds: NDArray[np.int8] | None
    missing: Mapping[str, int]


def encode_targets(
    columns: Sequence[TargetColumn],
    kind: TaskKind | None = None,
    classes: Sequence[Label] | None = None,
) -> tuple[NDArray[Any], TargetFields]:
    """Return targets as arrays, and the kind of task.

    Without ``kind``, several targets are multilabel if all values are 0 or 1, else
    regression. One target is a class if its values are names, or integers with at most
    ``MOST_NUMBERED_CLASSES`` distinct values that occur twice on average; else
    regression. Labels are texts unless every one is spelled as a number
    (:attr:`TargetColumn.labels`). Among numbers the texts ``MISSING_NUMBERS`` are
    missing, too. Values such as ``>5`` are bounds in a regression; they do not make
    one of a column whose other values are labels.

    Args:
        columns: The targets.
        kind: The kind of task, if known.
        classes: The labels in order, if known, as for new data of a trained model; by
            default the sorted labels that occur.

    Returns:
        Class numbers, int64 ``[G]``, or targets ``[G, T]``, float64 in regression and
        float32 in multilabel tasks; 0 where missing. And the fields of the task. For a
        bound, the array holds its number, ``mask`` is false, and ``bounds``, int8
        ``[G, T]``, is 1 if the truth is at least that and -1 if at most; ``bounds`` is
        ``None`` if there are none.

    Raises:
        ConfigError: If ``kind`` does not fit the number of targets.
        GraphInputError: If a value does not fit the kind, a label is not in
            ``classes``, a class has only one member, or all values are equal.
    """
    names = tuple(column.name for column in columns)
    if not columns or len(set(names)) != len(names):
        raise ConfigError(f"targets must be different columns, got {list(names)}.")
    apart = [_apart(column, kind, classes) for column in columns]
    exact = [column for column, _ in apart]
    chosen = _kind(exact, kind, classes)
    if chosen in ("binary", "multiclass"):
        (column,) = columns
        labels = tuple(classes) if classes is not None else _classes(column, chosen)
        values = _class_numbers(column, labels)
        mask = np.array([[v is not None] for v in column.values])
        return values, _fields(columns, chosen, mask, labels)
    table = np.array([_checked(c, binary=chosen == "multilabel") for c in exact]).T
    mask = ~np.isnan(table)
    bounds = np.zeros(mask.shape, dtype=np.int8)
    for t, (_, known) in enumerate(apart):
        for i, (side, number) in known.items():
            table[i, t], bounds[i, t] = number, side
    values = np.where(mask | (bounds != 0), table, 0)
    dtype = np.float64 if chosen == "regression" else np.float32
    return values.astype(dtype), _fields(columns, chosen, mask, bounds=bounds)


def _apart(
    column: TargetColumn, kind: TaskKind | None, classes: Sequence[Label] | None
) -> tuple[TargetColumn, dict[int, tuple[int, float]]]:
    """Return a column without its bounds, and these by position."""
    if classes is not None or kind not in (None, "regression"):
        return column, {}
    read = ((i, as_bound(value)) for i, value in enumerate(column.values))
    bounds = {i: bound for i, bound in read if bound is not None}
    if not bounds:
        return column, {}
    for i, (_, number) in bounds.items():
        if abs(number) > _MOST:
            reason = f"{number:g} is beyond what float32 holds; use other units."
            raise column.wrong(column.places[i], reason)
    kept = (None if i in bounds else value for i, value in enumerate(column.values))
    exact = replace(column, values=tuple(kept))
    if kind is None and (exact.texts or not exact.present or _are_classes(exact)):
        return column, {}  # a name among others
    if not exact.present:
        raise column.wrong("", "all values are bounds; some exact ones are needed.")
    return exact, bounds


def _fields(
    columns: Sequence[TargetColumn],
    kind: TaskKind,
    mask: NDArray[np.bool_],
    classes: tuple[Label, ...] | None = None,
    bounds: NDArray[np.int8] | None = None,
) -> TargetFields:
    """Return the fields of a task, with counts of texts in rows without a target."""
    counts: Counter[str] = Counter()
    if bounds is not None and not bounds.any():
        bounds = None
    known = mask if bounds is None else mask | (bounds != 0)
    for i in np.flatnonzero(~known.any(axis=1)).tolist():
        for column in columns:
            value = column.values[i]
            counts[column.spelled.get(i, "") if value is None else str(value)] += 1
    return {
        "kind": kind,
        "target_names": tuple(column.name for column in columns),
        "classes": classes,
        "mask": mask,
        "bounds": bounds,
        "missing": dict(counts.most_common()),
    }


def _kind(
    columns: Sequence[TargetColumn],
    kind: TaskKind | None,
    classes: Sequence[Label] | None,
) -> TaskKind:
    if kind is None and classes is None:
        return _guess(columns)
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
    named = any(column.texts for column in columns)
    if len(columns) > 1:
        numbers = set() if named else {n for c in columns for n in c.numbers if n == n}
        if numbers and numbers <= {0.0, 1.0}:
            return "multilabel"
        for column in columns:
            _check_varied(column, column.values if named else column.numbers)
        return "regression"
    (column,) = columns
    if named:
        values = set(column.labels) - {None}
        place, text = column.texts[0]
        if 2 * len(values) > len(column.present):
            raise column.wrong(
                place,
                f"{text!r} is not a number, and {len(values)} different values in "
                f"{len(column.present)} rows are too many for classes; correct it, or "
                f"say what kind of task this is.{not_a_number(text)}",
            )
        if all(_COMMA.fullmatch(text) for _, text in column.texts):
            reason = f"{text!r} is not a number.{not_a_number(text)} If these are "
            raise column.wrong(place, f"{reason}names of classes, set kind.")
    elif not _are_classes(column):
        _check_varied(column, column.numbers)
        return "regression"
    _check_varied(column, column.labels)
    count = len(set(column.labels) - {None})
    return "binary" if count == 2 else "multiclass"


def _are_classes(column: TargetColumn) -> bool:
    """Return whether a column holds few integers, each twice on average."""
    pairs = zip(column.labels, column.numbers, strict=True)
    present = [(label, number) for label, number in pairs if not math.isnan(number)]
    different = len({label for label, _ in present})
    integers = all(number.is_integer() for _, number in present)
    return (
        integers
        and 2 * different <= len(present)
        and different <= MOST_NUMBERED_CLASSES
    )


def _check_varied(column: TargetColumn, values: Sequence[Value | None]) -> None:
    """Refuse values that are all the same."""
    distinct = {v for v in values if v is not None and v == v}
    if len(distinct) == 1:
        reason = f"all values are {distinct.pop()}; there is nothing to learn."
        raise column.wrong("", reason)


def _classes(column: TargetColumn, kind: TaskKind) -> tuple[Label, ...]:
    """Return the sorted labels; each must occur at least twice."""
    members = Counter(label for label in column.labels if label is not None)
    labels: tuple[Label, ...] = tuple(sorted(members))
    if len(labels) < 2 or (kind == "binary" and len(labels) > 2):
        needed = "two" if kind == "binary" else "two or more"
        shown = ", ".join(map(str, labels[:10]))
        raise column.wrong(
            "", f"kind {kind!r} needs {needed} classes, found {len(labels)}: {shown}."
        )
    for place, label in zip(column.places, column.labels, strict=True):
        if label is not None and members[label] == 1:
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
        label = _text(value) if named else spelled_number(value)
        if label not in number:
            shown = ", ".join(map(str, labels[:10]))
            asked = value if label is None else label
            reason = f"class {asked!r} is unknown; the classes are {shown}."
            raise column.wrong(column.places[i], reason)
        out[i] = number[label]
    return out


def _text(value: Value) -> str:
    """Return a text, or a number as Python writes it."""
    return value if isinstance(value, str) else str(spelled_number(value))


def _checked(column: TargetColumn, binary: bool) -> list[float]:
    """Return the numbers of a column, NaN where missing; 0 and 1 if ``binary``."""
    values = column.numbers
    for place, value in zip(column.places, values, strict=True):
        if abs(value) > _MOST:
            reason = f"{value:g} is beyond what float32 holds; use other units."
            raise column.wrong(place, reason)
        if binary and value not in (0.0, 1.0) and not math.isnan(value):
            raise column.wrong(place, f"{value:g} is neither 0 nor 1 (multilabel).")
    if all(map(math.isnan, values)):
        raise column.wrong("", "all values are missing; there is nothing to learn.")
    return values
