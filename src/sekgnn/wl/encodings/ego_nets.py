r"""f from every ego-net :math:`G_v^h`: its distances, or 1-WL or 2-FWL inside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_positive
from sekgnn.digest import (
    KEY_MEMBER,
    Colours,
    count_colours,
    key_of,
    multiset_digest,
    spread,
    spread_all,
)
from sekgnn.graphs.graph import CsrGraph
from sekgnn.kernel import kernel
from sekgnn.parameters import parameter
from sekgnn.walks.ball import local_ball
from sekgnn.wl.encodings.base import (
    ExactEncoding,
    node_colours,
    register_exact_encoding,
)
from sekgnn.wl.fwl import factors, pair_step, pair_types
from sekgnn.wl.hop_wl import hop_step
from sekgnn.wl.refinement import Batch

KEY_PROFILE = key_of("distance profile")
KEY_NEIGHBOUR = key_of("neighbour marked")
KEY_DISTANCE = key_of("distance to the centre")


@kernel
def shell_degrees(
    bounds: NDArray[np.int64], rows: NDArray[np.int64], columns: NDArray[np.int32]
) -> NDArray[np.int64]:
    """Return each node's edges inwards, within its shell and outwards, ``[s, 3]``."""
    s = rows.size - 1
    shell = np.empty(s, dtype=np.int64)
    for k in range(bounds.size - 1):
        shell[bounds[k] : bounds[k + 1]] = k
    out = np.zeros((s, 3), dtype=np.int64)
    for i in range(s):
        for e in range(rows[i], rows[i + 1]):
            out[i, shell[columns[e]] - shell[i] + 1] += 1
    return out


@kernel
def profiles(
    graph: CsrGraph,
    labels: Colours,
    start: int,
    stop: int,
    num_shells: int,
    position: NDArray[np.int32],
    out: Colours,
) -> None:
    """Write the digest of the profiles of nodes ``start..stop - 1``."""
    for v in range(start, stop):
        nodes, bounds, rows, columns = local_ball(
            graph, v, num_shells, True, 0, position
        )
        degrees = shell_degrees(bounds, rows, columns)
        s0, s1 = KEY_PROFILE, np.uint64(0)
        for k in range(1, num_shells + 1):
            t0, t1 = np.uint64(0), np.uint64(0)
            for i in range(bounds[k], bounds[k + 1]):
                m0, m1 = labels[nodes[i], 0], labels[nodes[i], 1]
                for side in range(3):
                    m0, m1 = spread(m0 + np.uint64(degrees[i, side]), m1, KEY_PROFILE)
                t0 += m0
                t1 += m1
            s0, s1 = spread(s0 + t0, s1 + t1, KEY_PROFILE)
        out[v, 0], out[v, 1] = s0, s1


def _ball(batch: Batch, node: int, radius: int) -> Any:
    position = np.full(batch.packed.num_nodes, -1, dtype=np.int32)
    return local_ball(batch.packed.csr, node, radius, True, 0, position)


def _ball_words(batch: Batch, node: int, radius: int) -> str:
    """Describe the size of an ego-net and the degrees inside it."""
    nodes, _, rows, _ = _ball(batch, node, radius)
    degrees = np.sort(np.diff(rows))[::-1].tolist()
    return f"the ego-net of radius {radius}, {nodes.size} nodes with degrees {degrees}"


@register_exact_encoding("distances")
@dataclass(frozen=True)
class DistanceProfile(ExactEncoding):
    """For each shell, the multiset of its nodes' edges inwards, within and outwards.

    The edges within a shell are the peripheral edges of KP-GNN (Feng et al. 2022).

    Args:
        num_shells: K, number of shells; edges that leave the last one do not count.
    """

    beyond_words = "but joined or labelled in different ways"

    num_shells: int = parameter(4, "number of shells that an encoding summarises")

    def __post_init__(self) -> None:
        check_positive("num_shells", self.num_shells)

    def colours(self, batch: Batch, threads: int | None = None) -> Colours:
        return node_colours(
            batch,
            lambda start, stop, position, out: profiles(
                batch.packed.csr, batch.label_colours, start, stop, self.num_shells,
                position, out,
            ),
            threads,
        )  # fmt: skip

    def words(self, batch: Batch, node: int) -> str:
        _, bounds, row_starts, columns = _ball(batch, node, self.num_shells)
        degrees = shell_degrees(bounds, row_starts, columns)
        shells = []
        for k in range(1, self.num_shells + 1):
            rows_of_shell = degrees[bounds[k] : bounds[k + 1]].tolist()
            counts = sorted(Counter(map(tuple, rows_of_shell)).items())
            if counts:
                text = ", ".join(f"{n} × {inside}" for inside, n in counts)
                shells.append(f"distance {k}: {text}")
        profile = "; ".join(shells) or "no other nodes"
        return f"edges (inwards, within, outwards) at {profile}"


