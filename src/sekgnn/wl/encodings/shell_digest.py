"""From digests of pairs to the value of one centre: multisets over shells."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sekgnn.kernel import kernel
from sekgnn.wl.digest import Colours, key_of, spread

KEY_PAIRS = key_of("pairs of shells")
KEY_WALKS = key_of("walk value")


@kernel
def spread_pairs(digests: Colours, labels: Colours, labelled: bool) -> None:
    """Spread the digests of all pairs in place, for being summed.

    Args:
        digests: ``[2, s, s]``.
        labels: Colours of the nodes' labels, ``[s, 2]``.
        labelled: Whether there are labels; then they become part of each pair.
    """
    s = digests.shape[1]
    for i in range(s):
        for j in range(s):
            d0, d1 = digests[0, i, j], digests[1, i, j]
            if labelled:
                d0, d1 = spread(d0 + labels[i, 0], d1 + labels[i, 1], KEY_PAIRS)
                d0, d1 = spread(d0 + labels[j, 0], d1 + labels[j, 1], KEY_PAIRS)
            d0, d1 = spread(d0, d1, KEY_PAIRS)
            digests[0, i, j], digests[1, i, j] = d0, d1


@kernel
def centre_value(
    pairs: Colours,
    centre: int,
    members: NDArray[np.int32],
    bounds: NDArray[np.int64],
    wanted: NDArray[np.bool_],
    every: bool,
) -> tuple[np.uint64, np.uint64]:
    """Return the digest of one centre's f1, f2 and f3.

    Shells behind the last that has nodes are not part of it, so that a value does not
    depend on how many empty shells were asked for.

    Args:
        pairs: From :func:`spread_pairs`, ``[2, s, s]``.
        centre: Row of the centre; negative if it is not there.
        members: Rows of the others, shell by shell.
        bounds: Shell k is ``members[bounds[k - 1]:bounds[k]]``, ``[S + 1]``.
        wanted: Whether f1, f2, f3 are part of it, ``[3]``.
        every: f3 between all shells, not only within each.
    """
    s0, s1 = KEY_WALKS, np.uint64(0)
    if wanted[0] and centre >= 0:
        s0, s1 = spread(
            s0 + pairs[0, centre, centre], s1 + pairs[1, centre, centre], KEY_WALKS
        )
    shells = bounds.size - 1
    while shells > 0 and bounds[shells] == bounds[shells - 1]:
        shells -= 1
    for a in range(shells):
        if wanted[1] and centre >= 0:
            t0, t1 = np.uint64(0), np.uint64(0)
            for x in range(bounds[a], bounds[a + 1]):
                t0 += pairs[0, centre, members[x]]
                t1 += pairs[1, centre, members[x]]
            s0, s1 = spread(s0 + t0, s1 + t1, KEY_WALKS)
        if not wanted[2]:
            continue
        t0, t1 = np.uint64(0), np.uint64(0)
        for x in range(bounds[a], bounds[a + 1]):
            t0 += pairs[0, members[x], members[x]]
            t1 += pairs[1, members[x], members[x]]
        d0, d1 = t0, t1
        s0, s1 = spread(s0 + t0, s1 + t1, KEY_WALKS)
        for b in range(shells):
            if b != a and not every:
                continue
            t0, t1 = np.uint64(0), np.uint64(0)
            for x in range(bounds[a], bounds[a + 1]):
                i = members[x]
                for y in range(bounds[b], bounds[b + 1]):
                    t0 += pairs[0, i, members[y]]
                    t1 += pairs[1, i, members[y]]
            if b == a:
                t0 -= d0
                t1 -= d1
            s0, s1 = spread(s0 + t0, s1 + t1, KEY_WALKS)
    return s0, s1
