"""Families of graphs: named ones such as ``rook:4``, CFI pairs, and random ones."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_choice, check_positive
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs.graph import Graph
from sekgnn.graphs.graph6 import pair_unrank

_MAX_DEGREE = 16  # of the base of a CFI graph
_TRIES = 200  # for one bad edge, before a new pairing is drawn


def path_graph(n: int) -> Graph:
    """Return the path on ``n`` nodes, 0 - 1 - ... - (n - 1)."""
    node = np.arange(check_positive("n", n, 0))
    return _graph([node[:-1], node[1:]], n)


def cycle_graph(n: int) -> Graph:
    """Return the cycle on ``n`` nodes, at least 3."""
    return circulant_graph(check_positive("n", n, 3), [1])


def complete_graph(n: int) -> Graph:
    """Return the graph on ``n`` nodes with all edges."""
    check_positive("n", n, 0)
    return _graph(np.triu_indices(n, 1), n)


def circulant_graph(n: int, jumps: Iterable[int]) -> Graph:
    r"""Return the graph on :math:`\mathbb{Z}_n`, :math:`v \sim v \pm j`, j a jump.

    Raises:
        ConfigError: If a jump is a multiple of ``n``, which would be a loop.

    Example:
        >>> circulant_graph(8, [1, 2]).degrees.tolist()
        [4, 4, 4, 4, 4, 4, 4, 4]
    """
    node = np.arange(check_positive("n", n))
    steps = [check_positive("jump", jump) for jump in jumps]
    if any(step % n == 0 for step in steps):
        raise ConfigError(f"jumps {steps} contain a multiple of n={n}: a self-loop.")
    row = np.tile(node, len(steps))
    return _graph([row, (row + np.repeat(steps, n).astype(np.int64)) % n], n)


def csl_graph(n: int, skip: int) -> Graph:
    """Return the circular skip link graph: a cycle with further links of ``skip``.

    The CSL benchmark (Murphy et al. 2019, "Relational Pooling for Graph
    Representations") has n = 41 and the skips 2, 3, 4, 5, 6, 9, 11, 12, 13, 16.

    Raises:
        ConfigError: If ``skip`` is not in 2..n-2 or shares a divisor with ``n``.
    """
    check_positive("n", n, 5)
    check_positive("skip", skip, 2)
    if skip > n - 2 or math.gcd(n, skip) != 1:
        raise ConfigError(
            f"skip must lie in 2..{n - 2} and share no divisor with n={n}, got {skip}."
        )
    return circulant_graph(n, [1, skip])


def rook_graph(n: int, m: int | None = None) -> Graph:
    """Return the moves of a rook on a board of n x m; square (i, j) is node i m + j."""
    m = check_positive("n", n) if m is None else check_positive("m", m)
    square = np.arange(check_positive("n", n) * m)
    a, b = np.triu_indices(square.size, 1)
    meet = (a // m == b // m) | (a % m == b % m)
    return _graph([a[meet], b[meet]], square.size)


def shrikhande_graph() -> Graph:
    r"""Return the Shrikhande graph, strongly regular (16, 6, 2, 2) like rook 4 x 4.

    The Cayley graph of :math:`\mathbb{Z}_4^2` with steps ±(0, 1), ±(1, 0), ±(1, 1);
    node (i, j) is 4 i + j.
    """
    i, j = np.divmod(np.arange(16), 4)
    ends = [(i + a) % 4 * 4 + (j + b) % 4 for a, b in ((0, 1), (1, 0), (1, 1))]
    return _graph([np.tile(np.arange(16), 3), np.concatenate(ends)], 16)


def petersen_graph() -> Graph:
    """Return the Petersen graph: cycle 0..4, star 5..9 inside, spokes v - (v + 5)."""
    v = np.arange(5)
    row = np.concatenate([v, v, v + 5])
    return _graph([row, np.concatenate([(v + 1) % 5, v + 5, (v + 2) % 5 + 5])], 10)


def cfi_pair(base: Graph) -> tuple[Graph, Graph]:
    """Return the untwisted and the once-twisted CFI graph over ``base``.

    Cai, Fürer and Immerman 1992. Over a connected base the two are not isomorphic, and
    the larger the treewidth of the base, the more dimensions a WL test needs.

    For every base node v and each edge e at v there are two end nodes (v, e, 0) and (v,
    e, 1); for every set S of an even number of edges at v there is a middle node (v,
    S), joined to (v, e, 1) for e in S and to (v, e, 0) for the other e. An edge e
    between u and v joins (u, e, b) to (v, e, b), or to (v, e, 1 - b) if it is twisted.

    Raises:
        GraphInputError: If the base has no edge, is not connected, or has a node with
            more than 16 neighbours.

    Example:
        >>> plain, twisted = cfi_pair(cycle_graph(3))
        >>> plain.num_nodes == twisted.num_nodes == 3 * (2 + 4)
        True
    """
    from scipy.sparse.csgraph import connected_components

    if base.num_edges == 0 or connected_components(base.to_scipy())[0] > 1:
        raise GraphInputError(
            "the base of a CFI pair must be connected and have an edge; otherwise the "
            "two graphs may be isomorphic. Use one connected component."
        )
    if base.degrees.max() > _MAX_DEGREE:
        raise GraphInputError(
            f"a base node has {base.degrees.max()} neighbours; its gadget would have "
            f"2^{base.degrees.max() - 1} nodes. At most {_MAX_DEGREE} are allowed."
        )
    first = (0, int(base.neighbors(0)[0]))
    return _cfi_graph(base, set()), _cfi_graph(base, {first})


def _cfi_graph(base: Graph, twisted: set[tuple[int, int]]) -> Graph:
    """Return the CFI graph in which edges ``(u, v)``, u < v, are twisted."""
    row, col = base.edge_index().tolist()
    arc = {pair: i for i, pair in enumerate(zip(row, col, strict=True))}
    # the end node (v, e, b), where e is the i-th arc v -> w of the base, is 2 i + b
    edges = [
        (2 * i + b, 2 * arc[w, v] + (b ^ ((v, w) in twisted)))
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
    return _graph(np.array(edges).T, size)


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
    return _graph(pair_unrank(np.asarray(rank, dtype=np.int64)), n)


def random_regular_graph(n: int, degree: int, rng: np.random.Generator) -> Graph:
    """Return a random simple graph in which every node has ``degree`` neighbours.

    Pairs the ``n * degree`` edge ends at random, then repairs loops and repeated edges
    by switching ends with random other edges. Every regular graph can occur; for fixed
    degree the distribution tends to the uniform one, but it is not exactly uniform.

    Raises:
        ConfigError: If there is no such graph: the degree is below ``n``, and
            ``n * degree`` even.
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
        sparse = random_regular_graph(n, n - 1 - degree, rng).adjacency()
        others = np.nonzero(sparse + np.eye(n) == 0)
        return Graph.from_edge_index(np.stack(others), n)
    edges: NDArray[np.int64] | None = None
    while edges is None:
        ends = np.repeat(np.arange(n), degree)
        rng.shuffle(ends)
        edges = _repair(ends.reshape(2, -1), n, rng)
    return _graph(edges, n)


def barabasi_albert_graph(n: int, m: int, rng: np.random.Generator) -> Graph:
    """Return a preferential attachment graph (Barabási and Albert 1999).

    Starts from a star with ``m`` leaves; every further node joins ``m`` different
    nodes, each drawn with probability proportional to its degree.

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
    return _graph(np.array(ends, dtype=np.int64).reshape(-1, 2).T, n)


def _graph(edges: Any, n: int) -> Graph:
    """Build a graph from edges ``[2, E]`` listed once."""
    return Graph.from_edge_index(edges, n, undirected="add")


def _repair(
    edges: NDArray[np.int64], n: int, rng: np.random.Generator
) -> NDArray[np.int64] | None:
    """Switch ends until no loop or repeated edge is left, or return ``None``.

    A switch of (u, v) and (x, y) to (u, y) and (x, v) keeps all degrees, and is done
    only if both new edges are new. The drawn edges stay sorted in ``before``, and
    ``change`` counts the few changes, so that finding an edge is a bisection.
    """
    key = edges.min(axis=0) * n + edges.max(axis=0)
    order = np.argsort(key)
    before = key[order]
    change: Counter[int] = Counter()

    def pair(u: int, v: int) -> int:
        return min(u, v) * n + max(u, v)

    def count(u: int, v: int) -> int:
        key = pair(u, v)
        drawn = np.searchsorted(before, key, "right") - np.searchsorted(before, key)
        return int(drawn) + change.get(key, 0)

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
            change[pair(a, b)] += by
        edges[:, bad], edges[:, other] = (u, y), (x, v)
    return edges


_FAMILIES: dict[str, tuple[Callable[..., Graph], int, float, str]] = {
    # name: function, fewest numbers, most numbers, form
    "path": (path_graph, 1, 1, "path:N"),
    "cycle": (cycle_graph, 1, 1, "cycle:N"),
    "complete": (complete_graph, 1, 1, "complete:N"),
    "rook": (rook_graph, 1, 2, "rook:N or rook:N:M"),
    "shrikhande": (shrikhande_graph, 0, 0, "shrikhande"),
    "petersen": (petersen_graph, 0, 0, "petersen"),
    "csl": (csl_graph, 2, 2, "csl:N:SKIP"),
    "circulant": (
        lambda n, *jumps: circulant_graph(n, jumps),
        2,
        float("inf"),
        "circulant:N:JUMP:...",
    ),
}
GRAPH_NAMES = tuple(_FAMILIES)
"""The families of :func:`named_graph`."""


def named_graph(name: str) -> Graph:
    """Return the graph called ``name``: a family and its numbers, separated by ``:``.

    Known are ``path:5``, ``cycle:6``, ``complete:4``, ``rook:4``, ``rook:3:5``,
    ``shrikhande``, ``petersen``, ``csl:41:3`` and ``circulant:8:1:2``.

    Raises:
        ConfigError: If the family is unknown or its numbers do not fit.

    Example:
        >>> named_graph("rook:4")
        Graph(num_nodes=16, num_edges=48)
    """
    family, *fields = name.strip().lower().split(":")
    check_choice("graph name", family, GRAPH_NAMES)
    function, fewest, most, form = _FAMILIES[family]
    numeric = all(field.isascii() and field.isdigit() for field in fields)
    if not numeric or not fewest <= len(fields) <= most:
        raise ConfigError(f"graph name {name!r} should have the form {form}.")
    return function(*(int(field) for field in fields))
