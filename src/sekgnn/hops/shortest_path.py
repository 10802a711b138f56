r"""The shortest-path kernel: :math:`N_k(v) = \{u : d(u, v) = k\}`.

Breadth-first search. A node stays marked for as long as its source is worked on, so it
is met once, in the hop of its distance. The levels lie one after another in ``queue``
(at most n nodes together), and that queue is also the list of marks to take back.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sekgnn.hops.frontier import expand, unmark
from sekgnn.kernel import kernel


@kernel
def first_shell(
    source: int, queue: NDArray[np.int32], mark: NDArray[np.uint8]
) -> tuple[int, int]:
    """Put ``source`` alone at distance 0; it is never met again."""
    queue[0] = source
    mark[source] = 1
    return 0, 1


@kernel
def next_shell(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    queue: NDArray[np.int32],
    begin: int,
    end: int,
    mark: NDArray[np.uint8],
) -> tuple[int, int]:
    """Return (begin, end) in ``queue`` of the nodes one step further away."""
    return end, expand(indptr, indices, queue, begin, end, end, mark)


@kernel
def leave_source(queue: NDArray[np.int32], end: int, mark: NDArray[np.uint8]) -> None:
    """Take back every mark of this source; the queue up to ``end`` lists them all."""
    unmark(queue, 0, end, mark)