@kernel
def ball_edge_labels(
    graph: CsrGraph,
    edge_labels: NDArray[np.int64],
    nodes: NDArray[np.int32],
    position: NDArray[np.int32],
) -> NDArray[np.int64]:
    """Return the labels of a ball's edges, in the order of ``local_ball``'s columns.

    There are none if ``edge_labels``, in the order of ``indices``, is empty.
    ``position`` is scratch, -1 everywhere on entry and on return.
    """
    indptr, indices = graph
    if edge_labels.size == 0:
        return np.empty(0, dtype=np.int64)
    total = 0
    for i in range(nodes.size):
        position[nodes[i]] = i
        total += indptr[nodes[i] + 1] - indptr[nodes[i]]
    out = np.empty(total, dtype=np.int64)
    filled = 0
    for v in nodes:
        for e in range(indptr[v], indptr[v + 1]):
            if position[indices[e]] >= 0:
                out[filled] = edge_labels[e]
                filled += 1
    position[nodes] = -1
    return out[:filled]


@kernel
def refine_ball(
    rows: NDArray[np.int64],
    columns: NDArray[np.int32],
    edge_labels: NDArray[np.int64],
    nodes: Colours,
) -> tuple[np.uint64, np.uint64]:
    """Run 1-WL on one small graph to stability; return the digest of its colours.

    They are those of the round that confirms stability: two graphs with equal multisets
    then would always agree if refined together.
    """
    s = nodes.shape[0]
    before, after, members = nodes, np.empty_like(nodes), np.empty_like(nodes)
    previous, count = 0, count_colours(before)
    while count > previous:
        previous = count
        spread_all(before, KEY_MEMBER, members)
        hop_step(rows, columns, 1, edge_labels, before, members, 0, s, after)
        before, after = after, before
        count = count_colours(before)
    return multiset_digest(before, 0, s)


@kernel
def mark_distances(
    rows: NDArray[np.int64],
    columns: NDArray[np.int32],
    centre: int,
    colours: Colours,
    out: Colours,
) -> None:
    """Write each node's colour combined with its distance to ``centre``."""
    s = colours.shape[0]
    distance = np.full(s, s, dtype=np.int64)  # for nodes that are not reached
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
def ego_digests(
    graph: CsrGraph,
    edge_labels: NDArray[np.int64],
    colours: Colours,
    start: int,
    stop: int,
    radius: int,
    marked: bool,
    position: NDArray[np.int32],
    out: Colours,
) -> None:
    """Write the digest of the refined ego-nets of nodes ``start..stop - 1``."""
    for v in range(start, stop):
        nodes, _, rows, columns = local_ball(graph, v, radius, True, 0, position)
        labels = ball_edge_labels(graph, edge_labels, nodes, position)
        inner = colours[nodes]
        if marked:
            mark_distances(rows, columns, 0, inner, inner)
        out[v, 0], out[v, 1] = refine_ball(rows, columns, labels, inner)


def ego_net_colours(
    batch: Batch, colours: Colours, radius: int, marked: bool, threads: int | None
) -> Colours:
    """Return the colour of every node's ego-net under inner 1-WL, ``[N, 2]``.

    Inside every ego-net, nodes start from ``colours`` and, if ``marked``, their
    distance to the centre.
    """
    return node_colours(
        batch,
        lambda start, stop, position, out: ego_digests(
            batch.packed.csr, batch.edge_labels, colours, start, stop, radius, marked,
            position, out,
        ),
        threads,
    )  # fmt: skip


@register_exact_encoding("inner_wl")
@dataclass(frozen=True)
class InnerWL(ExactEncoding):
    """The multiset of stable 1-WL colours of a node's ego-net.

    Args:
        radius: h.
        marked: Let every node know its distance to the centre.
    """

    beyond_words = "but joined or labelled in different ways"

    radius: int = parameter(3, "h, radius of the ego-nets", several=True)
    marked: bool = parameter(True, "let nodes know their distance to the centre")

    def __post_init__(self) -> None:
        check_positive("radius", self.radius)

    def colours(self, batch: Batch, threads: int | None = None) -> Colours:
        colours = batch.label_colours
        return ego_net_colours(batch, colours, self.radius, self.marked, threads)

    def words(self, batch: Batch, node: int) -> str:
        return f"inner 1-WL on {_ball_words(batch, node, self.radius)}"


