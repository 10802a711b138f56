r"""1-WL, colour refinement: a node is told apart by its neighbours' colours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sekgnn.wl.batch import Batch
from sekgnn.wl.colouring import Colouring, WLTest
from sekgnn.wl.hop_colouring import HopColouring, Hops


@dataclass(frozen=True)
class OneWL(WLTest):
    r"""1-WL (paper, Algorithm 1), the bound of message-passing networks.

    .. math:: \chi^t(v) = \big(\chi^{t-1}(v),
              \{\!\{\chi^{t-1}(u) : u \in N_1(v)\}\!\}\big)

    An edge's label is part of what its neighbour contributes. Time O(m) per round,
    memory O(n + m).
    """

    name = "1wl"

    def start(self, batch: Batch, threads: int | None = None) -> Colouring:
        """Start from the node labels."""
        return HopColouring(batch, Hops(batch, 1), batch.label_colours, threads)

    def memory(self, sizes: Sequence[int]) -> int:
        """Return the bytes of some rounds of colours."""
        return 16 * 8 * sum(sizes)
