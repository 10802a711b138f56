"""JSON and YAML of others: whatever is wrong is one line, soon and in little memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, TypedDict

import pytest

from sekgnn.parsing import Size, parse_json, parse_yaml, read_as


class Keys(TypedDict):
    name: str


class Open(Keys, total=False):
    size: Size


@dataclass(frozen=True)
class Inner:
    values: dict[str, list[float]]
    kind: Literal["a", "b"] = "a"


@dataclass(frozen=True)
class Outer:
    DERIVED: ClassVar = ("total",)
    inner: tuple[Inner, ...]
    pair: tuple[str, int | None]
    about: Annotated[dict[str, Any], Open]
    label: int | float | str = 0


GOOD: dict[str, Any] = {
    "inner": [{"values": {"x": [1, None, 0.5]}}],
    "pair": ["p", None],
    "about": {"name": "n", "own": [1]},
    "total": 3,
}


def test_a_type_is_read_with_all_that_is_in_it() -> None:
    outer = read_as(Outer, GOOD)
    assert outer.pair == ("p", None) and outer.about == {"name": "n", "own": [1]}
    (inner,) = outer.inner
    assert inner.kind == "a"
    first, none, half = inner.values["x"]
    assert (first, half) == (1.0, 0.5) and isinstance(first, float) and none != none
    assert read_as(Outer, {**GOOD, "label": "1"}).label == "1"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pair": ["p"]}, "pair must be 2 values"),
        ({"pair": ["p", True]}, "pair must be an integer, got True"),
        ({"inner": {}}, "inner must be a list, got {}"),
        ({"inner": [{}]}, r"inner\[0\]\.values is missing"),
        (
            {"inner": [{"values": {"x": ["1"]}}]},
            r"inner\[0\]\.values\.x\[0\] must",
        ),
        ({"inner": [{"values": {}, "kind": 0}]}, "kind must be one of"),
        ({"about": {}}, r"about\.name is missing"),
        ({"about": {"name": "n", "size": -1}}, r"about\.size must be in 0\.\."),
        ({"about": {"name": "n", "size": 1 << 63}}, r"about\.size must be an integer"),
        ({"label": None}, "label"),
        ({"a b\n": 1}, r"'a b\\n' is unknown"),
    ],
)
def test_what_is_not_of_the_type_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_as(Outer, {**GOOD, **change})
    with pytest.raises(ValueError, match="it must be an object, got 5"):
        read_as(Outer, 5)


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 10)
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BOMB, "aliases"),
        ("lr: &a [*a]", "line 1 refers to itself"),
        ("lr: &a {low: {x: *a}}", "refers to itself"),
        ("lr: 2020-13-45", "month must be in"),
        ("lr: !!int ''", "malformed"),
        ("lr: !!python/object/apply:os.getpid []", "constructor"),
        ("lr: " + "[" * 9999, "nested too deeply"),
        ("lr: " + "9" * 400, "has 400 digits"),
        ("lr: 0x" + "f" * 9999, "digits"),
        ("? [a]\n: 1", "unhashable"),
        ("a: b: c", "mapping"),
        ("\0", "special characters"),
    ],
)
def test_hostile_yaml(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        parse_yaml(text)
    assert "\n" not in str(error.value)


def test_aliases_are_read() -> None:
    text = "a: &a {lr: 0.1, scope: [graph]}\nb: {<<: *a, lr: 0.2}\nc: *a"
    values = {"lr": 0.1, "scope": ["graph"]}
    assert parse_yaml(text) == {"a": values, "b": {**values, "lr": 0.2}, "c": values}
    assert parse_yaml("") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply"),
        ("9" * 400, "has 400 digits"),
        ("[1,", "Expecting value"),
    ],
)
def test_hostile_json(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_json(text)
