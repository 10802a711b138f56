"""Two multisets side by side, so that a reader sees where they differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def against(
    mine: Counter[T], theirs: Counter[T], text: Callable[[Counter[T]], str]
) -> str:
    """Say two different multisets, whole if that shows the difference.

    Args:
        mine: A multiset.
        theirs: Another.
        text: Puts one into words, leaving out what is too much.

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
