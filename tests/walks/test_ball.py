"""Searches that outgrow their memory, and degrees that outgrow their type."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.small_graphs import star

from sekgnn.graphs import Graph, barabasi_albert_graph, path_graph
from sekgnn.testing import graphs
from sekgnn.walks import return_probabilities
from sekgnn.walks.ball import grow_ball, local_ball, new_ball, with_degrees


@pytest.mark.parametrize("leaves", [5, 2**16 - 2, 2**16 - 1, 2**16])
def test_degrees_beyond_sixteen_bits(leaves: int) -> None:
    """A star of n leaves, hub degree d = n + 1, by hand.

    The hub returns with 1/d, then 1/d² + (n/d)/2; a leaf with 1/2, then 1/4 + 1/(2d).
    """
    d = leaves + 1
    g = star(leaves)
    edges = with_degrees(g.csr, 1).indices
    np.testing.assert_array_equal(edges[:, 0], g.indices)
    np.testing.assert_array_equal(edges[:, 1], g.degrees[g.indices] + 1)
    got = return_probabilities(g, 2)
    np.testing.assert_allclose(got[0], [1 / d, 1 / d**2 + leaves / d / 2], rtol=1e-12)
    leaf = [1 / 2, 1 / 4 + 1 / (2 * d)]
    np.testing.assert_allclose(got[1:], np.tile(leaf, (leaves, 1)), rtol=1e-12)


def check_balls(g: Graph, depth: int, loop: int) -> None:
    """Search from every node in one memory, too small at first; compare with BFS."""
    edges, ball = with_degrees(g.csr, loop), new_ball(depth, 1)
    distances = dict(nx.all_pairs_shortest_path_length(g.to_networkx()))
    for v in range(g.num_nodes):
        ball = grow_ball(edges, v, loop, ball)
        bounds, nodes, degrees, rows, columns, table = ball
        for k in range(depth + 1):
            level = nodes[bounds[k] : bounds[k + 1]].tolist()
            assert sorted(level) == [
                u for u in range(g.num_nodes) if distances[v].get(u) == k
            ]
        for a in range(bounds[-1]):
            assert degrees[a] == g.degrees[nodes[a]] + loop
        for a in range(bounds[-2]):
            near = nodes[columns[rows[a] : rows[a + 1]]].tolist()
            own = [int(nodes[a])] * loop
            assert sorted(near) == sorted(own + g.neighbors(nodes[a]).tolist())
        assert (table[:, 0] == -1).all()


@settings(max_examples=50)
@given(g=graphs(max_nodes=9), depth=st.integers(1, 4), loop=st.integers(0, 1))
def test_a_ball_is_what_a_search_finds(g: Graph, depth: int, loop: int) -> None:
    check_balls(g, depth, loop)


@pytest.mark.parametrize("loop", [0, 1])
def test_balls_that_outgrow_their_memory(loop: int) -> None:
    """Hubs, so that one level is many times as large as all before it."""
    rng = np.random.default_rng(2)
    hubs = barabasi_albert_graph(250, 2, rng)
    check_balls(hubs.disjoint_union(path_graph(40)), 3, loop)
    check_balls(star(200).disjoint_union(star(3)), 2, loop)


@pytest.mark.parametrize("with_centre", [True, False])
def test_local_balls_are_induced_subgraphs(with_centre: bool) -> None:
    g = barabasi_albert_graph(200, 2, np.random.default_rng(3))
    position = np.full(g.num_nodes, -1, dtype=np.int32)
    distances = dict(nx.all_pairs_shortest_path_length(g.to_networkx()))
    for v in range(g.num_nodes):
        nodes, bounds, rows, columns = local_ball(g.csr, v, 2, with_centre, 1, position)
        assert (position == -1).all()
        for k in range(3):
            level = nodes[bounds[k] : bounds[k + 1]].tolist()
            assert sorted(level) == [
                u for u in range(g.num_nodes) if distances[v].get(u) == k
            ]
        inside = g.induced(nodes).adjacency() + np.eye(nodes.size)
        if not with_centre:
            inside[0, 1:] = inside[1:, 0] = 0
        got = np.zeros_like(inside)
        for i in range(nodes.size):
            got[i, columns[rows[i] : rows[i + 1]]] += 1
        np.testing.assert_array_equal(got, inside)
