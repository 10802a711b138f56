"""The definition itself: worked out by hand, and the laws of a walk."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

from sekgnn.encoding import WalkEncoding, reference_encoding
from sekgnn.encoding.walk_encoding import Scope
from sekgnn.graphs import Graph, cycle_graph, path_graph
from sekgnn.testing import graphs

ONE = Fraction(1)


def test_the_middle_of_a_path_by_hand() -> None:
    """Three nodes in a row, two steps: the middle goes everywhere with 1/3 each.

    From an end the walk stays or goes to the middle; after two steps it is back with
    1/4 + 1/6, in the middle with 1/4 + 1/6, at the other end with 1/6.
    """
    encoding = WalkEncoding(num_shells=2, walk_length=2)
    middle = reference_encoding(path_graph(3), encoding, ONE)[1]
    third, twelfth = Fraction(1, 3), Fraction(1, 12)
    assert middle.tolist() == [
        [third, 4 * twelfth + Fraction(1, 9)],  # f1: 1/3 1/2 + 1/3 1/3 + 1/3 1/2
        [2 * third, 1 - (4 * twelfth + Fraction(1, 9))],  # f2, both ends
        [0, 0],  # there is no second shell
        [1, 10 * twelfth],  # f3: each end with itself,
        [0, 0],
        [0, 4 * twelfth],  # and with the other
        [0, 0],
    ]


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        ("graph", [Fraction(1, 3), Fraction(2, 3), Fraction(2, 3), 0]),
        ("ego", [Fraction(1, 3), Fraction(2, 3), 1, 0]),
        ("internal", [2, 0]),
    ],
)
def test_scopes_of_a_square_by_hand(scope: Scope, expected: list[Fraction]) -> None:
    """After one step; the neighbours of a node are not adjacent to each other."""
    encoding = WalkEncoding(num_shells=1, walk_length=1, scope=(scope,))
    values = reference_encoding(cycle_graph(4), encoding, ONE)
    assert values[:, :, 0].tolist() == [expected] * 4


@settings(max_examples=60)
@given(g=graphs(max_nodes=7))
def test_a_walk_is_always_somewhere(g: Graph) -> None:
    """f1 and all of f2 add up to 1, in the whole graph and in a large ego-net."""
    far = max(g.num_nodes, 1)
    scopes: tuple[Scope, ...] = ("graph", "ego")
    for scope in scopes:
        encoding = WalkEncoding(num_shells=far, walk_length=4, scope=(scope,))
        values = reference_encoding(g, encoding, ONE)
        assert np.all(values[:, : 1 + far].sum(axis=1) == 1)


@settings(max_examples=60)
@given(g=graphs(min_nodes=1, max_nodes=6))
def test_the_internal_scope_is_a_walk_without_the_centre(g: Graph) -> None:
    """Removing node 0 from the graph changes nothing for it."""
    encoding = WalkEncoding(
        num_shells=2, walk_length=3, scope="internal", radius=2, self_loops=False
    )
    row, col = g.edge_index()
    kept = (row > 0) & (col > 0)
    alone = Graph.from_edge_index(np.stack([row, col])[:, kept], g.num_nodes)
    near = [v for v in range(1, g.num_nodes) if _distance(g, v) <= 2]
    h = np.eye(len(near))
    a = alone.adjacency()[np.ix_(near, near)]
    p = a / np.maximum(a.sum(axis=1, keepdims=True), 1)
    shell = np.array([_distance(g, v) for v in near])
    for step in range(3):
        h = h @ p
        own = reference_encoding(g, encoding)[0, :, step]
        for k in (1, 2):
            inside = h[np.ix_(shell == k, shell == k)]
            assert own[k - 1] == pytest.approx(np.trace(inside))
            assert own[k + 1] == pytest.approx(inside.sum() - np.trace(inside))
        across = h[np.ix_(shell == 1, shell == 2)].sum()
        back = h[np.ix_(shell == 2, shell == 1)].sum()
        assert own[4:].tolist() == pytest.approx([across, back])


def _distance(g: Graph, v: int) -> float:
    reached, steps = {0}, 0
    while v not in reached:
        wider = reached | {int(w) for u in reached for w in g.neighbors(u)}
        if wider == reached:
            return np.inf
        reached, steps = wider, steps + 1
    return steps


def test_means_and_moments_by_hand() -> None:
    """A star of three leaves seen from its middle, one step: 1/4 to each, 1/2 back."""
    star = Graph.from_edge_index(np.array([[0, 0, 0], [1, 2, 3]]), 4, undirected="add")

    def of(**keys: str) -> list[Fraction]:
        encoding = WalkEncoding(num_shells=1, walk_length=1, **keys)  # type: ignore[arg-type]
        return [*reference_encoding(star, encoding, ONE)[0, :, 0]]

    quarter, half = Fraction(1, 4), Fraction(1, 2)
    assert of() == [quarter, 3 * quarter, 3 * half, 0]
    assert of(aggregate="mean") == [quarter, quarter, half, 0]
    assert of(aggregate="landing") == [quarter, 3 * quarter, half, 0]
    moments = [3 * quarter**2, 3 * half**2, 0]
    assert of(aggregate="moments") == [quarter, 3 * quarter, 3 * half, 0, *moments]
    assert of(merge="parts") == [quarter, 3 * quarter, 3 * half]
    assert of(merge="mean") == [(quarter + 3 * quarter + 3 * half) / 3]
