"""Landing and return probabilities against matrices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sekgnn.errors import ConfigError
from sekgnn.graphs import (
    Graph,
    barabasi_albert_graph,
    path_graph,
    petersen_graph,
    random_graph,
)
from sekgnn.testing import graphs
from sekgnn.walks import (
    landing_probabilities,
    modular_landing,
    return_probabilities,
)
from sekgnn.walks.between import STEPS, walks_between


def matrix_powers(g: Graph, length: int, self_loops: bool) -> np.ndarray:
    a = g.adjacency() + self_loops * np.eye(g.num_nodes)
    degrees = a.sum(1, keepdims=True)
    p = np.divide(a, degrees, out=np.zeros_like(a), where=degrees > 0)
    powers = [np.linalg.matrix_power(p, t) for t in range(1, length + 1)]
    return np.array(powers).reshape(length, g.num_nodes, g.num_nodes)


@settings(max_examples=60)
@given(g=graphs(max_nodes=10), length=st.integers(1, 9), loops=st.booleans())
def test_probabilities_are_powers_of_the_transition_matrix(
    g: Graph, length: int, loops: bool
) -> None:
    expected = matrix_powers(g, length, loops)
    landing = landing_probabilities(g, length, self_loops=loops)
    np.testing.assert_allclose(landing, expected, rtol=0, atol=1e-13)
    returns = return_probabilities(g, length, self_loops=loops)
    diagonal = np.diagonal(expected, axis1=1, axis2=2).T
    np.testing.assert_allclose(returns, diagonal, rtol=0, atol=1e-13)


@settings(max_examples=30)
@given(g=graphs(max_nodes=8))
@example(g=barabasi_albert_graph(40, 3, np.random.default_rng(0)))
def test_walks_between_two_nodes_do_not_take_the_edge_between_them(g: Graph) -> None:
    """For all pairs, in either order, against powers for the graph without the edge."""
    n, edges = g.num_nodes, g.edge_index().T
    pairs = np.array([(u, v) for u in range(n) for v in range(n)]).reshape(-1, 2)
    scores = walks_between(g, pairs).reshape(n, n, len(STEPS))
    np.testing.assert_array_equal(scores, scores.transpose(1, 0, 2))
    for u, v in pairs[pairs[:, 0] != pairs[:, 1]].tolist():
        kept = [e for e in edges.tolist() if set(e) != {u, v}]
        rest = Graph.from_edge_index(np.array(kept, int).reshape(-1, 2).T, n)
        powers = matrix_powers(rest, STEPS[-1], False)
        landing = powers[np.array(STEPS) - 1, u, v] / max(rest.degrees[v], 1)
        expected = np.log1p(2 * g.num_edges * landing)
        np.testing.assert_allclose(scores[u, v], expected, rtol=0, atol=1e-12)


def test_rows_are_distributions() -> None:
    landing = landing_probabilities(petersen_graph(), 20)
    np.testing.assert_allclose(landing.sum(2), 1, atol=1e-13)
    assert (landing >= 0).all()


def test_threads_change_nothing() -> None:
    g = random_graph(3000, 0.001, np.random.default_rng(0))
    one = return_probabilities(g, 6, threads=1)
    np.testing.assert_array_equal(return_probabilities(g, 6, threads=2), one)


def test_no_nodes() -> None:
    assert landing_probabilities(path_graph(0), 3).shape == (3, 0, 0)
    assert return_probabilities(path_graph(0), 3).shape == (0, 3)


def test_a_walk_has_at_least_one_step() -> None:
    for probabilities in (landing_probabilities, return_probabilities, modular_landing):
        with pytest.raises(ConfigError, match="walk_length must be at least 1"):
            probabilities(path_graph(3), -1)
