r"""Seeded samples of a hop that depend on nothing but the nodes in it.

Every node u of hop k of v gets a 64-bit key, a hash of (seed, v, k, u), and the c
smallest keys are kept. For given (seed, v, k) the key is a bijection of u, so there are
no ties, and as the keys behave like independent uniform numbers, every c-subset is
equally likely. The order of the search, the chunks and the threads cannot matter; as v
and u are numbered within their own graph, neither can the other graphs of a batch.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sekgnn.digest import scramble
from sekgnn.hops.levels import sort_range
from sekgnn.kernel import kernel

_STEP = np.uint64(0x9E3779B97F4A7C15)  # odd, 2^64 / golden ratio


@kernel
def absorb(state: np.uint64, word: int) -> np.uint64:
    """Return the state after the integer ``word >= 0``; bijective in ``word``."""
    mixed: np.uint64 = scramble(state + (np.uint64(word) + np.uint64(1)) * _STEP)
    return mixed


@kernel
def hop_state(seed: np.uint64, node: int, hop: int) -> np.uint64:
    """Return the initial state of the keys of a hop; ``node`` is local."""
    state: np.uint64 = absorb(absorb(scramble(seed), node), hop)
    return state


@kernel
def _sift_down(
    keys: NDArray[np.uint64], nodes: NDArray[np.int32], parent: int, size: int
) -> None:
    """Let the entry at ``parent`` sink until the heap's largest key is on top."""
    key, node = keys[parent], nodes[parent]
    child = 2 * parent + 1
    while child < size:
        if child + 1 < size and keys[child + 1] > keys[child]:
            child += 1
        if keys[child] <= key:
            break
        keys[parent], nodes[parent] = keys[child], nodes[child]
        parent, child = child, 2 * child + 1
    keys[parent], nodes[parent] = key, node


@kernel
def sample_level(
    level: NDArray[np.int32],
    first: int,
    state: np.uint64,
    keys: NDArray[np.uint64],
    nodes: NDArray[np.int32],
) -> None:
    """Keep the c nodes of ``level`` with the smallest keys, sorted by node.

    Costs O(len(level) log c) time and no memory beyond the two buffers.

    Args:
        level: Nodes of one hop, numbered in the union, int32 ``[more than c]``.
        first: First node of their graph in the union; keys use ``u - first``.
        state: From :func:`hop_state`.
        keys: Work space, uint64 ``[c]``.
        nodes: Receives the sample, int32 ``[c]``.
    """
    size = nodes.size
    for i in range(size):
        nodes[i] = level[i]
        keys[i] = absorb(state, level[i] - first)
    for i in range(size // 2 - 1, -1, -1):
        _sift_down(keys, nodes, i, size)
    for i in range(size, level.size):
        key = absorb(state, level[i] - first)
        if key < keys[0]:
            keys[0], nodes[0] = key, level[i]
            _sift_down(keys, nodes, 0, size)
    sort_range(nodes, 0, size)
