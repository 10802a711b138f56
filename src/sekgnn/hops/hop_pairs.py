r"""The K-hop neighbourhoods of every node, of one graph or of many at once.

Two passes over all source nodes. The first stores the size of every hop of every node;
their running sum says where each row of the answer begins; the second pass writes
there. Nothing is sorted globally, and the memory is that of the answer and up to
``9 n`` bytes per thread.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_choice, check_memory, check_positive, check_seed
from sekgnn.errors import ConfigError
from sekgnn.graphs.graph import CsrGraph, Graph
from sekgnn.graphs.packed import PackedGraphs, pack
from sekgnn.graphs.twins import find_alike
from sekgnn.hops.hop_table import HopTable
from sekgnn.hops.levels import next_level, sort_range
from sekgnn.hops.sampling import hop_state, sample_level
from sekgnn.kernel import kernel as compiled
from sekgnn.parallel import Progress, even_chunks, resolve_threads, run_chunks

HopKernel = Literal["shortest_path", "diffusion"]
"""What "k hops away" means; see :func:`hop_pairs`."""

_NONE = np.empty(0, dtype=np.int32)
_SMALLEST_CHUNK = 1024
_CHUNKS_PER_WORKER = 32


def hop_pairs(
    graphs: Graph | PackedGraphs,
    num_hops: int,
    *,
    kernel: HopKernel = "shortest_path",
    max_neighbors: int | None = None,
    seed: int = 0,
    threads: int | None = None,
) -> HopTable:
    r"""Return :math:`\{(v, u, k) : u \in N_k(v)\}` for k = 1..K and every node v.

    * ``"shortest_path"``: :math:`N_k(v) = \{u : d(u, v) = k\}`. The hops of v are
      disjoint and do not contain v.
    * ``"diffusion"``: :math:`N_k(v) = \{u : (A^k)_{vu} > 0\}`, the nodes that a walk of
      exactly k steps can reach. A node may be in several hops, v itself included.

    Hops that do not exist (K beyond the diameter, isolated nodes) are empty.

    Args:
        graphs: One graph, or many, whose nodes then have the numbers of their union;
            the pairs are those graph by graph, samples included.
        num_hops: K, at least 1.
        kernel: ``"shortest_path"`` or ``"diffusion"``.
        max_neighbors: Keep at most this many nodes of each :math:`N_k(v)`, drawn
            uniformly without replacement; ``None`` keeps all. The sample is a function
            of (seed, v, k) and the set :math:`N_k(v)`, so it is not symmetric, and
            relabelling the nodes draws another one.
        seed: Seed of the samples, in [0, 2^64).
        threads: Threads, ``None`` for all usable cores. Never changes the answer.

    Raises:
        ConfigError: If a parameter cannot work.

    Example:
        >>> path = Graph.from_edge_index([[0, 1], [1, 2]], 3, undirected="add")
        >>> hops = hop_pairs(path, 2)
        >>> [array.tolist() for array in hops.csr(2)]
        [[0, 1, 1, 2], [2, 0]]
        >>> hop_pairs(path, 2, kernel="diffusion").counts().tolist()
        [[1, 2], [2, 1], [1, 2]]
    """
    check_choice("kernel", kernel, get_args(HopKernel))
    check_positive("num_hops", num_hops)
    if max_neighbors is not None:
        check_positive("max_neighbors", max_neighbors)
    check_seed(seed)
    packed = pack([graphs]) if isinstance(graphs, Graph) else graphs
    if num_hops == 1 and max_neighbors is None:  # the graph, in either kernel
        return HopTable(packed.indptr, packed.indices, 1)
    n, diffusion = packed.num_nodes, kernel == "diffusion"
    room = _largest(packed)
    depth = num_hops if diffusion else min(num_hops, max(room - 1, 0))  # d < n
    cap = room if max_neighbors is None else min(max_neighbors, room)
    chunks = _chunks(n, threads)

    indptr = np.zeros(num_hops * n + 1, dtype=np.int64)
    sizes = indptr[1 : depth * n + 1].reshape(depth, n)
    _count(packed, diffusion, sizes, chunks, threads)
    if cap < room:
        np.minimum(sizes, cap, out=sizes)
    pairs = int(sizes.sum())
    check_memory(
        4 * pairs,
        f"the table of {pairs:,} pairs of nodes up to {num_hops} hops apart",
        "sample the hops with max_neighbors (--max-neighbors), or take fewer hops",
        ConfigError,
    )
    np.cumsum(indptr, out=indptr)
    starts = indptr[: depth * n].reshape(depth, n)
    out = np.empty(pairs, dtype=np.int32)

    def fill(start: int, stop: int) -> None:
        search = packed.csr, start, stop, diffusion, room, starts, _NONE, True, out
        _search(*search, packed.node_ptr, cap, np.uint64(seed))

    run_chunks(fill, chunks, threads)
    return HopTable(indptr, out, num_hops)


def shell_sizes(
    packed: PackedGraphs,
    num_shells: int,
    *,
    nodes: tuple[int, int] | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> NDArray[np.int64]:
    r"""Return :math:`|N_k(v)|`, k = 1..K, of every node, by breadth-first search.

    The pairs themselves are never stored. A search ends with the last node that it can
    reach, however large K is.

    Args:
        packed: The graphs, N nodes together.
        num_shells: K, at least 0.
        nodes: First node to look at, and the one after the last; all by default.
        threads: Threads, ``None`` for all usable cores. Never changes the answer.
        progress: Called with (done, total) nodes.

    Returns:
        int64 ``[N, K]``, one row for every node that was looked at.

    Raises:
        ConfigError: If a parameter cannot work.

    Example:
        >>> from sekgnn.graphs import pack, path_graph
        >>> shell_sizes(pack([path_graph(3)]), 3).tolist()
        [[1, 1, 0], [2, 0, 0], [1, 1, 0]]
    """
    check_positive("num_shells", num_shells, minimum=0)
    start, stop = (0, packed.num_nodes) if nodes is None else nodes
    if not num_shells:
        return np.zeros((stop - start, 0), dtype=np.int64)
    sizes = np.zeros((num_shells, packed.num_nodes), dtype=np.int64)
    chunks = [(start + a, start + b) for a, b in _chunks(stop - start, threads)]
    _count(packed, False, sizes, chunks, threads, progress)
    return np.ascontiguousarray(sizes[:, start:stop].T)


@compiled
def _search(
    graph: CsrGraph,
    start: int,
    stop: int,
    diffusion: bool,
    room: int,
    places: NDArray[np.int64],
    alike: NDArray[np.int32],
    write: bool,
    out: NDArray[np.int32],
    node_ptr: NDArray[np.int64],
    cap: int,
    seed: np.uint64,
) -> None:
    """Write the size of hop k + 1 of v to ``places[k, v]``, or the hop itself there.

    Sizes only of nodes that are their own smallest twins. ``out`` receives the nodes of
    every hop, sorted, ``[M]``; at most ``cap`` of each if that is below ``room``, the
    size of the largest graph.
    """
    mark = np.zeros(graph.indptr.size - 1, np.uint8)
    queue = np.empty(2 * room, np.int32)
    keep = cap if write and cap < room else 0
    keys, sample = np.empty(keep, np.uint64), np.empty(keep, np.int32)
    number = 0  # of the graph
    for v in range(start, stop):
        if not write and alike[v] != v:
            continue
        while keep and node_ptr[number + 1] <= v:
            number += 1
        queue[0] = v
        mark[v] = not diffusion
        begin, end = 0, 1
        for k in range(places.shape[0]):
            begin, end = next_level(graph, diffusion, queue, begin, end, mark)
            if begin == end:
                break
            size = end - begin
            if not write:
                places[k, v] = size
            elif keep and size > keep:
                first = node_ptr[number]
                state = hop_state(seed, v - first, k + 1)
                sample_level(queue[begin:end], first, state, keys, sample)
                for i in range(keep):
                    out[places[k, v] + i] = sample[i]
            else:
                sort_range(queue, begin, end)
                for i in range(size):
                    out[places[k, v] + i] = queue[begin + i]
        if not diffusion:
            for i in range(end):
                mark[queue[i]] = 0


def _largest(packed: PackedGraphs) -> int:
    return int(np.diff(packed.node_ptr).max(initial=0))


def _chunks(num_nodes: int, threads: int | None) -> list[tuple[int, int]]:
    """Every chunk clears ``num_nodes`` bytes: make many, but not too many."""
    share = -(-num_nodes // (_CHUNKS_PER_WORKER * resolve_threads(threads)))
    return even_chunks(num_nodes, max(_SMALLEST_CHUNK, share))


def _count(
    packed: PackedGraphs,
    diffusion: bool,
    sizes: NDArray[np.int64],
    chunks: list[tuple[int, int]],
    threads: int | None,
    progress: Progress | None = None,
) -> None:
    """Write the size of hop k + 1 of v to ``sizes[k, v]``, which is zero."""
    room = _largest(packed)
    whole = sum(stop - start for start, stop in chunks) == packed.num_nodes
    alone = np.arange(packed.num_nodes, dtype=np.int32)
    alike = find_alike(packed, threads)[1] if whole else alone

    def count(start: int, stop: int) -> None:
        search = packed.csr, start, stop, diffusion, room, sizes, alike, False, _NONE
        _search(*search, packed.node_ptr, room, np.uint64(0))

    run_chunks(count, chunks, threads, progress)
    twins = np.flatnonzero(alike != alone)
    sizes[:, twins] = sizes[:, alike[twins]]
