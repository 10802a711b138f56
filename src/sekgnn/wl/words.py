"""What a colour means, unfolded in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sekgnn.digest import number_colours
from sekgnn.wl.refinement import UNKNOWN_DIFFERENCE, Refinement, Source

T = TypeVar("T")
_SHOWN = 6
_MAX_LINES = 40


class ColourWords:
    """Names for the colours of a refinement whose history was kept.

    The colours of a round are called A, B, ..., Z, AA, ... in the order in which the
    first graph's objects, then the next one's, show them, followed by the round: A0,
    B0, A1.
    """

    def __init__(self, run: Refinement) -> None:
        self._run = run

    @cached_property
    def classes(self) -> list[NDArray[np.int64]]:
        """The class number of every object in every round."""
        return [number_colours(colours)[1] for colours in self._run.history]

    def name(self, number: int, round: int) -> str:
        """Return the name of a colour of a round."""
        letters = ""
        rest = number + 1
        while rest:
            rest, letter = divmod(rest - 1, 26)
            letters = chr(65 + letter) + letters
        return f"{letters}{round}"

    def meaning(self, item: int, round: int) -> list[str]:
        """Say what the colour of an object in a round stands for, down to round 0."""
        lines: list[str] = []
        todo, told = [(item, round)], set()
        while todo and len(lines) < _MAX_LINES:
            item, round = todo.pop(0)
            number = int(self.classes[round][item])
            if (number, round) in told:
                continue
            told.add((number, round))
            head, *facts = self._one(item, round)
            lines.append(f"{self.name(number, round)}: {head}")
            lines += [f"    {fact}" for fact in facts]
            if round:
                todo.append((item, round - 1))
        return lines

    def _one(self, item: int, round: int) -> list[str]:
        """Return the facts that one colour stands for."""
        if round == 0:
            count, objects = self._run.class_counts[0], self._run.test.objects
            unknown = f"one of {count} first colours of {objects}"
            return self._run.colouring.first_words(item) or [
                f"all {objects} alike" if count == 1 else unknown
            ]
        before = self.name(int(self.classes[round - 1][item]), round - 1)
        parts = [
            f"{source.phrase} {counted(self.multiset(source, round - 1))}"
            for source in self._run.colouring.sources(item)
        ]
        return [f"was {before}", *parts]

    def multiset(self, source: Source, round: int) -> Counter[str]:
        """Return the colours of a source's members in a round, by name."""
        out: Counter[str] = Counter()
        marks = source.marks or [""] * len(source.members)
        for mark, row in zip(marks, source.members.tolist(), strict=True):
            names = [self.name(int(self.classes[round][i]), round) for i in row]
            joined = names[0] if len(names) == 1 else f"({', '.join(names)})"
            out[f"{mark}{joined}"] += 1
        return out

    def difference(self, item: int, other: int, round: int) -> list[str]:
        """Say why two objects have different colours in a round."""
        colouring = self._run.colouring
        if round == 0:
            return colouring.first_difference(item, other) or [UNKNOWN_DIFFERENCE]
        if self.classes[round - 1][item] != self.classes[round - 1][other]:
            return self.difference(item, other, round - 1)
        mine, theirs = (
            {source.phrase: self.multiset(source, round - 1) for source in sources}
            for sources in (colouring.sources(item), colouring.sources(other))
        )
        none: Counter[str] = Counter()
        out = [
            f"{phrase}: {against(a, b, counted)}"
            for phrase in dict.fromkeys([*mine, *theirs])
            if (a := mine.get(phrase, none)) != (b := theirs.get(phrase, none))
        ]
        if out:
            return out
        if mine:
            return [f"the same multisets, but {colouring.beyond_sources}"]
        return [f"their colours of round {round} differ"]


def counted(values: Counter[str]) -> str:
    """Return a multiset of names as text.

    Example:
        >>> counted(Counter(["A0", "A0", "B0"]))
        '{2 × A0, 1 × B0}'
    """
    items = sorted(values.items(), key=lambda pair: (-pair[1], pair[0]))
    shown = [f"{n} × {name}" for name, n in items[:_SHOWN]]
    if len(items) > _SHOWN:
        shown.append(f"{len(items) - _SHOWN} more kinds")
    return "{" + ", ".join(shown) + "}"


def against(
    mine: Counter[T], theirs: Counter[T], text: Callable[[Counter[T]], str]
) -> str:
    """Say two different multisets, whole if ``text`` shows the difference.

    Example:
        >>> show = lambda values: "".join(sorted(values.elements()))[:3]
        >>> against(Counter("ab"), Counter("ac"), show)
        'ab against ac'
        >>> against(Counter("aaab"), Counter("aaac"), show)
        'b against c, the rest being equal'
    """
    a, b = text(mine), text(theirs)
    if a != b:
        return f"{a} against {b}"
    return f"{text(mine - theirs)} against {text(theirs - mine)}, the rest being equal"
