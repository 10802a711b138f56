r"""The K-hop neighbourhoods of every node, of one graph or of many at once.

Two passes over all source nodes. The first counts the nodes of every hop; the running
sum of the counts are the row starts of the table, which the second pass fills. Nothing
is sorted globally, and memory is that of the table and up to ``9 n`` bytes per thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_choice, check_memory, check_positive, check_seed
from sekgnn.errors import ConfigError
from sekgnn.graphs.graph import CsrGraph, Graph
from sekgnn.graphs.packed import PackedGraphs, pack
from sekgnn.graphs.twins import find_alike
from sekgnn.hops.levels import next_level, sort_range
from sekgnn.hops.sampling import hop_state, sample_level
from sekgnn.kernel import kernel as compiled
from sekgnn.parallel import Progress, even_chunks, resolve_threads, run_chunks

HopKernel = Literal["shortest_path", "diffusion"]
"""What "k hops away" means; see :func:`hop_pairs`."""

_NONE = np.empty(0, dtype=np.int32)
_SMALLEST_CHUNK = 1024
_CHUNKS_PER_WORKER = 32


@dataclass(frozen=True, eq=False)
class HopTable:
    r"""The sets :math:`N_k(v)` of every node v, for k = 1..K, in one CSR table.

    Rows are hop-major: row ``(k - 1) n + v`` holds :math:`N_k(v)`, sorted. The arrays
    are read-only, so that one compiled version of a kernel serves all.

    Attributes:
        indptr: Row starts, int64 ``[K n + 1]``.
        indices: The nodes u of every row, int32 ``[M]``.
        num_hops: Number of hops K; trailing hops may be empty.

    Raises:
        ConfigError: If the row starts do not fit K hops or the nodes.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    num_hops: int

    def __post_init__(self) -> None:
        rows = self.indptr.size - 1
        if rows % check_positive("num_hops", self.num_hops) or (
            self.indptr[-1] != self.indices.size
        ):
            raise ConfigError(
                f"{rows} rows that end at {self.indptr[-1]} do not hold "
                f"{self.num_hops} hops with {self.indices.size} nodes."
            )
        for name in ("indptr", "indices"):
            locked = np.ascontiguousarray(getattr(self, name)).view()
            locked.flags.writeable = False
            object.__setattr__(self, name, locked)

    @property
    def num_nodes(self) -> int:
        """Number of nodes n."""
        return (self.indptr.size - 1) // self.num_hops

    @property
    def num_pairs(self) -> int:
        """Number of pairs (v, u) M over all hops."""
        return self.indices.size

    @property
    def row(self) -> NDArray[np.int64]:
        """The node v of every pair, int64 ``[M]``, a new array."""
        nodes = np.tile(np.arange(self.num_nodes), self.num_hops)
        return np.repeat(nodes, np.diff(self.indptr))

    @property
    def col(self) -> NDArray[np.int64]:
        """The node u of every pair, int64 ``[M]``, a new array."""
        return self.indices.astype(np.int64)

    @property
    def hop(self) -> NDArray[np.int64]:
        """The hop of every pair, int64 ``[M]``, values 1..K, a new array."""
        ends = self.indptr[:: self.num_nodes] if self.num_nodes else np.zeros(1)
        return np.repeat(np.arange(1, ends.size), np.diff(ends).astype(np.int64))

    def csr(self, k: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return hop ``k`` in compressed sparse rows.

        Returns:
            ``indptr`` int64 ``[n + 1]`` and ``indices`` int32 ``[M_k]``: the k-hop
            neighbours of v are ``indices[indptr[v]:indptr[v + 1]]``, sorted.

        Raises:
            ConfigError: If ``k`` is not in 1..K.
        """
        if check_positive("k", k) > self.num_hops:
            raise ConfigError(f"k must be at most num_hops={self.num_hops}, got {k}.")
        n = self.num_nodes
        indptr = self.indptr[(k - 1) * n : k * n + 1]
        return indptr - indptr[0], self.indices[indptr[0] : indptr[-1]]

    def members(self, k: int, v: int) -> NDArray[np.int64]:
        """Return :math:`N_k(v)`, int64, sorted."""
        row = (k - 1) * self.num_nodes + v
        return self.indices[self.indptr[row] : self.indptr[row + 1]].astype(np.int64)

    def counts(self) -> NDArray[np.int64]:
        """Return the number of pairs of every node and hop, int64 ``[n, K]``.

        Entry ``[v, k - 1]`` is ``|N_k(v)|``, or the size of the sample.
        """
        return np.diff(self.indptr).reshape(self.num_hops, self.num_nodes).T

    def __repr__(self) -> str:
        return (
            f"HopTable(num_nodes={self.num_nodes}, num_hops={self.num_hops}, "
            f"num_pairs={self.num_pairs})"
        )


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
        graphs: One graph, or many, whose nodes are then numbered as in their union;
            each gets the pairs, and samples, that it gets alone.
        num_hops: K, at least 1.
        kernel: ``"shortest_path"`` or ``"diffusion"``.
        max_neighbors: Keep at most this many nodes of each :math:`N_k(v)`, drawn
            uniformly without replacement; ``None`` keeps all. The sample is a function
            of (seed, v, k) and the set :math:`N_k(v)`, so it is not symmetric, and
            changes when nodes are relabelled.
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

    The pairs themselves are never stored. A search ends at the last reachable node,
    however large K is.

    Args:
        packed: The graphs, N nodes together.
        num_shells: K, at least 0.
        nodes: Range of nodes, ``(start, stop)``; all by default.
        threads: Threads, ``None`` for all usable cores. Never changes the answer.
        progress: Called with (done, total) nodes.

    Returns:
        int64 ``[N, K]``, one row per node of the range.

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
    cells: NDArray[np.int64],
    alike: NDArray[np.int32],
    write: bool,
    out: NDArray[np.int32],
    node_ptr: NDArray[np.int64],
    cap: int,
    seed: np.uint64,
) -> None:
    """Write the sizes of hops to ``cells``, or with ``write`` the hops to ``out``.

    ``cells[k, v]`` receives the size of hop k + 1 of v, if v is its smallest twin; with
    ``write`` it is the start of that hop in ``out``, ``[M]``. Hops are sorted, and hold
    at most ``cap`` nodes if that is below ``room``, the size of the largest graph.
    """
    mark = np.zeros(graph.indptr.size - 1, np.uint8)
    queue = np.empty(2 * room, np.int32)
    keep = cap if write and cap < room else 0
    keys, sample = np.empty(keep, np.uint64), np.empty(keep, np.int32)
    number = 0  # index of the graph
    for v in range(start, stop):
        if not write and alike[v] != v:
            continue
        while keep and node_ptr[number + 1] <= v:
            number += 1
        queue[0] = v
        mark[v] = not diffusion
        begin, end = 0, 1
        for k in range(cells.shape[0]):
            begin, end = next_level(graph, diffusion, queue, begin, end, mark)
            if begin == end:
                break
            size = end - begin
            if not write:
                cells[k, v] = size
            elif keep and size > keep:
                first = node_ptr[number]
                state = hop_state(seed, v - first, k + 1)
                sample_level(queue[begin:end], first, state, keys, sample)
                for i in range(keep):
                    out[cells[k, v] + i] = sample[i]
            else:
                sort_range(queue, begin, end)
                for i in range(size):
                    out[cells[k, v] + i] = queue[begin + i]
        if not diffusion:
            for i in range(end):
                mark[queue[i]] = 0


def _largest(packed: PackedGraphs) -> int:
    return int(np.diff(packed.node_ptr).max(initial=0))


def _chunks(num_nodes: int, threads: int | None) -> list[tuple[int, int]]:
    """Every chunk clears ``num_nodes`` bytes: make many chunks, but not too many."""
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
    identity = np.arange(packed.num_nodes, dtype=np.int32)
    alike = find_alike(packed, threads)[1] if whole else identity

    def count(start: int, stop: int) -> None:
        search = packed.csr, start, stop, diffusion, room, sizes, alike, False, _NONE
        _search(*search, packed.node_ptr, room, np.uint64(0))

    run_chunks(count, chunks, threads, progress)
    twins = np.flatnonzero(alike != identity)
    sizes[:, twins] = sizes[:, alike[twins]]
