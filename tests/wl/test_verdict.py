"""What a verdict says, to people and to programs, is true."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.small_graphs import TRIANGLES, star
from tests.wl.cases import any_tests, pairs

from sekgnn.digest import colour_text
from sekgnn.graphs import (
    Graph,
    LabelledGraph,
    cycle_graph,
    path_graph,
    rook_graph,
    shrikhande_graph,
)
from sekgnn.wl import TESTS, Isomorphism, Verdict, WLTest, compare

Pair = tuple[LabelledGraph, LabelledGraph]


@given(any_tests(), pairs(6))
@settings(max_examples=60)
def test_every_verdict_explains_itself(test: WLTest, pair: Pair) -> None:
    verdict = compare(*pair, test)
    text = verdict.explain()
    assert text.splitlines()[0] == verdict.sentence()
    assert str(test) in text and verdict.sentence() in repr(verdict)
    answer = json.loads(verdict.to_json())
    assert answer == json.loads(json.dumps(verdict.to_dict()))
    assert answer["separated"] == verdict.separated == (verdict.round is not None)
    assert (answer["round"], answer["rounds"]) == (verdict.round, verdict.rounds)
    assert answer["num_nodes"] == [item.num_nodes for item in pair]
    assert answer["class_counts"] == list(verdict.run.class_counts)
    assert answer["test"] == test.name and answer["objects"] == test.objects
    assert answer["stable"] is True
    assert answer["seconds"] == pytest.approx(verdict.seconds, abs=1e-6)
    assert (answer["colour"] is None) == (not verdict.separated)
    if verdict.separated:
        check_reason(verdict, pair, text, answer["colour"])
    else:
        assert verdict.witness is None and verdict.counterpart is None
        assert "does not separate" in text


def check_reason(
    verdict: Verdict, pair: Pair, text: str, colour: dict[str, object]
) -> None:
    """The colour named has the multiplicities named, and no other differs more."""
    assert verdict.round is not None and verdict.witness is not None
    history, ptr = verdict.run.history[verdict.round], verdict.run.colouring.ptr
    rows = [tuple(row) for row in history.tolist()]
    sides = Counter(rows[: ptr[1]]), Counter(rows[ptr[1] :])
    mine = rows[verdict.witness]
    counts = [side[mine] for side in sides]
    assert counts[0] != counts[1] and colour["counts"] == counts
    assert abs(counts[0] - counts[1]) == max(
        abs(sides[0][row] - sides[1][row]) for row in rows
    )
    assert colour["digest"] == colour_text(history[verdict.witness])
    graph = int(verdict.witness >= ptr[1])
    where = verdict.run.colouring.locate(verdict.witness)
    assert (colour["graph"], colour["nodes"]) == where
    assert where[0] == graph
    assert all(0 <= n < pair[graph].num_nodes for n in where[1])
    objects = verdict.run.test.objects
    assert f"{counts[0]} {objects} of first and {counts[1]} of second" in text
    if pair[0].num_nodes == pair[1].num_nodes:
        assert f"at round {verdict.round}" in text
    else:
        assert verdict.round == 0
        assert f"they have {pair[0].num_nodes} and {pair[1].num_nodes} nodes" in text
    other = verdict.counterpart
    if other is None:
        assert colour["difference"] == [] and "What differs" not in text
        return
    assert (other < ptr[1]) != (verdict.witness < ptr[1])
    assert rows[other] != mine
    if verdict.round:
        before = verdict.run.history[verdict.round - 1]
        assert np.array_equal(before[other], before[verdict.witness])
    difference = colour["difference"]
    assert isinstance(difference, list) and difference
    for line in difference:
        left, *right = line.split(" against ")
        assert all(not left.endswith(side) for side in right), line


@pytest.mark.parametrize("test", ["1wl", "khop", "2fwl"])
def test_reasons_on_trees(test: str) -> None:
    """Trees with the same degrees are told apart late, by a node that was mistaken."""
    trees = [Graph.from_edge_index(np.array(t.edges).T, 8, undirected="add")
             for t in nx.nonisomorphic_trees(8)]  # fmt: skip
    late = 0
    for first, second in combinations(map(LabelledGraph, trees), 2):
        verdict = compare(first, second, test)
        late += (verdict.round or 0) > 1
        answer = json.loads(verdict.to_json())["colour"]
        check_reason(verdict, (first, second), verdict.explain(), answer)
    assert test != "1wl" or late > 20


@given(any_tests(), pairs(6))
@settings(max_examples=50)
def test_histograms_count_every_object(test: WLTest, pair: Pair) -> None:
    verdict = compare(*pair, test)
    ptr = verdict.run.colouring.ptr
    for round, colours in enumerate(verdict.run.history):
        counts = verdict.histogram(round)
        assert counts.shape == (verdict.run.class_counts[round], 2)
        assert counts.sum(axis=0).tolist() == np.diff(ptr).tolist()
        equal = (counts[:, 0] == counts[:, 1]).all()
        assert equal == (verdict.round is None or round < verdict.round)
        assert len(colours) == counts.sum()
    last = json.loads(verdict.to_json())["stable_histogram"]
    assert last["num_colours"] == len(counts)
    assert [tuple(c["counts"]) for c in last["most_frequent"]] == sorted(
        map(tuple, counts.tolist()), key=lambda row: -sum(row)
    )[:50]
    named = {colour_text(row) for row in verdict.run.history[-1]}
    shown = {c["digest"] for c in last["most_frequent"]}
    assert shown <= named and len(shown) == min(50, len(named))


def test_the_histogram_is_cut_to_the_most_frequent() -> None:
    grid = path_graph(240)
    answer = compare(grid, grid, "1wl").to_dict()["stable_histogram"]
    assert answer["num_colours"] == 120
    assert len(answer["most_frequent"]) == 50


def test_a_star_and_a_path() -> None:
    """Worked by hand: after one round the star has its centre, the path three kinds."""
    verdict = compare(star(3), path_graph(4), "1wl", names=("star", "path"))
    assert (verdict.round, verdict.rounds) == (1, 2)  # then leaves and ends part
    assert verdict.histogram(0).tolist() == [[4, 4]]
    assert verdict.histogram(1).tolist() == [[1, 0], [3, 2], [0, 2]]
    assert verdict.sentence() == "1wl separates star and path at round 1."
    assert verdict.explain().splitlines() == [
        "1wl separates star and path at round 1.",
        "Colour C1 is that of 0 nodes of star and 2 of path. It means:",
        "  C1: was A0",
        "      neighbours {2 × A0}",
        "  A0: all nodes alike",
        "What differs, node 1 of path against node 0 of star:",
        "  neighbours: {2 × A0} against {3 × A0}",
    ]


def test_a_cycle_and_two_triangles() -> None:
    verdict = compare(cycle_graph(6), TRIANGLES, "1wl")
    assert verdict.explain().splitlines() == [
        "1wl does not separate first and second (stable after 0 rounds).",
        "All nodes of both have the same colour, and no further round would change "
        "that. They may still differ: a stronger test may tell.",
    ]
    verdict = compare(cycle_graph(6), TRIANGLES, "2fwl")
    assert verdict.round == 1
    assert "ways (u, w), (w, v)" in verdict.explain()
    assert (
        "nodes at hop 2: {2 × A0} against {}"
        in compare(cycle_graph(6), TRIANGLES, "khop", num_hops=2).explain()
    )


def test_labels_are_named() -> None:
    path = path_graph(2)
    first, second = LabelledGraph(path, [7, 8]), LabelledGraph(path, [7, 9])
    assert "label 8 against label 9" in compare(first, second, "1wl").explain()
    first, second = LabelledGraph(path, ["C", "N"]), LabelledGraph(path, ["C", "O"])
    assert "label N against label O" in compare(first, second, "1wl").explain()
    first = LabelledGraph(path_graph(3), None, {(0, 1): 4, (1, 2): 5})
    second = LabelledGraph(path_graph(3), None, {(0, 1): 4, (1, 2): 4})
    text = compare(first, second, "1wl").explain()
    assert "neighbours: {1 × edge 4: A0} against {2 × edge 4: A0}" in text
    text = compare(first, second, "2fwl").explain()
    assert "two adjacent nodes (edge 4)" in text
    assert "two adjacent nodes (edge" in compare(first, second, "3fwl").explain()


def test_rook_and_shrikhande_worked_by_hand() -> None:
    """Neighbours of a node are two triangles in the one graph, a hexagon in the other.

    With loops, a walk on a triangle is anywhere on it with probability 1/3 from the
    first step on. On a hexagon it is after two steps at the start with 3/9, at either
    neighbour with 2/9, behind these with 1/9.
    """
    pair = rook_graph(4), shrikhande_graph()
    f = {"encoding": "walks", "scope": "internal", "radius": 1, "walk_length": 2}
    verdict = compare(*pair, "sek", encodings=f, names=("rook", "Shrikhande"))
    assert verdict.round == 0
    text = verdict.explain()
    where = "walks in the ego-net of radius 1 without its centre"
    assert (
        f"{where}: walks between nodes at distance 1 have after 2 steps the "
        "probabilities {18 × 0, 12 × 1/3} against {6 × 0, 12 × 1/9, 12 × 2/9}"
    ) in text
    assert "returns to the nodes at distance 1, t=1: {6 × 1/3}; t=2: {6 × 1/3}" in text
    assert "16 nodes of rook and 0 of Shrikhande" in text
    sums = compare(*pair, "sek", encodings=f | {"multisets": False, "walk_length": 3})
    assert (  # 12 × 1/3 and 18/9 = 4 - 6 × 1/3: equal sums until the walk closes
        "returns to the nodes at distance 1 have after 3 steps the probabilities of "
        "sum 2 against sum 14/9"
    ) in sums.explain()


def test_isomorphism_is_final() -> None:
    verdict = compare(cycle_graph(5), cycle_graph(5), Isomorphism())
    assert verdict.explain().endswith("makes it the other.")
    assert "stronger" not in verdict.explain()
    verdict = compare(path_graph(0), path_graph(1), Isomorphism(), names=("a", "b"))
    assert "What differs, a against b:" in verdict.explain()
    assert "a graph of 0 nodes and 0 edges" in verdict.explain()


@given(st.sampled_from(list(TESTS)), pairs(5))
@settings(max_examples=40)
def test_symmetric_in_its_arguments(test: str, pair: Pair) -> None:
    one, two = compare(*pair, test), compare(pair[1], pair[0], test)
    assert (one.round, one.rounds) == (two.round, two.rounds)
    assert one.run.class_counts == two.run.class_counts
