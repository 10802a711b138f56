"""The figure can be drawn for any pair, and shells stand on rings."""

from __future__ import annotations

import io

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from matplotlib.image import imread

from sekgnn.encoding.walk_encoding import WalkEncoding
from sekgnn.graphs import Graph, cycle_graph, path_graph, rook_graph, shrikhande_graph
from sekgnn.reports.encoding_comparison import compare_graphs
from sekgnn.reports.encoding_figure import (
    _headline,
    comparison_png,
    ring_positions,
    shells,
)
from sekgnn.testing import graphs

NAMES = ("A", "B")
EMPTY = Graph.from_edge_index(np.zeros((2, 0), dtype=np.int64), 3)


@pytest.mark.parametrize(
    ("first", "second", "encoding"),
    [
        (
            rook_graph(4),
            shrikhande_graph(),
            WalkEncoding(2, 12, scope=("graph", "internal"), radius=1),
        ),
        (path_graph(3), cycle_graph(3), WalkEncoding(1, 1)),
        (EMPTY, path_graph(3), WalkEncoding(3, 40, scope=("ego", "internal", "graph"))),
        (path_graph(1), path_graph(1), WalkEncoding(1, 2)),
        (
            path_graph(3),
            cycle_graph(3),
            WalkEncoding(1, 3, self_loops=(True, False), first_step=0, shell_sizes=2),
        ),
    ],
)
def test_png(first: Graph, second: Graph, encoding: WalkEncoding) -> None:
    comparison = compare_graphs(first, second, encoding)
    png = comparison_png((first, second), NAMES, comparison)
    pixels = imread(io.BytesIO(png), format="png")
    height, width, _ = pixels.shape
    assert height > 1000 < width
    assert pixels.min() < 0.5  # something was drawn
    assert png == comparison_png((first, second), NAMES, comparison)


@pytest.mark.parametrize(
    ("first", "second", "scope", "text"),
    [
        ("rook", "shri", ("graph",), "No walk here tells A from B"),
        (
            "rook",
            "shri",
            ("internal",),
            "Walks among a node's neighbours tell A from B",
        ),
        (
            "rook",
            "shri",
            ("graph", "internal"),
            "Walks among a node's neighbours tell A from B,\n"
            "walks on the whole graph do not",
        ),
    ],
)
def test_headline_follows_the_verdict(
    first: str, second: str, scope: tuple[str, ...], text: str
) -> None:
    known = {"rook": rook_graph(4), "shri": shrikhande_graph()}
    encoding = WalkEncoding(1, 4, scope=scope)  # type: ignore[arg-type]
    assert (
        _headline(NAMES, compare_graphs(known[first], known[second], encoding)) == text
    )


@given(graphs(min_nodes=1, max_nodes=9))
def test_rings_are_distances(g: Graph) -> None:
    lengths = nx.single_source_shortest_path_length(g.to_networkx(), 0)
    found = shells(g, 0)
    assert sorted(v for shell in found for v in shell) == list(range(g.num_nodes))
    far = max(lengths.values()) + 1
    place = ring_positions(g, 0)
    assert place.shape == (g.num_nodes, 2)
    for v in range(g.num_nodes):
        assert np.hypot(*place[v]) == pytest.approx(lengths.get(v, far), abs=1e-9)
    assert len(np.unique(place.round(6), axis=0)) == g.num_nodes
