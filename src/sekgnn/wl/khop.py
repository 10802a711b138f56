r"""K-hop 1-WL: a node is told apart by the colours at each distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from sekgnn.checks import check_choice, check_positive
from sekgnn.hops import HopKernel
from sekgnn.wl.batch import Batch
from sekgnn.wl.colouring import Colouring, WLTest
from sekgnn.wl.hop_colouring import HopColouring, Hops


@dataclass(frozen=True)
class KHopWL(WLTest):
    r"""K-hop 1-WL (paper, Definition 3), the bound of K-hop message passing.

    .. math:: \chi^t(v) = \big(\chi^{t-1}(v),
              \{\!\{\chi^{t-1}(u) : u \in N_k(v)\}\!\}_{k=1}^K\big)

    Args:
        num_hops: K.
        kernel: ``"shortest_path"`` or ``"diffusion"``; see
            :func:`sekgnn.hops.hop_pairs`. Labels of edges count at hop 1, where a pair
            is an edge.
    """

    name = "khop"

    num_hops: int = 4
    kernel: HopKernel = "shortest_path"

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_positive("num_hops", self.num_hops)
        check_choice("kernel", self.kernel, get_args(HopKernel))

    def start(self, batch: Batch, threads: int | None = None) -> Colouring:
        """Start from the node labels."""
        hops = Hops(batch, self.num_hops, self.kernel, threads)
        return HopColouring(batch, hops, batch.label_colours, threads)

    def memory(self, sizes: Sequence[int]) -> int:
        """Return the bytes of some rounds of colours; the pairs come on top."""
        return 16 * 8 * sum(sizes)
