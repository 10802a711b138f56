"""Shells, edge configurations and context multisets by their definitions."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sekgnn.graphs import Graph, pack
from sekgnn.studies.balls import context_sums, shells_of
from sekgnn.testing import graphs
from sekgnn.testing.brute_force import distances


@settings(max_examples=50)
@given(graphs(min_nodes=1, max_nodes=8), st.integers(1, 4))
def test_shells(g: Graph, hops: int) -> None:
    found = shells_of(pack([g]), hops)
    near = [set(g.neighbors(v).tolist()) for v in range(g.num_nodes)]
    for v, reach in enumerate(distances(g)):
        shells = [{u for u in reach if reach[u] == k} for k in range(hops + 1)]
        assert found.sizes[v].tolist() == [len(shell) for shell in shells]
        inside = [
            sum(b in near[a] for a, b in combinations(shell, 2)) for shell in shells
        ]
        assert found.inside[v].tolist() == inside
        for k in range(hops):
            parents = Counter(len(near[u] & shells[k]) for u in shells[k + 1])
            most = found.configurations.shape[2]
            expected = [parents[i] for i in range(1, most + 1)]
            assert found.configurations[v, k].tolist() == expected


@settings(max_examples=50)
@given(graphs(min_nodes=1, max_nodes=9), st.integers(1, 3), st.integers(0, 99))
def test_context_is_the_multiset_over_the_ball(g: Graph, hops: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=(2, g.num_nodes))
    sums = context_sums(pack([g]), labels, hops, rng)
    reach = distances(g)
    for k in range(hops + 1):
        for t in range(2):
            bags = [
                Counter(labels[t, u] for u in near if near[u] <= k) for near in reach
            ]
            for u, v in combinations(range(g.num_nodes), 2):
                alike = (sums[u, k, t] == sums[v, k, t]).all()
                assert alike == (bags[u] == bags[v])
