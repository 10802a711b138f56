"""Every test against its definition: the same classes, round by round."""

from __future__ import annotations

from collections.abc import Sequence

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.brute_force_wl import (
    Numbers,
    brute_force_rounds,
    brute_force_step,
    brute_force_values,
    numbered,
)
from tests.wl.cases import (
    any_tests,
    batches,
    encodings,
    limit,
    node_tests,
    seks,
    walks,
)

from sekgnn.digest import Colours, digest_words, key_of
from sekgnn.encoding.patterns import PATTERNS
from sekgnn.graphs import (
    Graph,
    LabelledGraph,
    complete_graph,
    csl_graph,
    cycle_graph,
    pack,
    path_graph,
    rook_graph,
)
from sekgnn.wl import (
    PatternCounts,
    SEKTwoFWL,
    ThreeFWL,
    TwoFWL,
    Walks,
    WLTest,
    refine,
)
from sekgnn.wl.encodings.base import Encoding, as_exact
from sekgnn.wl.refinement import Batch


def classes(colours: Colours, sizes: list[int]) -> Numbers:
    """Return the class of every object of every graph, in the order they are met."""
    rows = [tuple(row) for row in colours.tolist()]
    stops = np.cumsum(sizes).tolist()
    parts = [rows[b - n : b] for b, n in zip(stops, sizes, strict=True)]
    return numbered([list(part) for part in parts])


def assert_same_refinement(test: WLTest, items: Sequence[Graph]) -> None:
    """The laws: the same partition in every round, and the same verdict on graphs."""
    expected = brute_force_rounds(test, items)
    run = refine(test, Batch.of(items))
    sizes = np.diff(run.colouring.ptr).tolist()
    assert sizes == [len(part) for part in expected[0]]
    assert [classes(colours, sizes) for colours in run.history] == expected
    assert run.class_counts == tuple(
        len({n for part in numbers for n in part}) for numbers in expected
    )
    assert run.stable and run.rounds == len(expected) - 2
    for a in range(len(items)):
        for b in range(len(items)):
            differ = (
                t
                for t, part in enumerate(expected)
                if sorted(part[a]) != sorted(part[b])
            )
            assert run.separated_at(a, b) == next(differ, None)


@pytest.mark.parametrize(
    ("tests", "most"),
    [
        (node_tests(), 6),
        (any_tests(), 5),
        (st.just(TwoFWL()) | seks(SEKTwoFWL), 5),
        (st.just(ThreeFWL()), 4),
    ],
    ids=["nodes", "all", "pairs", "triples"],
)
@given(st.data())
@settings(max_examples=80)
def test_refinements(
    tests: st.SearchStrategy[WLTest], most: int, data: st.DataObject
) -> None:
    test = data.draw(tests)
    assert_same_refinement(test, data.draw(batches(limit(test, most))))


@pytest.mark.parametrize(
    ("functions", "most"), [(walks(), 6), (encodings(), 7)], ids=["walks", "all"]
)
@given(st.data())
@settings(max_examples=100)
def test_encodings(
    functions: st.SearchStrategy[Encoding], most: int, data: st.DataObject
) -> None:
    assert_same_values(data.draw(batches(most, (1, 3))), data.draw(functions))


def assert_same_values(items: Sequence[Graph], f: Encoding) -> None:
    batch = Batch.of(items)
    assert classes(as_exact(f).colours(batch), batch.sizes) == numbered(
        brute_force_values(f, items)
    )


@pytest.mark.parametrize(
    "graph", [complete_graph(7), cycle_graph(7), csl_graph(8, 3), rook_graph(3)]
)
def test_pattern_counts(graph: Graph) -> None:
    """Cycles of every length, beyond what small random graphs have."""
    item = LabelledGraph(graph)
    f = PatternCounts(PATTERNS)
    drawn = item.graph.to_networkx()
    expected = np.zeros((item.num_nodes, len(PATTERNS)), dtype=np.int64)
    for ring in nx.simple_cycles(drawn, length_bound=8):
        expected[ring, len(ring) - 3] += 1
    for clique in nx.enumerate_all_cliques(drawn):
        if f"clique{len(clique)}" in PATTERNS:
            expected[clique, PATTERNS.index(f"clique{len(clique)}")] += 1
    assert np.array_equal(f.exact(pack([graph]))[:, :, 0], expected)


def assert_same_step(test: WLTest, items: Sequence[Graph], seed: int) -> None:
    """One step from colours nobody would meet: every part of it counts.

    Colours of a real run are so regular that a step may overlook a part of what it
    should read and still find the same classes.
    """
    colouring = test.start(Batch.of(items))
    sizes = np.diff(colouring.ptr).tolist()
    rng = np.random.default_rng(seed)
    numbers = [rng.integers(0, 2 + seed % 2, size).tolist() for size in sizes]
    colours = np.empty((sum(sizes), 2), dtype=np.uint64)
    words = np.array([n for part in numbers for n in part], dtype=np.int64)
    digest_words(words.reshape(-1, 1), key_of("any"), colours)
    expected = numbered(brute_force_step(test, items, numbers))
    assert classes(colouring.step(colours), sizes) == expected


@pytest.mark.parametrize(
    ("tests", "most"),
    [
        (any_tests(), 5),
        (seks(SEKTwoFWL) | st.just(TwoFWL()), 5),
        (st.just(ThreeFWL()), 4),
    ],
    ids=["all", "pairs", "triples"],
)
@given(st.data(), st.integers(0, 999))
@settings(max_examples=60)
def test_a_step_is_its_definition(
    tests: st.SearchStrategy[WLTest], most: int, data: st.DataObject, seed: int
) -> None:
    assert_same_step(data.draw(tests), data.draw(batches(most)), seed)


def test_sums_over_all_shells_of_an_ego_net() -> None:
    """``hops`` is for the whole graph; an ego-net has as many shells as its radius."""
    items = [LabelledGraph(path_graph(n)) for n in (5, 6, 7)]
    for scope in ("ego", "internal"):
        few, many = (
            Walks(scope, radius=3, num_shells=hops, walk_length=2, multisets=False)
            for hops in (1, 3)
        )
        batch = Batch.of(items)
        assert np.array_equal(few.colours(batch), many.colours(batch))
        assert_same_values(items, few)
