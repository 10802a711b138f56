"""Many small graphs as stacks of dense matrices, one stack per number of nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sekgnn.graphs import Graph

_CELLS = 1 << 20  # entries of a stack: 8 MB


def same_size_stacks(
    graphs: Sequence[Graph],
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Yield graphs of equal size together, so that one numpy call serves them all.

    Every graph occurs in exactly one stack; stacks are cut at about 8 MB.

    Yields:
        places: Positions in ``graphs``, int64 ``[B]``.
        adjacency: Their 0/1 matrices, float64 ``[B, n, n]``.

    Example:
        >>> from sekgnn.graphs import path_graph
        >>> stacks = same_size_stacks([path_graph(n) for n in (2, 3, 2)])
        >>> [(places.tolist(), a.shape) for places, a in stacks]
        [([0, 2], (2, 2, 2)), ([1], (1, 3, 3))]
    """
    sizes = np.array([g.num_nodes for g in graphs], dtype=np.int64)
    for size in np.unique(sizes).tolist():
        members = np.flatnonzero(sizes == size)
        step = max(1, _CELLS // max(1, size * size))
        for begin in range(0, members.size, step):
            places = members[begin : begin + step]
            stack = np.zeros((places.size, size, size))
            for k, place in enumerate(places.tolist()):
                row, col = graphs[place].edge_index()
                stack[k, row, col] = 1.0
            yield places, stack
