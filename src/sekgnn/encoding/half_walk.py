r"""``graph`` scope on large graphs: half walks, in memory proportional to a ball.

P is reversible, so a walk of a + b steps is two shorter walks that meet. With
:math:`g = D^{-1} e_v`, :math:`x^k = 1_{N_k(v)}` and :math:`z^k = D^{-1} x^k`, each
advanced by :math:`y \leftarrow P y`, for a + b = t:

.. math::
   H^{(t)}_{vv} = d_v \langle g_a, g_b \rangle_d, \quad
   \sum_i H^{(t)}_{vi} = \langle g_a, x^k_b \rangle_d, \quad
   \sum_{i,j} H^{(t)}_{ij} = \langle z^k_a, x^k_b \rangle_d, \qquad i, j \in N_k(v),

where :math:`\langle y, y' \rangle_d = \sum_w d_w y_w y'_w`. Only ⌈l/2⌉ steps are taken,
and they stay within ⌈l/2⌉ of v, or of its shells.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sekgnn.encoding.channels import (
    DIAGONAL,
    OFF_DIAGONAL,
    RETURN,
    TO_SHELL,
    Output,
    Plan,
    finish,
)
from sekgnn.graphs.graph import CsrGraph
from sekgnn.kernel import kernel
from sekgnn.walks.ball import Ball, grow_ball, new_ball
from sekgnn.walks.vector import add_rows, padded, prefetch


@kernel
def step_outward(
    ball: Ball,
    level: int,
    width: int,
    ids: NDArray[np.int32],
    ones: NDArray[np.float64],
    before: NDArray[np.float64],
    after: NDArray[np.float64],
) -> None:
    """Write ``after = P @ before``, whose support grows to include ``level``.

    Nearer rows gather from their neighbours; the new level is reached from the level
    before it.
    """
    bounds, _, degrees, rows, columns, _ = ball
    edge, inner = bounds[level - 1], bounds[level]
    for a in range(inner):
        add_rows(
            after, a * width, 0.0, 1.0 / degrees[a] if degrees[a] > 0 else 0.0,
            before, 0, width, width, ones, columns, rows[a], rows[a + 1],
        )  # fmt: skip
    for a in range(edge, inner):
        for e in range(rows[a], rows[a + 1]):
            if columns[e] >= inner:
                add_rows(
                    after, columns[e] * width, 1.0, 1.0 / degrees[columns[e]],
                    before, 0, width, width, ones, ids, a, a + 1,
                )  # fmt: skip


@kernel(fastmath=True)
def write_products(
    degrees: NDArray[np.float64],
    count: int,  # rows in which the vectors may differ from zero
    width: int,
    num_shells: int,
    left: NDArray[np.float64],  # g in column 0 and z^k in column K + k
    right: NDArray[np.float64],  # x^k in column k
    sums: NDArray[np.float64],  # [2, K]
) -> None:
    r"""Write :math:`\langle g, x^k \rangle_d`, :math:`\langle z^k, x^k \rangle_d`."""
    for k in range(1, num_shells + 1):
        landing = across = 0.0
        for a in range(count):
            x = degrees[a] * right[a * width + k]
            landing += left[a * width] * x
            across += left[a * width + num_shells + k] * x
        sums[0, k - 1] = landing
        sums[1, k - 1] = across


@kernel
def finish_pairs(
    returns: NDArray[np.float64],
    ball: Ball,
    offsets: NDArray[np.int64],
    steps: int,
    raw: NDArray[np.float64],
) -> None:
    """Write the return and the diagonals; subtract the diagonals from the pair sums."""
    bounds, nodes = ball.bounds, ball.nodes
    centre = nodes[0]
    for t in range(steps):
        raw[offsets[RETURN] * steps + t] = returns[centre, t]
    for k in range(offsets[DIAGONAL] - offsets[TO_SHELL]):
        diagonal = (offsets[DIAGONAL] + k) * steps
        pairs = (offsets[OFF_DIAGONAL] + k) * steps
        for a in range(bounds[k + 1], bounds[k + 2]):
            for t in range(steps):
                raw[diagonal + t] += returns[nodes[a], t]
        alone = bounds[k + 2] - bounds[k + 1] < 2
        for t in range(steps):  # one node has no pairs: exactly zero, not a rounding
            raw[pairs + t] = 0.0 if alone else raw[pairs + t] - raw[diagonal + t]


@kernel
def half_walk_nodes(
    graph: CsrGraph,
    twin_of: NDArray[np.int32],
    start: int,
    stop: int,
    plan: Plan,
    returns: NDArray[np.float64],
    out: Output,
) -> None:
    """Add the values of every node of ``start..stop - 1`` that is its smallest twin.

    ``graph`` is from :func:`~sekgnn.walks.ball.with_degrees`, ``plan`` has no squares,
    ``returns`` are those of every node, from
    :func:`~sekgnn.walks.returns.half_walk_returns`, and ``out`` is ``[N, C, L]``.
    """
    steps, num_shells, offsets = out.double.shape[2], plan.num_shells, plan.offsets
    half = (steps + 1) // 2
    width = padded(2 * num_shells + 1)
    raw = np.zeros(plan.num_raw * steps)
    counts = np.zeros(num_shells, dtype=np.int64)
    ones, ids = np.empty(0), np.empty(0, dtype=np.int32)
    before, after = np.empty(0), np.empty(0)
    ball = new_ball(num_shells + half, 64)
    sums = np.zeros((2, num_shells))
    for v in range(start, stop):
        if twin_of[v] != v:
            continue
        ball = grow_ball(graph, v, plan.loop, ball)
        bounds, degrees = ball.bounds, ball.degrees
        size = bounds[bounds.size - 1]
        for a in range(bounds[num_shells + 1]):  # needed at the end
            prefetch(returns, ball.nodes[a] * steps)
        if ones.size < size:
            ones, ids = np.empty(2 * size), np.empty(2 * size, dtype=np.int32)
            before, after = np.empty(2 * size * width), np.empty(2 * size * width)
            for i in range(2 * size):
                ones[i], ids[i] = 1.0, i
        for i in range(size * width):
            before[i] = after[i] = 0.0
        for i in range(raw.size):
            raw[i] = 0.0
        if degrees[0] > 0:
            before[0] = 1.0 / degrees[0]
        for k in range(1, num_shells + 1):
            counts[k - 1] = bounds[k + 1] - bounds[k]
            for a in range(bounds[k], bounds[k + 1]):
                before[a * width + k] = 1.0
                before[a * width + num_shells + k] = 1.0 / degrees[a]
        for s in range(1, half + 1):
            inner, outer = bounds[num_shells + s], bounds[num_shells + s + 1]
            step_outward(ball, num_shells + s, width, ids, ones, before, after)
            last = 2 * s if 2 * s < steps else steps
            for t in range(2 * s - 2, last):
                odd = t == 2 * s - 2
                left, count = (before, inner) if odd else (after, outer)
                write_products(degrees, count, width, num_shells, left, after, sums)
                for k in range(num_shells):
                    raw[(offsets[TO_SHELL] + k) * steps + t] = sums[0, k]
                    raw[(offsets[OFF_DIAGONAL] + k) * steps + t] = sums[1, k]
            before, after = after, before
        finish_pairs(returns, ball, offsets, steps, raw)
        finish(raw, 0, steps, counts, plan.terms, v, out)
