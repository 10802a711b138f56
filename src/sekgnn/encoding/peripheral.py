r"""f from peripheral edges: how the nodes of a shell are joined among themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sekgnn.checks import check_positive
from sekgnn.encoding.substructure import SubstructureEncoding, register_encoding
from sekgnn.graphs.graph import CsrGraph
from sekgnn.graphs.packed import PackedGraphs
from sekgnn.kernel import kernel
from sekgnn.parallel import Progress, even_chunks, run_chunks
from sekgnn.registry import parameter

GRAPHS_CHUNK = 32


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

    The graph that is searched begins at ``begin``; nodes count from there. Only nodes
    whose number in ``shell`` is ``only`` are searched, all for -1. ``distance``, -1
    everywhere, receives the distances, ``queue`` the nodes that were reached, in order.
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
            found = search(graph, begin, v, num_shells, inner, -1, shell, queue)
            for i in range(1, found):
                u = queue[i]
                k = shell[u]
                reached = search(graph, begin, u, most, shell, k, inner, near)
                for j in range(reached):
                    w = near[j]
                    if w > u:
                        out[begin + v, k - 1, inner[w] - 1] += 1
                    inner[w] = -1
            for i in range(found):
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

    num_shells: int = parameter(3, "K, number of shells to summarise")
    max_distance: int = parameter(3, "largest distance of two nodes in their shell")

    def __post_init__(self) -> None:
        for name in ("num_shells", "max_distance"):
            object.__setattr__(self, name, check_positive(name, getattr(self, name)))

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
