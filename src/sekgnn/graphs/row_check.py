"""Arrays that say they are graphs, looked at once before compiled kernels trust them.

Kernels do not check what they read: a neighbour that does not exist is memory of
somebody else. So whatever was not built here, a file or a user's arrays, passes
:func:`check_rows` first.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sekgnn.digest import scramble
from sekgnn.errors import GraphInputError
from sekgnn.graphs.cleaning import check_num_nodes
from sekgnn.kernel import kernel
from sekgnn.parallel import even_chunks, run_chunks

_CHUNK = 1 << 17  # nodes that are looked at together

_FAULTS = {
    1: "the row of node {} does not lie in the indices; indptr must rise from 0 to "
    "their number",
    2: "node {} has a neighbour that is no node of its graph",
    3: "node {} is its own neighbour; graphs here have no self-loops",
    4: "the neighbours of node {} are not sorted, or one is repeated",
}

_SOUND: set[tuple[int, ...]] = set()  # files that have passed, as they stood then


def check_rows(
    node_ptr: NDArray[Any],
    indptr: NDArray[Any],
    indices: NDArray[Any],
    threads: int | None = None,
) -> None:
    """Check that arrays are those of simple undirected graphs, in one pass.

    The pass reads them in order, so they may be mapped and larger than memory. That
    every edge has its reverse is seen by adding up a number per entry, with a secret
    key: of u, v where u < v, less that of v, u where not. Edges that lack it go
    unnoticed with a probability of about :math:`2^{-64}`.

    Args:
        node_ptr: As in :class:`~sekgnn.graphs.packed.PackedGraphs`.
        indptr: Likewise.
        indices: Likewise.
        threads: Threads; ``None`` for all usable cores.

    Raises:
        GraphInputError: If they are not; names a node of the union.
    """
    check_array("indices", indices, np.int32, None)
    check_starts("indptr", indptr, indices.size, rising=False)  # seen in the pass
    check_starts("node_ptr", node_ptr, check_num_nodes(indptr.size - 1))
    views = [np.ascontiguousarray(a).view() for a in (node_ptr, indptr, indices)]
    for view in views:  # one compiled version serves all
        view.flags.writeable = False
    nodes, rows, entries = views
    key = np.uint64(secrets.randbits(64)), np.uint64(secrets.randbits(64) | 1)
    faults: list[tuple[int, int]] = []
    sums: list[int] = []

    def work(start: int, stop: int) -> None:
        graph = int(np.searchsorted(nodes, start, side="right")) - 1
        total, fault, node = examine_rows(
            nodes, rows, entries, graph, start, stop, *key
        )
        sums.append(int(total))
        if fault:
            faults.append((node, fault))

    run_chunks(work, even_chunks(rows.size - 1, _CHUNK), threads)
    if faults:
        node, fault = min(faults)
        raise GraphInputError(f"{_FAULTS[fault].format(node)}.")
    if sum(sums) % 2**64:
        raise GraphInputError("an edge is listed in one direction only; list both.")


@kernel
def examine_rows(
    node_ptr: NDArray[np.int64],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    graph: int,
    start: int,
    stop: int,
    shift: np.uint64,
    factor: np.uint64,
) -> tuple[np.uint64, int, int]:
    """Look at the rows of nodes ``start..stop - 1``, of ``graph`` and those after it.

    Returns:
        The sum over their entries, and the first fault with its node; 0 if there is
        none.
    """
    total, half = np.uint64(0), np.uint64(32)
    for v in range(start, stop):
        while v >= node_ptr[graph + 1]:
            graph += 1
        first, last = node_ptr[graph], node_ptr[graph + 1]
        low, high = indptr[v], indptr[v + 1]
        if low < 0 or low > high or high > indices.size:
            return total, 1, v
        before = first - 1
        for e in range(low, high):
            u = np.int64(indices[e])
            if u < first or u >= last:
                return total, 2, v
            if u == v:
                return total, 3, v
            if u <= before:
                return total, 4, v
            before = u
            if u > v:
                pair = (np.uint64(v) << half) | np.uint64(u)
                total += scramble((pair + shift) * factor)
            else:
                pair = (np.uint64(u) << half) | np.uint64(v)
                total -= scramble((pair + shift) * factor)
    return total, 0, 0


def checked_once(path: Path, check: Callable[[], object]) -> None:
    """Call ``check``, unless it has passed here for the file as it stands.

    A file that changes while it is mapped is beyond help, so its time and size are
    enough to know it by.
    """
    status = path.stat()
    stamp = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
    if stamp not in _SOUND:
        check()
        _SOUND.add(stamp)


def check_array(
    name: str, array: NDArray[Any], dtype: DTypeLike, *shape: int | None
) -> None:
    """Check the type of an array, and its sizes where they are known.

    Raises:
        GraphInputError: If it has another type or shape; a type such as
            ``np.floating`` stands for all that are of it.
    """
    if array.ndim == len(shape) and array.dtype.isnative:
        sizes = zip(shape, array.shape, strict=True)
        if all(size is None or size == length for size, length in sizes):
            if np.issubdtype(array.dtype, dtype):
                return
    wanted = ", ".join("?" if size is None else str(size) for size in shape)
    kind = dtype.__name__ if isinstance(dtype, type) else dtype
    raise GraphInputError(
        f"{name} must be {kind} [{wanted}], got {array.dtype} {list(array.shape)}."
    )


def check_starts(
    name: str, starts: NDArray[Any], end: int, *, rising: bool = True
) -> None:
    """Check that row starts go from 0 to ``end``, and that none is before another.

    Raises:
        GraphInputError: If not.
    """
    check_array(name, starts, np.int64, None)
    if not starts.size or starts[0] != 0 or starts[-1] != end:
        raise GraphInputError(f"{name} must start at 0 and end at {end}.")
    falls = np.flatnonzero(starts[1:] < starts[:-1])
    if rising and falls.size:
        raise GraphInputError(
            f"{name} must not decrease, but entry {falls[0] + 1} is below entry "
            f"{falls[0]}."
        )
