r"""Subgraph 1-WL: a node is told apart by its whole ego-net, hashed by inner 1-WL."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sekgnn.checks import check_positive
from sekgnn.digest import KEY_OWN, KEY_PART, Colours, absorb_all, spread_all
from sekgnn.registry import parameter
from sekgnn.wl.batch import Batch
from sekgnn.wl.colouring import Colouring, Source, WLTest
from sekgnn.wl.encodings.inner import ego_net_colours
from sekgnn.wl.hop_wl import HopColouring, Hops


@dataclass(frozen=True)
class SubgraphWL(WLTest):
    r"""Subgraph 1-WL (paper, Definition 4), the bound of GNN-AK and Nested GNN.

    .. math:: \chi^t(v) = \big(\chi^{t-1}(v), \gamma(G_v^h, \chi^{t-1})\big)

    where :math:`\gamma` is the multiset of stable colours of 1-WL on the ego-net
    :math:`G_v^h`, started from :math:`\chi^{t-1}`.

    Args:
        radius: h.
        marked: Let every node of an ego-net know its distance to the centre.
    """

    name = "subgraph"

    radius: int = parameter(3, "h, radius of the ego-nets")
    marked: bool = parameter(False, "let nodes know their distance to the centre")

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_positive("radius", self.radius)

    def start(self, batch: Batch, threads: int | None = None) -> Colouring:
        """Start from the node labels."""
        return SubgraphColouring(batch, self, threads)


class SubgraphColouring(HopColouring):
    """Nodes coloured by their refined ego-nets."""

    beyond_sources = "joined in different ways"

    def __init__(self, batch: Batch, test: SubgraphWL, threads: int | None) -> None:
        """Start from labels; ego-nets of explanations are found then."""
        super().__init__(batch, Hops(batch, 1), threads=threads)
        self._test = test

    def step(self, colours: Colours) -> Colours:
        """Return the refined colours of all nodes."""
        radius, marked = self._test.radius, self._test.marked
        inner = ego_net_colours(
            self.batch, colours, radius, True, marked, self._threads
        )
        out = np.empty_like(colours)
        spread_all(colours, KEY_OWN, out)
        absorb_all(out, inner, KEY_PART)
        return out

    def sources(self, item: int) -> list[Source]:
        """Return the nodes of the ego-net; how they are joined is part of the step."""
        radius = self._test.radius
        hops = Hops(self.batch, radius, threads=self._threads)
        shells = [hops.members(k, item)[:, None] for k in range(1, radius + 1)]
        if self._test.marked:
            return [
                Source(f"nodes of the ego-net at distance {k}", shell)
                for k, shell in enumerate(shells, start=1)
            ]
        members = np.concatenate([np.array([[item]]), *shells])
        return [Source("nodes of the ego-net", members)]
