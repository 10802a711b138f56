"""Pattern counts against the definition: try every way to place the pattern."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sekgnn.datasets import CountingDataset, pattern_counts
from sekgnn.datasets.counting import PATTERNS
from sekgnn.graphs import Graph, complete_graph, cycle_graph, path_graph, petersen_graph
from sekgnn.testing import graphs

Edges = list[tuple[int, int]]


def cycle(n: int) -> Edges:
    return [(i, (i + 1) % n) for i in range(n)]


SHAPES: dict[str, tuple[int, Edges, bool]] = {  # nodes, edges, induced
    "triangle": (3, cycle(3), False),
    "tailed_triangle": (4, [*cycle(3), (0, 3)], False),
    "star3": (4, [(0, 1), (0, 2), (0, 3)], False),
    "cycle4": (4, cycle(4), False),
    "cycle5": (5, cycle(5), False),
    "cycle6": (6, cycle(6), False),
    "diamond": (4, [*cycle(4), (0, 2)], False),
    "diamond_induced": (4, [*cycle(4), (0, 2)], True),
    "tailed_triangle_induced": (4, [*cycle(3), (0, 3)], True),
    "k4": (4, list(itertools.combinations(range(4), 2)), False),
}


def brute_force(graph: Graph, size: int, edges: Edges, induced: bool) -> int:
    """Count the different sets of edges that are a copy of the pattern."""
    adjacency = graph.adjacency()
    found = set()
    for place in itertools.permutations(range(graph.num_nodes), size):
        if not all(adjacency[place[u], place[v]] for u, v in edges):
            continue
        inside = adjacency[np.ix_(place, place)].sum() // 2
        if not induced or inside == len(edges):
            found.add(frozenset(frozenset((place[u], place[v])) for u, v in edges))
    return len(found)


def custom(graph: Graph) -> float:
    a = graph.adjacency().astype(float)
    ones = np.ones(graph.num_nodes)
    return float((a @ np.diag(np.exp(-a @ a @ ones)) @ a).sum())


@settings(max_examples=40)
@given(graphs(max_nodes=7))
def test_counts_match_the_definition(graph: Graph) -> None:
    counts = dict(zip(PATTERNS, pattern_counts([graph])[0].tolist(), strict=True))
    assert counts.pop("custom") == pytest.approx(custom(graph), abs=1e-12)
    assert counts == {name: brute_force(graph, *s) for name, s in SHAPES.items()}


@given(st.lists(graphs(max_nodes=8), max_size=6), st.randoms())
def test_each_graph_is_counted_alone_and_names_do_not_matter(
    many: list[Graph], rng: random.Random
) -> None:
    together = pattern_counts(many)
    assert together.shape == (len(many), 11)
    for graph, row in zip(many, together, strict=True):
        perm = rng.sample(range(graph.num_nodes), graph.num_nodes)
        np.testing.assert_allclose(pattern_counts([graph.relabel(perm)])[0], row)


@given(graphs(max_nodes=7), graphs(max_nodes=7))
def test_counts_add_up_over_a_disjoint_union(a: Graph, b: Graph) -> None:
    both = pattern_counts([a.disjoint_union(b)])[0]
    np.testing.assert_allclose(both, pattern_counts([a, b]).sum(0), atol=1e-12)


def test_known_counts() -> None:
    names = ("triangle", "cycle4", "cycle5", "cycle6", "k4", "star3")
    columns = [PATTERNS.index(name) for name in names]
    known = {
        complete_graph(6): [20, 45, 72, 60, 15, 60],
        petersen_graph(): [0, 0, 12, 10, 0, 10],
        cycle_graph(6): [0, 0, 0, 1, 0, 0],
        path_graph(1): [0] * 6,
        path_graph(0): [0] * 6,
    }
    for graph, counts in known.items():
        assert pattern_counts([graph])[0, columns].tolist() == counts


@pytest.mark.dataset
def test_counts_equal_the_stored_targets_on_all_graphs(data_root: Path) -> None:
    dataset = CountingDataset(data_root)
    difference = np.abs(pattern_counts(dataset) - dataset.targets).max(axis=0)
    limit = [0.0] * 11
    limit[PATTERNS.index("custom")] = 1e-14
    assert len(dataset) == 5000
    assert (difference <= limit).all(), dict(zip(PATTERNS, difference, strict=True))
