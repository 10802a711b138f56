"""Sampled hops: right size, uniform, seeded, independent of all but the hop itself."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from tests.small_graphs import star

from sekgnn.graphs.graph import Graph
from sekgnn.hops import HopKernel, HopTable, hop_pairs
from sekgnn.hops.sampling import sample_level
from sekgnn.testing.strategies import graphs

KERNELS: tuple[HopKernel, ...] = ("shortest_path", "diffusion")
WORD = 2**64 - 1


def hops_of(pairs: HopTable) -> dict[tuple[int, int], list[int]]:
    """(hop, node) to its neighbours, in stored order."""
    members: dict[tuple[int, int], list[int]] = {}
    for k, v, u in zip(pairs.hop, pairs.row, pairs.col, strict=True):
        members.setdefault((int(k), int(v)), []).append(int(u))
    return members


def absorb_in_python(state: int, word: int) -> int:
    return mix_in_python(state + (word + 1) * 0x9E3779B97F4A7C15)


def mix_in_python(value: int) -> int:
    value &= WORD
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & WORD
    return value ^ (value >> 31)


@pytest.mark.parametrize("kernel", KERNELS)
@given(
    g=graphs(max_nodes=8),
    cap=st.integers(1, 8),
    seed=st.integers(0, WORD),
)
def test_samples_are_the_smallest_keys(
    kernel: HopKernel, g: Graph, cap: int, seed: int
) -> None:
    """The definition in whole numbers; implies the size, min(c, |N_k(v)|)."""
    full = hops_of(hop_pairs(g, 3, kernel=kernel))
    drawn = hops_of(hop_pairs(g, 3, kernel=kernel, max_neighbors=cap, seed=seed))
    assert drawn.keys() == full.keys()
    for (k, v), nodes in full.items():
        state = absorb_in_python(absorb_in_python(mix_in_python(seed), v), k)
        ranked = sorted(nodes, key=lambda u, s=state: absorb_in_python(s, u))  # type: ignore[misc]
        assert drawn[k, v] == sorted(ranked[:cap])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("cap", [1, 5, 60, 98, 99, 100, 10**12])
def test_sample_size_and_membership_on_large_hops(kernel: HopKernel, cap: int) -> None:
    g = star(100)
    full = hops_of(hop_pairs(g, 2, kernel=kernel))
    drawn = hops_of(hop_pairs(g, 2, kernel=kernel, max_neighbors=cap))
    for key, nodes in full.items():
        assert len(drawn[key]) == min(cap, len(nodes))
        assert set(drawn[key]) <= set(nodes)
        assert drawn[key] == sorted(set(drawn[key]))


@pytest.mark.parametrize("size", [1, 2, 7, 64, 189])
def test_the_order_in_which_nodes_are_met_does_not_matter(size: int) -> None:
    """A long level in many orders, against the smallest keys by a plain sort."""
    rng = np.random.default_rng(0)
    level = np.arange(10, 200, dtype=np.int32)
    ranked = sorted(level.tolist(), key=lambda u: absorb_in_python(99, u - 10))
    for _ in range(20):
        nodes, keys = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.uint64)
        sample_level(rng.permutation(level), 10, np.uint64(99), keys, nodes)
        assert nodes.tolist() == sorted(ranked[:size])


def test_seeds_nodes_and_hops_draw_different_samples() -> None:
    """Leaves share a hop of 99; a sample of 5 almost never repeats."""
    drawn = [hops_of(hop_pairs(star(100), 2, max_neighbors=5, seed=s)) for s in (0, 1)]
    samples = {tuple(d[2, v]) for d in drawn for v in range(1, 101)}
    assert len(samples) == 200
    again = hops_of(hop_pairs(star(100), 2, max_neighbors=5, seed=0))
    assert again == drawn[0]
    walks = hops_of(hop_pairs(star(60), 4, kernel="diffusion", max_neighbors=5))
    assert walks[2, 1] != walks[4, 1]  # the same 60 nodes in two hops


def test_every_subset_is_equally_likely() -> None:
    """Chi-square over the 20 three-subsets of six leaves, and over single nodes.

    4,000 fixed seeds; the test is deterministic and p-values are checked on both
    sides, since counts that are too even would be just as wrong.
    """
    subsets = {s: i for i, s in enumerate(combinations(range(1, 7), 3))}
    seen = np.zeros(len(subsets))
    for seed in range(4000):
        pairs = hop_pairs(star(6), 1, max_neighbors=3, seed=seed, threads=1)
        seen[subsets[tuple(pairs.col[:3].tolist())]] += 1
    assert 1e-3 < scipy.stats.chisquare(seen).pvalue < 1 - 1e-3


def test_inclusion_is_uniform_over_nodes_of_one_call() -> None:
    """Across sources too: leaf v draws 10 of the other 199, each equally often."""
    leaves, cap = 200, 10
    seen = np.zeros(leaves)
    for seed in range(20):
        _, col = hop_pairs(star(leaves), 2, max_neighbors=cap, seed=seed).csr(2)
        seen += np.bincount(col - 1, minlength=leaves)
    expected = 20 * cap  # (leaves - 1) sources, each with chance cap / (leaves - 1)
    variance = expected * (1 - cap / (leaves - 1))
    statistic = float(((seen - expected) ** 2 / variance).sum())
    assert 1e-3 < scipy.stats.chi2.sf(statistic, leaves - 1) < 1 - 1e-3
