r"""The graph-diffusion kernel: u is in hop k of v iff :math:`(A^k)_{vu} > 0`.

Hop k holds the nodes that some walk of exactly k steps reaches. A node may be in
several hops, and v is in its own hop k whenever a closed walk of k steps exists (so in
every even hop, unless v is isolated). Marks therefore last for one hop only. The
support of :math:`A^k` follows from the support of :math:`A^{k-1}` alone: no numbers are
multiplied and nothing can overflow or round to zero.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sekgnn.hops.frontier import expand, unmark
from sekgnn.kernel import kernel


@kernel
def first_reach(source: int, queue: NDArray[np.int32]) -> tuple[int, int]:
    """Put ``source`` alone at step 0; it may be reached again."""
    queue[0] = source
    return 0, 1


@kernel
def next_reach(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    queue: NDArray[np.int32],
    begin: int,
    end: int,
    mark: NDArray[np.uint8],
) -> tuple[int, int]:
    """Return (begin, end) in ``queue`` of the nodes reached by one more step.

    Two halves of ``queue`` take turns, so it needs room for twice the nodes of the
    largest graph. All marks are taken back.
    """
    half = queue.size // 2
    place = half if begin < half else 0
    tail = expand(indptr, indices, queue, begin, end, place, mark)
    unmark(queue, place, tail, mark)
    return place, tail
