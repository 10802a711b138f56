"""Shells, contexts and isomorphism of ego-nets by their definitions."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from studies.theorem1.ego_nets import (
    context_sums,
    internal_labels,
    rooted_core,
    rooted_labels,
    shells_of,
)
from tests.brute_force import distances

from sekgnn.graphs import Graph, pack, petersen_graph, random_regular_graph
from sekgnn.testing import graphs
from sekgnn.wl.graph_classes import canonical_form


def ego(g: nx.Graph, v: int, radius: int) -> nx.Graph:
    net = nx.ego_graph(g, v, radius)
    nx.set_node_attributes(net, {u: u == v for u in net}, "root")
    return net


def same_root(a: dict[str, bool], b: dict[str, bool]) -> bool:
    return a["root"] == b["root"]


def nothing(n: int) -> np.ndarray:
    return np.zeros(n, dtype=np.int64)


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), radius=st.integers(1, 3), degree=st.integers(3, 4))
def test_labels_are_isomorphism(seed: int, radius: int, degree: int) -> None:
    """Rooted ego-nets, and internal substructures without root, by brute force."""
    g = random_regular_graph(14, degree, np.random.default_rng(seed))
    x = g.to_networkx()
    rooted = rooted_labels(pack([g]), radius, nothing(14))
    internal = internal_labels(pack([g]), radius, np.arange(14), nothing(14))
    nets = [ego(x, v, radius) for v in range(14)]
    inner = [nx.Graph(list(nets[v].subgraph(set(nets[v]) - {v}).edges)) for v in x]
    for u, v in combinations(range(14), 2):
        expected = nx.is_isomorphic(nets[u], nets[v], node_match=same_root)
        assert (rooted[u] == rooted[v]) == expected
        assert (internal[u] == internal[v]) == nx.is_isomorphic(inner[u], inner[v])
        if rooted[u] == rooted[v]:
            assert internal[u] == internal[v]


@settings(max_examples=40)
@given(graphs(min_nodes=2, max_nodes=8), st.integers(1, 2))
def test_internal_substructures_of_any_graph(g: Graph, radius: int) -> None:
    """Neighbours that are joined to the root alone are no part of them."""
    n, x = g.num_nodes, g.to_networkx()
    internal = internal_labels(pack([g]), radius, np.arange(n), nothing(n))
    nets = [nx.ego_graph(x, v, radius, center=False) for v in range(n)]
    inner = [nx.Graph(list(net.edges)) for net in nets]
    for u, v in combinations(range(n), 2):
        assert (internal[u] == internal[v]) == nx.is_isomorphic(inner[u], inner[v])


def test_candidates_only_split_further() -> None:
    g = pack([petersen_graph()])
    assert rooted_labels(g, 2, nothing(10)).max() == 0
    parity = np.arange(10) % 2
    np.testing.assert_array_equal(rooted_labels(g, 2, parity), parity)
    np.testing.assert_array_equal(internal_labels(g, 2, nothing(10), parity), parity)
    assert rooted_labels(g, 2, np.arange(10)).tolist() == list(range(10))


@given(graphs(min_nodes=1, max_nodes=7), graphs(min_nodes=1, max_nodes=7), st.data())
def test_canonical_forms(a: Graph, b: Graph, data: st.DataObject) -> None:
    """Equal for coloured copies, and equal only for them."""

    def form(g: Graph, colours: list[int]) -> bytes:
        row, col = g.edge_index()
        edges = np.stack([row, col], axis=1)[row < col].astype(np.int32)
        return canonical_form(np.array(colours, np.int32), edges)

    def coloured(g: Graph, colours: list[int]) -> nx.Graph:
        x = g.to_networkx()
        nx.set_node_attributes(x, dict(enumerate(colours)), "root")
        return x

    n, m = a.num_nodes, b.num_nodes
    of_a = data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    of_b = data.draw(st.lists(st.integers(0, 1), min_size=m, max_size=m))
    perm = data.draw(st.permutations(range(n)))
    moved = [of_a[perm.index(v)] for v in range(n)]
    assert form(a, of_a) == form(a.relabel(perm), moved)
    same = nx.is_isomorphic(coloured(a, of_a), coloured(b, of_b), node_match=same_root)
    assert (form(a, of_a) == form(b, of_b)) == same


@pytest.mark.parametrize(("radius", "nodes", "edges"), [(1, 1, 0), (2, 10, 15)])
def test_core_of_the_petersen_graph(radius: int, nodes: int, edges: int) -> None:
    """Within 1 a tree, of which only the root is left; within 2 all of it."""
    g = petersen_graph()
    place = np.full(10, -1, dtype=np.int32)
    depths, pairs = rooted_core(g.csr, 3, radius, place)
    assert (depths.size, len(pairs)) == (nodes, edges)
    assert depths[0] == 0
    assert (place == -1).all()


@settings(max_examples=50)
@given(graphs(min_nodes=1, max_nodes=8), st.integers(1, 4))
def test_shells(g: Graph, radius: int) -> None:
    counts = shells_of(pack([g]), radius)
    near = [set(g.neighbors(v).tolist()) for v in range(g.num_nodes)]
    for v, reach in enumerate(distances(g)):
        shells = [{u for u in reach if reach[u] == k} for k in range(radius + 1)]
        assert counts.sizes[v].tolist() == [len(shell) for shell in shells]
        inside = [
            sum(b in near[a] for a, b in combinations(shell, 2)) for shell in shells
        ]
        assert counts.inside[v].tolist() == inside
        for k in range(radius):
            parents = Counter(len(near[u] & shells[k]) for u in shells[k + 1])
            most = counts.configurations.shape[2]
            expected = [parents[i] for i in range(1, most + 1)]
            assert counts.configurations[v, k].tolist() == expected


@settings(max_examples=50)
@given(graphs(min_nodes=1, max_nodes=9), st.integers(1, 3), st.integers(0, 99))
def test_context_is_the_multiset_over_a_ball(g: Graph, radius: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=(2, g.num_nodes))
    sums = context_sums(pack([g]), labels, radius, rng)
    reach = distances(g)
    for k in range(radius + 1):
        for t in range(2):
            bags = [
                Counter(labels[t, u] for u in near if near[u] <= k) for near in reach
            ]
            for u, v in combinations(range(g.num_nodes), 2):
                alike = (sums[u, k, t] == sums[v, k, t]).all()
                assert alike == (bags[u] == bags[v])
