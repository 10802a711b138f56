"""The ten families before rewiring, and what rewiring does."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from numpy.typing import NDArray

from sekgnn.datasets.graph_property import FAMILIES, _rewired, benchmark_graph

SIZES = (15, 16, 17, 20, 24)


def make(family: str, n: int, seed: int = 0) -> nx.Graph:
    matrix = FAMILIES[family][1](n, np.random.default_rng(seed))
    assert matrix.shape == (n, n) and not matrix.diagonal().any()
    assert np.array_equal(matrix, matrix.T)
    return nx.from_numpy_array(matrix.astype(int))


@pytest.mark.parametrize("n", SIZES)
def test_fixed_families_are_those_of_networkx(n: int) -> None:
    small = max(i for i in range(1, 5) if n % i == 0)
    ladder = nx.ladder_graph(n // 2)
    if n % 2:
        ladder.add_edge(0, n - 1)
    same = {
        "grid": nx.grid_2d_graph(small, n // small),
        "caveman": nx.caveman_graph(small, n // small),
        "ladder": ladder,
        "line": nx.path_graph(n),
        "star": nx.star_graph(n - 1),
    }
    for family, graph in same.items():
        assert nx.is_isomorphic(make(family, n), graph), family


@pytest.mark.parametrize("family", ["tree", "caterpillar", "lobster"])
@pytest.mark.parametrize("seed", range(8))
def test_tree_families_are_trees_of_their_kind(family: str, seed: int) -> None:
    graph = make(family, SIZES[seed % 5], seed)
    assert nx.is_tree(graph)
    for _ in range(2 if family == "lobster" else 1):  # pruning leaves leaves a path
        graph = graph.subgraph([v for v, d in graph.degree if d > 1]).copy()
    assert max((d for _, d in graph.degree), default=0) <= 2


def test_some_lobsters_are_no_caterpillars() -> None:
    def rest(seed: int) -> int:
        graph = make("lobster", 20, seed)
        inner = graph.subgraph([v for v, d in graph.degree if d > 1])
        return max((d for _, d in inner.degree), default=0)

    assert max(rest(seed) for seed in range(20)) > 2


def test_degrees_of_a_tree_follow_the_power_law_of_networkx() -> None:
    """The same numbers of leaves and of forks, within five standard errors."""

    def table(trees: list[nx.Graph]) -> NDArray[np.int64]:
        degrees = [np.array([d for _, d in tree.degree]) for tree in trees]
        return np.array([[(d == 1).sum(), (d > 3).sum(), d.max()] for d in degrees])

    a = table([make("tree", 24, seed) for seed in range(300)])
    b = table([nx.random_powerlaw_tree(24, seed=s, tries=10000) for s in range(300)])
    error = np.sqrt((a.var(0) + b.var(0)) / 300)
    assert (np.abs(a.mean(0) - b.mean(0)) <= 5 * error).all()


def test_density_of_the_dense_families_is_drawn_anew() -> None:
    for family in ("erdos_renyi", "barabasi_albert"):
        edges = [make(family, 20, seed).number_of_edges() for seed in range(40)]
        assert min(edges) < 40 and max(edges) >= 99, family


def test_probabilities_sum_to_one() -> None:
    assert sum(weight for weight, _ in FAMILIES.values()) == pytest.approx(1)


def test_rewiring_drops_two_percent_of_the_edges() -> None:
    rng = np.random.default_rng(5)
    star = np.zeros((20, 20), dtype=np.bool_)
    star[0, 1:] = star[1:, 0] = True
    kept = added = 0
    for _ in range(3000):
        matrix = _rewired(star, rng)
        assert np.array_equal(matrix, matrix.T) and not matrix.diagonal().any()
        kept += int((matrix & star).sum()) // 2
        added += int((matrix & ~star).sum()) // 2
    assert kept / (3000 * 19) == pytest.approx(0.98, abs=0.004)
    appear = 2 * (0.1 * 19 / 171) ** 2
    assert added / (3000 * 171) == pytest.approx(appear, rel=0.3)
    full = ~np.eye(6, dtype=np.bool_)
    assert np.array_equal(_rewired(full, rng), full)


def test_no_node_is_isolated() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        assert benchmark_graph(15, rng).any(axis=0).all()
