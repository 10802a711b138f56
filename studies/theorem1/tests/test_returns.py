"""Exact returns against fractions, and what they can and cannot know."""

from __future__ import annotations

import random
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from studies.theorem1.returns import (
    pairs_across,
    pairs_within,
    prefix_labels,
    return_residues,
    together,
)
from tests.brute_force import distances, landing

from sekgnn.errors import ConfigError
from sekgnn.graphs import (
    Graph,
    pack,
    path_graph,
    random_regular_graph,
)
from sekgnn.testing import graphs
from sekgnn.walks.modular import residues

LOOPS = pytest.mark.parametrize("loops", [True, False])


@LOOPS
@settings(max_examples=40)
@given(g=graphs(max_nodes=7), steps=st.integers(1, 7), data=st.data())
def test_residues_are_those_of_the_fractions(
    loops: bool, g: Graph, steps: int, data: st.DataObject
) -> None:
    """On any graph, on the whole of it and on ego-nets of every radius."""
    radius = data.draw(st.none() | st.integers(0, 4))
    returns = return_residues(pack([g]), steps, radius=radius, self_loops=loops)
    assert returns.shape == (g.num_nodes, steps, 2)
    for v, reach in enumerate(distances(g)):
        near = [u for u in reach if radius is None or reach[u] <= radius]
        expected = landing(g, near, steps, loops)[v, v]
        assert returns[v].tolist() == [list(residues(p)) for p in expected]


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), rng=st.randoms())
def test_relabelling_moves_the_residues(seed: int, rng: random.Random) -> None:
    g = random_regular_graph(30, 3, np.random.default_rng(seed))
    perm = rng.sample(range(30), 30)
    both = pack([g, g.relabel(perm)])
    for radius in (None, 2):
        a, b = return_residues(both, 9, radius=radius).reshape(2, 30, 9, 2)
        np.testing.assert_array_equal(b[perm], a)


def test_many_graphs_and_threads_change_nothing() -> None:
    rng = np.random.default_rng(0)
    many = [random_regular_graph(n, 4, rng) for n in (300, 301, 40)]
    alone = [return_residues(pack([g]), 8) for g in many]
    for threads in (1, 2):
        joint = return_residues(pack(many), 8, threads=threads)
        np.testing.assert_array_equal(joint, np.concatenate(alone))


def test_corners() -> None:
    assert return_residues(pack([path_graph(0)]), 3).shape == (0, 3, 2)
    with pytest.raises(ConfigError, match="walk_length must be at least 1"):
        return_residues(pack([path_graph(2)]), 0)
    with pytest.raises(ConfigError, match="radius must be at least 0"):
        return_residues(pack([path_graph(2)]), 1, radius=-1)


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), hops=st.integers(1, 4))
def test_graph_and_ego_net_agree_before_2k_only(seed: int, hops: int) -> None:
    g = pack([random_regular_graph(40, 3, np.random.default_rng(seed))])
    graph_returns, ego = (
        return_residues(g, 2 * hops),
        return_residues(g, 2 * hops, radius=hops),
    )
    np.testing.assert_array_equal(graph_returns[:, :-1], ego[:, :-1])
    all_of_it = return_residues(g, 2 * hops, radius=39)
    np.testing.assert_array_equal(all_of_it, graph_returns)
    if hops < 3:  # then some node of shell K has edges that leave the ego-net
        assert (graph_returns[:, -1] != ego[:, -1]).any()


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6))
def test_self_loops_tell_regular_graphs_nothing_new(seed: int) -> None:
    """(A + I)^t is a sum of powers of A: equal prefixes of one, of the other too."""
    g = pack([random_regular_graph(24, 3, np.random.default_rng(seed))])
    with_loops, without = (
        prefix_labels(return_residues(g, 10, self_loops=loops))
        for loops in (True, False)
    )
    for a, b in zip(with_loops, without, strict=True):
        classes = together(a, b).max() + 1
        assert classes == a.max() + 1 == b.max() + 1


columns = st.integers(0, 12).flatmap(
    lambda n: st.lists(
        st.lists(st.integers(-2, 2), min_size=n, max_size=n), min_size=1, max_size=4
    )
)


@given(columns)
def test_together_is_equality_of_all(rows: list[list[int]]) -> None:
    label = together(*(np.array(row, dtype=np.int64) for row in rows))
    tuples = list(zip(*rows, strict=True))
    for i, j in combinations(range(len(tuples)), 2):
        assert (label[i] == label[j]) == (tuples[i] == tuples[j])
    assert sorted({*label.tolist()}) == list(range(len({*tuples})))


@given(columns)
def test_pairs(rows: list[list[int]]) -> None:
    label, graph = (np.array(row, dtype=np.int64) for row in (rows[0], rows[-1]))
    pairs = list(combinations(range(label.size), 2))
    same = [(i, j) for i, j in pairs if label[i] == label[j]]
    assert pairs_within(label) == len(same)
    across = sum(graph[i] != graph[j] for i, j in same)
    assert pairs_across(label, graph) == across


@given(st.integers(0, 10**6))
def test_prefixes_only_refine(seed: int) -> None:
    values = np.random.default_rng(seed).integers(2, size=(9, 4, 2))
    labels = prefix_labels(values)
    for t in range(4):
        for i, j in combinations(range(9), 2):
            equal = bool((values[i, : t + 1] == values[j, : t + 1]).all())
            assert (labels[t, i] == labels[t, j]) == equal
