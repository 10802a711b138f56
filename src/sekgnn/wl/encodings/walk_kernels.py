"""Multisets of exact step vectors over shells, as colours."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sekgnn.digest import Colours, key_of, spread
from sekgnn.graphs.graph import CsrGraph
from sekgnn.kernel import kernel
from sekgnn.walks.ball import WalkScope, walk_place
from sekgnn.walks.digests import walk_digests

KEY_PAIRS = key_of("pairs of shells")
KEY_WALKS = key_of("walk value")


@kernel
def spread_pairs(digests: Colours, labels: Colours, nodes: NDArray[np.int32]) -> None:
    """Spread the digests of all pairs in place, for being summed, with their labels.

    ``labels`` are colours of all nodes, ``[N, 2]``, or empty, ``nodes`` the node of
    each row.
    """
    s = digests.shape[1]
    for i in range(s):
        for j in range(s):
            d0, d1 = digests[0, i, j], digests[1, i, j]
            if labels.size:
                a, b = nodes[i], nodes[j]
                d0, d1 = spread(d0 + labels[a, 0], d1 + labels[a, 1], KEY_PAIRS)
                d0, d1 = spread(d0 + labels[b, 0], d1 + labels[b, 1], KEY_PAIRS)
            d0, d1 = spread(d0, d1, KEY_PAIRS)
            digests[0, i, j], digests[1, i, j] = d0, d1


class WalkParts(NamedTuple):
    """What is part of a value.

    Attributes:
        scope: Where the walks live.
        walk_length: l.
        wanted: Whether f1, f2, f3 are part of it, bool ``[3]``.
        every: f3 between all shells, not only within each.
    """

    scope: WalkScope
    walk_length: int
    wanted: NDArray[np.bool_]
    every: bool


@kernel
def centre_value(
    pairs: Colours,
    members: NDArray[np.int32],
    bounds: NDArray[np.int64],
    walks: WalkParts,
) -> tuple[np.uint64, np.uint64]:
    """Return the digest of one centre's f1, f2 and f3.

    Shells beyond the last that has nodes are not part of it, so that a value does not
    depend on how many empty shells were asked for.

    Args:
        pairs: From :func:`spread_pairs`, ``[2, s, s]``.
        members: Of :func:`~sekgnn.walks.ball.walk_place`.
        bounds: Likewise.
        walks: What to include.
    """
    centre, wanted = members[0], walks.wanted
    centred = walks.scope.with_centre
    s0, s1 = KEY_WALKS, np.uint64(0)
    if wanted[0] and centred:
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
                if not wanted[1] or not centred:
                    continue
                t0, t1 = np.uint64(0), np.uint64(0)
                for x in range(bounds[a], bounds[a + 1]):
                    t0 += pairs[0, centre, members[x]]
                    t1 += pairs[1, centre, members[x]]
            elif not wanted[2]:
                break
            elif b > 0:
                if b != a and not walks.every:
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
    graph: CsrGraph,
    start: int,
    stop: int,
    walks: WalkParts,
    labels: Colours,
    place: NDArray[np.int32],
    out: Colours,
) -> None:
    """Write the values of the nodes ``start..stop - 1``, all of one graph or some.

    The arguments are those of :func:`~sekgnn.walks.ball.walk_place` and
    :func:`spread_pairs`.
    """
    pairs = np.empty((2, 0, 0), dtype=np.uint64)
    scratch = np.empty((2, 2, 0, 0), dtype=np.uint64)
    for v in range(start, stop):
        members, bounds, nodes, rows, columns = walk_place(
            graph, start, stop, v, walks.scope, place
        )
        s = nodes.size
        if s:
            if s != pairs.shape[1]:
                pairs = np.empty((2, s, s), dtype=np.uint64)
                scratch = np.empty((2, 2, s, s), dtype=np.uint64)
            walk_digests(rows, columns, walks.walk_length, scratch, pairs)
            spread_pairs(pairs, labels, nodes)
        out[v, 0], out[v, 1] = centre_value(pairs, members, bounds, walks)
