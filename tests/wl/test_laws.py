"""Laws that every test obeys, whatever the graphs."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.wl.cases import any_tests, batches, copies, node_tests, pairs

from sekgnn.errors import ConfigError
from sekgnn.graphs import Graph, LabelledGraph, cycle_graph, path_graph, random_graph
from sekgnn.testing import graphs
from sekgnn.wl import (
    SEK,
    Isomorphism,
    KHopWL,
    OneWL,
    SEKTwoFWL,
    SubgraphWL,
    ThreeFWL,
    TwoFWL,
    Walks,
    WLTest,
    compare,
    partition,
    refine,
)
from sekgnn.wl.refinement import Batch

Pair = tuple[LabelledGraph, LabelledGraph]
F = (Walks(walk_length=3), Walks("internal", radius=1, walk_length=3))
WEAKER_AND_STRONGER: list[tuple[WLTest, WLTest]] = [
    (OneWL(), KHopWL(1)),
    (KHopWL(1), OneWL()),
    (OneWL(), KHopWL(3)),
    (OneWL(), SubgraphWL(2, marked=True)),
    (OneWL(), TwoFWL()),
    (KHopWL(2), KHopWL(3)),
    (KHopWL(3), TwoFWL()),
    (KHopWL(3), SEK(3, F)),
    (SEK(3, F[:1]), SEK(3, F)),
    (SEK(3, F, context=False), SEK(3, F)),
    (SEK(3, (Walks(walk_length=3, multisets=False),)), SEK(3, F)),
    (SEK(3, (Walks(walk_length=2),)), SEK(3, (Walks(walk_length=3),))),
    (SEK(3, F), SEKTwoFWL(3, F)),
    (TwoFWL(), SEKTwoFWL(3, F)),
    (TwoFWL(), ThreeFWL()),
    (ThreeFWL(), Isomorphism()),
    (SEKTwoFWL(3, F), Isomorphism()),
    (SubgraphWL(), Isomorphism()),
]


@given(any_tests(), copies(7))
@settings(max_examples=80)
def test_a_relabelled_copy_is_never_separated(test: WLTest, pair: Pair) -> None:
    run = refine(test, Batch.of(pair))
    assert run.separated_at(0, 1) is None
    assert partition(pair, test).tolist() == [0, 0]


@given(any_tests(), batches(5, (3, 5)))
@settings(max_examples=60)
def test_partition_is_what_pairs_say(test: WLTest, items: list[LabelledGraph]) -> None:
    classes = partition(items, test)
    assert classes[0] == 0 and (np.diff(np.maximum.accumulate(classes)) <= 1).all()
    for a, mine in enumerate(items):
        for b in range(a):
            together = not compare(mine, items[b], test).separated
            assert (classes[a] == classes[b]) == together


@given(any_tests(), batches(5, (3, 4)))
@settings(max_examples=60)
def test_colours_do_not_depend_on_company(
    test: WLTest, items: list[LabelledGraph]
) -> None:
    """Canonical: a graph's colours are the same alone, in any order, on any threads."""
    run = refine(test, Batch.of(items), threads=2)
    for g, item in enumerate(items):
        alone = refine(test, Batch.of([item]), threads=1)
        low, high = run.colouring.ptr[g : g + 2]
        for mine, ours in zip(alone.history, run.history, strict=False):
            assert np.array_equal(mine, ours[low:high])
        rounds = len(alone.digests)
        assert np.array_equal(alone.digests[:, 0], run.digests[:rounds, g])


@pytest.mark.parametrize(
    ("weaker", "stronger"), WEAKER_AND_STRONGER, ids=lambda test: str(test)[:30]
)
@given(st.data())
@settings(max_examples=40)
def test_hierarchy(weaker: WLTest, stronger: WLTest, data: st.DataObject) -> None:
    """Graphs with the same degrees, where there is something left to see."""
    if data.draw(st.booleans()):
        pair = data.draw(pairs(5))
    else:
        g = data.draw(graphs(6, 7))
        pair = LabelledGraph(g), LabelledGraph(switched(g, data.draw(st.randoms())))
    if compare(*pair, weaker).separated:
        assert compare(*pair, stronger).separated


def switched(graph: Graph, rng: object) -> Graph:
    """Exchange the ends of two edges: another graph with the same degrees."""
    row, col = graph.edge_index().tolist()
    edges = {(u, v) for u, v in zip(row, col, strict=True) if u < v}
    for a, b in sorted(edges):
        for c, d in sorted(edges):
            new = {(min(p), max(p)) for p in ((a, d), (c, b))}
            fresh = len({a, b, c, d}) == 4 and not new & edges
            if fresh and rng.random() < 0.3:  # type: ignore[attr-defined]
                edges = edges - {(a, b), (c, d)} | new
                return Graph.from_edge_index(
                    np.array(sorted(edges)).T, graph.num_nodes, undirected="add"
                )
    return graph


@given(node_tests(), batches(6, (2, 3)), st.integers(0, 3))
@settings(max_examples=60)
def test_shorter_runs(test: WLTest, items: list[LabelledGraph], most: int) -> None:
    """A limit cuts the rounds; without history the answers stay the same."""
    batch = Batch.of(items)
    full = refine(test, batch)
    cut = refine(test, batch, max_rounds=most)
    kept = min(most + 1, len(full.history))
    assert len(cut.history) == kept
    assert np.array_equal(cut.digests, full.digests[:kept])
    assert cut.stable == (kept == len(full.history))
    assert cut.rounds == (full.rounds if cut.stable else most)
    bare = refine(test, batch, keep_history=False)
    assert np.array_equal(bare.digests, full.digests)
    assert len(bare.history) == 1
    assert np.array_equal(bare.history[0], full.history[-1])
    assert bare.class_counts == full.class_counts


@given(node_tests(), batches(6, (1, 3)))
@settings(max_examples=60)
def test_stopping_when_apart(test: WLTest, items: list[LabelledGraph]) -> None:
    batch = Batch.of(items)
    full, early = refine(test, batch), refine(test, batch, stop_when_apart=True)
    two = list(combinations(range(len(items)), 2))
    rounds = [full.separated_at(a, b) for a, b in two]
    assert rounds == [early.separated_at(a, b) for a, b in two]
    if None in rounds:
        assert len(early.digests) == len(full.digests)
        return
    assert np.array_equal(early.digests, full.digests[: len(early.digests)])
    needed = max((r for r in rounds if r is not None), default=0) + 1
    assert len(early.digests) == min(needed, len(full.digests))


def test_many_chunks_and_threads() -> None:
    """More nodes than one chunk of any kernel holds."""
    rng = np.random.default_rng(3)
    big = LabelledGraph(random_graph(70_000, 4 / 70_000, rng))
    runs = [refine(OneWL(), Batch.of([big]), threads=w, max_rounds=3) for w in (1, 2)]
    assert np.array_equal(runs[0].history[-1], runs[1].history[-1])
    some = LabelledGraph(random_graph(600, 0.01, rng))
    pieces = [LabelledGraph(path_graph(3)), some, LabelledGraph(cycle_graph(600))]
    for test in (KHopWL(2), SubgraphWL(1), SEK(2, F[1:])):
        one, two = (refine(test, Batch.of(pieces), threads=w) for w in (1, 2))
        assert np.array_equal(one.history[-1], two.history[-1])
        assert two.separated_at(1, 2) is not None


def test_rounds_must_not_be_negative() -> None:
    with pytest.raises(ConfigError, match="at least 0, got -1"):
        refine(OneWL(), Batch.of([]), max_rounds=-1)