@kernel
def refine_pairs(
    rows: NDArray[np.int64],
    columns: NDArray[np.int32],
    edge_labels: NDArray[np.int64],
    nodes: Colours,
) -> tuple[np.uint64, np.uint64]:
    """Run 2-FWL on one small graph to stability, as :func:`refine_ball` does 1-WL."""
    s = nodes.shape[0]
    before = np.empty((s * s, 2), dtype=np.uint64)
    after = np.empty((s * s, 2), dtype=np.uint64)
    x = np.empty((2, s * s), dtype=np.uint64)
    y = np.empty((2, s * s), dtype=np.uint64)
    pair_types(rows, columns, edge_labels, nodes, 0, s, before)
    previous, count = 0, count_colours(before)
    while count > previous:
        previous = count
        factors(before, x, y)
        pair_step(before, x, y, s, 0, s, after)
        before, after = after, before
        count = count_colours(before)
    return multiset_digest(before, 0, s * s)


@kernel
def ego_pair_digests(
    graph: CsrGraph,
    edge_labels: NDArray[np.int64],
    colours: Colours,
    start: int,
    stop: int,
    radius: int,
    neighbours: bool,
    position: NDArray[np.int32],
    out: Colours,
) -> None:
    """Write the digest of the ego-nets of nodes ``start..stop - 1``."""
    for v in range(start, stop):
        nodes, _, rows, columns = local_ball(graph, v, radius, True, 0, position)
        labels = ball_edge_labels(graph, edge_labels, nodes, position)
        twice = colours[nodes]
        once = np.empty_like(twice)
        mark_distances(rows, columns, 0, twice, once)
        if not neighbours:
            out[v, 0], out[v, 1] = refine_pairs(rows, columns, labels, once)
            continue
        t0, t1 = np.uint64(0), np.uint64(0)
        for e in range(rows[0], rows[1]):
            mark_distances(rows, columns, columns[e], once, twice)
            m0, m1 = refine_pairs(rows, columns, labels, twice)
            m0, m1 = spread(m0, m1, KEY_NEIGHBOUR)
            t0 += m0
            t1 += m1
        m0, m1 = spread(np.uint64(rows[1]), np.uint64(0), KEY_NEIGHBOUR)
        out[v, 0], out[v, 1] = m0 + t0, m1 + t1


@register_exact_encoding("inner_fwl")
@dataclass(frozen=True)
class InnerFWL(ExactEncoding):
    r"""The multiset of stable 2-FWL colours of a node's ego-net, its centre marked.

    With a radius beyond the diameter this is 2-FWL on the whole graph with one node
    marked, for every node in turn: at most as strong as 3-FWL, in :math:`O(n^2)`
    instead of :math:`O(n^3)` memory and :math:`O(n^4)` time per round.

    Args:
        radius: h.
        neighbours: Mark each neighbour of the centre as well, in turn, and take the
            multiset of the results: at most as strong as 4-FWL, in the same memory; the
            time is multiplied by the degree of the centre.
    """

    beyond_words = "but joined or labelled in different ways"

    radius: int = parameter(2, "h, radius of the ego-nets", several=True)
    neighbours: bool = parameter(False, "mark each neighbour of the centre in turn")

    def __post_init__(self) -> None:
        check_positive("radius", self.radius)

    def colours(self, batch: Batch, threads: int | None = None) -> Colours:
        radius = min(self.radius, max(batch.sizes, default=1))
        return node_colours(
            batch,
            lambda start, stop, position, out: ego_pair_digests(
                batch.packed.csr, batch.edge_labels, batch.label_colours,
                start, stop, radius, self.neighbours, position, out,
            ),
            threads,
            chunk=16,
        )  # fmt: skip

    def words(self, batch: Batch, node: int) -> str:
        marks = " with each neighbour marked" if self.neighbours else ""
        return f"inner 2-FWL{marks} on {_ball_words(batch, node, self.radius)}"

    def memory(self, sizes: Sequence[int]) -> int:
        # pairs of one ego-net, at most the whole graph
        return 128 * max(sizes, default=0) ** 2
