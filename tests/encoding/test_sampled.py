"""Estimates are unbiased, and their errors as large as they say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sekgnn.encoding import WalkEncoding, encode, encode_sampled
from sekgnn.errors import ConfigError
from sekgnn.graphs import (
    Graph,
    barabasi_albert_graph,
    cycle_graph,
    path_graph,
)

SPECS = [
    WalkEncoding(num_shells=2, walk_length=8),
    WalkEncoding(num_shells=3, walk_length=5, aggregate="mean", self_loops=False),
    WalkEncoding(num_shells=2, walk_length=6, aggregate="landing", merge="parts"),
]


def small_power_law() -> Graph:
    return barabasi_albert_graph(30, 2, np.random.default_rng(1))


@pytest.mark.parametrize("encoding", SPECS)
def test_the_mean_over_seeds_is_the_exact_value(encoding: WalkEncoding) -> None:
    """Averaged over S seeds the deviation shrinks like 1/√S: no bias is left."""
    g = small_power_law()
    runs = [encode_sampled(g, encoding, num_walks=200, seed=seed) for seed in range(25)]
    mean = np.mean([run.values for run in runs], axis=0)
    error = np.sqrt(np.mean([run.standard_error**2 for run in runs], axis=0) / 25)
    z = (mean - encode(g, encoding)) / np.maximum(error, 1e-4)
    assert np.abs(z).max() < 5.5
    assert abs(z.mean()) < 0.1


def test_standard_errors_match_the_spread_over_seeds() -> None:
    """One walk event per channel, so the error is no bound but the thing itself."""
    g, encoding = small_power_law(), SPECS[0]
    runs = [encode_sampled(g, encoding, num_walks=100, seed=seed) for seed in range(60)]
    spread = np.std([run.values for run in runs], axis=0, ddof=1)
    claimed = np.sqrt(np.mean([run.standard_error**2 for run in runs], axis=0))
    common = claimed > 0.02
    assert np.median(spread[common] / claimed[common]) == pytest.approx(1, abs=0.05)


def test_variances_are_unbiased_even_from_two_walks() -> None:
    """On a cycle every return at t = 1 has p = 1/3: variance p (1 - p) / M = 1/9."""
    encoding = WalkEncoding(num_shells=1, walk_length=1)
    result = encode_sampled(cycle_graph(4000), encoding, num_walks=2)
    variance = (result.standard_error[:, 0, 0] ** 2).mean()
    assert variance == pytest.approx(1 / 9, rel=0.1)


def test_walks_from_different_shells_are_independent() -> None:
    """Whether the centre's walks stay says nothing of whether the shell's do."""
    encoding = WalkEncoding(num_shells=2, walk_length=1)
    values = encode_sampled(cycle_graph(4000), encoding, num_walks=2).values[:, :, 0]
    stays = [encoding.channels.index(f"graph/across_diagonal/{k}") for k in (1, 2)]
    apart = np.corrcoef(values[:, [0, *stays]].T) - np.eye(3)
    assert np.abs(apart).max() < 0.1


def test_same_seed_same_walks_whatever_the_threads() -> None:
    g = barabasi_albert_graph(600, 2, np.random.default_rng(1))
    one = encode_sampled(g, SPECS[0], num_walks=8, seed=7, threads=1)
    two = encode_sampled(g, SPECS[0], num_walks=8, seed=7, threads=2)
    other = encode_sampled(g, SPECS[0], num_walks=8, seed=8, threads=2)
    np.testing.assert_array_equal(one.values, two.values)
    assert (one.values != other.values).any()


def test_corners() -> None:
    encoding = WalkEncoding(num_shells=2, walk_length=3)
    assert encode_sampled(path_graph(0), encoding).values.shape == (0, 7, 3)
    alone = encode_sampled(path_graph(1), encoding).values[0]
    np.testing.assert_array_equal(alone, encode(path_graph(1), encoding)[0])


@pytest.mark.parametrize(
    ("parameters", "options", "message"),
    [
        ({"scope": "ego"}, {}, 'use scope="graph"'),
        ({"aggregate": "moments"}, {}, "no unbiased squares"),
        ({}, {"num_walks": 1}, "num_walks must be at least 2"),
        ({}, {"seed": -1}, "seed must be at least 0"),
        ({}, {"seed": 2**64}, "seed"),
    ],
)
def test_bad_calls(
    parameters: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        encode_sampled(path_graph(3), WalkEncoding(**parameters), **options)


def test_nodes_sampled_together_do_not_touch_each_other() -> None:
    """Not a bit: one by one, a few at a time, or around a hub, walks are the same."""
    graph = barabasi_albert_graph(500, 2, np.random.default_rng(1))
    hub = [[500] * 400, list(range(400))]
    edges = np.concatenate([graph.edge_index(), hub], axis=1)
    graph = Graph.from_edge_index(edges, 502, undirected="add")
    encoding = WalkEncoding(num_shells=2, walk_length=4)
    whole = encode_sampled(graph, encoding, num_walks=5, seed=2)
    for size in (1, 7, 200):
        parts = [
            encode_sampled(
                graph, encoding, num_walks=5, seed=2, nodes=(v, min(v + size, 502))
            )
            for v in range(0, 502, size)
        ]
        for name in ("values", "standard_error"):
            joined = np.concatenate([getattr(part, name) for part in parts])
            np.testing.assert_array_equal(joined, getattr(whole, name))
