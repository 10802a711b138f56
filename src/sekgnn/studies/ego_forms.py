r"""Which rooted ego-nets are isomorphic, exactly.

In an r-regular graph the rooted ego-net :math:`G_v^K` is determined by K and its
*core*: what is left when leaves other than v are taken away until none is left. What
hangs from the core is known: a node that misses neighbours in the core and is nearer
than K has a full tree of depth K below each missing edge, since a node there that had a
second way to v would lie on a cycle. So two rooted ego-nets are isomorphic if and only
if their rooted cores are, and near-tree balls of hundreds of nodes have cores of a
few. Canonical forms of cores come from igraph (BLISS), coloured by distance from v.

Nodes that any isomorphism invariant tells apart need no canonical form: the caller
hands over labels of which only equal ones are in question.
"""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from sekgnn.graphs.extras import require
from sekgnn.graphs.packed import PackedGraphs
from sekgnn.studies.pair_counts import Labels, together
from sekgnn.walks.ball import local_ball


@nb.njit(cache=True, nogil=True)
def rooted_core(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    centre: int,
    radius: int,
    place: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the core of one rooted ego-net; row 0 is the centre.

    Args:
        indptr: Row starts of a regular graph.
        indices: Neighbours.
        centre: v.
        radius: K.
        place: Scratch, as for :func:`~sekgnn.walks.ball.local_ball`.

    Returns:
        depths: Distance from the centre, int32 ``[c]``.
        edges: Pairs of rows, the smaller first, int32 ``[m, 2]``.
    """
    nodes, bounds, rows, columns = local_ball(
        indptr, indices, centre, radius, True, 0, place
    )
    size = nodes.size
    degree = np.diff(rows)
    kept = np.ones(size, dtype=np.bool_)
    for first in range(size - 1, 0, -1):  # the farthest first: leaves go in one pass
        if degree[first] == 1:
            kept[first] = False
            for e in range(rows[first], rows[first + 1]):
                if kept[columns[e]]:
                    degree[columns[e]] -= 1
    number = np.cumsum(kept) - 1
    depths = np.empty(number[-1] + 1, dtype=np.int32)
    for k in range(radius + 1):
        for a in range(bounds[k], bounds[k + 1]):
            if kept[a]:
                depths[number[a]] = k
    edges = np.empty((columns.size // 2, 2), dtype=np.int32)
    filled = 0
    for a in range(size):
        for e in range(rows[a], rows[a + 1]):
            b = columns[e]
            if a < b and kept[a] and kept[b]:
                edges[filled, 0], edges[filled, 1] = number[a], number[b]
                filled += 1
    return depths, edges[:filled]


def canonical_form(colours: NDArray[np.int32], edges: NDArray[np.int32]) -> bytes:
    """Return bytes that are equal exactly for isomorphic coloured graphs.

    Args:
        colours: Of the nodes, ``[c]``.
        edges: Pairs of nodes, ``[m, 2]``.

    Raises:
        MissingExtraError: If igraph is not installed.

    Example:
        >>> plain = np.zeros(3, dtype=np.int32)
        >>> one, other = np.int32([[0, 1]]), np.int32([[1, 2]])
        >>> canonical_form(plain, one) == canonical_form(plain, other)
        True
    """
    graph: Any = require("igraph", "iso").Graph(len(colours), edges)
    graph.vs["colour"] = colours.tolist()
    # igraph 0.11 and 1.0 number permutations in opposite ways, but each its own both
    # in what it returns and in what it takes
    order = graph.canonical_permutation(color=graph.vs["colour"])
    canonical = graph.permute_vertices(order)
    ends = np.sort(np.array(canonical.get_edgelist(), np.int32).reshape(-1, 2), axis=1)
    ordered = ends[np.lexsort(ends.T)]
    moved = np.array(canonical.vs["colour"], np.int32)
    return b"".join(
        (np.int64(len(colours)).tobytes(), moved.tobytes(), ordered.tobytes())
    )


def rooted_labels(packed: PackedGraphs, hops: int, candidates: Labels) -> Labels:
    """Label nodes by the isomorphism type of their rooted ego-net.

    Args:
        packed: Regular graphs of one degree.
        hops: K.
        candidates: Labels by some invariant of the rooted ego-net; nodes with
            different ones are known to differ.

    Returns:
        Labels that are equal exactly for isomorphic rooted ego-nets, ``[N]``.
    """
    place = np.full(packed.num_nodes, -1, dtype=np.int32)
    _, where, counts = np.unique(candidates, return_inverse=True, return_counts=True)
    seen: dict[bytes, bytes] = {}
    forms: dict[bytes, int] = {}
    form = np.zeros(packed.num_nodes, dtype=np.int64)
    for v in np.flatnonzero(counts[where] > 1).tolist():
        depths, edges = rooted_core(packed.indptr, packed.indices, v, hops, place)
        raw = depths.tobytes() + b"|" + edges.tobytes()
        if raw not in seen:
            seen[raw] = canonical_form(depths, edges)
        form[v] = forms.setdefault(seen[raw], len(forms))
    return together(candidates, form)
