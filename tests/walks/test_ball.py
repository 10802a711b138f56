"""Searches that outgrow their memory, and degrees that outgrow their type."""

from __future__ import annotations

import numpy as np
import pytest

from sekgnn.graphs import Graph
from sekgnn.walks import return_probabilities


def star(leaves: int) -> Graph:
    edges = [[0] * leaves, list(range(1, leaves + 1))]
    return Graph.from_edge_index(edges, leaves + 1, undirected="add")


@pytest.mark.parametrize("leaves", [5, 2**16 - 2, 2**16 - 1, 2**16])
def test_degrees_beyond_sixteen_bits(leaves: int) -> None:
    """A star of n leaves, hub degree d = n + 1, by hand.

    The hub returns with 1/d, then 1/d² + (n/d)/2; a leaf with 1/2, then 1/4 + 1/(2d).
    """
    d = leaves + 1
    got = return_probabilities(star(leaves), 2)
    np.testing.assert_allclose(got[0], [1 / d, 1 / d**2 + leaves / d / 2], rtol=1e-12)
    leaf = [1 / 2, 1 / 4 + 1 / (2 * d)]
    np.testing.assert_allclose(got[1:], np.tile(leaf, (leaves, 1)), rtol=1e-12)
