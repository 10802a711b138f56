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

from typing import NamedTuple

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
    Output,
    Plan,
    finish,
)
from sekgnn.graphs.graph import CsrGraph
from sekgnn.kernel import kernel
from sekgnn.walks.ball import local_ball
from sekgnn.walks.vector import add_rows, padded

MAX_BLOCK = 32


class EgoNet(NamedTuple):
    """The nodes of an ego-net, shell by shell, and scratch of the same size."""

    bounds: NDArray[np.int64]  # shell k is rows bounds[k]:bounds[k + 1], k = 0..
    shell_of: NDArray[np.int64]  # of each row
    landing: NDArray[np.int64]  # rows to walk back from, one per class of twins
    weights: NDArray[np.float64]  # nodes in each of these classes
    ids: NDArray[np.int32]  # 0, 1, 2, ...
    ones: NDArray[np.float64]  # 1, 1, 1, ...
    shell_sums: NDArray[np.float64]  # [(K + 1) * MAX_BLOCK]


@kernel
def add_block(
    matrix: NDArray[np.float64],  # flat [s, width]
    width: int,
    block: int,  # columns in use
    first: int,
    ego: EgoNet,
    offsets: NDArray[np.int64],  # of a plan; passing all of it costs a third more time
    num_shells: int,
    shift: int,  # 0, or the offset of squares
    raw: NDArray[np.float64],  # [C_raw, L]
    t: int,  # step, from 0
) -> None:
    r"""Add the sums over one block of landing nodes, which begins at ``first``.

    Column c of the matrix is :math:`H_{\cdot j}`, j = ``landing[first + c]``, or its
    squares.
    """
    bounds, shell_sums = ego.bounds, ego.shell_sums
    for k in range(1, num_shells + 1):
        add_rows(
            shell_sums, k * width, 0.0, 1.0,
            matrix, 0, width, width, ego.ones, ego.ids, bounds[k], bounds[k + 1],
        )  # fmt: skip
    for c in range(block):
        j, weight = ego.landing[first + c], ego.weights[first + c]
        k = ego.shell_of[j]
        h_jj = matrix[j * width + c]
        if k == 0:
            if shift == 0 and offsets[RETURN] >= 0:
                raw[offsets[RETURN], t] = h_jj
            continue
        raw[offsets[DIAGONAL] + shift + k - 1, t] += weight * h_jj
        across = shell_sums[k * width + c]
        if bounds[k + 1] - bounds[k] > 1:
            raw[offsets[OFF_DIAGONAL] + shift + k - 1, t] += weight * (across - h_jj)
        if offsets[TO_SHELL] >= 0:
            raw[offsets[TO_SHELL] + shift + k - 1, t] += weight * matrix[c]
        if offsets[OUTWARD] >= 0:
            if k > 1:
                before = shell_sums[(k - 1) * width + c]
                raw[offsets[OUTWARD] + shift + k - 2, t] += weight * before
            if k < num_shells:
                beyond = shell_sums[(k + 1) * width + c]
                raw[offsets[INWARD] + shift + k - 1, t] += weight * beyond


@kernel
def find_landing(
    nodes: NDArray[np.int32],
    stop: int,
    with_centre: bool,
    alike: NDArray[np.int32],
    position: NDArray[np.int32],
    ego: EgoNet,
) -> int:
    """Write the rows to walk back from, and return their number.

    Twins in an ego-net, the centre aside, are in one shell, and swapping them changes
    nothing: walks land on each with the same probability. ``position`` is -1 everywhere
    on entry and on return.
    """
    count = 0
    if with_centre:
        ego.landing[0], ego.weights[0] = 0, 1.0
        count = 1
    for i in range(1, stop):
        u = alike[nodes[i]]
        if position[u] < 0:
            position[u] = count
            ego.landing[count], ego.weights[count] = i, 1.0
            count += 1
        else:
            ego.weights[position[u]] += 1.0
    for i in range(1, stop):
        position[alike[nodes[i]]] = -1
    return count


