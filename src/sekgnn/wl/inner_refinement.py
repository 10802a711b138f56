r"""1-WL inside every ego-net: a colour for each rooted subgraph :math:`G_v^h`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sekgnn.kernel import kernel
from sekgnn.parallel import PerThread, even_chunks, run_chunks
from sekgnn.walks.ball import local_ball
from sekgnn.wl.batch import Batch
from sekgnn.wl.digest import (
    KEY_EDGE,
    KEY_GRAPH,
    KEY_MEMBER,
    KEY_OWN,
    KEY_PART,
    Colours,
    key_of,
    number_colours,
    spread,
)

KEY_DISTANCE = key_of("distance to the centre")


@kernel
def ball_edge_labels(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    edge_labels: NDArray[np.int64],
    nodes: NDArray[np.int32],
    with_centre: bool,
    place: NDArray[np.int32],
) -> NDArray[np.int64]:
    """Return the labels of a ball's edges, in the order of ``local_ball``'s columns.

    Args:
        indptr: Row starts.
        indices: Neighbours.
        edge_labels: In the order of ``indices``; if empty, so is the answer.
        nodes: The ball's nodes, the centre first.
        with_centre: Whether the centre's edges belong to it.
        place: Scratch, -1 everywhere; as it was on return.
    """
    if edge_labels.size == 0:
        return np.empty(0, dtype=np.int64)
    total = 0
    for i in range(nodes.size):
        place[nodes[i]] = i
        total += indptr[nodes[i] + 1] - indptr[nodes[i]]
    out = np.empty(total, dtype=np.int64)
    filled = 0
    first = 0 if with_centre else 1
    for i in range(first, nodes.size):
        for e in range(indptr[nodes[i]], indptr[nodes[i] + 1]):
            if place[indices[e]] >= first:
                out[filled] = edge_labels[e]
                filled += 1
    for i in range(nodes.size):
        place[nodes[i]] = -1
    return out[:filled]


@kernel
def refine_ball(
    rows: NDArray[np.int64],
    columns: NDArray[np.int32],
    edge_labels: NDArray[np.int64],
    first: int,
    colours: Colours,
) -> tuple[np.uint64, np.uint64]:
    """Refine one small graph to stability and return its multiset's digest.

    It is the multiset of the round that confirms stability: two graphs whose own
    multisets agree then would also agree if they were refined together for ever.

    Args:
        rows: Row starts, no self-loops, ``[s + 1]``.
        columns: Neighbours.
        edge_labels: In the order of ``columns``, or empty.
        first: Nodes before this one are left out.
        colours: First colours, ``[s, 2]``; overwritten.
    """
    s = colours.shape[0]
    none = np.empty(0, dtype=np.int64)
    members = np.empty_like(colours)
    count = len(number_colours(colours[first:], none)[0])
    while True:
        for i in range(first, s):
            members[i, 0], members[i, 1] = spread(
                colours[i, 0], colours[i, 1], KEY_MEMBER
            )
        for i in range(first, s):
            t0, t1 = np.uint64(0), np.uint64(0)
            for e in range(rows[i], rows[i + 1]):
                m0, m1 = members[columns[e], 0], members[columns[e], 1]
                if edge_labels.size:
                    m0, m1 = spread(m0 + np.uint64(edge_labels[e]), m1, KEY_EDGE)
                t0 += m0
                t1 += m1
            s0, s1 = spread(colours[i, 0], colours[i, 1], KEY_OWN)
            colours[i, 0], colours[i, 1] = spread(s0 + t0, s1 + t1, KEY_PART)
        after = len(number_colours(colours[first:], none)[0])
        if after == count:
            break
        count = after
    t0, t1 = np.uint64(0), np.uint64(0)
    for i in range(first, s):
        m0, m1 = spread(colours[i, 0], colours[i, 1], KEY_GRAPH)
        t0 += m0
        t1 += m1
    return t0, t1


@kernel
def ego_digests(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    edge_labels: NDArray[np.int64],
    colours: Colours,
    start: int,
    stop: int,
    radius: int,
    with_centre: bool,
    marked: bool,
    place: NDArray[np.int32],
    out: Colours,
) -> None:
    """Write the digest of the refined ego-nets of nodes ``start..stop - 1``."""
    for v in range(start, stop):
        nodes, bounds, rows, columns = local_ball(
            indptr, indices, v, radius, with_centre, 0, place
        )
        labels = ball_edge_labels(
            indptr, indices, edge_labels, nodes, with_centre, place
        )
        inner = colours[nodes]
        if marked:
            for k in range(bounds.size - 1):
                for i in range(bounds[k], bounds[k + 1]):
                    inner[i, 0], inner[i, 1] = spread(
                        inner[i, 0] + np.uint64(k), inner[i, 1], KEY_DISTANCE
                    )
        first = 0 if with_centre else 1
        out[v, 0], out[v, 1] = refine_ball(rows, columns, labels, first, inner)


def ego_net_colours(
    batch: Batch,
    colours: Colours,
    radius: int,
    *,
    with_centre: bool,
    marked: bool,
    threads: int | None,
) -> Colours:
    """Return the colour of every node's ego-net under inner 1-WL, ``[N, 2]``.

    Args:
        batch: The graphs.
        colours: What the nodes start from inside every ego-net, ``[N, 2]``.
        radius: h.
        with_centre: Keep the centre in its ego-net.
        marked: Let every node know its distance to the centre.
        threads: Threads.
    """
    n = batch.packed.num_nodes
    out = np.empty((n, 2), dtype=np.uint64)
    place = PerThread(lambda: np.full(n, -1, dtype=np.int32))

    def work(start: int, stop: int) -> None:
        ego_digests(
            batch.packed.indptr, batch.packed.indices, batch.edge_labels, colours,
            start, stop, radius, with_centre, marked, place.value, out,
        )  # fmt: skip

    run_chunks(work, even_chunks(n, 256), threads)
    return out
