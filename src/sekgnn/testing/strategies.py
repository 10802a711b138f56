"""Hypothesis strategies that draw graphs."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from sekgnn.checks import check_positive
from sekgnn.errors import ConfigError
from sekgnn.graphs.graph import Graph
from sekgnn.graphs.triangle import pair_unrank


def graphs(min_nodes: int = 0, max_nodes: int = 8) -> st.SearchStrategy[Graph]:
    """Draw any simple graph: empty, disconnected, with isolated nodes, or dense.

    Failing examples shrink towards few nodes and few edges.

    Args:
        min_nodes: Fewest nodes.
        max_nodes: Most nodes.

    Raises:
        ConfigError: If the limits are negative or in the wrong order.
    """
    check_positive("min_nodes", min_nodes, 0)
    if check_positive("max_nodes", max_nodes, 0) < min_nodes:
        raise ConfigError(f"max_nodes={max_nodes} is below min_nodes={min_nodes}.")
    return _graphs(min_nodes, max_nodes)


@st.composite
def _graphs(draw: st.DrawFn, min_nodes: int, max_nodes: int) -> Graph:
    """Draw the node count, then a bit for every pair of nodes."""
    n = draw(st.integers(min_nodes, max_nodes))
    pairs = n * (n - 1) // 2
    words = st.integers(0, 2**pairs - 1)
    chosen = draw(words)
    if draw(st.booleans()):  # half as dense: more disconnected graphs
        chosen &= draw(words)
    bits = np.array([chosen >> k & 1 for k in range(pairs)], dtype=np.bool_)
    edges = np.stack(pair_unrank(np.flatnonzero(bits)))
    return Graph.from_edge_index(edges, n, undirected="add")
