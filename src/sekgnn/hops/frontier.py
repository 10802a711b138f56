"""One step outwards from a set of nodes: the loop that every hop kernel shares."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sekgnn.kernel import kernel

_SHORT = 48


@kernel
def expand(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    queue: NDArray[np.int32],
    begin: int,
    end: int,
    place: int,
    mark: NDArray[np.uint8],
) -> int:
    """Write the unmarked neighbours of a level, each once, and mark them.

    Args:
        indptr: Row starts, int64 ``[n + 1]``.
        indices: Neighbours, int32 ``[2 m]``.
        queue: Holds the level in ``queue[begin:end]``; receives the next one.
        begin: Start of the level.
        end: End of the level.
        place: Where in ``queue`` the next level starts.
        mark: 1 for nodes that must not be written (again), uint8 ``[n]``.

    Returns:
        The end of the next level, which is ``queue[place:returned]``.
    """
    tail = place
    for i in range(begin, end):
        v = queue[i]
        for p in range(indptr[v], indptr[v + 1]):
            u = indices[p]
            if mark[u] == 0:
                mark[u] = 1
                queue[tail] = u
                tail += 1
    return tail


@kernel
def unmark(
    queue: NDArray[np.int32], begin: int, end: int, mark: NDArray[np.uint8]
) -> None:
    """Set ``mark`` back to 0 for the nodes in ``queue[begin:end]``."""
    for i in range(begin, end):
        mark[queue[i]] = 0


@kernel
def sort_level(level: NDArray[np.int32]) -> None:
    """Sort ``level`` in place; most levels are too short for a general sort to pay."""
    if level.size > _SHORT:
        level.sort()
        return
    for i in range(1, level.size):
        node = level[i]
        j = i - 1
        while j >= 0 and level[j] > node:
            level[j + 1] = level[j]
            j -= 1
        level[j + 1] = node
