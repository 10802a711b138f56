"""The figure of the README: what it says is true, and nodes stand on their rings."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from sekgnn.datasets import rook_shrikhande
from sekgnn.reports.encoding_figure import (
    PLACES,
    SHAPES,
    _headline,
    step_values,
)
from sekgnn.wl.drawing import ring_positions


def test_headline() -> None:
    near = "Walks among a node's neighbours tell rook 4×4 from Shrikhande"
    assert _headline({"graph": False, "internal1": True}) == (
        f"{near},\nwalks on the whole graph do not"
    )
    assert _headline({"internal1": True}) == near
    assert _headline({"graph": False}) == "No walk here tells rook 4×4 from Shrikhande"


def test_step_values() -> None:
    """A walk of 3 steps on a triangle is back with 1/3, on a 6-cycle with 7/27."""
    near = step_values("internal1")["across_diagonal/1"]
    np.testing.assert_allclose(near[:, 2], [6 / 3, 6 * 7 / 27])
    for one, other in step_values("graph").values():
        np.testing.assert_allclose(one, other, atol=1e-12)
    assert list(PLACES) == ["graph", "internal1"]


@pytest.mark.parametrize(("which", "cycles"), [(0, [3, 3]), (1, [6])])
def test_rings_and_neighbourhoods(which: int, cycles: list[int]) -> None:
    graph = rook_shrikhande()[which]
    whole = graph.to_networkx()
    for v in range(graph.num_nodes):
        part = whole.subgraph(whole[v])
        assert {degree for _, degree in part.degree} == {2}
        assert sorted(map(len, nx.connected_components(part))) == cycles
    assert SHAPES[which] == {2: "two triangles", 1: "one 6-cycle"}[len(cycles)]
    place = ring_positions(graph)
    lengths = nx.single_source_shortest_path_length(whole, 0)
    expected = [lengths[v] for v in range(graph.num_nodes)]
    np.testing.assert_allclose(np.hypot(*place.T), expected, atol=1e-9)
    assert len(np.unique(place.round(6), axis=0)) == graph.num_nodes
    ring = sorted(whole[0], key=lambda v: np.arctan2(*place[v]) % (2 * np.pi))
    joined = [whole.has_edge(ring[i - 1], ring[i]) for i in range(6)]
    assert sum(joined) == 6 - (2 if len(cycles) == 2 else 0)  # parts stand together
