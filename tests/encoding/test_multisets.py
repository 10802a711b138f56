"""Multisets of step vectors: by their definition, for every numbering, bit for bit."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.brute_force import distances, landing

from sekgnn import WalkEncoding, encode
from sekgnn.encoding import RaggedEncoding, encode_exact, encode_many, encode_sampled
from sekgnn.encoding import multisets as module
from sekgnn.encoding.ragged import PARTS
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs import (
    Graph,
    cycle_graph,
    pack,
    path_graph,
    random_graph,
    rook_graph,
)
from sekgnn.testing import graphs
from sekgnn.testing.strategies import walk_encodings

Vectors = Counter[tuple[Fraction, ...]]


def learned() -> st.SearchStrategy[WalkEncoding]:
    """Draw any encoding by multisets."""
    plain: dict[str, Any] = {"merge": "concat", "first_step": 1, "shell_sizes": 0}
    return walk_encodings().map(
        lambda encoding: replace(encoding, aggregate="learned", **plain)
    )


def rounded(x: Fraction) -> float:
    """Return the nearest multiple of 2^-52, as Python rounds."""
    return round(x * 2**52) / 2**52


def defined(graph: Graph, encoding: WalkEncoding, v: int) -> list[Vectors]:
    """Return the multisets of a node, a channel after the other, as fractions."""
    reach, out = distances(graph)[v], []
    loops = encoding.self_loops
    kinds = loops if isinstance(loops, tuple) else (loops,)
    for self_loops, (scope, radius, num_shells) in product(kinds, encoding.blocks):
        nodes = list(range(graph.num_nodes))
        if scope != "graph":
            nodes = [u for u, d in reach.items() if d <= radius]
        if scope == "internal":
            nodes.remove(v)
        h = landing(graph, nodes, encoding.walk_length, self_loops)
        hops = range(1, num_shells + 1)
        at = {k: [u for u, d in reach.items() if d == k] for k in hops}
        groups: list[list[tuple[int, int]]] = []
        if scope != "internal":
            groups += [[(v, v)], *([(v, i) for i in at[k]] for k in hops)]
        groups += [[(i, i) for i in at[k]] for k in hops]
        groups += [[(i, j) for i in at[k] for j in at[k] if i != j] for k in hops]
        if scope == "internal":
            groups += [[(i, j) for i in at[k] for j in at[k + 1]] for k in hops[:-1]]
            groups += [[(j, i) for i in at[k] for j in at[k + 1]] for k in hops[:-1]]
        out += [Counter(tuple(h[pair]) for pair in group) for group in groups]
    return out


@given(graphs(max_nodes=7), learned())
@settings(max_examples=60)
def test_is_the_definition(graph: Graph, encoding: WalkEncoding) -> None:
    """Equal fractions are one vector, with their count, rounded to 52 bits."""
    ragged = encode(graph, encoding)
    assert isinstance(ragged, RaggedEncoding)
    assert ragged.vectors.shape[1] == encoding.length
    for v in range(graph.num_nodes):
        expected = defined(graph, encoding, v)
        assert len(expected) == encoding.num_channels
        for multiset, counts in zip(ragged.multisets(v), expected, strict=True):
            left = sorted((*map(rounded, x), n) for x, n in counts.items())
            assert sorted((*x.tolist(), n) for n, x in multiset) == left


@given(st.lists(graphs(max_nodes=7), min_size=1, max_size=3), learned(), st.randoms())
@settings(max_examples=40)
def test_numbering_threads_and_other_graphs_change_no_bit(
    several: list[Graph], encoding: WalkEncoding, rng: Any
) -> None:
    """Random graphs beside the small ones: there the order of a sum would matter."""
    draw = np.random.default_rng(rng.randrange(2**32))
    several = [*several, random_graph(18, 0.4, draw)]
    perms = [rng.sample(range(g.num_nodes), g.num_nodes) for g in several]
    moved = [g.relabel(p) for g, p in zip(several, perms, strict=True)]
    together = encode_many(moved, encoding, threads=2)
    for graph, perm, other in zip(several, perms, together, strict=True):
        alone = encode(graph, encoding, threads=1)
        for name in PARTS[1:]:
            np.testing.assert_array_equal(getattr(other, name), getattr(alone, name))
        np.testing.assert_array_equal(other.rows[perm], alone.rows)


@given(st.lists(graphs(1, 5), min_size=1, max_size=3), learned())
@settings(max_examples=40)
def test_exact_digests_are_equal_where_multisets_are(
    several: list[Graph], encoding: WalkEncoding
) -> None:
    exact = encoding.exact(pack(several)).reshape(-1, 2)
    flat = [
        (c, frozenset(multiset.items()))
        for g in several
        for v in range(g.num_nodes)
        for c, multiset in enumerate(defined(g, encoding, v))
    ]
    numbers: dict[Any, int] = {}
    seen: dict[Any, int] = {}
    assert [numbers.setdefault(key, len(numbers)) for key in flat] == [
        seen.setdefault(tuple(row), len(seen)) for row in exact.tolist()
    ]


def test_symmetric_graphs_keep_little() -> None:
    """All nodes of a rook's graph have one multiset per channel, of few vectors."""
    encoding = WalkEncoding(2, 8, ("graph", "internal"), 1, aggregate="learned")
    ragged = encode(rook_graph(4), encoding)
    assert (ragged.rows == np.arange(encoding.num_channels)).all()
    assert len(ragged.vectors) == ragged.sizes.sum() <= 2 * encoding.num_channels
    assert ragged.counts.sum() == 1 + 3 * (6 + 9) - 15 + 36 - 6 + 81 - 9 + 6 + 30


def test_what_does_not_fit_is_refused_before_it_is_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    encoding = WalkEncoding(2, 8, aggregate="learned")
    monkeypatch.setattr(module, "graph_multisets", None)
    monkeypatch.setattr(module, "MEMORY_LIMIT", 2**20)
    with pytest.raises(GraphInputError, match=r"GiB; .* Use fewer num_shells"):
        encode(cycle_graph(200), encoding)


def test_what_cannot_work_is_explained() -> None:
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({"merge": "mean"}, 'Use merge="concat"'),
        ({"walk_length": 257}, "at most 256 steps, got walk_length=257"),
        ({"first_step": 0}, "leave out shell_sizes and first_step"),
    )
    for bad, message in cases:
        with pytest.raises(ConfigError, match=message):
            WalkEncoding(aggregate="learned", **bad)
    encoding = WalkEncoding(walk_length=4, aggregate="learned")
    with pytest.raises(ConfigError, match="has no backends; leave out 'dense'"):
        encode(path_graph(3), encoding, backend="dense")
    with pytest.raises(ConfigError, match="their digests are"):
        encode_exact(path_graph(3), encoding)
    with pytest.raises(ConfigError, match="no unbiased squares or multisets"):
        encode_sampled(path_graph(3), encoding)
