"""Named families of graphs; the random ones are in :mod:`.random_families`."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_positive
from sekgnn.errors import ConfigError
from sekgnn.graphs.graph import Graph
from sekgnn.graphs.random_families import (
    barabasi_albert_graph as barabasi_albert_graph,
)
from sekgnn.graphs.random_families import random_graph as random_graph
from sekgnn.graphs.random_families import random_regular_graph as random_regular_graph
from sekgnn.graphs.triangle import pair_unrank


def path_graph(n: int) -> Graph:
    """Return the path on ``n`` nodes, 0 - 1 - ... - (n - 1).

    Example:
        >>> path_graph(3).edge_index().tolist()
        [[0, 1, 1, 2], [1, 0, 2, 1]]
    """
    node = np.arange(check_positive("n", n, 0))
    return _graph(node[:-1], node[1:], n)


def cycle_graph(n: int) -> Graph:
    """Return the cycle on ``n`` nodes, at least 3.

    Raises:
        ConfigError: If ``n`` is smaller.
    """
    return circulant_graph(check_positive("n", n, 3), [1])


def complete_graph(n: int) -> Graph:
    """Return the graph on ``n`` nodes with all edges."""
    check_positive("n", n, 0)
    return _graph(*pair_unrank(np.arange(n * (n - 1) // 2)), n)


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
    return _graph(row, (row + np.repeat(np.array(steps, dtype=np.int64), n)) % n, n)


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
    """Return the moves of a rook on an ``n`` x ``m`` board; square (i, j) is i m + j.

    Args:
        n: Number of rows.
        m: Number of columns, ``n`` by default.
    """
    m = check_positive("n", n) if m is None else check_positive("m", m)
    square = np.arange(check_positive("n", n) * m)
    a, b = pair_unrank(np.arange(square.size * (square.size - 1) // 2))
    meet = (a // m == b // m) | (a % m == b % m)
    return _graph(a[meet], b[meet], square.size)


def shrikhande_graph() -> Graph:
    r"""Return the Shrikhande graph, strongly regular (16, 6, 2, 2) like rook 4 x 4.

    The Cayley graph of :math:`\mathbb{Z}_4^2` with steps ±(0, 1), ±(1, 0), ±(1, 1);
    node (i, j) is 4 i + j.
    """
    i, j = np.divmod(np.arange(16), 4)
    ends = [(i + a) % 4 * 4 + (j + b) % 4 for a, b in ((0, 1), (1, 0), (1, 1))]
    return _graph(np.tile(np.arange(16), 3), np.concatenate(ends), 16)


def petersen_graph() -> Graph:
    """Return the Petersen graph: cycle 0..4, star 5..9 inside, spokes v - (v + 5)."""
    v = np.arange(5)
    row = np.concatenate([v, v, v + 5])
    return _graph(row, np.concatenate([(v + 1) % 5, v + 5, (v + 2) % 5 + 5]), 10)


def _graph(row: NDArray[np.int64], col: NDArray[np.int64], n: int) -> Graph:
    """Build a graph from edges listed once."""
    return Graph.from_edge_index(np.stack([row, col]), n, undirected="add")
