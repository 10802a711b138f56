"""Every backend computes the definition, and forgets the node numbers."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sekgnn.encoding import WalkEncoding, encode, encode_many
from sekgnn.encoding.reference import reference_encoding
from sekgnn.encoding.tasks import Backend
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
    shrikhande_graph,
)
from sekgnn.testing import assert_permutation_equivariant, graphs, walk_encodings

BACKENDS: tuple[Backend, ...] = ("auto", "dense", "spectral", "push")
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


@pytest.mark.parametrize("backend", BACKENDS)
def test_backends_agree_on_graphs_larger_than_their_blocks(backend: Backend) -> None:
    """More landing nodes than one block of columns, more steps than one tile."""
    rng = np.random.default_rng(3)
    for aggregate in ("sum", "moments"):
        encoding = WalkEncoding(num_shells=3, walk_length=19, aggregate=aggregate)
        if not fits(encoding, backend):
            continue
        for g in (random_graph(150, 0.02, rng), barabasi_albert_graph(90, 3, rng)):
            expected = powers_by_matrix_products(g, encoding)
            got = encode(g, encoding, backend=backend)
            np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-10)


def powers_by_matrix_products(g: Graph, encoding: WalkEncoding) -> np.ndarray:
    """``graph`` scope, sums (and squares), by dense numpy matrices."""
    n, hops = g.num_nodes, encoding.num_shells
    loops = g.adjacency() + np.eye(n)
    p = loops / loops.sum(1, keepdims=True)
    reach, shells = np.eye(n, dtype=bool), []
    for _ in range(hops):
        wider = (reach @ loops) > 0
        shells.append((wider & ~reach).astype(float))
        reach = wider
    out, h = [], np.eye(n)
    exponents = (1, 2) if encoding.aggregate == "moments" else (1,)
    for _ in range(encoding.walk_length):
        h = h @ p
        columns = [np.diag(h)]
        for exponent in exponents:
            x = h**exponent
            off = x - np.diag(np.diag(x))
            columns += [(b * x).sum(1) for b in shells]
            columns += [b @ np.diag(x) for b in shells]
            columns += [((b @ off) * b).sum(1) for b in shells]
        out.append(np.stack(columns, axis=1))
    return np.stack(out, axis=2)


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


@settings(max_examples=30)
@given(many=st.lists(graphs(max_nodes=6), min_size=1, max_size=5))
def test_many_at_once_is_one_by_one(many: list[Graph]) -> None:
    together = encode_many(many, EVERYTHING)
    for g, got in zip(many, together, strict=True):
        np.testing.assert_array_equal(got, encode(g, EVERYTHING))


def test_threads_and_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    many = [random_graph(int(rng.integers(1, 30)), 0.2, rng) for _ in range(20)]
    one = encode(pack(many), EVERYTHING, threads=1)
    monkeypatch.setattr("sekgnn.encoding.tasks.SMALL_GRAPHS_CHUNK", 7)
    for threads in (1, 2, None):
        again = encode(pack(many), EVERYTHING, threads=threads)
        np.testing.assert_array_equal(again, one)
    pushed = encode(pack(many), EVERYTHING, threads=2, backend="push")
    np.testing.assert_allclose(pushed, one, rtol=0, atol=1e-12)


def test_large_graphs_beside_small_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """``auto`` sends graphs above the limit to half walks, the others to matrices."""
    monkeypatch.setattr("sekgnn.encoding.tasks.SMALL_GRAPH", 8)
    many = [
        cycle_graph(5),
        petersen_graph(),
        path_graph(3),
        rook_graph(4),
        path_graph(1),
    ]
    for aggregate in ("sum", "moments"):
        encoding = WalkEncoding(num_shells=2, walk_length=7, aggregate=aggregate)
        got = encode(pack(many), encoding)
        dense = encode(pack(many), encoding, backend="dense")
        np.testing.assert_allclose(got, dense, rtol=0, atol=1e-12)


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


def test_a_walk_always_lands_somewhere() -> None:
    """Summed over all shells of a connected graph, f1 + f2 is 1 at every step."""
    encoding = WalkEncoding(num_shells=4, walk_length=10)
    for g in (petersen_graph(), path_graph(5), rook_graph(3)):
        got = encode(g, encoding)
        landed = got[:, 0] + got[:, 1:5].sum(1)
        np.testing.assert_allclose(landed, 1, rtol=0, atol=1e-13)


def test_internal_scope_separates_what_graph_scope_cannot() -> None:
    """Rook 4x4 and Shrikhande: strongly regular with equal parameters."""
    rook, shrikhande = rook_graph(4), shrikhande_graph()
    whole = WalkEncoding(num_shells=2, walk_length=16)
    np.testing.assert_allclose(
        encode(rook, whole), encode(shrikhande, whole), atol=1e-12
    )
    inside = WalkEncoding(num_shells=1, walk_length=16, scope="internal", radius=1)
    gap = np.abs(encode(rook, inside)[0] - encode(shrikhande, inside)[0])
    assert gap.max() > 0.1


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


def test_without_self_loops_an_isolated_node_goes_nowhere() -> None:
    encoding = WalkEncoding(
        num_shells=1, walk_length=3, self_loops=False, scope=("graph", "ego")
    )
    for backend in BACKENDS:
        assert not encode(path_graph(1), encoding, backend=backend).any()


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


def test_progress_reaches_the_end() -> None:
    seen: list[tuple[int, int]] = []
    rng = np.random.default_rng(0)
    many = [random_graph(600, 0.01, rng) for _ in range(4)]
    encode_many(
        many,
        WalkEncoding(num_shells=1, walk_length=2, scope=("graph", "internal")),
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen == sorted(seen)
    assert seen[-1][0] == seen[-1][1]


def test_bad_calls_name_cause_and_cure() -> None:
    with pytest.raises(GraphInputError, match="dataset is empty"):
        encode_many([])
    with pytest.raises(ConfigError, match="dtype must be float32 or float64"):
        encode(path_graph(2), dtype=np.int64)
    with pytest.raises(ConfigError, match="dtype must be float32 or float64"):
        encode(path_graph(2), dtype="foo")
    with pytest.raises(ConfigError, match="backend must be one of"):
        encode(path_graph(2), backend="fast")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="no squares"):
        encode(path_graph(2), WalkEncoding(aggregate="moments"), backend="spectral")
    with pytest.raises(ConfigError, match="threads must be at least 1"):
        encode(path_graph(2), threads=0)


def test_a_matrix_that_cannot_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sekgnn.encoding.tasks.MATRIX_LIMIT", 4)
    for backend in ("dense", "spectral"):
        with pytest.raises(GraphInputError, match='use backend="push"'):
            encode(path_graph(5), backend=backend)
