"""The driver of the hop kernels: count every hop, then write it where it belongs.

Two passes over all source nodes. The first stores the size of every hop of every node;
their running sum says where each block of the answer, sorted by (hop, row, col),
begins; the second pass writes there. Nothing is sorted globally, and the memory is that
of the answer, ``8 K n`` bytes for the sizes and up to ``9 n`` bytes per thread.

A note for whoever edits the kernels: numba's cache of a function does not notice
changes in the functions it calls when they live in another file. Touch this file too.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sekgnn.graphs.packed import PackedGraphs
from sekgnn.hops.diffusion import first_reach, next_reach
from sekgnn.hops.frontier import sort_level
from sekgnn.hops.pairs import HopPairs
from sekgnn.hops.sampling import hop_state, sample_level
from sekgnn.hops.shortest_path import first_shell, leave_source, next_shell
from sekgnn.kernel import kernel
from sekgnn.parallel import even_chunks, resolve_threads, run_chunks

_Int = TypeVar("_Int", np.int32, np.int64)

_SMALLEST_CHUNK = 1024
_CHUNKS_PER_WORKER = 32
_NO_CAP = 2**31  # more than any graph has nodes


@kernel
def _first_level(
    source: int, diffusion: bool, queue: NDArray[np.int32], mark: NDArray[np.uint8]
) -> tuple[int, int]:
    level: tuple[int, int]
    if diffusion:
        level = first_reach(source, queue)
    else:
        level = first_shell(source, queue, mark)
    return level


@kernel
def _next_level(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    diffusion: bool,
    queue: NDArray[np.int32],
    begin: int,
    end: int,
    mark: NDArray[np.uint8],
) -> tuple[int, int]:
    level: tuple[int, int]
    if diffusion:
        level = next_reach(indptr, indices, queue, begin, end, mark)
    else:
        level = next_shell(indptr, indices, queue, begin, end, mark)
    return level


@kernel
def _count(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    bounds: tuple[int, int],
    diffusion: bool,
    room: int,
    cap: int,
    sizes: NDArray[np.int64],
) -> None:
    """Write min(cap, size of hop k + 1 of v) to ``sizes[k, v]``, int64 ``[K, n]``."""
    mark = np.zeros(indptr.size - 1, np.uint8)
    queue = np.empty(2 * room, np.int32)
    for v in range(bounds[0], bounds[1]):
        begin, end = _first_level(v, diffusion, queue, mark)
        for k in range(sizes.shape[0]):
            begin, end = _next_level(
                indptr, indices, diffusion, queue, begin, end, mark
            )
            if begin == end:
                break
            sizes[k, v] = min(cap, end - begin)
        if not diffusion:
            leave_source(queue, end, mark)


@kernel
def _fill(
    node_ptr: NDArray[np.int64],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    bounds: tuple[int, int],
    diffusion: bool,
    room: int,
    cap: int,
    seed: np.uint64,
    starts: NDArray[np.int64],
    row: NDArray[np.int64],
    col: NDArray[np.int64],
    hop: NDArray[np.int64],
) -> None:
    """Write hop k + 1 of v from position ``starts[k, v]`` on, sorted by col."""
    mark = np.zeros(indptr.size - 1, np.uint8)
    queue = np.empty(2 * room, np.int32)
    sampled = cap if cap < room else 0
    keys = np.empty(sampled, np.uint64)
    nodes = np.empty(sampled, np.int32)
    graph = np.searchsorted(node_ptr, bounds[0], side="right") - 1
    for v in range(bounds[0], bounds[1]):
        while node_ptr[graph + 1] <= v:
            graph += 1
        first = node_ptr[graph]
        begin, end = _first_level(v, diffusion, queue, mark)
        for k in range(starts.shape[0]):
            begin, end = _next_level(
                indptr, indices, diffusion, queue, begin, end, mark
            )
            if begin == end:
                break
            level = queue[begin:end]
            if level.size > cap:
                state = hop_state(seed, v - first, k + 1)
                sample_level(level, first, state, keys, nodes)
                level = nodes
            else:
                sort_level(level)
            place = starts[k, v]
            for i in range(level.size):
                row[place + i] = v
                col[place + i] = level[i]
                hop[place + i] = k + 1
        if not diffusion:
            leave_source(queue, end, mark)


def sweep(
    packed: PackedGraphs,
    num_hops: int,
    *,
    diffusion: bool,
    max_neighbors: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    chunk_size: int | None = None,
) -> HopPairs:
    """Return the hops of every node; parameters are taken as checked.

    Args:
        packed: The graphs, N nodes together.
        num_hops: K.
        diffusion: Which frontier rule, :mod:`sekgnn.hops.diffusion` or
            :mod:`sekgnn.hops.shortest_path`.
        max_neighbors: At most this many nodes per node and hop, or ``None``.
        seed: In [0, 2^64); only used with ``max_neighbors``.
        threads: Threads, ``None`` for all cores. Never changes the answer.
        chunk_size: Source nodes per chunk, ``None`` to choose. Never changes the
            answer.
    """
    n = packed.num_nodes
    room = int(np.diff(packed.node_ptr).max(initial=0))
    cap = _NO_CAP if max_neighbors is None else min(max_neighbors, _NO_CAP)
    depth = num_hops if diffusion else min(num_hops, max(room - 1, 0))  # d < n
    node_ptr = _read_only(packed.node_ptr)
    csr = _read_only(packed.indptr), _read_only(packed.indices)
    if chunk_size is None:  # every chunk clears n bytes: many, but not too many
        share = -(-n // (_CHUNKS_PER_WORKER * resolve_threads(threads)))
        chunk_size = max(_SMALLEST_CHUNK, share)
    chunks = even_chunks(n, chunk_size)

    ends = np.zeros(depth * n + 1, dtype=np.int64)
    sizes = ends[1:].reshape(depth, n)

    def count(start: int, stop: int) -> None:
        _count(*csr, (start, stop), diffusion, room, cap, sizes)

    run_chunks(count, chunks, threads)
    np.cumsum(ends, out=ends)  # ends[k n + v] is now where hop k + 1 of v begins
    starts = ends[:-1].reshape(depth, n)
    row, col, hop = (np.empty(ends[-1], dtype=np.int64) for _ in range(3))

    def fill(start: int, stop: int) -> None:
        _fill(
            node_ptr, *csr, (start, stop), diffusion, room, cap, np.uint64(seed),
            starts, row, col, hop,
        )  # fmt: skip

    run_chunks(fill, chunks, threads)
    return HopPairs(row, col, hop, n, num_hops)


def _read_only(array: NDArray[_Int]) -> NDArray[_Int]:
    """Return a view that cannot be written to: one compiled version serves all."""
    view = array.view()
    view.flags.writeable = False
    return view
