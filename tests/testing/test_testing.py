"""The helpers find what they should find."""

from __future__ import annotations

import random
import subprocess
import sys

import networkx as nx
import numpy as np
import pytest
from hypothesis import find, given
from hypothesis import strategies as st

from sekgnn.errors import ConfigError
from sekgnn.graphs import Graph, complete_graph, path_graph
from sekgnn.testing import assert_permutation_equivariant, graphs


@given(graphs(min_nodes=2, max_nodes=5))
def test_limits(g: Graph) -> None:
    assert 2 <= g.num_nodes <= 5
    a = g.adjacency()
    assert np.array_equal(a, a.T) and not a.diagonal().any()


def test_all_kinds_are_drawn() -> None:
    """How far a find shrinks is hypothesis' affair; that it finds is ours."""
    assert find(graphs(), lambda g: True) == path_graph(0)
    assert find(graphs(4, 4), lambda g: g.num_edges == 6) == complete_graph(4)
    assert find(graphs(), lambda g: g.num_nodes == 3).num_nodes == 3
    connected = find(graphs(4), lambda g: bool(nx.is_connected(g.to_networkx())))
    assert connected.num_edges >= connected.num_nodes - 1
    isolated = find(graphs(), lambda g: g.num_edges > 0 and not g.degrees.all())
    assert 0 < isolated.num_edges < isolated.num_nodes * (isolated.num_nodes - 1) / 2


def test_limits_are_checked() -> None:
    with pytest.raises(ConfigError, match="below min_nodes=3"):
        graphs(min_nodes=3, max_nodes=2)
    with pytest.raises(ConfigError):
        graphs(min_nodes=-1)


@given(graphs(), st.randoms())
def test_equivariant_functions_pass(g: Graph, rng: random.Random) -> None:
    perm = rng.sample(range(g.num_nodes), g.num_nodes)
    for function in (
        lambda g: g.degrees,
        lambda g: np.stack([g.degrees, g.adjacency() @ g.degrees], axis=1) / 3,
    ):
        assert_permutation_equivariant(function, g, perm)


def test_functions_that_are_not_equivariant_fail() -> None:
    g = path_graph(3)
    with pytest.raises(AssertionError, match="not permutation equivariant"):
        assert_permutation_equivariant(lambda g: np.arange(g.num_nodes), g, [1, 0, 2])
    with pytest.raises(AssertionError, match="not permutation equivariant"):
        # the right values, in the inverse order: perm must not be an involution
        assert_permutation_equivariant(
            lambda h: h.degrees[[2, 0, 1]] if h == g else h.degrees, g, [1, 2, 0]
        )
    with pytest.raises(AssertionError, match="one row for each of 3 nodes"):
        assert_permutation_equivariant(lambda g: g.num_edges, g, [0, 1, 2])
    with pytest.raises(AssertionError, match="one row for each"):
        assert_permutation_equivariant(lambda g: np.zeros(4), g, [0, 1, 2])


def test_tolerance() -> None:
    g = path_graph(2)

    def noisy(h: Graph) -> object:
        return np.array([0.0, 1e-6]) if h.num_nodes else None

    with pytest.raises(AssertionError):
        assert_permutation_equivariant(noisy, g, [1, 0])
    assert_permutation_equivariant(noisy, g, [1, 0], atol=1e-5)


def test_without_hypothesis() -> None:
    code = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "from sekgnn.errors import MissingExtraError\n"
        "try:\n    import sekgnn.testing\n"
        "except MissingExtraError as error:\n    print(error)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert "pip install 'sekgnn[dev]'" in run.stdout
