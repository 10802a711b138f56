"""JSON and YAML from files of unknown origin.

The parsers of the standard library and of PyYAML fail in many ways on hostile text, and
with aliases a few lines of YAML can stand for gigabytes. Here every fault of a text,
and every value of a wrong type, is a ``ValueError`` of one line.
"""

from __future__ import annotations

import json
import math
import reprlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import MISSING, fields, is_dataclass
from functools import lru_cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

T = TypeVar("T")

Size = Annotated[int, range(2**62)]
"""A count, or a position."""

_WORDS = {
    bool: "true or false",
    dict: "an object",
    float: "a number",
    int: "an integer",
    list: "a list",
    str: "a string",
}
_MOST_INTEGER = 1 << 63
_MOST_DIGITS = 300  # of an integer; more are beyond any float
_MOST_VALUES = 100_000  # of a YAML text, counting repeats by aliases


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: If it is not valid, nested too deeply, or an integer is too long.

    Example:
        >>> parse_json('{"a": [1, 2.5]}')
        {'a': [1, 2.5]}
    """
    try:
        return json.loads(text, parse_int=_integer)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def parse_yaml(text: str) -> Any:
    """Return the value of a YAML text, of plain values only.

    Raises:
        ValueError: If it is not valid, nested too deeply, refers to itself, stands for
            more than 100,000 values, or a value is malformed.

    Example:
        >>> parse_yaml("a: [1, 2.5]")
        {'a': [1, 2.5]}
    """
    import yaml

    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if node is None:
            return None
        _count(node, {})
        return loader.construct_document(node)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from None
    except (TypeError, IndexError, KeyError, AttributeError, OverflowError) as error:
        raise ValueError(f"a value is malformed ({error!r})") from None


def _integer(digits: str) -> int:
    _check_digits(digits)
    return int(digits)


def _check_digits(digits: str) -> None:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"a number has {len(digits)} digits")


def _count(node: Any, counts: dict[int, int | None]) -> int:
    """Return the number of values of a YAML node, aliases expanded."""
    import yaml

    if isinstance(node, yaml.ScalarNode):
        if node.tag.endswith(":int"):
            _check_digits(node.value)
        return 1
    if id(node) in counts:
        count = counts[id(node)]
        if count is None:
            raise ValueError(f"line {node.start_mark.line + 1} refers to itself")
        return count
    counts[id(node)] = None
    total = 1
    for item in node.value:
        for child in item if isinstance(item, tuple) else (item,):
            total += _count(child, counts)
    if total > _MOST_VALUES:
        raise ValueError(
            f"its aliases stand for more than {_MOST_VALUES:,} values; write out what "
            "is meant"
        )
    counts[id(node)] = total
    return total


def read_as(kind: type[T], value: Any, where: str = "") -> T:
    """Return plain values from a file as a type, checked at every depth.

    Types are those that dataclasses and TypedDicts declare: JSON lists become tuples
    where declared, integers floats, and ``null`` NaN. A dataclass takes only its own
    keys and those of its ``DERIVED``, which are dropped; a TypedDict keeps other keys.
    ``Annotated[dict[str, Any], Keys]`` is checked as ``Keys``, and ``Annotated[int,
    range(n)]`` lies in the range.

    Args:
        kind: The type.
        value: Plain values, as parsers return them.
        where: Its name in errors; empty for a whole file.

    Raises:
        ValueError: If a key is missing or unknown, or a value of another type.

    Example:
        >>> read_as(dict[str, tuple[int, ...]], {"a": [1, 2]})
        {'a': (1, 2)}
        >>> read_as(dict[str, int], {"a": "1"})
        Traceback (most recent call last):
        ...
        ValueError: a must be an integer, got '1'
    """
    converted: T = _as(kind, value, where)
    return converted


def parse_as(kind: type[T], text: str | bytes) -> T:
    """Return the value of a JSON text as a type; raise ValueError if it is not one."""
    return read_as(kind, parse_json(text))


def _as(kind: Any, value: Any, where: str) -> Any:
    origin, inner = get_origin(kind) or kind, get_args(kind)
    if kind is Any:
        return value
    if origin is Annotated:
        base, form = inner
        if not isinstance(form, range):
            return _as(form, value, where)
        if _as(base, value, where) not in form:
            raise ValueError(f"{where} must be in {form[0]}..{form[-1]}, got {value}")
        return value
    if origin in (Union, UnionType):
        options = [option for option in inner if option is not NoneType]
        if value is None and NoneType in inner:
            return None
        for option in options[:-1] if value is not None else ():
            with suppress(ValueError):
                return _as(option, value, where)
        return _as(options[-1], value, where)
    if is_dataclass(kind) or is_typeddict(kind):
        return _with_keys(kind, _plain(dict, value, where), where)
    if origin in (dict, Mapping):
        value_kind = inner[1] if inner else Any
        items = _plain(dict, value, where).items()
        return {key: _as(value_kind, item, _inside(where, key)) for key, item in items}
    if origin in (list, tuple):
        items = _plain(list, value, where)
        if origin is tuple and inner[-1] is not ...:
            if len(items) != len(inner):
                raise ValueError(f"{where} must be {len(inner)} values, got {value!r}")
            return tuple(map(_as, inner, items, [where] * len(items)))
        element = inner[0] if inner else Any
        if element is int and set(map(type, items)) <= {int}:  # splits may be long
            return origin(items)
        return origin(_as(element, v, f"{where}[{i}]") for i, v in enumerate(items))
    if origin is Literal:
        if type(value) is str and value in inner:
            return value
        raise ValueError(f"{where} must be one of {list(inner)}, got {_shown(value)}")
    if kind is float and value is None:
        return math.nan
    return _plain(kind, value, where)


def _with_keys(kind: Any, values: dict[str, Any], where: str) -> Any:
    """Return a dataclass or TypedDict of values."""
    make, types = kind, _hints(kind)
    if is_dataclass(kind):
        declared = {item.name: item for item in fields(kind)}
        needed = {
            name
            for name, item in declared.items()
            if item.default is MISSING and item.default_factory is MISSING
        }
        for key in values.keys() - {*declared, *getattr(kind, "DERIVED", ())}:
            raise ValueError(f"{_inside(where, key)} is unknown")
        values = {key: value for key, value in values.items() if key in declared}
    else:
        needed = kind.__required_keys__
    for key in sorted(needed - values.keys()):
        raise ValueError(f"{_inside(where, key)} is missing")
    read = {
        key: _as(types.get(key, Any), value, _inside(where, key))
        for key, value in values.items()
    }
    return make(**read) if is_dataclass(kind) else read


@lru_cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _inside(where: str, key: object) -> str:
    name = key if isinstance(key, str) and key.isidentifier() else _shown(key)
    return f"{where}.{name}" if where else str(name)[:60]


def _shown(value: object) -> str:
    """Return a short text of a value that may be long or hostile."""
    return reprlib.repr(value)


def _plain(kind: Any, value: Any, where: str) -> Any:
    """Return a value of one of the types of JSON, or raise."""
    if kind is float and type(value) is int:
        return float(value)
    fits = type(value) is kind or (kind is list and type(value) is tuple)
    if fits and (kind is not int or abs(value) < _MOST_INTEGER):
        return value
    raise ValueError(
        f"{where or 'it'} must be {_WORDS.get(kind, kind)}, got {_shown(value)}"
    )
