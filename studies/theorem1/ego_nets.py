r"""Shells around every node, and exact isomorphism of ego-nets.

In an r-regular graph the rooted ego-net :math:`G_v^K` is determined by K and its
*core*: the rest after removing leaves other than v until there are none. A core node
closer than K that lacks neighbours in the core has a full tree down to depth K below
each missing edge, since a node there with a second way to v would lie on a cycle. So
two rooted ego-nets are isomorphic if and only if their rooted cores are, and near-tree
balls of hundreds of nodes have cores of a few.

The *internal substructure* (Definition 1) is the graph formed by the edges of
:math:`G_v^K` that do not touch v. It has no root and forgets which nodes v was joined
to: two rooted ego-nets may differ and yet have isomorphic internal substructures (in a
cubic graph with K = 2, a 6-cycle belongs to a node on a triangle as well as to a node
of the cube).

Nodes that an isomorphism invariant tells apart need no canonical form: callers pass
*candidates*, labels by an invariant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from studies.theorem1.returns import Labels, together

from sekgnn.digest import scramble
from sekgnn.graphs.graph import CsrGraph
from sekgnn.graphs.packed import PackedGraphs
from sekgnn.kernel import kernel
from sekgnn.parallel import even_chunks, run_chunks
from sekgnn.walks.ball import local_ball
from sekgnn.wl.graph_classes import canonical_form

_MERSENNE = (1 << 61) - 1
_CHUNK = 256
_ROUNDS = 8


@dataclass(frozen=True, eq=False)
class Shells:
    r"""The shells around every node of some graphs, up to K.

    Attributes:
        sizes: Nodes at distance k = 0..K, int64 ``[N, K + 1]``.
        inside: Edges with both ends at distance k, int64 ``[N, K + 1]``.
        configurations: :math:`a^{i,k}` (paper, Definition 6): nodes at distance
            k + 1 with exactly i neighbours at distance k, for k = 0..K-1 and
            i = 1..r, int64 ``[N, K, r]``.
    """

    sizes: NDArray[np.int64]
    inside: NDArray[np.int64]
    configurations: NDArray[np.int64]


def shells_of(packed: PackedGraphs, radius: int, threads: int | None = None) -> Shells:
    """Return the shells up to ``radius`` around every node."""
    n = packed.num_nodes
    most = int(np.diff(packed.indptr).max(initial=0))
    shells = Shells(
        np.zeros((n, radius + 1), dtype=np.int64),
        np.zeros((n, radius + 1), dtype=np.int64),
        np.zeros((n, radius, most), dtype=np.int64),
    )

    def work(start: int, stop: int) -> None:
        _count_shells(
            packed.csr, start, stop,
            shells.sizes, shells.inside, shells.configurations,
        )  # fmt: skip

    run_chunks(work, even_chunks(n, _CHUNK), threads)
    return shells


@kernel
def _count_shells(
    graph: CsrGraph,
    start: int,
    stop: int,
    sizes: NDArray[np.int64],
    inside: NDArray[np.int64],
    configurations: NDArray[np.int64],
) -> None:
    """Write the shells of nodes ``start..stop - 1``."""
    place = np.full(graph.indptr.size - 1, -1, dtype=np.int32)
    radius = sizes.shape[1] - 1
    for v in range(start, stop):
        _, bounds, rows, columns = local_ball(graph, v, radius, True, 0, place)
        for k in range(radius + 1):
            sizes[v, k] = bounds[k + 1] - bounds[k]
            for a in range(bounds[k], bounds[k + 1]):
                parents = 0
                for e in range(rows[a], rows[a + 1]):
                    b = columns[e]
                    if b < bounds[k]:
                        parents += 1
                    elif b < a:
                        inside[v, k] += 1
                if k > 0:
                    configurations[v, k - 1, parents - 1] += 1


def context_sums(
    packed: PackedGraphs,
    labels: NDArray[np.int64],
    radius: int,
    rng: np.random.Generator,
    threads: int | None = None,
) -> NDArray[np.int64]:
    r"""Hash the multiset of labels over every ball :math:`S_v^k`, k = 0..K.

    Every label has two random numbers below the prime :math:`2^{61} - 1`; the hash is
    their sums modulo that prime. Equal multisets always have equal sums, different
    ones agree about once in :math:`2^{122}`.

    Args:
        packed: The graphs.
        labels: L different labellings of the nodes, ``[L, N]``.
        radius: K.
        rng: Draws the numbers.
        threads: Number of threads.

    Returns:
        int64 ``[N, K + 1, L, 2]``.
    """
    length, n = labels.shape
    keys = np.empty((n, length, 2), dtype=np.int64)
    for t, row in enumerate(labels):
        keys[:, t] = rng.integers(_MERSENNE, size=(row.max(initial=0) + 1, 2))[row]
    flat = keys.reshape(n, 2 * length)
    sums = np.empty((n, radius + 1, 2 * length), dtype=np.int64)

    def work(start: int, stop: int) -> None:
        _add_context(packed.csr, start, stop, flat, sums)

    run_chunks(work, even_chunks(n, _CHUNK), threads)
    return sums.reshape(n, radius + 1, length, 2)


@kernel
def _add_context(
    graph: CsrGraph,
    start: int,
    stop: int,
    keys: NDArray[np.int64],
    sums: NDArray[np.int64],
) -> None:
    """Write the sums of ``keys``, ``[N, W]``, over balls to ``sums [N, K + 1, W]``."""
    place = np.full(graph.indptr.size - 1, -1, dtype=np.int32)
    radius, width = sums.shape[1] - 1, sums.shape[2]
    total = np.empty(width, dtype=np.int64)
    for v in range(start, stop):
        nodes, bounds, _, _ = local_ball(graph, v, radius, True, 0, place)
        total[:] = 0
        for k in range(radius + 1):
            for a in range(bounds[k], bounds[k + 1]):
                for w in range(width):
                    more = total[w] + keys[nodes[a], w]
                    total[w] = more - _MERSENNE if more >= _MERSENNE else more
            sums[v, k] = total


def rooted_labels(packed: PackedGraphs, radius: int, candidates: Labels) -> Labels:
    """Label nodes by the isomorphism type of their rooted ego-net.

    Args:
        packed: Regular graphs of one degree.
        radius: K.
        candidates: Labels by some invariant of the rooted ego-net.

    Returns:
        Labels that are equal exactly for isomorphic rooted ego-nets, ``[N]``.

    Raises:
        MissingExtraError: If igraph is not installed.
    """
    place = np.full(packed.num_nodes, -1, dtype=np.int32)
    seen: dict[bytes, bytes] = {}

    def form(v: int) -> bytes:
        depths, edges = rooted_core(packed.csr, v, radius, place)
        raw = depths.tobytes() + b"|" + edges.tobytes()
        if raw not in seen:
            seen[raw] = canonical_form(depths, edges)
        return seen[raw]

    return split_by(form, candidates)


@kernel
def rooted_core(
    graph: CsrGraph,
    centre: int,
    radius: int,
    place: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the core of one rooted ego-net of a regular graph; row 0 is the centre.

    ``place`` is scratch, as for :func:`~sekgnn.walks.ball.local_ball`.

    Returns:
        depths: Distance from the centre, int32 ``[c]``.
        edges: Pairs of rows, the smaller first, int32 ``[m, 2]``.
    """
    nodes, bounds, rows, columns = local_ball(graph, centre, radius, True, 0, place)
    size = nodes.size
    degree = np.diff(rows)
    in_core = np.ones(size, dtype=np.bool_)
    for first in range(size - 1, 0, -1):  # the farthest first: leaves go in one pass
        if degree[first] == 1:
            in_core[first] = False
            for e in range(rows[first], rows[first + 1]):
                if in_core[columns[e]]:
                    degree[columns[e]] -= 1
    number = np.cumsum(in_core) - 1
    depths = np.empty(number[-1] + 1, dtype=np.int32)
    for k in range(radius + 1):
        for a in range(bounds[k], bounds[k + 1]):
            if in_core[a]:
                depths[number[a]] = k
    edges = np.empty((columns.size // 2, 2), dtype=np.int32)
    filled = 0
    for a in range(size):
        for e in range(rows[a], rows[a + 1]):
            b = columns[e]
            if a < b and in_core[a] and in_core[b]:
                edges[filled, 0], edges[filled, 1] = number[a], number[b]
                filled += 1
    return depths, edges[:filled]


def internal_labels(
    packed: PackedGraphs, radius: int, rooted: Labels, candidates: Labels
) -> Labels:
    """Label nodes by the isomorphism type of their internal substructure.

    Args:
        packed: Any graphs.
        radius: K.
        rooted: From :func:`rooted_labels`, or any labels that are equal only for
            isomorphic internal substructures.
        candidates: Labels by some invariant.

    Returns:
        Labels, ``[N]``: equal exactly where the candidates are equal and the internal
        substructures isomorphic.
    """
    place = np.full(packed.num_nodes, -1, dtype=np.int32)
    _, first, where = np.unique(
        together(candidates, rooted), return_index=True, return_inverse=True
    )

    def invariant(i: int) -> int:
        return _internal_invariant(packed.csr, int(first[i]), radius, place)

    def form(i: int) -> bytes:
        _, _, rows, columns = local_ball(
            packed.csr, int(first[i]), radius, False, 0, place
        )
        row = np.repeat(np.arange(rows.size - 1, dtype=np.int32), np.diff(rows))
        edges = np.stack([row, columns], axis=1)[row < columns]
        used, ends = np.unique(edges, return_inverse=True)
        return canonical_form(np.zeros(used.size, np.int32), ends.reshape(-1, 2))

    return split_by(form, split_by(invariant, candidates[first]))[where]


@kernel
def _internal_invariant(
    graph: CsrGraph,
    centre: int,
    radius: int,
    place: NDArray[np.int32],
) -> int:
    """Return a number that is equal for isomorphic internal substructures.

    A few rounds of colour refinement, hashed; different substructures may share it.
    """
    nodes, _, rows, columns = local_ball(graph, centre, radius, False, 0, place)
    before = np.ones(nodes.size, dtype=np.uint64)
    after = np.empty_like(before)
    for _ in range(_ROUNDS):
        for a in range(nodes.size):
            total = np.uint64(0)
            for e in range(rows[a], rows[a + 1]):
                total += scramble(before[columns[e]])
            after[a] = scramble(before[a] + np.uint64(3) * total)
        before, after = after, before
    total = np.uint64(0)
    for a in range(nodes.size):
        if rows[a + 1] > rows[a]:  # nodes without edges are not part of it
            total += scramble(before[a])
    return int(total >> np.uint64(1))


def split_by(form: Callable[[int], bytes | int], candidates: Labels) -> Labels:
    """Return labels that are equal where candidates and forms both are.

    Forms are computed only for items that share their candidate label.
    """
    _, where, counts = np.unique(candidates, return_inverse=True, return_counts=True)
    forms: dict[bytes | int, int] = {}
    label = np.zeros(candidates.size, dtype=np.int64)
    for i in np.flatnonzero(counts[where] > 1).tolist():
        label[i] = forms.setdefault(form(i), len(forms))
    return together(candidates, label)
