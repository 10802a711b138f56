"""What changes at a limit: sizes on both sides of it, threads, and progress."""

from __future__ import annotations

import numpy as np
import pytest

from sekgnn.encoding import WalkEncoding, encode, encode_exact
from sekgnn.encoding.tasks import BACKENDS, Backend
from sekgnn.encoding.walk_encoding import Aggregate, Scope
from sekgnn.errors import GraphInputError
from sekgnn.graphs import (
    complete_graph,
    cycle_graph,
    pack,
    path_graph,
    random_graph,
)


@pytest.mark.parametrize("limit", [4, 5, 6])
def test_every_graph_is_small_or_large(
    limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A graph of exactly ``SMALL_GRAPH`` nodes is encoded, first, between and last."""
    monkeypatch.setattr("sekgnn.encoding.tasks.SMALL_GRAPH", limit)
    encoding = WalkEncoding(num_shells=2, walk_length=3)
    sizes = [5, 3, 5, 5, 6, 4, 5]
    got = encode(pack([path_graph(n) for n in sizes]), encoding)
    apart = [encode(path_graph(n), encoding, backend="dense") for n in sizes]
    np.testing.assert_allclose(got, np.concatenate(apart), rtol=0, atol=1e-13)


@pytest.mark.parametrize("backend", ["dense", "spectral"])
def test_a_matrix_of_the_largest_size_is_made(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoding = WalkEncoding(num_shells=2, walk_length=3)
    expected = encode(path_graph(5), encoding)
    monkeypatch.setattr("sekgnn.encoding.tasks.MATRIX_LIMIT", 5)
    got = encode(path_graph(5), encoding, backend=backend)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("scope", ["graph", "ego", "internal"])
def test_exact_arithmetic_has_a_limit_in_every_scope(
    scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sekgnn.encoding.exact.PAIRS_LIMIT", 5)
    encoding = WalkEncoding(num_shells=3, walk_length=1, scope=scope)
    assert len(encode_exact(cycle_graph(5), encoding)) == 5
    with pytest.raises(GraphInputError, match="up to 5 nodes"):
        encode_exact(cycle_graph(6), encoding)


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
    monkeypatch.setattr("sekgnn.encoding.tasks.NODES_CHUNK", 7)
    for threads in (1, 4):
        got = encode(g, encoding, backend="push", threads=threads)
        np.testing.assert_array_equal(got, expected)


def test_exact_threads_do_not_share_their_scratch() -> None:
    """Balls large enough, and chunks many enough, that threads overlap."""
    g = random_graph(1000, 0.006, np.random.default_rng(0))
    encoding = WalkEncoding(num_shells=2, walk_length=2, scope="ego")
    one = encode_exact(g, encoding, threads=1)
    for _ in range(3):
        np.testing.assert_array_equal(encode_exact(g, encoding, threads=4), one)


def test_exact_progress_counts_nodes_of_every_block() -> None:
    seen: list[tuple[int, int]] = []
    encoding = WalkEncoding(num_shells=1, walk_length=1, scope=("graph", "internal"))
    encode_exact(
        cycle_graph(7),
        encoding,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen == sorted(seen)
    assert seen[-1] == (2 * 7, 2 * 7)


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
