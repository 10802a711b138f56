"""Neighbourhoods in words."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given

from sekgnn.graphs import (
    Graph,
    complete_graph,
    cycle_graph,
    path_graph,
    petersen_graph,
    rook_graph,
    shrikhande_graph,
)
from sekgnn.reports.encoding_comparison import (
    describe_neighbourhood,
    describe_neighbourhoods,
    neighbour_components,
)
from sekgnn.testing import graphs


def cone(graph: Graph) -> Graph:
    """Return ``graph`` with a further last node joined to all others."""
    n = graph.num_nodes
    row, col = graph.edge_index().tolist()
    edges = [row + list(range(n)), col + [n] * n]
    return Graph.from_edge_index(edges, n + 1, undirected="add")


@pytest.mark.parametrize(
    ("graph", "text"),
    [
        (path_graph(1), "one single node"),
        (path_graph(2), "one edge"),
        (path_graph(4), "one path on 4 nodes"),
        (cycle_graph(3), "one triangle"),
        (cycle_graph(7), "one 7-cycle"),
        (complete_graph(4), "one complete graph on 4 nodes"),
        (petersen_graph(), "one connected part with 10 nodes and 15 edges"),
        (rook_graph(4), "one connected part with 16 nodes and 48 edges"),
        (Graph.from_edge_index([[0, 1], [1, 0]], 4), "one edge and two single nodes"),
    ],
)
def test_names(graph: Graph, text: str) -> None:
    assert describe_neighbourhood(cone(graph), graph.num_nodes) == text


def test_all_nodes() -> None:
    assert describe_neighbourhood(path_graph(1), 0) == "no neighbours"
    assert describe_neighbourhoods(rook_graph(4)) == "two triangles (every node)"
    assert describe_neighbourhoods(shrikhande_graph()) == "one 6-cycle (every node)"
    found = describe_neighbourhoods(cone(path_graph(2)))
    assert found == "one edge (every node)"
    star = cone(Graph.from_edge_index([[], []], 3))
    assert describe_neighbourhoods(star) == (
        "one single node (3 of 4 nodes), three single nodes (1 of 4 nodes)"
    )


@given(graphs(min_nodes=1, max_nodes=8))
def test_components_match_networkx(g: Graph) -> None:
    whole = g.to_networkx()
    for v in range(g.num_nodes):
        part = whole.subgraph(whole[v])
        expected = sorted(sorted(c) for c in nx.connected_components(part))
        assert sorted(map(sorted, neighbour_components(g, v))) == expected


def test_a_cycle_comes_in_the_order_of_its_edges() -> None:
    g = shrikhande_graph()
    (ring,) = neighbour_components(g, 0)
    adjacent = g.to_networkx().has_edge
    assert all(adjacent(ring[i - 1], ring[i]) for i in range(6))
