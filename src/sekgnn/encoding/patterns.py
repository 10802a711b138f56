"""f from counts: cycles and cliques through a node, and the edges of its shells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sekgnn.encoding.substructure import SubstructureEncoding, register_encoding
from sekgnn.errors import ConfigError
from sekgnn.graphs.graph import CsrGraph
from sekgnn.graphs.packed import PackedGraphs
from sekgnn.kernel import kernel
from sekgnn.parallel import Progress, even_chunks, run_chunks
from sekgnn.parameters import check_fields, parameter

GRAPHS_CHUNK = 32
LONGEST_CYCLE, LARGEST_CLIQUE = 8, 6
PATTERNS = (
    *(f"cycle{length}" for length in range(3, LONGEST_CYCLE + 1)),
    *(f"clique{size}" for size in range(4, LARGEST_CLIQUE + 1)),
)


@kernel
def adjacent(graph: CsrGraph, a: int, b: int) -> bool:
    """Return whether two nodes are neighbours, by bisection."""
    indptr, indices = graph
    low, high = indptr[a], indptr[a + 1]
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < b:
            low = middle + 1
        else:
            high = middle
    return low < indptr[a + 1] and indices[low] == b


@kernel
def cycles_through(
    graph: CsrGraph,
    v: int,
    longest: int,
    shared: NDArray[np.int64],
    on_path: NDArray[np.bool_],
    counts: NDArray[np.int64],
) -> None:
    """Count the simple cycles through ``v`` of each length up to ``longest``.

    A path v, p1, ..., pd closes to a cycle of d + 2 nodes through every common
    neighbour of pd and v that is not on it, so the last node need not be tried. Every
    cycle is met twice, once per direction. ``shared`` and ``on_path`` are scratch, 0
    and false everywhere on entry and on return; ``counts`` is ``[longest + 1]``.
    """
    indptr, indices = graph
    counts[:] = 0
    for e in range(indptr[v], indptr[v + 1]):
        for f in range(indptr[indices[e]], indptr[indices[e] + 1]):
            shared[indices[f]] += 1
    path = np.empty(longest, dtype=np.int64)
    edge = np.empty(longest, dtype=np.int64)
    path[0], edge[0] = v, indptr[v]
    on_path[v] = True
    depth = 0
    while depth >= 0:
        if edge[depth] == indptr[path[depth] + 1]:
            on_path[path[depth]] = False
            depth -= 1
            continue
        u = indices[edge[depth]]
        edge[depth] += 1
        if on_path[u]:
            continue
        closings = shared[u]
        for i in range(1, depth + 1):
            if adjacent(graph, path[i], u) and adjacent(graph, path[i], v):
                closings -= 1
        counts[depth + 3] += closings
        if depth + 3 < longest:
            depth += 1
            path[depth], edge[depth] = u, indptr[u]
            on_path[u] = True
    for e in range(indptr[v], indptr[v + 1]):
        for f in range(indptr[indices[e]], indptr[indices[e] + 1]):
            shared[indices[f]] = 0
    for length in range(longest + 1):
        counts[length] //= 2


@kernel
def cliques_through(
    graph: CsrGraph, v: int, largest: int, counts: NDArray[np.int64]
) -> None:
    """Count the cliques with ``v`` of each size up to ``largest``, at least 2.

    The other nodes are chosen among the neighbours in rising order, so that every
    clique is met once. ``counts`` is ``[largest + 1]``.
    """
    indptr, indices = graph
    counts[:] = 0
    chosen = np.empty(largest, dtype=np.int64)
    edge = np.empty(largest, dtype=np.int64)
    edge[0] = indptr[v]
    depth = 0
    while depth >= 0:
        if edge[depth] == indptr[v + 1]:
            depth -= 1
            continue
        u = indices[edge[depth]]
        edge[depth] += 1
        fits = True
        for i in range(depth):
            fits = fits and adjacent(graph, chosen[i], u)
        if fits:
            counts[depth + 2] += 1
            if depth + 2 < largest:
                chosen[depth] = u
                depth += 1
                edge[depth] = edge[depth - 1]


@kernel
def count_patterns(
    graph: CsrGraph,
    start: int,
    stop: int,
    longest: int,
    largest: int,
    out: NDArray[np.int64],
) -> None:
    """Write the counts of nodes ``start..stop - 1`` in the order of ``PATTERNS``.

    No cycles are counted for ``longest`` below 3, no cliques for ``largest`` below 4.
    """
    shared = np.zeros(graph.indptr.size - 1, dtype=np.int64)
    on_path = np.zeros(graph.indptr.size - 1, dtype=np.bool_)
    cycles = np.zeros(longest + 1, dtype=np.int64)
    cliques = np.zeros(largest + 1, dtype=np.int64)
    for v in range(start, stop):
        if longest >= 3:
            cycles_through(graph, v, longest, shared, on_path, cycles)
        for length in range(3, longest + 1):
            out[v, length - 3] = cycles[length]
        if largest >= 4:
            cliques_through(graph, v, largest, cliques)
        for size in range(4, largest + 1):
            out[v, LONGEST_CYCLE - 2 + size - 4] = cliques[size]


@register_encoding("patterns")
@dataclass(frozen=True)
class PatternCounts(SubstructureEncoding):
    """Numbers of small patterns that contain a node, as subgraphs, induced or not.

    Args:
        patterns: Some of ``"cycle3"`` to ``"cycle8"`` and ``"clique4"`` to
            ``"clique6"``, a channel each. The time to find cycles of length c grows
            with the number of paths of c - 1 nodes, about the degree to the power
            c - 2.
        log1p: Return log(1 + count), which networks learn from more easily.

    Raises:
        ConfigError: If a pattern is unknown, or there is none.

    Example:
        >>> from sekgnn.graphs import complete_graph, pack
        >>> packed = pack([complete_graph(5)])
        >>> PatternCounts(("cycle3", "clique4")).encode(packed)[0].tolist()
        [[6], [4]]
    """

    length = 1

    patterns: tuple[str, ...] = parameter(
        ("cycle3", "cycle4", "cycle5", "clique4"),
        "patterns to count",
        choices=PATTERNS,
    )
    log1p: bool = parameter(False, "take log(1 + count) of each count")

    def __post_init__(self) -> None:
        """Check the parameters; one string may name several, with commas."""
        patterns = self.patterns
        names = tuple(patterns.split(",") if isinstance(patterns, str) else patterns)
        object.__setattr__(self, "patterns", names)
        check_fields(self)
        if not names:
            raise ConfigError("patterns must not be empty.")
        if len(set(names)) < len(names):
            raise ConfigError(f"patterns must not repeat, got {names}.")

    @property
    def channels(self) -> tuple[str, ...]:
        """The patterns."""
        return self.patterns

    def exact(
        self,
        graphs: PackedGraphs,
        *,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> NDArray[np.int64]:
        """Return the counts, int64 ``[N, P, 1]``."""
        n = graphs.num_nodes
        out = np.zeros((n, len(PATTERNS)), dtype=np.int64)
        longest, largest = (
            max((int(p[-1]) for p in self.patterns if p.startswith(kind)), default=2)
            for kind in ("cycle", "clique")
        )

        def work(start: int, stop: int) -> None:
            count_patterns(graphs.csr, start, stop, longest, largest, out)

        run_chunks(work, even_chunks(n, 256), threads, progress)
        return out[:, [PATTERNS.index(name) for name in self.patterns], None]

    def encode(
        self,
        graphs: PackedGraphs,
        *,
        dtype: DTypeLike = np.float64,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> NDArray[Any]:
        """Return the counts, or their logarithms, ``[N, P, 1]``."""
        counts = self.exact(graphs, threads=threads, progress=progress)
        return np.log1p(counts) if self.log1p else counts


@kernel
def search(
    graph: CsrGraph,
    begin: int,
    source: int,
    depth: int,
    shell: NDArray[np.int32],
    only: int,
    distance: NDArray[np.int32],
    queue: NDArray[np.int32],
) -> int:
    """Write distances from ``source``, up to ``depth``; return how many were reached.

    Nodes are numbered from ``begin``, the first node of the graph. Only nodes whose
    number in ``shell`` is ``only`` are searched; -1 searches all. ``distance``, -1
    everywhere, receives the distances, ``queue`` the reached nodes, in order.
    """
    indptr, indices = graph
    queue[0] = source
    distance[source] = 0
    tail, head = 1, 0
    while head < tail:
        v = queue[head]
        head += 1
        if distance[v] == depth:
            break
        for p in range(indptr[begin + v], indptr[begin + v + 1]):
            u = indices[p] - begin
            if distance[u] < 0 and (only < 0 or shell[u] == only):
                distance[u] = distance[v] + 1
                queue[tail] = u
                tail += 1
    return tail


@kernel
def count_peripheral(
    node_ptr: NDArray[np.int64],
    graph: CsrGraph,
    first: int,
    last: int,
    out: NDArray[np.int64],
) -> None:
    """Write the counts of all nodes of graphs ``first..last - 1``.

    ``out`` is zero, ``[N, K, D]``.
    """
    num_shells, most = out.shape[1], out.shape[2]
    for g in range(first, last):
        begin, n = node_ptr[g], node_ptr[g + 1] - node_ptr[g]
        shell, inner = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
        queue, near = np.empty(n, np.int32), np.empty(n, np.int32)
        for v in range(n):
            count = search(graph, begin, v, num_shells, inner, -1, shell, queue)
            for i in range(1, count):
                u = queue[i]
                k = shell[u]
                reached = search(graph, begin, u, most, shell, k, inner, near)
                for j in range(reached):
                    w = near[j]
                    if w > u:
                        out[begin + v, k - 1, inner[w] - 1] += 1
                    inner[w] = -1
            for i in range(count):
                shell[queue[i]] = -1


@register_encoding("peripheral")
@dataclass(frozen=True)
class PeripheralEdges(SubstructureEncoding):
    r"""Pairs of nodes of :math:`N_k(v)` by their distance inside of :math:`N_k(v)`.

    Number d = 1..D of channel k counts the pairs of nodes of the k-th shell of v that
    are d steps apart in the subgraph that the shell induces: for d = 1 its edges, the
    peripheral edges of KP-GNN (Feng et al., 2022), and its configuration for the rest.

    Args:
        num_shells: K.
        max_distance: D.

    Raises:
        ConfigError: If a value cannot work.

    Example:
        >>> from sekgnn.graphs import complete_graph
        >>> from sekgnn.encoding import encode
        >>> encode(complete_graph(4), PeripheralEdges(num_shells=1))[0].tolist()
        [[3.0, 0.0, 0.0]]
    """

    num_shells: int = parameter(3, "K, number of shells to summarise", low=1)
    max_distance: int = parameter(
        3, "largest distance of two nodes in their shell", low=1
    )

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def channels(self) -> tuple[str, ...]:
        """One for every k = 1..K."""
        return tuple(f"peripheral/{k}" for k in range(1, self.num_shells + 1))

    @property
    def length(self) -> int:
        """Numbers per channel: ``max_distance``."""
        return self.max_distance

    def encode(
        self,
        graphs: PackedGraphs,
        *,
        dtype: DTypeLike = np.float64,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> NDArray[np.int64]:
        """Return the counts, int64 ``[N, K, D]``."""
        shape = graphs.num_nodes, self.num_shells, self.max_distance
        out = np.zeros(shape, np.int64)

        def work(first: int, last: int) -> None:
            count_peripheral(graphs.node_ptr, graphs.csr, first, last, out)

        chunks = even_chunks(graphs.num_graphs, GRAPHS_CHUNK)
        run_chunks(work, chunks, threads, progress)
        return out
