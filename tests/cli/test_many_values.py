"""Several values behind one flag mean the same as the flag before each."""

from __future__ import annotations

from typing import Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.core import TyperCommand

from sekgnn.cli.main import app
from sekgnn.cli.options import _NUMBERS, _OPEN, _PAIRS, _WORDS, repeat_flags
from sekgnn.encoding import ENCODINGS

FLAGS = {"--scope", "--radius"}
VALUES = {"--scope": ["graph", "ego", "internal"], "--radius": ["1", "2", "30"]}
OTHERS = ["rook:4", "--num-hops", "3x", "--json", "-o", "x.png", "-1", "f1", "walks"]


def repeatable(command: TyperCommand) -> set[str]:
    return {
        flag
        for param in command.get_params(typer.Context(command))
        if getattr(param, "multiple", False) and not param.is_flag  # type: ignore[attr-defined]
        for flag in param.opts
    }


def test_one_s_own_words_count(monkeypatch: pytest.MonkeyPatch) -> None:
    args = ["--encoding", "walks", "mine"]
    assert repeat_flags(args, {"--encoding"}) == args
    monkeypatch.setitem(ENCODINGS._classes, "mine", ENCODINGS["walks"])
    found = repeat_flags(args, {"--encoding"})
    assert found == ["--encoding", "walks", "--encoding", "mine"]


def test_the_values_of_every_repeatable_option_are_known() -> None:
    group: Any = typer.main.get_command(app)
    commands = {**group.commands, **group.commands["graph"].commands}
    found = [repeatable(command) for command in commands.values()]
    assert set().union(*found) == {*_WORDS, *_NUMBERS, *_PAIRS, *_OPEN}


def test_any_word_is_a_target_where_arguments_come_first() -> None:
    flags = {"--target"}
    found = repeat_flags(["d.csv", "--target", "a", "b c", "-o", "x"], flags)
    assert found == ["d.csv", "--target", "a", "--target", "b c", "-o", "x"]
    last = ["--target", "a", "d.csv"]
    assert repeat_flags(last, flags) == last


@st.composite
def written(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    """Draw arguments as people write them, and with the flag before each value."""
    short: list[str] = []
    long: list[str] = []
    for _ in range(draw(st.integers(0, 4))):
        flag = draw(st.sampled_from(["", *sorted(FLAGS)]))
        if flag:
            values = draw(
                st.lists(st.sampled_from(VALUES[flag]), min_size=1, max_size=4)
            )
            short += [flag, *values]
            long += [word for value in values for word in (flag, value)]
        else:
            word = draw(st.sampled_from(OTHERS))
            short.append(word)
            long.append(word)
    return short, long


@given(written(), st.booleans())
def test_further_values_repeat_the_flag(
    both: tuple[list[str], list[str]], dashes: bool
) -> None:
    """Other arguments stay; those behind ``--`` are never values."""
    short, long = both
    rest = ["--", "graph", "1", "--radius", "1", "2"] if dashes else []
    assert repeat_flags([*short, *rest], FLAGS) == [*long, *rest]
    assert repeat_flags(long, FLAGS) == long
    assert repeat_flags(short, set()) == short


def test_values_end_at_the_first_other_word() -> None:
    args = ["--scope", "graph", "rook:4", "ego"]
    assert repeat_flags(args, FLAGS) == args
    for word in ("-2", "2.0", "²", "٣", "two", "", "1e3"):  # only plain digits
        assert repeat_flags(["--radius", "1", word], FLAGS) == ["--radius", "1", word]
    args = ["--radius", "1", "--json", "2"]
    assert repeat_flags(args, FLAGS) == args
    args = ["--scope", "ego", "--", "internal"]
    assert repeat_flags(args, FLAGS) == args


def test_the_first_value_is_taken_as_it_is() -> None:
    """Whatever it is: the option itself will say what is wrong with it."""
    assert repeat_flags(["--radius", "x", "2"], FLAGS) == [
        "--radius", "x", "--radius", "2",
    ]  # fmt: skip
    assert repeat_flags(["--radius", "--scope", "2"], FLAGS) == [
        "--radius", "--scope", "--radius", "2",
    ]  # fmt: skip
