"""The figure of the README: what it says is true, and nodes stand on their rings."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from matplotlib.figure import Figure

from sekgnn.datasets import rook_shrikhande
from sekgnn.reports.encoding_figure import (
    PLACES,
    SHAPES,
    comparison_png,
    step_values,
)
from sekgnn.wl.drawing import ring_positions


@pytest.mark.parametrize("apart", [True, False])
def test_the_figure_says_who_tells_them_apart(
    apart: bool, figures: list[Figure]
) -> None:
    """In the headline and above both panels, whose curves are those of the scope."""
    comparison_png({"graph": False, "internal1": apart})
    (figure,) = figures
    near = "Walks among a node's neighbours tell rook 4×4 from Shrikhande"
    words = f"{near},\nwalks on the whole graph do not"
    head = words if apart else "No walk here tells rook 4×4 from Shrikhande"
    assert figure.texts[0].get_text() == head
    *_, whole, inside = figure.axes
    assert whole.get_title(loc="left").endswith(": not told apart")
    assert inside.get_title(loc="left").endswith(": not told apart") is not apart
    first, second = (line.get_ydata() for line in inside.lines[:2])
    np.testing.assert_array_equal(
        [first, second], step_values("internal1")["across_diagonal/1"]
    )
    said = [text.get_text() for text in inside.texts]
    assert "first difference, t = 3:\n2 against 1.556" in said  # 6 / 3 and 6 * 7 / 27


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
