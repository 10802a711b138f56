r"""Twins: nodes with the same neighbourhood, which no structure can tell apart.

Swapping two twins is an automorphism, so they share every encoding. Adjacent twins have
the same closed neighbourhood: with self-loops their rows of P are equal, so walks can
be taken on the quotient, with one node per class. Social ego-networks shrink by an
order of magnitude, molecules not at all. Twins apart, such as the leaves of a star,
have the same open neighbourhood. No node has twins of both kinds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.digest import scramble
from sekgnn.graphs.graph import CsrGraph
from sekgnn.graphs.packed import PackedGraphs, whole_graph_ranges
from sekgnn.kernel import kernel
from sekgnn.parallel import run_chunks

_CHUNK = 2048  # nodes of small graphs in a chunk


@kernel
def find_twins(
    graph: CsrGraph, start: int, stop: int, twin_of: NDArray[np.int32]
) -> None:
    """Write the smallest twin (or itself) of nodes ``start..stop - 1``.

    Twins are adjacent, so only smaller neighbours are candidates; a candidate's closed
    neighbourhood is compared entry by entry. The range must not cut a graph in two.
    """
    indptr, indices = graph
    for v in range(start, stop):
        twin_of[v] = v
        low, high = indptr[v], indptr[v + 1]
        for e in range(low, high):
            u = indices[e]
            if u >= v:
                break
            if twin_of[u] != u or indptr[u + 1] - indptr[u] != high - low:
                continue
            a, b = low, indptr[u]
            same = True
            while same and (a < high or b < indptr[u + 1]):
                if a < high and indices[a] == u:
                    a += 1
                elif b < indptr[u + 1] and indices[b] == v:
                    b += 1
                elif a < high and b < indptr[u + 1] and indices[a] == indices[b]:
                    a += 1
                    b += 1
                else:
                    same = False
            if same:
                twin_of[v] = u
                break


def find_alike(
    graphs: PackedGraphs, threads: int | None = None
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the smallest adjacent twin of every node, and the smallest of either kind.

    The node itself counts as its twin; both are int32 ``[N]``.

    Example:
        >>> from sekgnn.graphs.graph import Graph
        >>> from sekgnn.graphs.packed import pack
        >>> edges = [[0, 0, 0], [1, 2, 3]]  # a star
        >>> star = Graph.from_edge_index(edges, 4, undirected="add")
        >>> [twins.tolist() for twins in find_alike(pack([star]))]
        [[0, 1, 2, 3], [0, 1, 1, 1]]
    """
    graph, count = graphs.csr, graphs.num_nodes
    twin_of, alike = np.empty(count, np.int32), np.empty(count, np.int32)

    def work(start: int, stop: int) -> None:
        find_twins(graph, start, stop, twin_of)
        find_twins_apart(graph, start, stop, twin_of, alike)

    run_chunks(work, whole_graph_ranges(graphs.node_ptr, _CHUNK), threads)
    return twin_of, alike


@kernel
def find_twins_apart(
    graph: CsrGraph,
    start: int,
    stop: int,
    twin_of: NDArray[np.int32],
    alike: NDArray[np.int32],
) -> None:
    """Write the smallest node with the same neighbours, or else the adjacent twin.

    Nodes ``start..stop - 1`` are sorted by a digest of their neighbours, then by
    number. Isolated nodes get no twins: those of different graphs would be mixed.
    """
    indptr, indices = graph
    digests = np.zeros(stop - start, dtype=np.uint64)
    for v in range(start, stop):
        alike[v] = twin_of[v]
        for e in range(indptr[v], indptr[v + 1]):
            digests[v - start] += scramble(np.uint64(indices[e] + 1))
    order = np.argsort(digests, kind="mergesort")
    first = 0
    for i in range(1, order.size):
        v, u = start + order[i], start + order[first]
        if digests[order[i]] != digests[order[first]]:
            first = i
            continue
        degree = indptr[v + 1] - indptr[v]
        same = degree > 0 and degree == indptr[u + 1] - indptr[u]
        for e in range(degree if same else 0):
            if indices[indptr[v] + e] != indices[indptr[u] + e]:
                same = False
                break
        if same:
            alike[v] = u


@kernel
def copy_to_twins(
    alike: NDArray[np.int32], start: int, stop: int, values: NDArray[Any]
) -> None:
    """Copy the values of smallest twins to the nodes ``start..stop - 1``.

    ``values`` is ``[N, F]``; nodes whose twin is -1 are left unchanged.
    """
    for v in range(start, stop):
        u = alike[v]
        if u >= 0 and u != v:
            for i in range(values.shape[1]):
                values[v, i] = values[u, i]


@kernel
def quotient(
    graph: CsrGraph,
    twin_of: NDArray[np.int32],
    first: int,
    count: int,
    loop: int,
) -> tuple[
    NDArray[np.int32], NDArray[np.float64], NDArray[np.int64], NDArray[np.int32]
]:
    """Return the quotient of the graph of ``count`` nodes from ``first`` on.

    Its nodes are the classes of ``twin_of``, from :func:`find_twins`; the identity
    leaves the graph unchanged. With ``loop`` = 1 a class neighbours itself; only then
    may twins be merged.

    Returns:
        nodes: A node (number in the graph) of each class, int32 ``[q]``, increasing.
        sizes: Nodes in each class, float64 ``[q]``.
        rows: Row starts of the quotient, int64 ``[q + 1]``.
        columns: Neighbouring classes, int32.
    """
    indptr, indices = graph
    class_of = np.empty(count, dtype=np.int32)
    nodes = np.empty(count, dtype=np.int32)
    sizes = np.zeros(count)
    q = 0
    for v in range(count):
        twin = twin_of[first + v] - first
        if twin == v:
            class_of[v] = q
            nodes[q] = v
            q += 1
        else:
            class_of[v] = class_of[twin]
        sizes[class_of[v]] += 1
    rows = np.zeros(q + 1, dtype=np.int64)
    room = indptr[first + count] - indptr[first] + loop * q
    columns = np.empty(room, dtype=np.int32)
    filled = 0
    for c in range(q):
        v = first + nodes[c]
        if loop:
            columns[filled] = c
            filled += 1
        for e in range(indptr[v], indptr[v + 1]):
            u = indices[e] - first
            other = class_of[u]
            if nodes[other] == u and other != c:
                columns[filled] = other
                filled += 1
        rows[c + 1] = filled
    return nodes[:q], sizes[:q], rows, columns[:filled]
