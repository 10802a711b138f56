"""Colours and walks in words: every number in them is true."""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.brute_force import walk_groups
from tests.brute_force_wl import brute_force_values
from tests.wl.cases import walks

from sekgnn.graphs import Graph, LabelledGraph, complete_graph, cycle_graph, path_graph
from sekgnn.testing import graphs
from sekgnn.wl import (
    SEK,
    DistanceProfile,
    InnerWL,
    OneWL,
    PatternCounts,
    Walks,
    compare,
    refine,
)
from sekgnn.wl.encodings.base import as_exact
from sekgnn.wl.encodings.walks import (
    first_differing_step,
    multiset_text,
    step_multisets,
)
from sekgnn.wl.refinement import Batch
from sekgnn.wl.verdict import ColourWords, counted

Multisets = dict[str, Counter[Fraction]]


def groups(graph: Graph, v: int, f: Walks) -> list[Multisets]:
    """Return the multisets around a node step by step, straight from the fractions."""
    h, pairs = walk_groups(f, graph, v)
    return [
        {name: Counter(h[i, j][t] for i, j in some) for name, some in pairs.items()}
        for t in range(f.walk_length)
    ]


def parsed(text: str) -> Counter[Fraction]:
    """Read a multiset of fractions back from its text."""
    items = re.findall(r"(\d+) × (-?\d+(?:/\d+)?)", text)
    return Counter({Fraction(value): int(n) for n, value in items})


@given(graphs(1, 6), walks(), st.data())
def test_multisets_around_a_node(g: Graph, f: Walks, data: st.DataObject) -> None:
    v = data.draw(st.integers(0, g.num_nodes - 1))
    assert list(step_multisets(g, v, f)) == groups(g, v, f)


@given(graphs(1, 6), graphs(1, 6), walks(), st.data())
@settings(max_examples=80)
def test_the_first_differing_step(
    g: Graph, h: Graph, f: Walks, data: st.DataObject
) -> None:
    """No earlier step differs, nor another group before it; the fractions are right."""
    v = data.draw(st.integers(0, g.num_nodes - 1))
    w = data.draw(st.integers(0, h.num_nodes - 1))
    text = first_differing_step(g, v, h, w, f)
    mine, theirs = groups(g, v, f), groups(h, w, f)

    def seen(values: Counter[Fraction]) -> object:
        if f.multisets:
            return values
        return sum((x * n for x, n in values.items()), Fraction(0))

    differing = [
        (t, name)
        for t, (a, b) in enumerate(zip(mine, theirs, strict=True), start=1)
        for name in dict.fromkeys([*a, *b])
        if seen(a.get(name, Counter())) != seen(b.get(name, Counter()))
    ]
    if not differing:
        assert text.startswith("each step by itself has the same probabilities")
        if not f.multisets:  # sums keep no more than each step by itself
            items = [LabelledGraph(g), LabelledGraph(h)]
            values = brute_force_values(f, items)
            assert values[0][v] == values[1][w]
        return
    t, name = differing[0]
    steps = "1 step" if t == 1 else f"{t} steps"
    assert text.startswith(f"{name} have after {steps} the probabilities ")
    a, b = mine[t - 1].get(name, Counter()), theirs[t - 1].get(name, Counter())
    left, right = text.split(" against ")
    if not f.multisets:
        assert left.endswith(f" of sum {seen(a)}") and right == f"sum {seen(b)}"
    elif "more" not in text and "rest" not in text:
        assert (parsed(left), parsed(right)) == (a, b)


def test_long_multisets_show_where_they_differ() -> None:
    """Seven kinds, of which six are shown: the difference is in the seventh."""
    many = Counter({Fraction(k): 1 for k in range(7)})
    assert multiset_text(many) == "{1 × 0, 1 × 1, 1 × 2, 1 × 3, 1 × 4, 2 more}"
    assert counted(Counter("abbccc")) == "{3 × c, 2 × b, 1 × a}"
    assert counted(Counter("abcdefg")).endswith("1 × f, 1 more kinds}")
    trees = []
    for last in (8, 9):  # a root whose children have 0, 1, ..., 6 and 8 or 9 children
        ends, found = [], 1
        for leaves in (0, 1, 2, 3, 4, 5, 6, last):
            child, found = found, found + 1
            ends += [(0, child), *((child, found + i) for i in range(leaves))]
            found += leaves
        size = found + (0 if last == 9 else 1)
        pairs = [[u for u, _ in ends], [v for _, v in ends]]
        trees.append(Graph.from_edge_index(pairs, size, undirected="add"))
    run = refine(OneWL(), Batch.of(map(LabelledGraph, trees)))
    words = ColourWords(run)
    (line,) = words.difference(0, trees[0].num_nodes, 2)
    assert line.startswith("neighbours: {1 × ") and "the rest being equal" in line


