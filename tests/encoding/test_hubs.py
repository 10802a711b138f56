"""Around hubs: twins are computed once, and what takes too long or too much is refused.

Neighbourhoods of a star or a wheel are the whole graph for every node.
"""

from __future__ import annotations

import numpy as np
import pytest

import sekgnn.checks
from sekgnn import WalkEncoding, encode
from sekgnn.encoding import costs
from sekgnn.encoding.reference import reference_encoding
from sekgnn.errors import ConfigError
from sekgnn.graphs import Graph
from sekgnn.hops import hop_pairs

INSIDE = WalkEncoding(num_shells=2, walk_length=4, scope=("ego", "internal"), radius=2)


def star(leaves: int, rim: bool = False) -> Graph:
    """Return a star, or a wheel."""
    nodes = np.arange(1, leaves + 1)
    edges = np.stack([np.zeros_like(nodes), nodes])
    if rim:
        edges = np.concatenate([edges, np.stack([nodes, np.roll(nodes, 1)])], axis=1)
    return Graph.from_edge_index(edges, leaves + 1, undirected="add")


def test_twins_stand_for_each_other() -> None:
    """A star with pendant paths and a clique: both kinds of twins, beside others."""
    edges = [(0, i) for i in range(1, 7)] + [(1, 7), (2, 8), (8, 9)]
    edges += [(a, b) for a in (3, 10, 11, 12) for b in (3, 10, 11, 12) if a < b]
    graph = Graph.from_edge_index(np.array(edges).T, 13, undirected="add")
    for loops in (True, False):
        for aggregate in ("sum", "moments"):
            encoding = WalkEncoding(
                num_shells=2,
                walk_length=5,
                scope=("graph", "ego", "internal"),
                radius=2,
                self_loops=loops,
                aggregate=aggregate,
            )
            expected = reference_encoding(graph, encoding)
            for backend in ("auto", "push"):
                values = encode(graph, encoding, backend=backend)
                np.testing.assert_allclose(values, expected, atol=1e-12)


def test_a_large_star_is_encoded_at_once() -> None:
    """Quadratic time would be hours."""
    graph = star(100_000)
    for encoding in (WalkEncoding(num_shells=2, walk_length=4), INSIDE):
        large, small = encode(graph, encoding), encode(star(1100), encoding)
        assert (large[1:] == large[1]).all()
        assert np.isfinite(large).all() and large.shape[1:] == small.shape[1:]


def test_what_would_take_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = star(20_000, rim=True)
    with pytest.raises(ConfigError, match=r"take about \d+ (days|hours).*--force"):
        encode(graph, WalkEncoding(num_shells=2, scope="internal", radius=2))
    monkeypatch.setattr(costs, "TIME_LIMIT", 1e-6)
    with pytest.raises(ConfigError, match=r"encode_sampled"):
        encode(star(1200, rim=True), WalkEncoding(num_shells=1, walk_length=2))


def test_pairs_are_counted_before_they_are_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sekgnn.checks, "free_bytes", lambda: 1 << 30)
    graph = star(20_000)
    with pytest.raises(ConfigError, match=r"400,020,000 pairs.*1.5 GiB, and 1.0"):
        hop_pairs(graph, 2)
    assert hop_pairs(graph, 2, max_neighbors=3).num_pairs == 3 + 4 * 20_000
