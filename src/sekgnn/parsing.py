"""JSON and YAML from files that somebody else may have made.

The parsers of the standard library and of PyYAML fail in many ways on hostile text, and
aliases let a few lines of YAML stand for gigabytes. Here all that is wrong with a text
is a ``ValueError`` of one line.
"""

from __future__ import annotations

import json
from typing import Any

_MOST_DIGITS = 300  # of an integer: more are beyond any float
_MOST_VALUES = 100_000  # of a YAML text, those that aliases repeat counted again


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
            more than 100,000 values, or a value is not what its form says.

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


def _count(node: Any, known: dict[int, int | None]) -> int:
    """Return how many values a node of YAML stands for."""
    import yaml

    if isinstance(node, yaml.ScalarNode):
        if node.tag.endswith(":int"):
            _check_digits(node.value)
        return 1
    if id(node) in known:
        found = known[id(node)]
        if found is None:
            raise ValueError(f"line {node.start_mark.line + 1} refers to itself")
        return found
    known[id(node)] = None
    total = 1
    for item in node.value:
        for part in item if isinstance(item, tuple) else (item,):
            total += _count(part, known)
    if total > _MOST_VALUES:
        raise ValueError(
            f"its aliases stand for more than {_MOST_VALUES:,} values; write out what "
            "is meant"
        )
    known[id(node)] = total
    return total
