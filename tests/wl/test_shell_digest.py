"""A centre's value holds the pairs it should, each in its own multiset, and no other.

Two real graphs hardly ever differ in one kind of pair alone; made-up digests do.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from sekgnn.walks.ball import WalkScope
from sekgnn.wl.encodings.walks import WalkParts, centre_value

Wanted = tuple[bool, ...]
BOUNDS = np.array([0, 1, 3, 6, 6], dtype=np.int64)  # shells {1, 2}, {3, 4, 5} and none
MEMBERS = np.arange(6, dtype=np.int32)
SHELL = [0, 1, 1, 2, 2, 2]
PARTS = list(product([False, True], repeat=3))


def kind(i: int, j: int) -> tuple[int, int, bool]:
    """Say which multiset a pair of nodes belongs to."""
    return SHELL[i], SHELL[j], i == j


def is_seen(
    i: int, j: int, centre: bool, parts: tuple[bool, ...], all_shells: bool
) -> bool:
    """Say whether a pair is part of the value."""
    a, b, same = kind(i, j)
    if a == 0:
        return centre and (parts[0] if same else parts[1])
    return b > 0 and parts[2] and (all_shells or a == b)


def value(
    pairs: NDArray[np.uint64], centre: bool, parts: Wanted, all_shells: bool
) -> tuple[int, int]:
    scope = WalkScope(False, 3, centre, 0)
    walks = WalkParts(scope, 1, np.array(parts), all_shells)
    c0, c1 = centre_value(pairs, MEMBERS, BOUNDS, walks)
    return int(c0), int(c1)


@pytest.mark.parametrize("all_shells", [False, True])
@pytest.mark.parametrize("centre", [True, False])
@pytest.mark.parametrize("parts", PARTS)
def test_what_a_value_holds(
    parts: tuple[bool, ...], centre: bool, all_shells: bool
) -> None:
    rng = np.random.default_rng(1)
    pairs = rng.integers(0, 2**64, size=(2, 6, 6), dtype=np.uint64)
    before = value(pairs, centre, parts, all_shells)
    cells = list(product(range(6), repeat=2))
    for i, j in cells:
        for lane in (0, 1):
            other = pairs.copy()
            other[lane, i, j] ^= np.uint64(1)
            changed = value(other, centre, parts, all_shells) != before
            assert changed == is_seen(i, j, centre, parts, all_shells), (i, j)
    for first, second in product(cells, repeat=2):
        swapped = pairs.copy()
        (a, b), (c, d) = first, second
        swapped[:, a, b], swapped[:, c, d] = pairs[:, c, d], pairs[:, a, b]
        seen = [is_seen(i, j, centre, parts, all_shells) for i, j in (first, second)]
        alike = first == second or kind(a, b) == kind(c, d) or not any(seen)
        assert (value(swapped, centre, parts, all_shells) == before) == alike


def test_empty_shells_at_the_end_are_nothing() -> None:
    pairs = np.arange(72, dtype=np.uint64).reshape(2, 6, 6)
    walks = WalkParts(WalkScope(False, 3, True, 0), 1, np.ones(3, np.bool_), True)
    values = {
        centre_value(pairs, MEMBERS, np.array(bounds), walks)
        for bounds in ([0, 1, 3, 6], [0, 1, 3, 6, 6], [0, 1, 3, 6, 6, 6])
    }
    assert len(values) == 1
    fewer = centre_value(pairs, MEMBERS, np.array([0, 1, 3]), walks)
    assert fewer not in values
