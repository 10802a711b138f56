r"""How often small patterns occur in a graph, by formulas on its matrix.

With adjacency A, degrees d and common neighbours :math:`(A^2)_{uv}`, a count of
subgraphs (not necessarily induced) is a sum over walks from which the degenerate ones
are taken away. Three-node sums need :math:`t_{ace}`, the nodes adjacent to all of a, c
and e.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sekgnn.datasets.same_size import same_size_stacks
from sekgnn.graphs import Graph

PATTERNS = (
    "triangle",
    "tailed_triangle",
    "star3",
    "cycle4",
    "custom",
    "cycle5",
    "cycle6",
    "diamond",
    "diamond_induced",
    "tailed_triangle_induced",
    "k4",
)
"""The targets, in the order of the columns."""

Stack = NDArray[np.float64]


def pattern_counts(graphs: Sequence[Graph]) -> NDArray[np.float64]:
    r"""Return how often each of ``PATTERNS`` occurs in each graph.

    Counts are of subgraphs, whether induced or not, unless the name says so; whole
    numbers, exact below :math:`2^{53}`. ``star3`` is the star with three leaves,
    ``tailed_triangle`` the triangle with one more edge, ``diamond`` the four-cycle with
    a chord. ``custom`` is the fifth target of the benchmark, no count:
    :math:`\sum A\,\mathrm{diag}(\exp(-A^2\mathbf{1}))\,A`.

    Takes :math:`O(n^4)` steps and :math:`O(n^2)` memory per graph.

    Shapes:
        - **output:** float64 :math:`(G, 11)`

    Example:
        >>> from sekgnn.graphs import complete_graph
        >>> counts = pattern_counts([complete_graph(4)])[0].round(6).tolist()
        >>> dict(zip(PATTERNS, counts, strict=True))["cycle4"]
        3.0
    """
    counts = np.zeros((len(graphs), len(PATTERNS)))
    for places, adjacency in same_size_stacks(graphs):
        counts[places] = _stack_counts(adjacency)
    return counts


def _stack_counts(a: Stack) -> Stack:
    """Return the targets of a stack of matrices ``[B, n, n]``, as ``[B, 11]``."""
    d = a.sum(axis=2)  # [B, n]
    a2 = a @ a  # common neighbours
    a3 = a2 @ a
    closed3 = _diagonal(a3)  # [B, n], twice the triangles at a node
    triangle = closed3.sum(1) / 6
    tailed = (closed3 / 2 * (d - 2)).sum(1)
    closed4 = (a2 * a2).sum((1, 2))  # tr A^4, for A^2 is symmetric
    closed5 = (a2 * a3).sum((1, 2))
    cycle5 = closed5 - 30 * triangle - 10 * tailed
    diamond = (a * a2 * (a2 - 1)).sum((1, 2)) / 4
    cycle6, k4 = _three_centres(a, a2)
    diamond_induced = diamond - 6 * k4
    columns = {
        "triangle": triangle,
        "tailed_triangle": tailed,
        "star3": (d * (d - 1) * (d - 2)).sum(1) / 6,
        "cycle4": (closed4 + d.sum(1) - 2 * a2.sum((1, 2))) / 8,
        "custom": (d * d * np.exp(-(a @ d[:, :, None])[:, :, 0])).sum(1),
        "cycle5": cycle5 / 10,
        "cycle6": cycle6,
        "diamond": diamond,
        "diamond_induced": diamond_induced,
        # a diamond holds 4 tailed triangles, a four-clique 12
        "tailed_triangle_induced": tailed - 4 * diamond_induced - 12 * k4,
        "k4": k4,
    }
    return np.stack([columns[name] for name in PATTERNS], axis=1)


def _three_centres(a: Stack, a2: Stack) -> tuple[Stack, Stack]:
    """Return the numbers of six-cycles and four-cliques, each ``[B]``.

    A six-cycle a b c d e f has the alternate nodes a, c, e and between them b, d, f:
    common neighbours of two, different from each other and from the third. Of the
    x y z choices those with b = d (then adjacent to all three: t z of them), d = f and
    f = b are taken away, and those with b = d = f, taken away thrice, given back twice.
    """
    n = a.shape[1]
    six = np.zeros(a.shape[0])
    four = np.zeros(a.shape[0])
    others = 1 - np.eye(n)
    for node in range(n):
        near = a[:, node]  # [B, n]
        t = (near[:, None, :] * a) @ a  # [B, c, e]
        triangle = near[:, :, None] * a * near[:, None, :]  # a, c, e all adjacent
        four += (triangle * t).sum((1, 2))
        x = a2[:, node, :, None] - near[:, None, :] * a  # between a and c, without e
        z = a2[:, node, None, :] - near[:, :, None] * a  # between a and e, without c
        y = a2 - near[:, :, None] * near[:, None, :]  # between c and e, without a
        choices = x * y * z - t * (x + y + z) + 2 * t
        different = others.copy()  # a, c, e are three nodes
        different[node] = different[:, node] = 0
        six += (choices * different).sum((1, 2))
    return six / 12, four / 24


def _diagonal(a: Stack) -> Stack:
    """Return the diagonals of a stack, ``[B, n]``."""
    return np.diagonal(a, axis1=1, axis2=2)