def test_names_of_colours() -> None:
    words = ColourWords(refine(OneWL(), Batch.of([])))
    names = [words.name(k, 3) for k in (0, 25, 26, 51, 52, 701, 702)]
    assert names == ["A3", "Z3", "AA3", "AZ3", "BA3", "ZZ3", "AAA3"]


def test_meanings_go_down_to_the_first_round_and_stop() -> None:
    text = compare(path_graph(7), cycle_graph(7), "1wl").words.meaning(3, 3)
    assert text[0].split(":")[0].endswith("3")
    assert text[-1] == "A0: all nodes alike"
    long = compare(path_graph(99), path_graph(99), "1wl").words.meaning(50, 49)
    assert len(long) < 50


def test_distance_profiles_in_words() -> None:
    batch = Batch.of([LabelledGraph(cycle_graph(5)), LabelledGraph(path_graph(1))])
    f = DistanceProfile(3)
    assert f.words(batch, 0) == (
        "edges (inwards, within, outwards) at "
        "distance 1: 2 × (1, 0, 1); distance 2: 2 × (1, 1, 0)"
    )
    assert f.words(batch, 5).endswith("at no other nodes")
    assert " against " in f.difference(batch, 0, 5)


def test_inner_wl_in_words() -> None:
    batch = Batch.of([LabelledGraph(complete_graph(4)), LabelledGraph(path_graph(4))])
    assert InnerWL(1).words(batch, 0).endswith("4 nodes with degrees [3, 3, 3, 3]")
    assert InnerWL(2).words(batch, 4).endswith("3 nodes with degrees [2, 1, 1]")


def test_patterns_in_words() -> None:
    batch = Batch.of([LabelledGraph(complete_graph(4))])
    f = PatternCounts(("clique4", "cycle3", "cycle4"))
    assert as_exact(f).words(batch, 0).endswith(": clique4 1, cycle3 3, cycle4 3")


def test_equal_words_are_not_set_against_each_other() -> None:
    """Labels are not in the words of a distance profile, but in its value."""
    path = path_graph(3)
    items = [LabelledGraph(path, [0, 1, 0]), LabelledGraph(path, [0, 2, 0])]
    f = DistanceProfile(1)
    text = f.difference(Batch.of(items), 0, 3)
    assert text.endswith("in both, but joined or labelled in different ways")
    sek = SEK(1, (PatternCounts(),), kernel="diffusion")
    run = refine(sek, Batch.of(items))
    (reason,) = run.colouring.first_difference(0, 3)
    assert reason.startswith("1 nodes within 1 hops, as often as met, by value 1")
    assert reason.endswith("in both, but not the same values")


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (Walks(), "graph(l=16)"),
        (Walks("ego", radius=2, walk_length=3, parts=("f1",)), "ego[h=2]:f1(l=3)"),
        (
            Walks("internal", radius=1, pairs="all", self_loops=False),
            "internal[h=1](l=16,all pairs,no loops)",
        ),
        (Walks(multisets=False), "graph(l=16,sums)"),
        (InnerWL(2, marked=False), "inner_wl(radius=2, marked=False)"),
    ],
)
def test_encodings_name_their_parameters(f: Walks, text: str) -> None:
    assert str(f) == text


def test_walks_say_where_they_live() -> None:
    batch = Batch.of([LabelledGraph(path_graph(2)), LabelledGraph(path_graph(1))])
    assert Walks(walk_length=2).words(batch, 0) == (
        "walks on the whole graph: "
        "returns to the centre, t=1: {1 × 1/2}; t=2: {1 × 1/2}"
    )
    inner = Walks("internal", radius=1)
    assert inner.words(batch, 2).endswith("centre: there are no other nodes")
    assert (
        Walks("ego", radius=1, walk_length=1, multisets=False)
        .words(batch, 0)
        .endswith("radius 1: returns to the centre, t=1: sum 1/2")
    )
