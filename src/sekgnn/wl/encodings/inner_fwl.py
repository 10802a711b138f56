r"""f from 2-FWL inside the ego-net: :math:`s^2` memory for one ego-net of s nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_positive
from sekgnn.kernel import kernel
from sekgnn.parallel import PerThread, even_chunks, run_chunks
from sekgnn.walks.ball import local_ball
from sekgnn.wl.batch import Batch
from sekgnn.wl.digest import KEY_GRAPH, Colours, key_of, number_colours, spread
from sekgnn.wl.encodings.base import ExactEncoding
from sekgnn.wl.encodings.inner_wl import InnerWL
from sekgnn.wl.fwl2 import factors, pair_step, pair_types
from sekgnn.wl.inner_refinement import KEY_DISTANCE, ball_edge_labels

KEY_NEIGHBOUR = key_of("neighbour marked")


@kernel
def refine_pairs(
    rows: NDArray[np.int64],
    columns: NDArray[np.int32],
    edge_labels: NDArray[np.int64],
    nodes: Colours,
) -> tuple[np.uint64, np.uint64]:
    """Run 2-FWL on one small graph to stability; return its multiset's digest.

    As in :func:`~sekgnn.wl.inner_refinement.refine_ball`, the multiset is that of the
    round that confirms stability.

    Args:
        rows: Row starts, ``[s + 1]``.
        columns: Neighbours.
        edge_labels: In the order of ``columns``, or empty.
        nodes: Colours of the nodes, ``[s, 2]``.
    """
    s = nodes.shape[0]
    none = np.empty(0, dtype=np.int64)
    before = np.empty((s * s, 2), dtype=np.uint64)
    after = np.empty((s * s, 2), dtype=np.uint64)
    left = np.empty((2, s * s), dtype=np.uint64)
    right = np.empty((2, s * s), dtype=np.uint64)
    pair_types(rows, columns, edge_labels, nodes, 0, s, before)
    count = len(number_colours(before, none)[0])
    while True:
        factors(before, left, right)
        pair_step(before, left, right, s, 0, s, after)
        before, after = after, before
        found = len(number_colours(before, none)[0])
        if found == count:
            break
        count = found
    t0, t1 = np.uint64(0), np.uint64(0)
    for i in range(s * s):
        m0, m1 = spread(before[i, 0], before[i, 1], KEY_GRAPH)
        t0 += m0
        t1 += m1
    return t0, t1


@kernel
def mark_distances(
    rows: NDArray[np.int64],
    columns: NDArray[np.int32],
    centre: int,
    colours: Colours,
    out: Colours,
) -> None:
    """Write each node's colour joined with its distance to ``centre``.

    Args:
        rows: Row starts, ``[s + 1]``.
        columns: Neighbours.
        centre: The node to mark.
        colours: ``[s, 2]``.
        out: Written, ``[s, 2]``.
    """
    s = colours.shape[0]
    distance = np.full(s, s, dtype=np.int64)  # s for nodes that are not reached
    queue = np.empty(s, dtype=np.int64)
    queue[0], distance[centre] = centre, 0
    read, filled = 0, 1
    while read < filled:
        i = queue[read]
        read += 1
        for e in range(rows[i], rows[i + 1]):
            if distance[columns[e]] == s:
                distance[columns[e]] = distance[i] + 1
                queue[filled] = columns[e]
                filled += 1
    for i in range(s):
        out[i, 0], out[i, 1] = spread(
            colours[i, 0] + np.uint64(distance[i]), colours[i, 1], KEY_DISTANCE
        )


@kernel
def ego_pair_digests(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    edge_labels: NDArray[np.int64],
    colours: Colours,
    start: int,
    stop: int,
    radius: int,
    neighbours: bool,
    place: NDArray[np.int32],
    out: Colours,
) -> None:
    """Write the digest of the ego-nets of nodes ``start..stop - 1``."""
    for v in range(start, stop):
        nodes, _, rows, columns = local_ball(indptr, indices, v, radius, True, 0, place)
        labels = ball_edge_labels(indptr, indices, edge_labels, nodes, True, place)
        once = np.empty((nodes.size, 2), dtype=np.uint64)
        mark_distances(rows, columns, 0, colours[nodes], once)
        if not neighbours:
            out[v, 0], out[v, 1] = refine_pairs(rows, columns, labels, once)
            continue
        twice = np.empty_like(once)
        t0, t1 = np.uint64(0), np.uint64(0)
        for e in range(rows[0], rows[1]):
            mark_distances(rows, columns, columns[e], once, twice)
            m0, m1 = refine_pairs(rows, columns, labels, twice)
            m0, m1 = spread(m0, m1, KEY_NEIGHBOUR)
            t0 += m0
            t1 += m1
        m0, m1 = spread(np.uint64(rows[1]), np.uint64(0), KEY_NEIGHBOUR)
        out[v, 0], out[v, 1] = m0 + t0, m1 + t1


@dataclass(frozen=True)
class InnerFWL(ExactEncoding):
    r"""The multiset of stable 2-FWL colours of a node's ego-net, its centre marked.

    With a radius beyond the diameter this is 2-FWL on the whole graph with one node
    made special, for every node in turn: at most as strong as 3-FWL, in
    :math:`O(n^2)` instead of :math:`O(n^3)` memory and :math:`O(n^4)` time per round.

    Args:
        radius: h.
        neighbours: Mark each neighbour of the centre as well, in turn, and take the
            multiset of the results: at most as strong as 4-FWL, in the same memory and
            as many times the time as the centre has neighbours.
    """

    name = "inner_fwl"
    beyond_words = "but joined or labelled in different ways"

    radius: int = 2
    neighbours: bool = False

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_positive("radius", self.radius)

    def colours(self, batch: Batch, threads: int | None = None) -> Colours:
        """Return the digest of every node's refined ego-net."""
        n = batch.packed.num_nodes
        out = np.empty((n, 2), dtype=np.uint64)
        place = PerThread(lambda: np.full(n, -1, dtype=np.int32))
        radius = min(self.radius, max(batch.sizes, default=1))

        def work(start: int, stop: int) -> None:
            ego_pair_digests(
                batch.packed.indptr, batch.packed.indices, batch.edge_labels,
                batch.label_colours, start, stop, radius, self.neighbours,
                place.value, out,
            )  # fmt: skip

        run_chunks(work, even_chunks(n, 16), threads)
        return out

    def words(self, batch: Batch, node: int) -> str:
        """Say the ego-net's size, and the degrees inside it."""
        text = InnerWL(self.radius).words(batch, node)
        marks = " with each neighbour marked" if self.neighbours else ""
        return text.replace("inner 1-WL", f"inner 2-FWL{marks}")

    def memory(self, sizes: Sequence[int]) -> int:
        """Return the bytes of the pairs of one ego-net, at most the whole graph."""
        return 64 * max(sizes, default=0) ** 2
