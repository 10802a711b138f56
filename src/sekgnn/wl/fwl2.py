r"""2-FWL, the folklore test on pairs of nodes, equal in power to 3-WL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sekgnn.wl.batch import Batch
from sekgnn.wl.colouring import Colouring, WLTest
from sekgnn.wl.one_wl import OneWL
from sekgnn.wl.pair_colouring import PairColouring


@dataclass(frozen=True)
class TwoFWL(WLTest):
    r"""2-FWL (= 3-WL), the bound of PPGN and of many subgraph networks.

    .. math:: \chi^t(u, v) = \big(\chi^{t-1}(u, v),
              \{\!\{(\chi^{t-1}(u, w), \chi^{t-1}(w, v)) : w \in V\}\!\}\big)

    started from the pair's type: equal, adjacent (with the edge's label) or neither,
    and the labels of both nodes. Time O(n³) per round, memory O(n²).
    """

    name = "2fwl"
    objects = "pairs"

    def start(self, batch: Batch, threads: int | None = None) -> Colouring:
        """Start from the types of pairs."""
        nodes = OneWL().start(batch, threads)
        return PairColouring(batch, nodes.first, nodes, threads)

    def memory(self, sizes: Sequence[int]) -> int:
        """Return the bytes of some rounds of n² colours."""
        return 16 * 8 * sum(n * n for n in sizes)
