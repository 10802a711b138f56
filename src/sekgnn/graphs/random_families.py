"""Random graphs, in time linear in their edges."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_positive
from sekgnn.errors import ConfigError
from sekgnn.graphs.graph import Graph
from sekgnn.graphs.triangle import pair_rank, pair_unrank

_TRIES = 200  # for one bad edge, before the whole pairing is drawn again


def random_graph(n: int, p: float, rng: np.random.Generator) -> Graph:
    """Return an Erdős-Rényi graph: each pair of nodes is an edge with probability p.

    Raises:
        ConfigError: If ``p`` is not in [0, 1].
    """
    pairs = check_positive("n", n, 0) * (n - 1) // 2
    if not 0 <= p <= 1:
        raise ConfigError(f"p must lie in [0, 1], got {p}.")
    count = rng.binomial(pairs, p) if pairs else 0
    rank = rng.choice(pairs, count, replace=False, shuffle=False)
    edges = np.stack(pair_unrank(np.asarray(rank, dtype=np.int64)))
    return Graph.from_edge_index(edges, n, undirected="add")


def random_regular_graph(n: int, degree: int, rng: np.random.Generator) -> Graph:
    """Return a random simple graph in which every node has ``degree`` neighbours.

    Pairs the ``n * degree`` edge ends at random, then repairs loops and repeated edges
    by switching ends with random other edges. Every regular graph can occur; for fixed
    degree the distribution tends to the uniform one, but it is not exactly uniform.

    Args:
        n: Number of nodes.
        degree: Number of neighbours, below ``n``; ``n * degree`` must be even.
        rng: Source of randomness.

    Raises:
        ConfigError: If there is no such graph.
    """
    check_positive("n", n, 0)
    check_positive("degree", degree, 0)
    if degree >= max(n, 1):
        raise ConfigError(f"degree must be below n={n}, got {degree}.")
    if n * degree % 2:
        raise ConfigError(
            f"n * degree must be even, got {n} * {degree}; each edge has two ends."
        )
    if 2 * degree > max(n - 1, 0):
        sparse = random_regular_graph(n, n - 1 - degree, rng)
        return _complement(sparse)
    edges: NDArray[np.int64] | None = None
    while edges is None:
        ends = np.repeat(np.arange(n), degree)
        rng.shuffle(ends)
        edges = _repair(ends.reshape(2, -1), n, rng)
    return Graph.from_edge_index(edges, n, undirected="add")


def barabasi_albert_graph(n: int, m: int, rng: np.random.Generator) -> Graph:
    """Return a preferential attachment graph (Barabási and Albert 1999).

    Starts from a star with ``m`` leaves; every further node joins ``m`` different
    nodes, each drawn with probability proportional to its degree.

    Args:
        n: Number of nodes.
        m: Edges that a node brings, in 1..n-1.
        rng: Source of randomness.

    Raises:
        ConfigError: If ``m`` is not below ``n``.
    """
    check_positive("m", m)
    if check_positive("n", n) <= m:
        raise ConfigError(f"m must be below n={n}, got {m}.")
    ends = [node for leaf in range(1, m + 1) for node in (0, leaf)]  # by degree
    draws: Iterator[float] = iter(())
    for node in range(m + 1, n):
        chosen: list[int] = []
        while len(chosen) < m:
            draw = next(draws, None)
            if draw is None:
                draws = iter(rng.random(min(1 << 16, 2 * m * n)).tolist())
                continue
            target = ends[int(draw * len(ends))]
            if target not in chosen:
                chosen.append(target)
        for target in chosen:
            ends += (target, node)
    edges = np.array(ends, dtype=np.int64).reshape(-1, 2).T
    return Graph.from_edge_index(edges, n, undirected="add")


def _complement(graph: Graph) -> Graph:
    """Return the graph with exactly the other edges."""
    n = graph.num_nodes
    row, col = graph.edge_index()
    absent = np.ones(n * (n - 1) // 2, dtype=np.bool_)
    absent[pair_rank(row[row < col], col[row < col])] = False
    edges = np.stack(pair_unrank(np.flatnonzero(absent)))
    return Graph.from_edge_index(edges, n, undirected="add")


def _repair(
    edges: NDArray[np.int64], n: int, rng: np.random.Generator
) -> NDArray[np.int64] | None:
    """Switch ends until no loop or repeated edge is left, or give up with None.

    A switch of (u, v) and (x, y) to (u, y) and (x, v) keeps all degrees, and is done
    only if both new edges are new. The edges as drawn stay sorted in ``before``; the
    few changes are counted in ``change``, so that asking for an edge is a bisection.
    """
    key = edges.min(axis=0) * n + edges.max(axis=0)
    order = np.argsort(key)
    before = key[order]
    change: dict[int, int] = {}

    def count(u: int, v: int) -> int:
        pair = min(u, v) * n + max(u, v)
        found = np.searchsorted(before, pair, "right") - np.searchsorted(before, pair)
        return int(found) + change.get(pair, 0)

    def add(u: int, v: int, by: int) -> None:
        pair = min(u, v) * n + max(u, v)
        change[pair] = change.get(pair, 0) + by

    repeated = order[1:][before[1:] == before[:-1]]
    loops = np.flatnonzero(edges[0] == edges[1])
    for bad in np.concatenate([repeated, loops]).tolist():
        u, v = edges[:, bad].tolist()
        if u != v and count(u, v) == 1:
            continue
        for other in rng.integers(edges.shape[1], size=_TRIES).tolist():
            x, y = edges[:, other].tolist()
            fresh = u != y and x != v and {u, y} != {x, v}
            if other != bad and fresh and count(u, y) == 0 == count(x, v):
                break
        else:
            return None
        for a, b, by in ((u, v, -1), (x, y, -1), (u, y, 1), (x, v, 1)):
            add(a, b, by)
        edges[:, bad], edges[:, other] = (u, y), (x, v)
    return edges
