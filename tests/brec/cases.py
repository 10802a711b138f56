"""Pairs, a wrong test and networks that the tests of scores share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from tests.small_graphs import HEXAGON, TRIANGLES
from torch import Tensor, nn
from torch_geometric.nn import GIN, global_add_pool

from sekgnn.datasets import BRECPair, rook_shrikhande
from sekgnn.graphs import LabelledGraph, csl_graph, path_graph
from sekgnn.wl import Colouring, OneWL, WLTest
from sekgnn.wl.refinement import Batch

UNSORTED = (
    BRECPair(7, "simple_regular", csl_graph(13, 2), csl_graph(13, 3)),
    BRECPair(3, "basic", HEXAGON, TRIANGLES),
    BRECPair(9, "strongly_regular", *rook_shrikhande()),
    BRECPair(5, "basic", path_graph(6), HEXAGON),
)
"""In no order of numbers or sizes; 1-WL separates the last, 2-FWL not the third."""
PAIRS = tuple(replace(UNSORTED[i], index=k) for k, i in enumerate((1, 0, 2)))
"""1-WL separates none, K hops the first two, 2-FWL not the third."""


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


class SmallGIN(nn.Module):
    """GIN with sum readout, 16 outputs; optionally with fresh random features."""

    def __init__(
        self, width: int = 1, random_width: int = 0, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.random_width = random_width
        self.gin = GIN(width + random_width, 32, 2, dropout=dropout)
        self.head = nn.Linear(32, 16)

    def forward(self, batch: Any) -> Tensor:
        noise = torch.randn(len(batch.x), self.random_width)
        x = self.gin(torch.cat([batch.x, noise], dim=1), batch.edge_index)
        out: Tensor = self.head(global_add_pool(x, batch.batch))
        return out


class TriangleCount(nn.Module):
    """Number of closed walks of length 3, and nothing to train."""

    def forward(self, batch: Any) -> Tensor:
        n = batch.num_nodes
        a = torch.zeros(n, n)
        a[batch.edge_index[0], batch.edge_index[1]] = 1
        out: Tensor = global_add_pool((a @ a @ a).diagonal()[:, None], batch.batch)
        return out


class PlaceInBatch(nn.Module):
    """A cheat: looks at the graph's place in the batch, not at the graph."""

    def forward(self, batch: Any) -> Tensor:
        return torch.arange(batch.num_graphs)[:, None] % 2 + 0.01 * torch.randn(
            batch.num_graphs, 1
        )
