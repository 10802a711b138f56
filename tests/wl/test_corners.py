"""Graphs with little in them, labels on one side only, graphs that are too large."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from tests.small_graphs import HEXAGON, TRIANGLES, empty_graph

from sekgnn.errors import GraphInputError
from sekgnn.graphs import LabelledGraph, cycle_graph, path_graph, to_graph6
from sekgnn.wl import (
    TESTS,
    KHopWL,
    SubgraphWL,
    Walks,
    compare,
    partition,
    refine,
    refinement,
)
from sekgnn.wl.refinement import Batch

NAMES = list(TESTS)


@pytest.mark.parametrize("test", NAMES)
def test_small_and_loose_graphs(test: str) -> None:
    """All of them are different, and no test may fail on any."""
    graphs = [
        path_graph(0),
        path_graph(1),
        empty_graph(2),
        path_graph(2),
        empty_graph(3),
        path_graph(2).disjoint_union(empty_graph(1)),  # an edge and an isolated node
        path_graph(3),
        path_graph(2).disjoint_union(path_graph(2)),
        path_graph(3).disjoint_union(empty_graph(1)),
        path_graph(4),
    ]
    assert partition(graphs, test).tolist() == list(range(len(graphs)))
    for a, b in itertools.combinations(range(len(graphs)), 2):
        verdict = compare(graphs[a], graphs[b], test)
        assert verdict.separated
        if graphs[a].num_nodes != graphs[b].num_nodes:
            assert verdict.round == 0
            assert f"{graphs[a].num_nodes} and {graphs[b].num_nodes} nodes" in (
                verdict.explain()
            )
        assert verdict.to_json()
    for graph in graphs:
        assert not compare(graph, graph, test).separated


@pytest.mark.parametrize("test", NAMES)
def test_no_graphs(test: str) -> None:
    classes = partition([], test)
    assert classes.dtype == np.int64 and classes.shape == (0,)


def test_hops_beyond_the_diameter() -> None:
    """Shells that do not exist add nothing."""
    batch = Batch.of(map(LabelledGraph, (HEXAGON, TRIANGLES)))
    for far in (KHopWL(30), SubgraphWL(30)):
        near = type(far)(5)
        apart = [refine(test, batch).separated_at(0, 1) for test in (far, near)]
        assert apart[0] == apart[1]
    for scope in ("ego", "internal"):
        few, many = (
            Walks(scope, radius=h, walk_length=4).colours(batch) for h in (3, 30)
        )
        assert np.array_equal(few, many)
    assert np.array_equal(
        Walks(num_shells=3).colours(batch), Walks(num_shells=30).colours(batch)
    )


@pytest.mark.parametrize("test", NAMES)
def test_labels_on_one_graph_only(test: str) -> None:
    path = path_graph(2)
    with pytest.raises(GraphInputError, match="graph 0 has node"):
        compare(LabelledGraph(path, [1, 2]), path, test)
    with pytest.raises(GraphInputError, match="graph 1 has edge"):
        compare(path, LabelledGraph(path, None, {(0, 1): 5}), test)


@pytest.mark.parametrize(
    ("test", "nodes", "gib"),
    [
        ("2fwl", 10_000, "23.8 GiB"),  # 2 · 16 · 8 · n² bytes
        ("3fwl", 1_000, "134.1 GiB"),  # (2 · 48 + 48) · n³
        ("sek", 20_000, "17.9 GiB"),  # 48 · n²
        ("sek2fwl", 10_000, "28.3 GiB"),
    ],
)
def test_too_large(test: str, nodes: int, gib: str) -> None:
    graph = empty_graph(nodes)
    message = (
        rf"^{test}.* on graphs of {nodes} nodes would need about {gib}.*limit is 8"
    )
    with pytest.raises(GraphInputError, match=message):
        compare(graph, graph, test)


def test_the_limit_can_be_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = cycle_graph(6), cycle_graph(6)
    needed = TESTS["2fwl"]().memory([6, 6])
    monkeypatch.setattr(refinement, "MEMORY_LIMIT", needed)
    assert not compare(*pair, "2fwl").separated
    monkeypatch.setattr(refinement, "MEMORY_LIMIT", needed - 1)
    with pytest.raises(GraphInputError, match="Use a test with less memory"):
        compare(*pair, "2fwl")
    assert not compare(*pair, "1wl").separated


@pytest.mark.parametrize("test", ["1wl", "khop", "subgraph"])
def test_tests_on_nodes_take_large_graphs(test: str) -> None:
    graph = empty_graph(100_000)
    assert not compare(graph, graph, test).separated


@pytest.mark.parametrize("test", NAMES)
def test_labels_by_name(test: str) -> None:
    """Names of attributes reach every graph of a comparison and of a partition."""
    molecules = []
    for atoms, bonds in (("CCO", (1, 1)), ("CCN", (1, 1)), ("CCO", (1, 2))):
        molecule = path_graph(3).to_networkx()
        for v, atom in enumerate(atoms):
            molecule.nodes[v]["atom"] = atom
        for edge, bond in zip([(0, 1), (1, 2)], bonds, strict=True):
            molecule.edges[edge]["bond"] = bond
        molecules.append(molecule)
    cases: list[tuple[dict[str, Any], list[int]]] = [
        ({}, [0, 0, 0]),
        ({"node_labels": "atom"}, [0, 1, 0]),
        ({"edge_labels": "bond"}, [0, 0, 1]),
        ({"node_labels": "atom", "edge_labels": "bond"}, [0, 1, 2]),
    ]
    for names, expected in cases:
        assert partition(molecules, test, **names).tolist() == expected
        first = molecules[0]
        for other, number in zip(molecules, expected, strict=True):
            assert compare(first, other, test, **names).separated == (number > 0)


def test_any_kind_of_graph() -> None:
    """graph6 string, networkx and this library's graphs, side by side."""
    same = [to_graph6(cycle_graph(4)), cycle_graph(4).to_networkx(), cycle_graph(4)]
    assert partition(same, "2fwl").tolist() == [0, 0, 0]
    with pytest.raises(GraphInputError):
        compare(5, path_graph(2), "1wl")
