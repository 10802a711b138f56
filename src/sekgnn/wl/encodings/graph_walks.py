"""Walks on the whole graph, seen from every node."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sekgnn.kernel import kernel
from sekgnn.walks.ball import local_ball
from sekgnn.wl.batch import Batch
from sekgnn.wl.digest import Colours
from sekgnn.wl.encodings.shell_digest import centre_value, spread_pairs
from sekgnn.wl.encodings.step_vectors import STEP_KEYS, walk_digests


@kernel
def with_loops(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], begin: int, n: int, loop: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return one graph of the union by itself, every node its own neighbour or not."""
    rows = np.empty(n + 1, dtype=np.int64)
    rows[0] = 0
    columns = np.empty(indptr[begin + n] - indptr[begin] + n, dtype=np.int32)
    filled = 0
    for v in range(n):
        if loop:
            columns[filled] = v
            filled += 1
        for e in range(indptr[begin + v], indptr[begin + v + 1]):
            columns[filled] = indices[e] - begin
            filled += 1
        rows[v + 1] = filled
    return rows, columns[:filled]


@kernel
def graph_values(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    begin: int,
    n: int,
    num_shells: int,
    walk_length: int,
    loop: int,
    wanted: NDArray[np.bool_],
    every: bool,
    labels: Colours,
    labelled: bool,
    keys: NDArray[np.uint64],
    out: Colours,
) -> None:
    """Write the values of the nodes ``begin..begin + n - 1``, one graph."""
    rows, columns = with_loops(indptr, indices, begin, n, loop)
    pairs = np.empty((2, n, n), dtype=np.uint64)
    scratch = np.empty((2, 2, n, n), dtype=np.uint64)
    walk_digests(rows, columns, walk_length, keys, scratch, pairs)
    spread_pairs(pairs, labels[begin : begin + n], labelled)
    place = np.full(indptr.size - 1, -1, dtype=np.int32)
    for v in range(n):
        nodes, bounds, _, _ = local_ball(
            indptr, indices, begin + v, num_shells, True, 0, place
        )
        members = (nodes - begin).astype(np.int32)
        c0, c1 = centre_value(pairs, v, members, bounds[1:], wanted, every)
        out[begin + v, 0], out[begin + v, 1] = c0, c1


def graph_walk_colours(
    batch: Batch,
    graph: int,
    num_shells: int,
    walk_length: int,
    loop: int,
    wanted: NDArray[np.bool_],
    every: bool,
    out: Colours,
) -> None:
    """Write the values of all nodes of one graph of the batch."""
    begin, end = batch.node_ptr[graph : graph + 2]
    graph_values(
        batch.packed.indptr, batch.packed.indices, int(begin), int(end - begin),
        num_shells, walk_length, loop, wanted, every, batch.label_colours,
        batch.has_node_labels, STEP_KEYS, out,
    )  # fmt: skip
