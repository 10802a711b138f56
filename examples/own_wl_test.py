"""A Weisfeiler-Lehman test of your own: K-hop 1-WL that starts from triangles."""

from dataclasses import dataclass

import numpy as np

from sekgnn import compare, hop_pairs, register_test
from sekgnn.graphs import csl_graph
from sekgnn.wl import HopColouring, WLTest, colours_of


@register_test("triangles")
@dataclass(frozen=True)
class TriangleWL(WLTest):
    num_hops: int = 2

    def start(self, batch, threads=None):
        matrices = [item.adjacency() for item in batch.graphs]  # each [n, n]
        counts = np.concatenate([np.diag(a @ a @ a) // 2 for a in matrices])
        hops = hop_pairs(batch.packed, self.num_hops, threads=threads)
        words = lambda v: [f"in {counts[v]} triangles"]  # noqa: E731
        return HopColouring(batch, hops, colours_of(counts, "triangles"), words)


print(compare(csl_graph(11, 2), csl_graph(11, 3), "triangles").explain())
