r"""What lies around every node: shells, edge configurations, and context multisets."""

from __future__ import annotations

from dataclasses import dataclass

import numba as nb
import numpy as np
from numpy.typing import NDArray

from sekgnn.graphs.packed import PackedGraphs
from sekgnn.parallel import even_chunks, run_chunks
from sekgnn.walks.ball import local_ball

_MERSENNE = (1 << 61) - 1
_CHUNK = 256


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


@nb.njit(cache=True, nogil=True)
def count_shells(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    start: int,
    stop: int,
    sizes: NDArray[np.int64],
    inside: NDArray[np.int64],
    configurations: NDArray[np.int64],
) -> None:
    """Write the shells of nodes ``start..stop - 1``; see :class:`Shells`."""
    place = np.full(indptr.size - 1, -1, dtype=np.int32)
    radius = sizes.shape[1] - 1
    for v in range(start, stop):
        _, bounds, rows, columns = local_ball(
            indptr, indices, v, radius, True, 0, place
        )
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


@nb.njit(cache=True, nogil=True)
def add_context(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    start: int,
    stop: int,
    keys: NDArray[np.int64],
    sums: NDArray[np.int64],
) -> None:
    """Write the sums of ``keys`` over the ball of each node ``start..stop - 1``.

    Args:
        indptr: Row starts.
        indices: Neighbours.
        start: First node.
        stop: One past the last.
        keys: Numbers below 2^61 - 1, ``[N, W]``.
        sums: Written, row k over the nodes within distance k, ``[N, K + 1, W]``.
    """
    place = np.full(indptr.size - 1, -1, dtype=np.int32)
    radius, width = sums.shape[1] - 1, sums.shape[2]
    total = np.empty(width, dtype=np.int64)
    for v in range(start, stop):
        nodes, bounds, _, _ = local_ball(indptr, indices, v, radius, True, 0, place)
        total[:] = 0
        for k in range(radius + 1):
            for a in range(bounds[k], bounds[k + 1]):
                for w in range(width):
                    more = total[w] + keys[nodes[a], w]
                    total[w] = more - _MERSENNE if more >= _MERSENNE else more
            sums[v, k] = total


def shells_of(packed: PackedGraphs, hops: int, threads: int | None = None) -> Shells:
    """Return the shells up to ``hops`` around every node."""
    n = packed.num_nodes
    most = int(np.diff(packed.indptr).max(initial=0))
    sizes = np.zeros((n, hops + 1), dtype=np.int64)
    inside = np.zeros((n, hops + 1), dtype=np.int64)
    configurations = np.zeros((n, hops, most), dtype=np.int64)

    def work(start: int, stop: int) -> None:
        count_shells(
            packed.indptr, packed.indices, start, stop, sizes, inside, configurations
        )

    run_chunks(work, even_chunks(n, _CHUNK), threads)
    return Shells(sizes, inside, configurations)


def context_sums(
    packed: PackedGraphs,
    labels: NDArray[np.int64],
    hops: int,
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
        hops: K.
        rng: Draws the numbers.
        threads: Threads.

    Returns:
        int64 ``[N, K + 1, L, 2]``.
    """
    length, n = labels.shape
    keys = np.empty((n, length, 2), dtype=np.int64)
    for t, row in enumerate(labels):
        keys[:, t] = rng.integers(_MERSENNE, size=(row.max(initial=0) + 1, 2))[row]
    flat = keys.reshape(n, 2 * length)
    sums = np.empty((n, hops + 1, 2 * length), dtype=np.int64)

    def work(start: int, stop: int) -> None:
        add_context(packed.indptr, packed.indices, start, stop, flat, sums)

    run_chunks(work, even_chunks(n, _CHUNK), threads)
    return sums.reshape(n, hops + 1, length, 2)
