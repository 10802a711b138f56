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

from sekgnn.digest import Colours
from sekgnn.encoding.patterns import PATTERNS
from sekgnn.graphs import (
    Graph,
    LabelledGraph,
    complete_graph,
    csl_graph,
    cycle_graph,
    pack,
    rook_graph,
)
from sekgnn.wl import (
    PatternCounts,
    SEKTwoFWL,
    ThreeFWL,
    TwoFWL,
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


def test_unknown_tests_have_no_brute_force() -> None:
    with pytest.raises(TypeError, match="no brute force for str"):
        brute_force_rounds("1wl", [])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="no brute force for str"):
        brute_force_values("walks", [])  # type: ignore[arg-type]
