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

import numba as nb
import numpy as np
from numpy.typing import NDArray

from sekgnn.encoding.channels import DIAGONAL, OFF_DIAGONAL, RETURN, TO_SHELL, finish
from sekgnn.walks.vector import WIDTH, add_rows


@nb.njit(cache=True, nogil=True)
def grown(array: NDArray[np.int32], needed: int) -> NDArray[np.int32]:
    """Return ``array``, or a copy with room for at least ``needed`` entries."""
    if needed <= array.size:
        return array
    larger = np.empty(2 * needed, dtype=np.int32)
    larger[: array.size] = array
    return larger


@nb.njit(cache=True, nogil=True)
def half_walk_nodes(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    start: int,
    stop: int,
    loop: int,
    num_hops: int,
    returns: NDArray[np.float64],
    offsets: NDArray[np.int64],
    num_raw: int,
    terms: NDArray[np.int64],
    place: NDArray[np.int32],
    out: NDArray[np.float64],
) -> None:
    """Encode nodes ``start..stop - 1``.

    Args:
        indptr: Row starts.
        indices: Neighbours.
        start: First node.
        stop: One past the last node.
        loop: 1 with self-loops, else 0.
        num_hops: K.
        returns: :math:`H_{vv}` of every node, from
            :func:`~sekgnn.walks.returns.half_walk_returns`, ``[N, L]``.
        offsets: Of the :class:`~sekgnn.encoding.channels.RawLayout`; no squares.
        num_raw: C_raw.
        terms: Of the :class:`~sekgnn.encoding.channels.OutputMap`.
        place: Scratch, -1 everywhere, ``[N]``; as it was on return.
        out: ``[N, C, L]``, written for these nodes.
    """
    steps = out.shape[2]
    half = (steps + 1) // 2
    reach = num_hops + half
    width = (2 * num_hops + 1 + WIDTH - 1) // WIDTH * WIDTH
    raw = np.zeros((1, num_raw, steps))
    counts = np.zeros((1, num_hops), dtype=np.int64)
    node = np.zeros(1, dtype=np.int64)
    nodes = np.empty(64, dtype=np.int32)
    columns = np.empty(64, dtype=np.int32)
    rows = np.zeros(65, dtype=np.int64)
    bounds = np.zeros(reach + 2, dtype=np.int64)
    matrix = np.zeros(0)
    degrees = np.zeros(0)
    ones = np.ones(0)
    sums = np.zeros((2, 2, num_hops))
    for v in range(start, stop):
        nodes[0] = v
        place[v] = 0
        bounds[1] = 1
        found, filled = 1, 0
        for level in range(1, reach + 1):
            for a in range(bounds[level - 1], bounds[level]):
                low, high = indptr[nodes[a]], indptr[nodes[a] + 1]
                nodes = grown(nodes, found + high - low)
                columns = grown(columns, filled + high - low + 1)
                if a + 1 >= rows.size:
                    more = np.zeros(2 * rows.size, dtype=np.int64)
                    more[: rows.size] = rows
                    rows = more
                if loop:
                    columns[filled] = a
                    filled += 1
                for e in range(low, high):
                    u = indices[e]
                    if place[u] < 0:
                        place[u] = found
                        nodes[found] = u
                        found += 1
                    columns[filled] = place[u]
                    filled += 1
                rows[a + 1] = filled
            bounds[level + 1] = found
        for a in range(found):
            place[nodes[a]] = -1
        if degrees.size < found:
            degrees = np.zeros(2 * found)
            ones = np.ones(2 * found)
            matrix = np.zeros(4 * found * width)
        for a in range(found):
            degrees[a] = indptr[nodes[a] + 1] - indptr[nodes[a]] + loop
        before = matrix[: found * width]
        after = matrix[found * width : 2 * found * width]
        before[:] = 0.0
        after[:] = 0.0
        raw[:] = 0.0
        if degrees[0] > 0:
            before[0] = 1.0 / degrees[0]
        for k in range(1, num_hops + 1):
            counts[0, k - 1] = bounds[k + 1] - bounds[k]
            for a in range(bounds[k], bounds[k + 1]):
                before[a * width + k] = 1.0
                before[a * width + num_hops + k] = 1.0 / degrees[a]
        for s in range(1, half + 1):
            inner, outer = bounds[num_hops + s], bounds[num_hops + s + 1]
            for a in range(inner):
                add_rows(
                    after,
                    a * width,
                    0.0,
                    1.0 / degrees[a] if degrees[a] > 0 else 0.0,
                    before,
                    0,
                    width,
                    width,
                    ones,
                    columns,
                    rows[a],
                    rows[a + 1],
                )
            for a in range(bounds[num_hops + s - 1], inner):
                source = before[a * width : (a + 1) * width]
                for e in range(rows[a], rows[a + 1]):
                    u = columns[e]
                    if u >= inner:
                        target = after[u * width : (u + 1) * width]
                        for c in range(WIDTH):
                            target[c] += source[c]
                        for c in range(WIDTH, width):
                            target[c] += source[c]
            for a in range(inner, outer):
                scale = 1.0 / degrees[a]
                for c in range(width):
                    after[a * width + c] *= scale
            sums[:] = 0.0
            for a in range(outer):
                d = degrees[a]
                at = a * width
                g_before, g_after = d * before[at], d * after[at]
                for k in range(1, num_hops + 1):
                    x = after[at + k]
                    sums[0, 0, k - 1] += g_before * x
                    sums[1, 0, k - 1] += g_after * x
                    sums[0, 1, k - 1] += d * before[at + num_hops + k] * x
                    sums[1, 1, k - 1] += d * after[at + num_hops + k] * x
            for parity in range(2):
                t = 2 * s - 2 + parity
                if t < steps:
                    for k in range(num_hops):
                        raw[0, offsets[TO_SHELL] + k, t] = sums[parity, 0, k]
                        raw[0, offsets[OFF_DIAGONAL] + k, t] = sums[parity, 1, k]
            before, after = after, before
        for t in range(steps):
            raw[0, offsets[RETURN], t] = returns[v, t]
        for k in range(num_hops):
            for a in range(bounds[k + 1], bounds[k + 2]):
                for t in range(steps):
                    raw[0, offsets[DIAGONAL] + k, t] += returns[nodes[a], t]
            for t in range(steps):
                if counts[0, k] > 1:
                    total = raw[0, offsets[OFF_DIAGONAL] + k, t]
                    diagonal = raw[0, offsets[DIAGONAL] + k, t]
                    raw[0, offsets[OFF_DIAGONAL] + k, t] = total - diagonal
                else:  # one node has no pairs: exactly zero, not a rounding
                    raw[0, offsets[OFF_DIAGONAL] + k, t] = 0.0
        node[0] = v
        finish(raw, counts, terms, node, out)
