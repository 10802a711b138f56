r"""Exact self-return probabilities of every node, and classes of equal ones.

Half walks: P is reversible, so with :math:`g^{(t)} = P^t D^{-1} e_v`

.. math:: H^{(a+b)}_{vv} = d_v \sum_w d_w\, g^{(a)}_w g^{(b)}_w .

l returns need ⌈l/2⌉ steps, and these stay within ⌈l/2⌉ of v. All numbers are residues
modulo the two primes of :mod:`sekgnn.walks.modular`: equal fractions always have equal
residues, different ones agree about once in :math:`2^{62}`.

On an r-regular graph three facts bound what returns on the *whole graph* depend on:

* a closed walk of t steps stays within ⌊t/2⌋ of v, and every degree is r, so
  :math:`p_v^1 … p_v^{2K+1}` depend only on the rooted ego-net :math:`G_v^K`;
* a closed walk of 2K steps is in shell K at most once, at half time, so
  :math:`p_v^1 … p_v^{2K}` do not depend on the edges inside shell K: the first walk
  through such an edge has 2K + 1 steps;
* the walk on the ego-net itself agrees with the one on the graph for t < 2K. At
  t = 2K it leaves a node i of shell K by one of its ego-net edges only, which shows
  how many edges i has there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_positive
from sekgnn.graphs.graph import CsrGraph
from sekgnn.graphs.packed import PackedGraphs
from sekgnn.kernel import kernel
from sekgnn.parallel import even_chunks, run_chunks
from sekgnn.walks.ball import local_ball
from sekgnn.walks.modular import PRIMES, inverse

_P, _Q = PRIMES  # constants to the compiler, which then divides by multiplying
_CHUNK = 256

Labels = NDArray[np.int64]
"""One number per node; nodes are alike if their numbers are equal, ``[N]``."""


@kernel
def walk_back(
    bounds: NDArray[np.int64],
    rows: NDArray[np.int64],
    columns: NDArray[np.int32],
    degrees: NDArray[np.int64],
    inverses: NDArray[np.int64],
    work: NDArray[np.int64],
    out: NDArray[np.int64],
) -> None:
    """Write the returns to row 0 of a ball, t = 1..L, to ``out``, ``[L, 2]``.

    Args:
        bounds: Shell k is rows ``bounds[k]..bounds[k + 1] - 1``.
        rows: Row starts.
        columns: Neighbours as rows, self-loops listed.
        degrees: Degree of every row in the graph that is walked on.
        inverses: Inverse of every degree modulo both primes, ``[max degree + 1, 2]``.
        work: Scratch, ``[2, at least s, 2]``.
        out: Written.
    """
    steps, size = out.shape[0], rows.size - 1
    last = bounds.size - 1
    before, after = work[0], work[1]
    before[:size] = 0
    after[:size] = 0
    before[0] = inverses[degrees[0]]
    for s in range(1, (steps + 1) // 2 + 1):
        odd_p = odd_q = even_p = even_q = np.int64(0)
        for j in range(bounds[min(s + 1, last)]):
            x, y = np.int64(0), np.int64(0)
            for e in range(rows[j], rows[j + 1]):
                x += before[columns[e], 0]
                y += before[columns[e], 1]
            x, y = x % _P, y % _Q  # d_j g_j of the next step
            odd_p = (odd_p + x * before[j, 0]) % _P
            odd_q = (odd_q + y * before[j, 1]) % _Q
            after[j, 0] = x * inverses[degrees[j], 0] % _P
            after[j, 1] = y * inverses[degrees[j], 1] % _Q
            even_p = (even_p + x * after[j, 0]) % _P
            even_q = (even_q + y * after[j, 1]) % _Q
        out[2 * s - 2, 0] = odd_p * degrees[0] % _P
        out[2 * s - 2, 1] = odd_q * degrees[0] % _Q
        if 2 * s - 1 < steps:
            out[2 * s - 1, 0] = even_p * degrees[0] % _P
            out[2 * s - 1, 1] = even_q * degrees[0] % _Q
        before, after = after, before


@kernel
def residues_of_nodes(
    graph: CsrGraph,
    start: int,
    stop: int,
    radius: int,
    ego: bool,
    loop: int,
    inverses: NDArray[np.int64],
    out: NDArray[np.int64],
) -> None:
    """Write the returns of nodes ``start..stop - 1`` to ``out``, ``[N, L, 2]``.

    The radius is at least ⌈L/2⌉ unless ``ego``: then the walk stays on the ball, with
    the degrees that its nodes have there. ``loop`` is 1 with self-loops, else 0.
    """
    place = np.full(graph.indptr.size - 1, -1, dtype=np.int32)
    work = np.empty((2, 64, 2), dtype=np.int64)
    for v in range(start, stop):
        nodes, bounds, rows, columns = local_ball(graph, v, radius, True, loop, place)
        if work.shape[1] < nodes.size:
            work = np.empty((2, 2 * nodes.size, 2), dtype=np.int64)
        degrees = np.empty(nodes.size, dtype=np.int64)
        for i in range(nodes.size):
            degrees[i] = rows[i + 1] - rows[i]
            if not ego:
                degrees[i] = graph.indptr[nodes[i] + 1] - graph.indptr[nodes[i]] + loop
        walk_back(bounds, rows, columns, degrees, inverses, work, out[v])


def return_residues(
    packed: PackedGraphs,
    walk_length: int,
    *,
    radius: int | None = None,
    self_loops: bool = True,
    threads: int | None = None,
) -> NDArray[np.int64]:
    r"""Return :math:`H^{(t)}_{vv}`, t = 1..l, of every node modulo both primes.

    Args:
        packed: Any graphs.
        walk_length: l.
        radius: Walk on the ego-net :math:`G_v^h` of this radius h; on the whole graph
            if None.
        self_loops: Walk on A + I (the paper's P) or on A.
        threads: Number of threads; ``None`` for all usable cores.

    Returns:
        int64 ``[N, l, 2]``.

    Example:
        >>> from sekgnn.graphs import complete_graph, pack
        >>> third = return_residues(pack([complete_graph(3)]), 5)
        >>> (3 * third % PRIMES == 1).all().item()
        True
    """
    check_positive("walk_length", walk_length)
    reach = (walk_length + 1) // 2
    if radius is not None:
        reach = check_positive("radius", radius, 0)
    loop = int(self_loops)
    most = int(np.diff(packed.indptr).max(initial=0)) + loop
    table = [[inverse(d, p) if d else 0 for p in PRIMES] for d in range(most + 1)]
    inverses = np.array(table, dtype=np.int64)
    out = np.empty((packed.num_nodes, walk_length, len(PRIMES)), dtype=np.int64)

    def work(start: int, stop: int) -> None:
        residues_of_nodes(
            packed.csr, start, stop,
            reach, radius is not None, loop, inverses, out,
        )  # fmt: skip

    run_chunks(work, even_chunks(packed.num_nodes, _CHUNK), threads)
    return out


def together(*columns: Labels) -> Labels:
    """Return labels that are equal where all of ``columns`` are, numbered from 0.

    Example:
        >>> together(np.array([5, 5, 7]), np.array([0, 1, 1])).tolist()
        [0, 1, 2]
    """
    label = np.zeros(columns[0].size, dtype=np.int64)
    for column in columns:
        _, number = np.unique(column, return_inverse=True)
        label = label * (number.max(initial=0) + 1) + number
        _, label = np.unique(label, return_inverse=True)
    return label.astype(np.int64)


def prefix_labels(residues: NDArray[np.int64]) -> NDArray[np.int64]:
    """Label nodes by their first t returns, for every t.

    Args:
        residues: From :func:`return_residues`, ``[N, L, 2]``.

    Returns:
        int64 ``[L, N]``; row t - 1 is equal where all returns up to step t are.
    """
    labels = np.zeros((residues.shape[1], residues.shape[0]), dtype=np.int64)
    before = np.zeros(residues.shape[0], dtype=np.int64)
    for t in range(residues.shape[1]):
        before = together(before, residues[:, t, 0], residues[:, t, 1])
        labels[t] = before
    return labels


def pairs_within(label: Labels) -> int:
    """Return the number of unordered pairs of nodes with equal labels.

    Example:
        >>> pairs_within(np.array([1, 1, 1, 2]))
        3
    """
    _, sizes = np.unique(label, return_counts=True)
    return int((sizes * (sizes - 1) // 2).sum())


def pairs_across(label: Labels, graph: Labels) -> int:
    """Return the number of pairs with equal labels whose nodes' graphs differ.

    Args:
        label: One per node.
        graph: The graph of each node.

    Example:
        >>> pairs_across(np.array([1, 1, 1, 2]), np.array([0, 0, 1, 1]))
        2
    """
    return pairs_within(label) - pairs_within(together(label, graph))
