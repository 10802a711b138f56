r"""``ego`` and ``internal`` scope, node by node, in memory proportional to the ego-net.

The ego-net is laid out shell by shell. Walks are taken backwards from blocks of landing
nodes j at once (:math:`X \leftarrow P X`, columns :math:`H_{\cdot j}`), so no matrix
over all pairs exists, and every channel is a sum over a contiguous range of rows.

The same kernel gives ``graph`` scope exactly, squares included, on graphs too large for
dense matrices: a walk of l steps between two nodes within K of v stays within
:math:`K + \lfloor l / 2 \rfloor` of v, so the ball of that radius with the degrees of
the whole graph stands in for it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sekgnn.encoding.channels import (
    DIAGONAL,
    INWARD,
    OFF_DIAGONAL,
    OUTWARD,
    RETURN,
    SQUARES,
    TO_SHELL,
    finish,
)
from sekgnn.kernel import kernel
from sekgnn.walks.ball import local_ball
from sekgnn.walks.vector import add_rows, padded

MAX_BLOCK = 32


@kernel
def add_block(
    matrix: NDArray[np.float64],
    width: int,
    block: int,
    first: int,
    bounds: NDArray[np.int64],
    num_shells: int,
    ids: NDArray[np.int32],
    ones: NDArray[np.float64],
    shell_sums: NDArray[np.float64],
    shell_of: NDArray[np.int64],
    offsets: NDArray[np.int64],
    shift: int,
    steps: int,
    t: int,
    raw: NDArray[np.float64],
) -> None:
    r"""Add the sums over one block of landing nodes ``first..first + block - 1``.

    Args:
        matrix: Flat ``[s, width]``; column c is :math:`H_{\cdot j}`, j = first + c, or
            its squares.
        width: Row length.
        block: Columns in use.
        first: First landing node.
        bounds: Shell k is rows ``bounds[k]:bounds[k + 1]``, k = 0..
        num_shells: Shells that are summarised.
        ids: 0, 1, 2, ...
        ones: Ones.
        shell_sums: Scratch, ``[(num_shells + 1) * width]``.
        shell_of: Shell of each row.
        offsets: Of the :class:`~sekgnn.encoding.channels.RawLayout`.
        shift: 0, or ``offsets[SQUARES]``.
        steps: L.
        t: Step, from 0.
        raw: Flat ``[C_raw, L]``.
    """
    for k in range(1, num_shells + 1):
        add_rows(
            shell_sums, k * width, 0.0, 1.0,
            matrix, 0, width, width, ones, ids, bounds[k], bounds[k + 1],
        )  # fmt: skip
    for c in range(block):
        j = first + c
        k = shell_of[j]
        own = matrix[j * width + c]
        if k == 0:
            if shift == 0 and offsets[RETURN] >= 0:
                raw[offsets[RETURN] * steps + t] = own
            continue
        raw[(offsets[DIAGONAL] + shift + k - 1) * steps + t] += own
        across = shell_sums[k * width + c]
        if bounds[k + 1] - bounds[k] > 1:
            raw[(offsets[OFF_DIAGONAL] + shift + k - 1) * steps + t] += across - own
        if offsets[TO_SHELL] >= 0:
            raw[(offsets[TO_SHELL] + shift + k - 1) * steps + t] += matrix[c]
        if offsets[OUTWARD] >= 0:
            if k > 1:
                before = shell_sums[(k - 1) * width + c]
                raw[(offsets[OUTWARD] + shift + k - 2) * steps + t] += before
            if k < num_shells:
                beyond = shell_sums[(k + 1) * width + c]
                raw[(offsets[INWARD] + shift + k - 1) * steps + t] += beyond


@kernel
def encode_ego_nets(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    twin_of: NDArray[np.int32],
    start: int,
    stop: int,
    loop: int,
    radius: int,
    num_shells: int,
    with_centre: bool,
    global_degrees: bool,
    offsets: NDArray[np.int64],
    num_raw: int,
    terms: NDArray[np.int64],
    place: NDArray[np.int32],
    out: NDArray[np.float64],
) -> None:
    """Encode nodes ``start..stop - 1`` that are the first of their twins.

    Args:
        indptr: Row starts.
        indices: Neighbours.
        twin_of: From :func:`~sekgnn.graphs.twins.find_twins`, or each node itself.
        start: First node.
        stop: One past the last node.
        loop: 1 with self-loops, else 0.
        radius: How far from the centre the walk may go.
        num_shells: Shells that are summarised, at most ``radius``.
        with_centre: Whether the walk may step on the centre.
        global_degrees: Walk with the degrees of the whole graph, losing what leaves.
        offsets: Of the :class:`~sekgnn.encoding.channels.RawLayout`.
        num_raw: C_raw.
        terms: Of the :class:`~sekgnn.encoding.channels.OutputMap`.
        place: Scratch, -1 everywhere, ``[N]``; as it was on return.
        out: ``[N, C, L]``, added to for these nodes.
    """
    steps = out.shape[2]
    raw = np.zeros(num_raw * steps)
    counts = np.zeros(num_shells, dtype=np.int64)
    shell_sums = np.zeros((num_shells + 1) * MAX_BLOCK)
    passes = 1 if offsets[SQUARES] < 0 else 2
    room = 0  # rows that the scratch memory has
    ids, shell_of = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int64)
    ones, inverses, current, following = (
        np.empty(0), np.empty(0), np.empty(0), np.empty(0),
    )  # fmt: skip
    squared = np.empty(0)
    for v in range(start, stop):
        if twin_of[v] != v:
            continue
        nodes, bounds, rows, columns = local_ball(
            indptr, indices, v, radius, with_centre, loop, place
        )
        s = nodes.size
        if s > room:
            room = 2 * s
            ids, shell_of = np.empty(room, np.int32), np.empty(room, np.int64)
            ones, inverses = np.empty(room), np.empty(room)
            current, following = np.empty(room * MAX_BLOCK), np.empty(room * MAX_BLOCK)
            squared = np.empty(room * MAX_BLOCK if passes > 1 else 0)
            for i in range(room):
                ids[i] = i
                ones[i] = 1.0
        for k in range(radius + 1):
            for i in range(bounds[k], bounds[k + 1]):
                shell_of[i] = k
        for i in range(s):
            degree = rows[i + 1] - rows[i]
            if global_degrees:
                degree = indptr[nodes[i] + 1] - indptr[nodes[i]] + loop
            inverses[i] = 1.0 / degree if degree > 0 else 0.0
        for i in range(raw.size):
            raw[i] = 0.0
        landing_to = bounds[num_shells + 1]
        for first in range(0 if with_centre else 1, landing_to, MAX_BLOCK):
            block = landing_to - first
            block = block if block < MAX_BLOCK else MAX_BLOCK
            width = padded(block)
            for i in range(s * width):
                current[i] = 0.0
            for c in range(block):
                current[(first + c) * width + c] = 1.0
            for t in range(steps):
                for i in range(s):
                    add_rows(
                        following, i * width, 0.0, inverses[i],
                        current, 0, width, width, ones, columns, rows[i], rows[i + 1],
                    )  # fmt: skip
                current, following = following, current
                for power in range(passes):
                    if power:
                        for i in range(s * width):
                            squared[i] = current[i] * current[i]
                    add_block(
                        squared if power else current, width, block, first, bounds,
                        num_shells, ids, ones, shell_sums, shell_of, offsets,
                        power * offsets[SQUARES], steps, t, raw,
                    )  # fmt: skip
        for k in range(num_shells):
            counts[k] = bounds[k + 2] - bounds[k + 1]
        finish(raw, 0, steps, counts, terms, v, out)
