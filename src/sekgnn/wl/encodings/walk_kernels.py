"""Multisets of exact step vectors over shells, as colours."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sekgnn.digest import Colours, key_of, spread
from sekgnn.kernel import kernel
from sekgnn.walks.ball import ball_nodes, induced
from sekgnn.walks.digests import walk_digests

KEY_PAIRS = key_of("pairs of shells")
KEY_WALKS = key_of("walk value")


@kernel
def spread_pairs(
    digests: Colours, labels: Colours, nodes: NDArray[np.int32], labelled: bool
) -> None:
    """Spread the digests of all pairs in place, for being summed, with their labels.

    ``labels`` are colours of all nodes, ``[N, 2]``, ``nodes`` the node of each row.
    """
    s = digests.shape[1]
    for i in range(s):
        for j in range(s):
            d0, d1 = digests[0, i, j], digests[1, i, j]
            if labelled:
                a, b = nodes[i], nodes[j]
                d0, d1 = spread(d0 + labels[a, 0], d1 + labels[a, 1], KEY_PAIRS)
                d0, d1 = spread(d0 + labels[b, 0], d1 + labels[b, 1], KEY_PAIRS)
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

    Shells beyond the last that has nodes are not part of it, so that a value does not
    depend on how many empty shells were asked for.

    Args:
        pairs: From :func:`spread_pairs`, ``[2, s, s]``.
        centre: Row of the centre; negative if it is not there.
        members: Rows of the others, shell by shell.
        bounds: Shell k is ``members[bounds[k]:bounds[k + 1]]``, ``[S + 2]``.
        wanted: Whether f1, f2, f3 are part of it, ``[3]``.
        every: f3 between all shells, not only within each.
    """
    s0, s1 = KEY_WALKS, np.uint64(0)
    if wanted[0] and centre >= 0:
        t0, t1 = pairs[0, centre, centre], pairs[1, centre, centre]
        s0, s1 = spread(s0 + t0, s1 + t1, KEY_WALKS)
    shells = bounds.size - 2
    while shells > 0 and bounds[shells] == bounds[shells + 1]:
        shells -= 1
    for a in range(1, shells + 1):
        d0, d1 = np.uint64(0), np.uint64(0)
        for x in range(bounds[a], bounds[a + 1]):
            i = members[x]
            d0 += pairs[0, i, i]
            d1 += pairs[1, i, i]
        # b = -1 is from the centre, 0 the diagonal, 1.. the other shells
        for b in range(-1, shells + 1):
            t0, t1 = d0, d1
            if b == -1:
                if not wanted[1] or centre < 0:
                    continue
                t0, t1 = np.uint64(0), np.uint64(0)
                for x in range(bounds[a], bounds[a + 1]):
                    t0 += pairs[0, centre, members[x]]
                    t1 += pairs[1, centre, members[x]]
            elif not wanted[2]:
                break
            elif b > 0:
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


@kernel
def walk_values(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    start: int,
    stop: int,
    whole: bool,
    radius: int,
    with_centre: bool,
    walk_length: int,
    loop: int,
    wanted: NDArray[np.bool_],
    every: bool,
    labels: Colours,
    labelled: bool,
    keys: NDArray[np.uint64],
    place: NDArray[np.int32],
    out: Colours,
) -> None:
    """Write the values of the nodes ``start..stop - 1``.

    The walk is on the ``whole`` graph, which these nodes must be, or else on ego-nets;
    ``radius`` is h, or the number of shells, ``loop`` 1 with self-loops, else 0.
    ``place`` is scratch, -1 everywhere, and as it was on return. The others are those
    of :func:`walk_digests`, :func:`spread_pairs` and :func:`centre_value`.
    """
    room = -1
    pairs = np.empty((2, 0, 0), dtype=np.uint64)
    scratch = np.empty((2, 2, 0, 0), dtype=np.uint64)
    for v in range(start, stop):
        members, bounds = ball_nodes(indptr, indices, v, radius, place)
        centre, s = 0 if with_centre else -1, bounds[radius + 1]
        if whole:
            centre = v - start
            for i in range(s):
                place[members[i]] = -1
                members[i] -= start
        if not whole or v == start:
            inside = members
            if whole:
                s = stop - start
                inside = np.empty(s, dtype=np.int32)
                for i in range(s):
                    inside[i], place[start + i] = start + i, i
            rows, columns = induced(
                indptr, indices, inside, s, with_centre, loop, place
            )
            if s != room:
                room = s
                pairs = np.empty((2, s, s), dtype=np.uint64)
                scratch = np.empty((2, 2, s, s), dtype=np.uint64)
            walk_digests(rows, columns, walk_length, keys, scratch, pairs)
            spread_pairs(pairs, labels, inside, labelled)
            if not whole:  # rows are in the order of the shells
                for i in range(s):
                    members[i] = i
        c0, c1 = centre_value(pairs, centre, members, bounds, wanted, every)
        out[v, 0], out[v, 1] = c0, c1
