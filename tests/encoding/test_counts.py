"""Pattern counts and walk counts against their definitions."""

from __future__ import annotations

from itertools import combinations, pairwise, permutations
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sekgnn.encoding import PatternCounts, WalkCounts, encode, encode_many
from sekgnn.encoding.patterns import PATTERNS
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs import (
    Graph,
    complete_graph,
    cycle_graph,
    pack,
    path_graph,
    rook_graph,
    shrikhande_graph,
)
from sekgnn.testing import graphs
from sekgnn.walks.modular import PRIMES

BOTH = (PatternCounts(PATTERNS), WalkCounts(num_shells=2, walk_length=4))


def brute_force_patterns(graph: Graph) -> Any:
    """Try every cycle and every clique."""
    a = graph.adjacency()
    out = np.zeros((graph.num_nodes, len(PATTERNS)), dtype=int)
    for column, name in enumerate(PATTERNS):
        size = int(name[-1])
        for nodes in combinations(range(graph.num_nodes), size):
            if name.startswith("clique"):
                count = all(a[u, v] for u, v in combinations(nodes, 2))
            else:
                count = sum(
                    all(a[u, v] for u, v in pairwise(order))
                    and a[nodes[0], order[0]]
                    and a[order[-1], nodes[0]]
                    for order in permutations(nodes[1:])
                ) // 2  # fmt: skip
            out[list(nodes), column] += count
    return out


def brute_force_walks(graph: Graph, num_shells: int, walk_length: int) -> Any:
    """Powers of A in Python's integers, sums by their definition."""
    n = graph.num_nodes
    distance = dict(nx.all_pairs_shortest_path_length(graph.to_networkx()))
    power = np.eye(n, dtype=object)
    out = np.zeros((n, 1 + 3 * num_shells, walk_length), dtype=object)
    for t in range(walk_length):
        power = power @ graph.adjacency().astype(object)
        for v in range(n):
            out[v, 0, t] = power[v, v]
            for k in range(1, num_shells + 1):
                shell = [u for u in range(n) if distance[v].get(u) == k]
                pairs = [(i, j) for i in shell for j in shell]
                out[v, k, t] = sum(power[v, i] for i in shell)
                out[v, num_shells + k, t] = sum(power[i, i] for i in shell)
                rest = (power[i, j] for i, j in pairs if i != j)
                out[v, 2 * num_shells + k, t] = sum(rest)
    return out


@given(graphs(max_nodes=7))
@settings(max_examples=40)
def test_patterns_match_the_definition(graph: Graph) -> None:
    values = encode(graph, PatternCounts(PATTERNS))
    np.testing.assert_array_equal(values[:, :, 0], brute_force_patterns(graph))
    some = PatternCounts(("clique5", "cycle4"))
    columns = [PATTERNS.index("clique5"), PATTERNS.index("cycle4")]
    np.testing.assert_array_equal(encode(graph, some), values[:, columns])


@given(graphs(max_nodes=7), st.integers(1, 3), st.integers(1, 6))
@settings(max_examples=40)
def test_walks_match_the_definition(graph: Graph, shells: int, length: int) -> None:
    encoding = WalkCounts(shells, length)
    expected = brute_force_walks(graph, shells, length)
    np.testing.assert_array_equal(encode(graph, encoding), expected.astype(float))
    residues = np.stack([expected % p for p in PRIMES], axis=-1).astype(np.int64)
    np.testing.assert_array_equal(encoding.exact(pack([graph])), residues)


@pytest.mark.parametrize("encoding", BOTH)
@given(graph=graphs(max_nodes=8), rng=st.randoms())
@settings(max_examples=25)
def test_relabelling_moves_the_values_along(
    encoding: Any, graph: Graph, rng: Any
) -> None:
    perm = rng.sample(range(graph.num_nodes), graph.num_nodes)
    moved = encode(graph.relabel(perm), encoding)
    np.testing.assert_array_equal(moved[perm], encode(graph, encoding))


@pytest.mark.parametrize("encoding", BOTH)
def test_corners_and_many_graphs(encoding: Any) -> None:
    """No nodes, one node, no edges, two parts, K beyond the diameter."""
    empty = [Graph.from_edge_index(np.zeros((2, 0), int), n) for n in (0, 1, 3)]
    several = [*empty, path_graph(2), cycle_graph(5).disjoint_union(path_graph(3))]
    several += [complete_graph(6)] * 40
    parts = encode_many(several, encoding, threads=2)
    for graph, part in zip(several, parts, strict=True):
        np.testing.assert_array_equal(part, encode(graph, encoding))
    assert not parts[2].any()


def test_logarithms_are_for_networks_only() -> None:
    packed = pack([complete_graph(5), cycle_graph(4)])
    for plain, log in (
        (PatternCounts(), PatternCounts(log1p=True)),
        (WalkCounts(), WalkCounts(log1p=True)),
    ):
        np.testing.assert_array_equal(log.exact(packed), plain.exact(packed))
        np.testing.assert_allclose(log.encode(packed), np.log1p(plain.encode(packed)))


def test_large_numbers_are_exact_or_refused() -> None:
    """K_40, 80 steps: 2^422 walks; residues of Python's integers, floats, an error."""
    encoding, n, length = WalkCounts(1, 80), 40, 80
    closed = ((n - 1) ** length + (n - 1)) // n
    packed = pack([complete_graph(n)])
    values = encoding.exact(packed)[0, 0, -1]
    assert values.tolist() == [closed % p for p in PRIMES]
    assert encode(complete_graph(n), encoding)[0, 0, -1] == pytest.approx(closed)
    with pytest.raises(ConfigError, match="in float32; scale them"):
        encode(complete_graph(n), encoding, dtype=np.float32)
    encode(complete_graph(n), WalkCounts(1, 80, log1p=True), dtype=np.float32)


def test_too_many_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sekgnn.encoding.exact.PAIRS_LIMIT", 3)
    with pytest.raises(GraphInputError, match="handles up to 3 nodes; a graph has 4"):
        encode(path_graph(4), "walk_counts")


def test_strongly_regular_graphs() -> None:
    """Walks on all of G are blind to rook against Shrikhande, cliques are not."""
    rook, other = rook_graph(4), shrikhande_graph()
    np.testing.assert_array_equal(
        encode(rook, WalkCounts()), encode(other, WalkCounts())
    )
    clique4 = PatternCounts("clique4")  # type: ignore[arg-type]
    assert (encode(rook, clique4) == 2).all()
    assert not encode(other, clique4).any()


@pytest.mark.parametrize(
    ("patterns", "message"),
    [
        ((), "must not be empty"),
        (("cycle9",), "Did you mean 'cycle8'"),
        (("cycle3", "cycle3"), "must not repeat"),
    ],
)
def test_unknown_patterns(patterns: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        PatternCounts(patterns)
