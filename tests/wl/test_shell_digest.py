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
    i: int, j: int, centre: bool, wanted: tuple[bool, ...], every: bool
) -> bool:
    """Say whether a pair is part of the value."""
    a, b, same = kind(i, j)
    if a == 0:
        return centre and (wanted[0] if same else wanted[1])
    return b > 0 and wanted[2] and (every or a == b)


def value(
    pairs: NDArray[np.uint64], centre: bool, wanted: Wanted, every: bool
) -> tuple[int, int]:
    scope = WalkScope(False, 3, centre, 0)
    walks = WalkParts(scope, 1, np.array(wanted), every)
    c0, c1 = centre_value(pairs, MEMBERS, BOUNDS, walks)
    return int(c0), int(c1)


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("centre", [True, False])
@pytest.mark.parametrize("wanted", PARTS)
def test_what_a_value_holds(
    wanted: tuple[bool, ...], centre: bool, every: bool
) -> None:
    rng = np.random.default_rng(1)
    pairs = rng.integers(0, 2**64, size=(2, 6, 6), dtype=np.uint64)
    before = value(pairs, centre, wanted, every)
    places = list(product(range(6), repeat=2))
    for i, j in places:
        for lane in (0, 1):
            other = pairs.copy()
            other[lane, i, j] ^= np.uint64(1)
            changed = value(other, centre, wanted, every) != before
            assert changed == is_seen(i, j, centre, wanted, every), (i, j)
    for first, second in product(places, repeat=2):
        swapped = pairs.copy()
        (a, b), (c, d) = first, second
        swapped[:, a, b], swapped[:, c, d] = pairs[:, c, d], pairs[:, a, b]
        seen = [is_seen(i, j, centre, wanted, every) for i, j in (first, second)]
        alike = first == second or kind(a, b) == kind(c, d) or not any(seen)
        assert (value(swapped, centre, wanted, every) == before) == alike


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