@kernel
def encode_ego_nets(
    graph: CsrGraph,
    alike: NDArray[np.int32],
    start: int,
    stop: int,
    plan: Plan,
    global_degrees: bool,
    position: NDArray[np.int32],
    out: Output,
) -> None:
    """Add the values of every node of ``start..stop - 1`` that is its smallest twin.

    There are at most as many shells as the radius. With ``global_degrees`` the walk has
    the degrees of the whole graph, and loses the probability that leaves the ego-net.
    ``position`` is scratch, ``[N]``, -1 everywhere on entry and on return; ``out`` is
    ``[N, C, L]``.
    """
    steps, num_shells = out.double.shape[2], plan.num_shells
    flat = np.zeros(plan.num_raw * steps)
    raw = flat.reshape((plan.num_raw, steps))
    counts = np.zeros(num_shells, dtype=np.int64)
    shell_sums = np.zeros((num_shells + 1) * MAX_BLOCK)
    offsets = plan.offsets
    squares = offsets[SQUARES]
    room = 0  # rows of the scratch memory
    ids, shell_of = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int64)
    landing, weights = np.empty(0, dtype=np.int64), np.empty(0)
    ones, inverses, current, following = (
        np.empty(0), np.empty(0), np.empty(0), np.empty(0),
    )  # fmt: skip
    squared = np.empty(0)
    for v in range(start, stop):
        if alike[v] != v:
            continue
        nodes, bounds, rows, columns = local_ball(
            graph, v, plan.radius, plan.with_centre, plan.loop, position
        )
        s = nodes.size
        if s > room:
            room = 2 * s
            ids, shell_of = np.empty(room, np.int32), np.empty(room, np.int64)
            landing, weights = np.empty(room, np.int64), np.empty(room)
            ones, inverses = np.empty(room), np.empty(room)
            current, following = np.empty(room * MAX_BLOCK), np.empty(room * MAX_BLOCK)
            squared = np.empty(room * MAX_BLOCK if squares >= 0 else 0)
            for i in range(room):
                ids[i] = i
                ones[i] = 1.0
        ego = EgoNet(bounds, shell_of, landing, weights, ids, ones, shell_sums)
        for k in range(plan.radius + 1):
            for i in range(bounds[k], bounds[k + 1]):
                shell_of[i] = k
        for i in range(s):
            degree = rows[i + 1] - rows[i]
            if global_degrees:
                u = nodes[i]
                degree = graph.indptr[u + 1] - graph.indptr[u] + plan.loop
            inverses[i] = 1.0 / degree if degree > 0 else 0.0
        for i in range(flat.size):
            flat[i] = 0.0
        columns_needed = find_landing(
            nodes, bounds[num_shells + 1], plan.with_centre, alike, position, ego
        )
        for first in range(0, columns_needed, MAX_BLOCK):
            block = columns_needed - first
            block = block if block < MAX_BLOCK else MAX_BLOCK
            width = padded(block)
            for i in range(s * width):
                current[i] = 0.0
            for c in range(block):
                current[landing[first + c] * width + c] = 1.0
            for t in range(steps):
                for i in range(s):
                    add_rows(
                        following, i * width, 0.0, inverses[i],
                        current, 0, width, width, ones, columns, rows[i], rows[i + 1],
                    )  # fmt: skip
                current, following = following, current
                add_block(
                    current, width, block, first, ego, offsets, num_shells, 0, raw, t
                )
                if squares >= 0:
                    for i in range(s * width):
                        squared[i] = current[i] * current[i]
                    add_block(
                        squared, width, block, first, ego, offsets, num_shells,
                        squares, raw, t,
                    )  # fmt: skip
        for k in range(num_shells):
            counts[k] = bounds[k + 2] - bounds[k + 1]
        finish(flat, 0, steps, counts, plan.terms, v, out)
