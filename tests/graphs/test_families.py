"""Named families against networkx and their known parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import igraph
import networkx as nx
import numpy as np
import pytest

from sekgnn.errors import ConfigError
from sekgnn.graphs import (
    Graph,
    circulant_graph,
    complete_graph,
    csl_graph,
    cycle_graph,
    from_networkx,
    path_graph,
    petersen_graph,
    rook_graph,
    shrikhande_graph,
)
from sekgnn.graphs.triangle import pair_rank, pair_unrank


def isomorphic(a: Graph, b: Graph) -> bool:
    one, two = (
        igraph.Graph(g.num_nodes, g.edge_index().T.tolist()).simplify() for g in (a, b)
    )
    return bool(one.isomorphic(two))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7])
def test_paths_and_complete_graphs(n: int) -> None:
    assert path_graph(n) == from_networkx(nx.path_graph(n))
    assert complete_graph(n) == from_networkx(nx.complete_graph(n))


@pytest.mark.parametrize("n", [3, 4, 9])
def test_cycles(n: int) -> None:
    assert cycle_graph(n) == from_networkx(nx.cycle_graph(n))


@pytest.mark.parametrize(
    ("n", "jumps"), [(8, [1, 2]), (6, [3]), (6, [2, 4]), (5, [7]), (1, []), (4, [2, 2])]
)
def test_circulants(n: int, jumps: list[int]) -> None:
    assert circulant_graph(n, jumps) == from_networkx(nx.circulant_graph(n, jumps))


def strongly_regular(g: Graph) -> tuple[int, int, int, int]:
    """Return (n, k, common neighbours of an edge, of a non-edge), or fail."""
    a = g.adjacency()
    square = a @ a
    off = ~np.eye(g.num_nodes, dtype=bool)
    (k,) = set(g.degrees.tolist())
    (edge,) = set(square[a == 1].tolist())
    (other,) = set(square[(a == 0) & off].tolist())
    return g.num_nodes, k, edge, other


def test_strongly_regular_graphs() -> None:
    assert strongly_regular(rook_graph(4)) == (16, 6, 2, 2)
    assert strongly_regular(shrikhande_graph()) == (16, 6, 2, 2)
    assert strongly_regular(petersen_graph()) == (10, 3, 0, 1)
    assert not isomorphic(rook_graph(4), shrikhande_graph())
    assert isomorphic(petersen_graph(), from_networkx(nx.petersen_graph()))


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 4), (3, 5), (4, None)])
def test_rook_is_a_product_of_complete_graphs(n: int, m: int | None) -> None:
    product = nx.cartesian_product(nx.complete_graph(n), nx.complete_graph(m or n))
    assert rook_graph(n, m) == from_networkx(product)


def test_csl() -> None:
    skips = (2, 3, 4, 5, 6, 9, 11, 12, 13, 16)
    many = [csl_graph(41, skip) for skip in skips]
    assert all((g.degrees == 4).all() and g.num_edges == 82 for g in many)
    assert not any(isomorphic(many[0], other) for other in many[1:])
    assert csl_graph(41, 3) == csl_graph(41, 38)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (path_graph, (-1,)),
        (path_graph, (2.0,)),
        (cycle_graph, (2,)),
        (complete_graph, (True,)),
        (circulant_graph, (0, [1])),
        (circulant_graph, (4, [4])),
        (circulant_graph, (4, [0])),
        (csl_graph, (41, 1)),
        (csl_graph, (41, 40)),
        (csl_graph, (12, 4)),
        (csl_graph, (4, 3)),
        (rook_graph, (0,)),
        (rook_graph, (2, 0)),
    ],
)
def test_impossible_parameters(function: Callable[..., Graph], args: Any) -> None:
    with pytest.raises(ConfigError):
        function(*args)


def test_pair_numbering() -> None:
    expected = [(i, j) for j in range(60) for i in range(j)]
    i, j = pair_unrank(np.arange(len(expected)))
    assert list(zip(i.tolist(), j.tolist(), strict=True)) == expected
    far = np.array([2**61, 2**60 + 12345, (2**30) * (2**30 - 1) // 2])
    far = np.concatenate([far, far - 1, far + 1])
    np.testing.assert_array_equal(pair_rank(*pair_unrank(far)), far)
    i, j = pair_unrank(far)
    assert ((i >= 0) & (i < j)).all()
