"""Pairs of graphs that no bounded-dimensional WL test tells apart (CFI)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, combinations

import numpy as np

from sekgnn.errors import GraphInputError
from sekgnn.graphs.graph import Graph

_MAX_DEGREE = 16


def cfi_pair(base: Graph) -> tuple[Graph, Graph]:
    """Return the untwisted and the once-twisted CFI graph over ``base``.

    Cai, Fürer and Immerman 1992. Over a connected base the two are not isomorphic, and
    the larger the treewidth of the base, the more dimensions a WL test needs.

    Args:
        base: A connected graph with at least one edge.

    Raises:
        GraphInputError: If the base has no edge, is not connected, or has a node with
            more than 16 neighbours.

    Example:
        >>> from sekgnn.graphs.families import cycle_graph
        >>> plain, twisted = cfi_pair(cycle_graph(3))
        >>> plain.num_nodes == twisted.num_nodes == 3 * (2 + 4)
        True
    """
    if base.num_edges == 0 or not _is_connected(base):
        raise GraphInputError(
            "the base of a CFI pair must be connected and have an edge; otherwise the "
            "two graphs may be isomorphic. Use one connected component."
        )
    first = (0, int(base.neighbors(0)[0]))
    return cfi_graph(base), cfi_graph(base, twisted=[first])


def cfi_graph(base: Graph, twisted: Iterable[tuple[int, int]] = ()) -> Graph:
    """Return the CFI graph over ``base`` in which the edges ``twisted`` are crossed.

    For every base node v and each edge e at v there are two end nodes (v, e, 0) and
    (v, e, 1); for every set S of an even number of edges at v there is a middle node
    (v, S), joined to (v, e, 1) for e in S and to (v, e, 0) for the other e. An edge e
    between u and v joins (u, e, b) to (v, e, b), or to (v, e, 1 - b) if it is twisted.
    Only the parity of the number of twists in a component matters up to isomorphism.

    Args:
        base: Any graph with at most 16 neighbours per node.
        twisted: Base edges to cross, in either direction; twice is not at all.

    Raises:
        GraphInputError: If a degree is too large or a twisted edge is no edge.
    """
    if base.num_nodes and base.degrees.max() > _MAX_DEGREE:
        raise GraphInputError(
            f"a base node has {base.degrees.max()} neighbours; its gadget would have "
            f"2^{base.degrees.max() - 1} nodes. At most {_MAX_DEGREE} are allowed."
        )
    row, col = base.edge_index().tolist()
    arc = {pair: i for i, pair in enumerate(zip(row, col, strict=True))}
    crossed: set[tuple[int, int]] = set()
    for u, v in twisted:
        if (u, v) not in arc:
            raise GraphInputError(
                f"({u}, {v}) is no edge of the base; cannot twist it."
            )
        crossed ^= {(min(u, v), max(u, v))}
    # the end node (v, e, b), where e is the i-th arc v -> w of the base, is 2 i + b
    edges = [
        (2 * i + b, 2 * arc[w, v] + (b ^ ((v, w) in crossed)))
        for (v, w), i in arc.items()
        if v < w
        for b in (0, 1)
    ]
    size = 2 * len(arc)
    for v in range(base.num_nodes):
        arcs = range(int(base.indptr[v]), int(base.indptr[v + 1]))
        sets = (combinations(arcs, k) for k in range(0, len(arcs) + 1, 2))
        for chosen in chain.from_iterable(sets):
            edges += [(size, 2 * i + (i in chosen)) for i in arcs]
            size += 1
    pairs = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    return Graph.from_edge_index(pairs, size, undirected="add")


def _is_connected(graph: Graph) -> bool:
    """Tell whether every node can be reached from node 0."""
    seen = {0}
    stack = [0]
    while stack:
        fresh = set(graph.neighbors(stack.pop()).tolist()) - seen
        seen |= fresh
        stack += fresh
    return len(seen) == graph.num_nodes
