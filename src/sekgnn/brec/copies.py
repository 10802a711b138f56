"""Relabelled copies of the graphs of a pair, drawn from a seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sekgnn.datasets.brec import BRECPair
from sekgnn.graphs import Graph


@dataclass(frozen=True)
class Copies:
    """What a model is shown of one pair.

    Attributes:
        pair: Copies of the first and the second graph in turn, 2 q graphs: entries 0
            and 1 are compared, 2 and 3, and so on.
        reliability: 2 q copies of one of the two graphs, to be compared likewise; a
            model that "tells them apart" is not to be trusted.
    """

    pair: tuple[Graph, ...]
    reliability: tuple[Graph, ...]


def draw_copies(pair: BRECPair, count: int, rng: np.random.Generator) -> Copies:
    """Draw what the comparison of one pair needs.

    The relabellings are uniform and independent. (Upstream keeps the original as first
    copy and insists on different adjacency matrices, which a very symmetric graph does
    not have.) Which graph the reliability check sees is a coin flip, as upstream.

    Args:
        pair: The two graphs.
        count: q, copies of each.
        rng: Source of randomness.
    """
    both = [graph for _ in range(count) for graph in (pair.first, pair.second)]
    one = (pair.first, pair.second)[int(rng.integers(2))]
    return Copies(
        pair=tuple(relabelled(graph, rng) for graph in both),
        reliability=tuple(relabelled(one, rng) for _ in range(2 * count)),
    )


def relabelled(graph: Graph, rng: np.random.Generator) -> Graph:
    """Return ``graph`` under random new names.

    Example:
        >>> from sekgnn.graphs import path_graph
        >>> sorted(relabelled(path_graph(3), np.random.default_rng(0)).degrees.tolist())
        [1, 1, 2]
    """
    return graph.relabel(rng.permutation(graph.num_nodes))
