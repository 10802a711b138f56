"""Walks inside ego-nets, with or without the centre."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sekgnn.kernel import kernel
from sekgnn.parallel import PerThread, even_chunks, run_chunks
from sekgnn.walks.ball import local_ball
from sekgnn.wl.batch import Batch
from sekgnn.wl.digest import Colours
from sekgnn.wl.encodings.shell_digest import centre_value, spread_pairs
from sekgnn.wl.encodings.step_vectors import STEP_KEYS, walk_digests


@kernel
def ego_values(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    start: int,
    stop: int,
    radius: int,
    walk_length: int,
    loop: int,
    with_centre: bool,
    wanted: NDArray[np.bool_],
    every: bool,
    labels: Colours,
    labelled: bool,
    keys: NDArray[np.uint64],
    place: NDArray[np.int32],
    out: Colours,
) -> None:
    """Write the values of the nodes ``start..stop - 1``."""
    room = 0
    pairs = np.empty((2, 0, 0), dtype=np.uint64)
    scratch = np.empty((2, 2, 0, 0), dtype=np.uint64)
    for v in range(start, stop):
        nodes, bounds, rows, columns = local_ball(
            indptr, indices, v, radius, with_centre, loop, place
        )
        s = nodes.size
        if s != room:
            room = s
            pairs = np.empty((2, s, s), dtype=np.uint64)
            scratch = np.empty((2, 2, s, s), dtype=np.uint64)
        walk_digests(rows, columns, walk_length, keys, scratch, pairs)
        spread_pairs(pairs, labels[nodes] if labelled else labels[:0], labelled)
        members = np.arange(s).astype(np.int32)
        centre = 0 if with_centre else -1
        c0, c1 = centre_value(pairs, centre, members, bounds[1:], wanted, every)
        out[v, 0], out[v, 1] = c0, c1


def ego_walk_colours(
    batch: Batch,
    radius: int,
    walk_length: int,
    loop: int,
    with_centre: bool,
    wanted: NDArray[np.bool_],
    every: bool,
    threads: int | None,
    out: Colours,
) -> None:
    """Write the values of all nodes of the batch."""
    n = batch.packed.num_nodes
    place = PerThread(lambda: np.full(n, -1, dtype=np.int32))

    def work(start: int, stop: int) -> None:
        ego_values(
            batch.packed.indptr, batch.packed.indices, start, stop, radius, walk_length,
            loop, with_centre, wanted, every, batch.label_colours,
            batch.has_node_labels, STEP_KEYS, place.value, out,
        )  # fmt: skip

    run_chunks(work, even_chunks(n, 256), threads)
