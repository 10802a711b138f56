"""Pairs and tests that the tests of the exact scoreboard share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sekgnn.datasets import BRECPair, rook_shrikhande
from sekgnn.graphs import LabelledGraph, csl_graph, cycle_graph, path_graph
from sekgnn.wl import Colouring, OneWL, WLTest
from sekgnn.wl.batch import Batch

HEXAGON = cycle_graph(6)
TRIANGLES = cycle_graph(3).disjoint_union(cycle_graph(3))
PAIRS = (
    BRECPair(7, "simple_regular", csl_graph(13, 2), csl_graph(13, 3)),
    BRECPair(3, "basic", HEXAGON, TRIANGLES),
    BRECPair(9, "strongly_regular", *rook_shrikhande()),
    BRECPair(5, "basic", path_graph(6), HEXAGON),
)
"""In no order of numbers or sizes; 1-WL separates the last, 2-FWL not the third."""


@dataclass(frozen=True)
class NodeNumbers(WLTest):
    """A wrong test: 1-WL that starts from the numbers of the nodes."""

    name = "numbers"

    def start(self, batch: Batch, threads: int | None = None) -> Colouring:
        numbered = Batch.of(
            LabelledGraph(item.graph, np.arange(item.num_nodes))
            for item in batch.graphs
        )
        return OneWL().start(numbered, threads)

    def memory(self, sizes: Sequence[int]) -> int:
        return 0
