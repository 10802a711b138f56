"""JSON and YAML of others: whatever is wrong is one line, soon and in little memory."""

from __future__ import annotations

import pytest

from sekgnn.parsing import parse_json, parse_yaml

BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 10)
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BOMB, "aliases stand for more than 100,000 values"),
        ("lr: &a [*a]", "line 1 refers to itself"),
        ("lr: &a {low: {x: *a}}", "refers to itself"),
        ("lr: 2020-13-45", "month must be in"),
        ("lr: !!int ''", "malformed"),
        ("lr: !!python/object/apply:os.getpid []", "could not determine a constructor"),
        ("lr: " + "[" * 9999, "nested too deeply"),
        ("lr: " + "9" * 400, "has 400 digits"),
        ("lr: 0x" + "f" * 9999, "digits"),
        ("? [a]\n: 1", "unhashable"),
        ("a: b: c", "mapping values are not allowed"),
        ("\0", "special characters"),
    ],
)
def test_hostile_yaml(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as found:
        parse_yaml(text)
    assert "\n" not in str(found.value)


def test_aliases_are_read() -> None:
    text = "a: &a {lr: 0.1, scope: [graph]}\nb: {<<: *a, lr: 0.2}\nc: *a"
    part = {"lr": 0.1, "scope": ["graph"]}
    assert parse_yaml(text) == {"a": part, "b": {**part, "lr": 0.2}, "c": part}
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
