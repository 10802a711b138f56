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
        t: Step, from 0.
        raw: ``[C_raw, L]``.
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
                raw[offsets[RETURN], t] = own
            continue
        raw[offsets[DIAGONAL] + shift + k - 1, t] += own
        across = shell_sums[k * width + c]
        if bounds[k + 1] - bounds[k] > 1:
            raw[offsets[OFF_DIAGONAL] + shift + k - 1, t] += across - own
        if offsets[TO_SHELL] >= 0:
            raw[offsets[TO_SHELL] + shift + k - 1, t] += matrix[c]
        if offsets[OUTWARD] >= 0:
            if k > 1:
                before = shell_sums[(k - 1) * width + c]
                raw[offsets[OUTWARD] + shift + k - 2, t] += before
            if k < num_shells:
                beyond = shell_sums[(k + 1) * width + c]
                raw[offsets[INWARD] + shift + k - 1, t] += beyond


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
    raw = np.zeros((1, num_raw, steps))
    counts = np.zeros((1, num_shells), dtype=np.int64)
    node = np.zeros(1, dtype=np.int64)
    shell_sums = np.zeros((num_shells + 1) * MAX_BLOCK)
    matrix = np.zeros(2 * 64 * MAX_BLOCK)
    squared = np.zeros(0)
    ids = np.arange(64).astype(np.int32)
    ones = np.ones(64)
    for v in range(start, stop):
        if twin_of[v] != v:
            continue
        nodes, bounds, rows, columns = local_ball(
            indptr, indices, v, radius, with_centre, loop, place
        )
        s = nodes.size
        if s > ids.size:
            ids = np.arange(2 * s).astype(np.int32)
            ones = np.ones(2 * s)
        degrees = np.empty(s)
        shell_of = np.empty(s, dtype=np.int64)
        for k in range(radius + 1):
            for i in range(bounds[k], bounds[k + 1]):
                shell_of[i] = k
        for i in range(s):
            degrees[i] = rows[i + 1] - rows[i]
            if global_degrees:
                degrees[i] = indptr[nodes[i] + 1] - indptr[nodes[i]] + loop
        raw[:] = 0.0
        landing_from = 0 if with_centre else 1
        landing_to = bounds[num_shells + 1]
        for first in range(landing_from, landing_to, MAX_BLOCK):
            block = min(MAX_BLOCK, landing_to - first)
            width = padded(block)
            if matrix.size < 2 * s * width:
                matrix = np.zeros(4 * s * width)
            current, following = matrix[: s * width], matrix[s * width : 2 * s * width]
            current[:] = 0.0
            for c in range(block):
                current[(first + c) * width + c] = 1.0
            for t in range(steps):
                for i in range(s):
                    add_rows(
                        following,
                        i * width,
                        0.0,
                        1.0 / degrees[i] if degrees[i] > 0 else 0.0,
                        current,
                        0,
                        width,
                        width,
                        ones,
                        columns,
                        rows[i],
                        rows[i + 1],
                    )
                current, following = following, current
                add_block(
                    current, width, block, first, bounds, num_shells, ids, ones,
                    shell_sums, shell_of, offsets, 0, t, raw[0],
                )  # fmt: skip
                if offsets[SQUARES] >= 0:
                    squared = current * current
                    add_block(
                        squared, width, block, first, bounds, num_shells, ids, ones,
                        shell_sums, shell_of, offsets, offsets[SQUARES], t, raw[0],
                    )  # fmt: skip
        for k in range(num_shells):
            counts[0, k] = bounds[k + 2] - bounds[k + 1]
        node[0] = v
        finish(raw, counts, terms, node, out)
