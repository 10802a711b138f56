"""Graphs after the recipe of the PNA benchmark: ten families, slightly rewired.

Corso et al. 2020, "Principal Neighbourhood Aggregation for Graph Nets"; the parameters
are those of its published generator. The random numbers are not: these graphs have the
same distribution, and are other graphs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.graphs import barabasi_albert_graph

Matrix = NDArray[np.bool_]
Rng = np.random.Generator

_KEEP = 0.9


def benchmark_graph(n: int, rng: Rng) -> Matrix:
    """Return the matrix of a random graph on ``n >= 3`` nodes, none of them isolated.

    A family is drawn from ``FAMILIES``, then graphs of it until one has no isolated
    node after rewiring. Node names are shuffled.
    """
    names = list(FAMILIES)
    weights = [FAMILIES[name][0] for name in names]
    family = FAMILIES[names[int(rng.choice(len(names), p=weights))]][1]
    while True:
        perm = rng.permutation(n)
        matrix = _rewired(family(n, rng)[np.ix_(perm, perm)], rng)
        if matrix.any(axis=0).all():
            return matrix


def _rewired(matrix: Matrix, rng: Rng) -> Matrix:
    """Drop some edges and add some others.

    The generator compares the sum s of two numbers from U[0, 1/2] with p = 0.9 for an
    edge and with p = 0.1 e / r for a pair that is none (e edges, r other pairs, if
    e <= r). It says that an edge then stays with probability p; but s is not uniform:
    P(s < p) is 2 p² below 1/2 and 1 - 2 (1 - p)² above, so 2% of the edges go.
    """
    n = matrix.shape[0]
    edges = matrix.sum() / 2
    others = n * (n - 1) / 2 - edges
    if edges <= others:
        stay, appear = _KEEP, (1 - _KEEP) * edges / others
    else:
        stay, appear = _KEEP + (1 - _KEEP) * (edges - others) / edges, 1 - _KEEP
    chance = np.where(matrix, 1 - 2 * (1 - stay) ** 2, 2 * appear**2)
    upper = np.triu(rng.random((n, n)) < chance, k=1)
    return upper | upper.T


def _of_edges(n: int, u: NDArray[Any], v: NDArray[Any]) -> Matrix:
    matrix = np.zeros((n, n), dtype=np.bool_)
    matrix[u.astype(np.int64), v.astype(np.int64)] = True
    return matrix | matrix.T


def _near_square(n: int) -> tuple[int, int]:
    """Return the factors of ``n`` that are closest, the smaller first."""
    small = max(i for i in range(1, math.isqrt(n) + 1) if n % i == 0)
    return small, n // small


def _erdos_renyi(n: int, rng: Rng) -> Matrix:
    upper = np.triu(rng.random((n, n)) < rng.random(), k=1)
    return upper | upper.T


def _barabasi_albert(n: int, rng: Rng) -> Matrix:
    graph = barabasi_albert_graph(n, int(rng.integers(1, n)), rng)
    return graph.adjacency().astype(np.bool_)


def _grid(n: int, rng: Rng) -> Matrix:
    _, width = _near_square(n)
    right = np.array([v for v in range(n - 1) if (v + 1) % width], dtype=np.int64)
    down = np.arange(n - width)
    ends = np.concatenate([right + 1, down + width])
    return _of_edges(n, np.concatenate([right, down]), ends)


def _caveman(n: int, rng: Rng) -> Matrix:
    _, size = _near_square(n)
    cave = np.arange(n) // size
    return (cave[:, None] == cave) & ~np.eye(n, dtype=np.bool_)


def _power_law_tree(n: int, rng: Rng) -> Matrix:
    """Return a path with leaves whose degrees follow a power law with exponent 3.

    Degrees are replaced at random until they sum to 2 n - 2.
    """

    def draw(count: int) -> NDArray[np.int64]:
        power = (1.0 - rng.random(count)) ** -0.5
        return np.minimum(np.rint(power), n).astype(np.int64)

    degrees = draw(n)
    while degrees.sum() != 2 * n - 2:
        degrees[rng.integers(n)] = draw(1)[0]
    inner = np.sort(degrees[degrees > 1])
    spine = np.arange(inner.size + 1)
    leaves = np.repeat(np.arange(1, inner.size + 1), inner - 2)
    ends = np.arange(inner.size + 2, n)
    return _of_edges(n, np.concatenate([spine, leaves]), np.append(spine + 1, ends))


def _ladder(n: int, rng: Rng) -> Matrix:
    half = n // 2
    side = np.arange(half - 1)
    u = np.concatenate([side, side + half, np.arange(half), [0] * (n % 2)])
    v = np.concatenate([side + 1, side + half + 1, np.arange(half) + half])
    return _of_edges(n, u, np.append(v, [n - 1] * (n % 2)))


def _line(n: int, rng: Rng) -> Matrix:
    return _of_edges(n, np.arange(n - 1), np.arange(1, n))


def _star(n: int, rng: Rng) -> Matrix:
    return _of_edges(n, np.zeros(n - 1, dtype=np.int64), np.arange(1, n))


def _caterpillar(n: int, rng: Rng) -> Matrix:
    return _legs(n, int(rng.integers(1, n)), n, rng)


def _lobster(n: int, rng: Rng) -> Matrix:
    spine = int(rng.integers(1, n))
    return _legs(n, spine, int(rng.integers(spine + 1, n + 1)), rng)


def _legs(n: int, spine: int, inner: int, rng: Rng) -> Matrix:
    """Hang nodes up to ``inner`` on a path of ``spine``, and the rest on those."""
    first = rng.integers(spine, size=inner - spine)
    second = rng.integers(spine, inner, size=n - inner)
    parents = np.concatenate([np.arange(spine - 1), first, second])
    return _of_edges(n, parents, np.arange(1, n))


FAMILIES: dict[str, tuple[float, Callable[[int, Rng], Matrix]]] = {
    "erdos_renyi": (0.2, _erdos_renyi),
    "barabasi_albert": (0.2, _barabasi_albert),
    "grid": (0.05, _grid),
    "caveman": (0.05, _caveman),
    "tree": (0.15, _power_law_tree),
    "ladder": (0.05, _ladder),
    "line": (0.05, _line),
    "star": (0.05, _star),
    "caterpillar": (0.1, _caterpillar),
    "lobster": (0.1, _lobster),
}
"""Probability and maker of each family; a maker gives the graph before rewiring."""
