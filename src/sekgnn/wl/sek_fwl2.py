r"""SEK 2-FWL: the folklore test on pairs, started from SEK colours of the nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sekgnn.wl.batch import Batch
from sekgnn.wl.colouring import Colouring
from sekgnn.wl.fwl2 import TwoFWL
from sekgnn.wl.pair_colouring import PairColouring
from sekgnn.wl.sek import SEK


@dataclass(frozen=True)
class SEKTwoFWL(SEK):
    r"""2-FWL whose pairs start from their type and the SEK colours of both nodes.

    .. math:: \chi^0(u, v) = \big(\mathrm{type}(u, v), \chi_{SEK}(u),
              \chi_{SEK}(v)\big)

    with :math:`\chi_{SEK}` the first colours of :class:`~sekgnn.wl.sek.SEK`: f and its
    context. What its rounds would add, 2-FWL finds by itself.

    Args:
        num_hops: K of the context.
        encodings: As in SEK.
        context: As in SEK.
        kernel: As in SEK.
    """

    name = "sek2fwl"
    objects = "pairs"

    def start(self, batch: Batch, threads: int | None = None) -> Colouring:
        """Start from the types of pairs and the SEK colours of nodes."""
        nodes = super().start(batch, threads)
        return PairColouring(batch, nodes.first, nodes, threads)

    def memory(self, sizes: Sequence[int]) -> int:
        """Return the bytes of the encodings and of n² colours."""
        return super().memory(sizes) + TwoFWL().memory(sizes)
