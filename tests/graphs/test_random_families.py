"""Random graphs: exact properties always, distributions by their means."""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sekgnn.errors import ConfigError
from sekgnn.graphs import (
    Graph,
    barabasi_albert_graph,
    complete_graph,
    random_graph,
    random_regular_graph,
)

SEEDS = st.integers(0, 2**32 - 1)


def assert_simple(g: Graph) -> None:
    a = g.adjacency()
    assert np.array_equal(a, a.T) and not a.diagonal().any()
    assert a.sum() == g.indices.size


@given(st.integers(0, 14), st.integers(0, 13), SEEDS)
def test_regular_graphs_are_regular_and_simple(n: int, degree: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    if degree >= max(n, 1) or n * degree % 2:
        with pytest.raises(ConfigError):
            random_regular_graph(n, degree, rng)
        return
    g = random_regular_graph(n, degree, rng)
    assert_simple(g)
    assert g.degrees.tolist() == [degree] * n


@pytest.mark.parametrize(("n", "degree"), [(5, 2), (8, 3), (10, 4), (12, 5)])
def test_repairs_leave_no_new_damage(n: int, degree: int) -> None:
    """Crowded pairings: nearly every draw needs several switches."""
    rng = np.random.default_rng(0)
    for _ in range(400):
        assert (random_regular_graph(n, degree, rng).degrees == degree).all()


def test_regular_graphs_take_every_form() -> None:
    """The 70 labelled 2-regular graphs on 6 nodes: 60 hexagons, 10 triangle pairs."""
    rng = np.random.default_rng(0)
    seen = [random_regular_graph(6, 2, rng) for _ in range(3000)]
    assert len(set(seen)) == 70
    hexagons = np.mean([nx.is_connected(g.to_networkx()) for g in seen])
    assert hexagons == pytest.approx(6 / 7, abs=0.1)


def test_regular_errors_name_the_cause() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ConfigError, match=r"even, got 5 \* 3"):
        random_regular_graph(5, 3, rng)
    with pytest.raises(ConfigError, match="below n=4"):
        random_regular_graph(4, 4, rng)


@given(st.integers(1, 20), st.integers(1, 6), SEEDS)
def test_barabasi_albert(n: int, m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    if m >= n:
        with pytest.raises(ConfigError, match=f"below n={n}"):
            barabasi_albert_graph(n, m, rng)
        return
    g = barabasi_albert_graph(n, m, rng)
    assert_simple(g)
    assert g.num_edges == m * (n - m)
    assert nx.is_connected(g.to_networkx())
    assert (g.degrees[m + 1 :] >= m).all()


def test_barabasi_albert_prefers_high_degrees() -> None:
    """With m = 1, node 3 joins the middle of the path 0-1, 0-2 half of the time."""
    rng = np.random.default_rng(0)
    draws = [barabasi_albert_graph(4, 1, rng) for _ in range(2000)]
    # node 2 joins 0 or 1 (degree 1 each): a path; node 3 joins its middle w.p. 1/2
    stars = np.mean([g.degrees.max() == 3 for g in draws])
    assert stars == pytest.approx(0.5, abs=0.05)


@given(st.integers(0, 12), st.floats(0, 1), SEEDS)
def test_random_graph(n: int, p: float, seed: int) -> None:
    g = random_graph(n, p, np.random.default_rng(seed))
    assert g.num_nodes == n
    assert_simple(g)


def test_random_graph_probabilities() -> None:
    rng = np.random.default_rng(0)
    assert random_graph(6, 1, rng) == complete_graph(6)
    assert random_graph(6, 0, rng).num_edges == 0
    mean = np.mean([random_graph(6, 0.3, rng).adjacency() for _ in range(4000)], axis=0)
    off = ~np.eye(6, dtype=bool)
    np.testing.assert_allclose(mean[off], 0.3, atol=0.04)
    for p in (-0.1, 1.1, float("nan")):
        with pytest.raises(ConfigError, match=r"p must lie in \[0, 1\]"):
            random_graph(3, p, rng)


def test_seeds_decide() -> None:
    makers: list[Callable[[np.random.Generator], Graph]] = [
        lambda rng: random_graph(50, 0.2, rng),
        lambda rng: random_regular_graph(50, 4, rng),
        lambda rng: barabasi_albert_graph(50, 2, rng),
    ]
    for make in makers:
        a, b, c = (make(np.random.default_rng(seed)) for seed in (1, 1, 2))
        assert a == b != c


@pytest.mark.slow
def test_a_million_nodes() -> None:
    g = random_regular_graph(1_000_000, 6, np.random.default_rng(0))
    assert (g.degrees == 6).all()
    key = g.edge_index()[0] * g.num_nodes + g.indices
    assert (np.diff(key) > 0).all()
