"""Every backend computes the definition, and forgets the node numbers."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sekgnn.encoding import WalkEncoding, encode, encode_exact, encode_many
from sekgnn.encoding.encoder import BACKENDS, Backend
from sekgnn.encoding.reference import reference_encoding
from sekgnn.encoding.walk_encoding import Aggregate, Scope
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs import (
    Graph,
    barabasi_albert_graph,
    complete_graph,
    cycle_graph,
    pack,
    path_graph,
    petersen_graph,
    random_graph,
    rook_graph,
)
from sekgnn.testing import assert_permutation_equivariant, graphs, walk_encodings

EVERYTHING = WalkEncoding(
    num_shells=2, walk_length=5, scope=("graph", "ego", "internal"), aggregate="moments"
)


def fits(encoding: WalkEncoding, backend: Backend) -> bool:
    return not (backend == "spectral" and encoding.aggregate == "moments")


@pytest.mark.parametrize("backend", BACKENDS)
@settings(max_examples=60)
@given(g=graphs(max_nodes=7), encoding=walk_encodings())
def test_every_backend_matches_the_definition(
    backend: Backend, g: Graph, encoding: WalkEncoding
) -> None:
    if fits(encoding, backend):
        expected = reference_encoding(g, encoding)
        got = encode(g, encoding, backend=backend)
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-10)


@lru_cache
def many_blocks(aggregate: Aggregate) -> list[tuple[Graph, WalkEncoding, np.ndarray]]:
    """Return graphs of more nodes than a block, more steps than a tile, and f."""
    rng = np.random.default_rng(3)
    encoding = WalkEncoding(num_shells=3, walk_length=11, aggregate=aggregate)
    several = (random_graph(80, 0.04, rng), barabasi_albert_graph(70, 3, rng))
    return [(g, encoding, reference_encoding(g, encoding)) for g in several]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("aggregate", ["sum", "moments"])
def test_graphs_larger_than_a_block(backend: Backend, aggregate: Aggregate) -> None:
    for g, encoding, expected in many_blocks(aggregate):
        if fits(encoding, backend):
            got = encode(g, encoding, backend=backend)
            np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("scope", ["ego", "internal"])
@pytest.mark.parametrize("radius", [2, 3])
def test_ego_nets_larger_than_a_block(scope: Scope, radius: int) -> None:
    """Ego-nets large and small in turn: nothing of one is left in the next."""
    g = barabasi_albert_graph(90, 2, np.random.default_rng(5))
    g = g.disjoint_union(path_graph(9))
    g = g.relabel(np.random.default_rng(6).permutation(g.num_nodes))
    encoding = WalkEncoding(
        num_shells=3, walk_length=4, scope=scope, radius=radius, aggregate="moments"
    )
    expected = reference_encoding(g, encoding)
    np.testing.assert_allclose(encode(g, encoding), expected, rtol=1e-10, atol=1e-12)


@settings(max_examples=40)
@given(
    g=graphs(max_nodes=8), seed=st.integers(0, 999), backend=st.sampled_from(BACKENDS)
)
def test_encodings_are_permutation_equivariant(
    g: Graph, seed: int, backend: Backend
) -> None:
    perm = random.Random(seed).sample(range(g.num_nodes), g.num_nodes)
    encoding = WalkEncoding(
        num_shells=2, walk_length=9, scope=("graph", "ego", "internal")
    )
    assert_permutation_equivariant(
        lambda h: encode(h, encoding, backend=backend), g, perm, atol=1e-12
    )


@settings(max_examples=30)
@given(a=graphs(max_nodes=6), b=graphs(max_nodes=6), backend=st.sampled_from(BACKENDS))
def test_a_component_does_not_see_the_others(
    a: Graph, b: Graph, backend: Backend
) -> None:
    encoding = WalkEncoding(
        num_shells=2, walk_length=6, scope=("graph", "ego", "internal")
    )
    both = encode(a.disjoint_union(b), encoding, backend=backend)
    apart = [encode(a, encoding, backend=backend), encode(b, encoding, backend=backend)]
    np.testing.assert_allclose(both, np.concatenate(apart), rtol=0, atol=1e-12)


@settings(max_examples=40)
@given(st.lists(graphs(max_nodes=6), min_size=1, max_size=5), walk_encodings())
def test_many_at_once_is_one_by_one(many: list[Graph], encoding: WalkEncoding) -> None:
    for g, got in zip(many, encode_many(many, encoding), strict=True):
        np.testing.assert_array_equal(got, encode(g, encoding))


def test_threads_and_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    many = [random_graph(int(rng.integers(1, 30)), 0.2, rng) for _ in range(20)]
    one = encode(pack(many), EVERYTHING, threads=1)
    monkeypatch.setattr("sekgnn.encoding.encoder.SMALL_GRAPHS_CHUNK", 7)
    for threads in (1, 2, None):
        again = encode(pack(many), EVERYTHING, threads=threads)
        np.testing.assert_array_equal(again, one)
    pushed = encode(pack(many), EVERYTHING, threads=2, backend="push")
    np.testing.assert_allclose(pushed, one, rtol=0, atol=1e-12)


@pytest.mark.parametrize("aggregate", ["sum", "moments"])
def test_node_chunks_and_threads_change_nothing(
    aggregate: Aggregate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many short chunks of nodes, so that threads overlap in every node kernel."""
    g = random_graph(500, 0.01, np.random.default_rng(0))
    encoding = WalkEncoding(
        num_shells=2, walk_length=3, scope=("graph", "ego"), aggregate=aggregate
    )
    expected = encode(g, encoding, backend="push", threads=1)
    monkeypatch.setattr("sekgnn.encoding.encoder.NODES_CHUNK", 7)
    for threads in (1, 4):
        got = encode(g, encoding, backend="push", threads=threads)
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("limit", [4, 5, 6])
@pytest.mark.parametrize("aggregate", ["sum", "moments"])
def test_every_graph_is_small_or_large(
    limit: int, aggregate: Aggregate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A graph of exactly ``SMALL_GRAPH`` nodes is encoded, first, between and last."""
    monkeypatch.setattr("sekgnn.encoding.encoder.SMALL_GRAPH", limit)
    encoding = WalkEncoding(num_shells=2, walk_length=7, aggregate=aggregate)
    many = [*map(path_graph, (5, 3, 5)), rook_graph(4), *map(path_graph, (5, 6, 4, 5))]
    apart = [encode(g, encoding, backend="dense") for g in many]
    got = encode(pack(many), encoding)
    np.testing.assert_allclose(got, np.concatenate(apart), rtol=0, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_returns_on_complete_graphs_are_one_nth(n: int) -> None:
    """K_n with loops: one step is uniform, and stays so."""
    got = encode(complete_graph(n), WalkEncoding(num_shells=1, walk_length=6))
    np.testing.assert_allclose(got[:, 0], 1 / n, rtol=0, atol=1e-14)


@pytest.mark.parametrize("n", [3, 4, 7, 10])
@pytest.mark.parametrize("loop", [0, 1])
def test_returns_on_cycles_by_their_eigenvalues(n: int, loop: int) -> None:
    r"""C_n: H_vv^(t) = mean over r of ((loop + 2 cos(2πr/n)) / (2 + loop))^t."""
    encoding = WalkEncoding(num_shells=2, walk_length=12, self_loops=bool(loop))
    values = (loop + 2 * np.cos(2 * np.pi * np.arange(n) / n)) / (2 + loop)
    expected = [np.mean(values**t) for t in range(1, 13)]
    for backend in BACKENDS:
        got = encode(cycle_graph(n), encoding, backend=backend)
        np.testing.assert_allclose(got[:, 0], np.tile(expected, (n, 1)), atol=1e-13)


def test_path_of_three_by_hand() -> None:
    """0 - 1 - 2 from node 0, t = 1: d = (2, 3, 2)."""
    encoding = WalkEncoding(num_shells=2, walk_length=1)
    got = dict(
        zip(encoding.channels, encode(path_graph(3), encoding)[0, :, 0], strict=True)
    )
    assert got["graph/return"] == pytest.approx(1 / 2)
    assert got["graph/to_shell/1"] == pytest.approx(1 / 2)
    assert got["graph/to_shell/2"] == 0
    assert got["graph/across_diagonal/1"] == pytest.approx(1 / 3)
    assert got["graph/across_diagonal/2"] == pytest.approx(1 / 2)
    assert got["graph/across_off_diagonal/1"] == 0


def test_twins_are_walked_once_in_large_graphs_too() -> None:
    """K_n has one class of twins: half walks over all its nodes would take minutes."""
    encoding = WalkEncoding(num_shells=1, walk_length=4)
    got = encode(complete_graph(1500), encoding, backend="push")
    dense = encode(complete_graph(1500), encoding, backend="dense")
    np.testing.assert_allclose(got, dense, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(got[:, 0], 1 / 1500, rtol=1e-12)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_shell_of_one_node_has_exactly_no_pairs(backend: Backend) -> None:
    """Zero, not a rounding: twins (an edge alone) and single nodes (a path)."""
    encoding = WalkEncoding(num_shells=2, walk_length=9)
    off = [i for i, name in enumerate(encoding.channels) if "off_diagonal" in name]
    rng = np.random.default_rng(4)
    g = path_graph(2).disjoint_union(random_graph(12, 0.3, rng))
    g = g.disjoint_union(complete_graph(2))
    got = encode(g, encoding, backend=backend)
    assert not got[:2, off].any()
    assert not got[-2:, off].any()
    assert not encode(path_graph(3), encoding, backend=backend)[0, off].any()


@pytest.mark.parametrize("backend", BACKENDS)
def test_corners(backend: Backend) -> None:
    encoding = WalkEncoding(
        num_shells=3, walk_length=4, scope=("graph", "ego", "internal")
    )
    assert encode(path_graph(0), encoding, backend=backend).shape == (
        0,
        10 + 10 + 10,
        4,
    )
    alone = encode(path_graph(1), encoding, backend=backend)[0]
    by_name = dict(zip(encoding.channels, alone, strict=True))
    assert by_name.pop("graph/return").tolist() == [1, 1, 1, 1]
    assert by_name.pop("ego3/return").tolist() == [1, 1, 1, 1]
    assert all(not steps.any() for steps in by_name.values())
    edgeless = encode(Graph.from_edge_index([[], []], 3), encoding, backend=backend)
    np.testing.assert_array_equal(edgeless, np.stack([alone] * 3))


def test_hops_beyond_the_diameter_are_zero_and_change_nothing_else() -> None:
    near = WalkEncoding(num_shells=2, walk_length=5)
    far = WalkEncoding(num_shells=9, walk_length=5)
    for backend in BACKENDS:
        a = encode(petersen_graph(), near, backend=backend)
        b = encode(petersen_graph(), far, backend=backend)
        kept = [far.channels.index(name) for name in near.channels]
        np.testing.assert_allclose(b[:, kept], a, rtol=0, atol=1e-14)
        assert not np.delete(b, kept, axis=1).any()


def test_float32_is_float64_rounded() -> None:
    double = encode(petersen_graph(), EVERYTHING)
    single = encode(petersen_graph(), EVERYTHING, dtype=np.float32)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, double, rtol=1e-6)


def test_any_kind_of_graph_may_be_given() -> None:
    import networkx as nx

    encoding = WalkEncoding(num_shells=2, walk_length=4)
    expected = encode(petersen_graph(), encoding)
    for other in (nx.petersen_graph(), petersen_graph().to_scipy()):
        assert np.sort(encode(other, encoding), axis=0) == pytest.approx(
            np.sort(expected, axis=0)
        )


def test_progress_covers_every_part() -> None:
    """Several graphs and scopes; walks of both kinds, and sizes; residues."""
    rng = np.random.default_rng(0)
    several = pack([random_graph(600, 0.01, rng) for _ in range(4)])
    scopes = WalkEncoding(num_shells=1, walk_length=2, scope=("graph", "internal"))
    rich = replace(scopes, self_loops=(True, False), first_step=0, shell_sizes=6)
    for run in (
        partial(encode, several, scopes),
        partial(encode, cycle_graph(9), rich),
        partial(encode_exact, cycle_graph(7), scopes),
    ):
        seen: list[tuple[int, int]] = []
        run(progress=lambda *both, seen=seen: seen.append(both))
        done, total = seen[-1]
        assert seen == sorted(seen)
        assert len(seen) >= 2 and done == total


def test_bad_calls_name_cause_and_cure() -> None:
    with pytest.raises(GraphInputError, match="dataset is empty"):
        encode_many([])
    for wrong in (np.int64, "foo"):
        with pytest.raises(ConfigError, match="dtype must be"):
            encode(path_graph(2), dtype=wrong)
    with pytest.raises(ConfigError, match="backend must be one of"):
        encode(path_graph(2), backend="fast")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="no squares"):
        encode(path_graph(2), WalkEncoding(aggregate="moments"), backend="spectral")
    with pytest.raises(ConfigError, match="threads must be at least 1"):
        encode(path_graph(2), threads=0)


@pytest.mark.parametrize("backend", ["dense", "spectral"])
def test_a_matrix_that_cannot_fit_is_refused(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = encode(path_graph(5))
    monkeypatch.setattr("sekgnn.encoding.encoder.MATRIX_LIMIT", 5)
    got = encode(path_graph(5), backend=backend)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-13)
    with pytest.raises(GraphInputError, match='use backend="push"'):
        encode(path_graph(6), backend=backend)
