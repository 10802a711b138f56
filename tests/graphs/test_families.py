"""Named families, their names, CFI pairs, and random graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import igraph
import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs import (
    GRAPH_NAMES,
    Graph,
    barabasi_albert_graph,
    cfi_pair,
    circulant_graph,
    complete_graph,
    csl_graph,
    cycle_graph,
    from_networkx,
    named_graph,
    path_graph,
    petersen_graph,
    random_graph,
    random_regular_graph,
    rook_graph,
    shrikhande_graph,
)
from sekgnn.graphs.graph6 import pair_unrank


def isomorphic(a: Graph, b: Graph) -> bool:
    one, two = (
        igraph.Graph(g.num_nodes, g.edge_index().T.tolist()).simplify() for g in (a, b)
    )
    return bool(one.isomorphic_bliss(two))


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
    i, j = pair_unrank(far)
    np.testing.assert_array_equal(j * (j - 1) // 2 + i, far)
    assert ((i >= 0) & (i < j)).all()


@pytest.mark.parametrize(
    ("name", "graph"),
    [
        ("path:5", path_graph(5)),
        ("path:0", path_graph(0)),
        ("cycle:6", cycle_graph(6)),
        ("complete:4", complete_graph(4)),
        ("rook:4", rook_graph(4)),
        ("rook:3:5", rook_graph(3, 5)),
        ("shrikhande", shrikhande_graph()),
        (" Petersen ", petersen_graph()),
        ("csl:41:3", csl_graph(41, 3)),
        ("circulant:8:1:2", circulant_graph(8, [1, 2])),
    ],
)
def test_names(name: str, graph: Graph) -> None:
    assert named_graph(name) == graph


def test_unknown_names_list_the_known() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'shrikhande'") as caught:
        named_graph("shrikande")
    assert all(name in str(caught.value) for name in GRAPH_NAMES)


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("rook", "rook:N or rook:N:M"),
        ("rook:1:2:3", "rook:N"),
        ("rook:x", "rook:N"),
        ("rook:-4", "rook:N"),
        ("rook:", "rook:N"),
        ("csl:41", "csl:N:SKIP"),
        ("petersen:3", "form petersen"),
        ("circulant:8", "circulant:N:JUMP"),
    ],
)
def test_wrong_numbers(name: str, form: str) -> None:
    with pytest.raises(ConfigError, match=form):
        named_graph(name)


def test_the_family_checks_its_numbers() -> None:
    with pytest.raises(ConfigError, match="at least 3"):
        named_graph("cycle:2")


CHORD = Graph.from_edge_index(
    [[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 0, 2]], 5, undirected="add"
)
BASES = {
    "K4": complete_graph(4),
    "K5": complete_graph(5),
    "triangle": cycle_graph(3),
    "hexagon": cycle_graph(6),
    "chord": CHORD,
    "petersen": petersen_graph(),
    "rook": rook_graph(2, 3),
    "csl": csl_graph(11, 3),
    "edge": path_graph(2),
}


@pytest.mark.parametrize("name", BASES)
def test_pairs(name: str) -> None:
    base = BASES[name]
    plain, twisted = cfi_pair(base)
    degrees = base.degrees
    assert plain.num_nodes == 2 * degrees.sum() + (2 ** (degrees - 1)).sum()
    assert sorted(plain.degrees.tolist()) == sorted(twisted.degrees.tolist())
    assert not isomorphic(plain, twisted)
    rng = np.random.default_rng(0)
    for g in (plain, twisted):
        assert isomorphic(g, g.relabel(rng.permutation(g.num_nodes)))


def test_worked_by_hand() -> None:
    """Over a cycle of n: two cycles of length 3 n, or one of length 6 n."""
    plain, twisted = cfi_pair(cycle_graph(4))
    assert isomorphic(plain, cycle_graph(12).disjoint_union(cycle_graph(12)))
    assert isomorphic(twisted, cycle_graph(24))


def test_bases_that_cannot_be() -> None:
    apart = cycle_graph(3).disjoint_union(cycle_graph(3))
    for base in (path_graph(0), path_graph(1), apart):
        with pytest.raises(GraphInputError, match="connected"):
            cfi_pair(base)
    with pytest.raises(GraphInputError, match="17 neighbours"):
        cfi_pair(complete_graph(18))


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
        with pytest.raises(ConfigError, match=r"p must.*\[0, 1\]"):
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
