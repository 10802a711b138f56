"""Adjacency matrices of many graphs, stacked for numpy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sekgnn.graphs import Graph

_CELLS = 1 << 20  # entries of a stack: 8 MB


def same_size_stacks(
    graphs: Sequence[Graph],
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Yield graph indices ``[B]`` and adjacency matrices of equal size ``[B, n, n]``.

    Every graph is in exactly one stack; stacks are limited to about 8 MB.

    Example:
        >>> from sekgnn.graphs import path_graph
        >>> stacks = same_size_stacks([path_graph(n) for n in (2, 3, 2)])
        >>> [(numbers.tolist(), a.shape) for numbers, a in stacks]
        [([0, 2], (2, 2, 2)), ([1], (1, 3, 3))]
    """
    sizes = np.array([g.num_nodes for g in graphs], dtype=np.int64)
    for size in np.unique(sizes).tolist():
        members = np.flatnonzero(sizes == size)
        step = max(1, _CELLS // max(1, size * size))
        for begin in range(0, members.size, step):
            numbers = members[begin : begin + step]
            stack = np.zeros((numbers.size, size, size))
            for k, number in enumerate(numbers.tolist()):
                row, col = graphs[number].edge_index()
                stack[k, row, col] = 1.0
            yield numbers, stack
