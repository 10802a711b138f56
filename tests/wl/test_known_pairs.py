"""Pairs of graphs of which it is known who tells them apart."""

from __future__ import annotations

import pytest
from tests.brute_force import distances
from tests.small_graphs import HEXAGON, TRIANGLES

from sekgnn.graphs import (
    Graph,
    LabelledGraph,
    cfi_pair,
    complete_graph,
    csl_graph,
    cycle_graph,
    labelled_from_smiles,
    path_graph,
    rook_graph,
    shrikhande_graph,
)
from sekgnn.wl import (
    SEK,
    DistanceProfile,
    InnerFWL,
    InnerWL,
    Isomorphism,
    KHopWL,
    OneWL,
    PatternCounts,
    SEKTwoFWL,
    SubgraphWL,
    ThreeFWL,
    TwoFWL,
    Walks,
    WLTest,
    compare,
    partition,
)

ROOK, SHRIKHANDE = rook_graph(4), shrikhande_graph()
INTERNAL = Walks("internal", radius=1)


@pytest.mark.parametrize(
    "test",
    [
        OneWL(),
        KHopWL(),
        KHopWL(kernel="diffusion"),
        SubgraphWL(1),
        SubgraphWL(1, marked=True),
        SubgraphWL(3, marked=True),
        TwoFWL(),
        SEK(encodings=(Walks(),)),
        SEK(encodings=(Walks(pairs="all", self_loops=False),)),
        SEK(encodings=(Walks("graph", multisets=False),)),
        SEK(encodings=(Walks("ego", radius=2),)),  # the whole graph
        SEK(encodings=(DistanceProfile(),)),
        SEK(encodings=(InnerWL(),)),
        SEKTwoFWL(encodings=(Walks(),)),
        SEK(encodings=(Walks("internal", radius=1, walk_length=1),)),
    ],
    ids=str,
)
def test_rook_and_shrikhande_look_alike(test: WLTest) -> None:
    """Strongly regular with the same numbers: what 2-FWL sees is equal."""
    assert not compare(ROOK, SHRIKHANDE, test).separated


@pytest.mark.parametrize(
    "test",
    [
        SEK(),
        SEK(encodings=(INTERNAL,)),
        SEK(encodings=(Walks("internal", radius=1, walk_length=2),)),
        SEK(encodings=(Walks("ego", radius=1),)),
        SEK(encodings=(Walks("internal", radius=1, self_loops=False, walk_length=3),)),
        SEK(encodings=(Walks("internal", radius=1, multisets=False),)),
        SEK(encodings=(PatternCounts(("clique4",)),)),
        SEK(encodings=(InnerFWL(1),)),
        SEKTwoFWL(encodings=(INTERNAL,)),
        ThreeFWL(),
        Isomorphism(),
    ],
    ids=str,
)
def test_rook_and_shrikhande_are_told_apart(test: WLTest) -> None:
    assert compare(ROOK, SHRIKHANDE, test).round == 0 or test == ThreeFWL()
    assert compare(ROOK, SHRIKHANDE, test).separated


@pytest.mark.parametrize(
    ("test", "round"),
    [
        (OneWL(), None),
        (KHopWL(1), None),
        (KHopWL(2), 1),
        (KHopWL(3, "diffusion"), None),  # 2, 3 and 3 nodes, in either graph
        (SubgraphWL(1), 1),
        (TwoFWL(), 1),
        (ThreeFWL(), 0),
        (Isomorphism(), 0),
        (SEK(1, (Walks(walk_length=1, parts=("f1",)),)), None),
        (SEK(1, (Walks(walk_length=3, parts=("f1",)),)), 0),
        (SEK(1, (Walks(walk_length=2, num_shells=1, parts=("f3",)),)), 0),
    ],
    ids=str,
)
def test_a_hexagon_and_two_triangles(test: WLTest, round: int | None) -> None:
    assert compare(HEXAGON, TRIANGLES, test).round == round


def test_circular_skip_links() -> None:
    skips = (2, 3, 4, 5, 6, 9, 11, 12, 13, 16)
    graphs = [csl_graph(41, skip) for skip in skips]
    assert set(partition(graphs, "1wl").tolist()) == {0}
    for test in ("sek", "2fwl", "isomorphism"):
        assert partition(graphs, test).tolist() == list(range(10)), test
    for hops in (2, 3, 4, 9):  # all nodes are alike: only sizes of shells can differ
        sizes = [
            tuple(list(distances(g)[0].values()).count(k) for k in range(1, hops + 1))
            for g in graphs
        ]
        expected = [list(dict.fromkeys(sizes)).index(size) for size in sizes]
        assert partition(graphs, "khop", num_hops=hops).tolist() == expected


@pytest.mark.parametrize(
    ("base", "weakest"),
    [(path_graph(3), "1wl"), (cycle_graph(4), "2fwl"), (complete_graph(4), "3fwl")],
)
def test_cfi_pairs_need_more_than_the_treewidth(base: Graph, weakest: str) -> None:
    """(k + 1)-WL, or k-FWL, separates the pair over a base of treewidth k, no less."""
    pair = cfi_pair(base)
    tests = ["1wl", "2fwl", "3fwl", "isomorphism"]
    told = {test: compare(*pair, test).separated for test in tests}
    first = tests.index(weakest)
    assert list(told.values()) == [False] * first + [True] * (4 - first)


def test_the_same_structure_with_other_labels() -> None:
    """Labels that only swap places are seen; a copy with the same ones is not."""
    ring = [0, 0, 1, 1], [0, 1, 0, 1]
    first, second = (LabelledGraph(cycle_graph(4), labels) for labels in ring)
    edges = [(0, 1), (1, 2), (2, 3), (3, 0)]
    third, fourth = (
        LabelledGraph(cycle_graph(4), None, dict(zip(edges, labels, strict=True)))
        for labels in ring
    )
    fifth, sixth = (  # around every node the labels add up to 2
        LabelledGraph(cycle_graph(4), None, dict(zip(edges, labels, strict=True)))
        for labels in ([0, 2, 0, 2], [1, 1, 1, 1])
    )
    for name in ("1wl", "khop", "subgraph", "sek", "2fwl", "3fwl", "isomorphism"):
        assert compare(first, second, name).separated, name
        assert compare(third, fourth, name).separated, name
        assert compare(fifth, sixth, name).separated, name
        for item in (first, second, third, fourth, fifth, sixth):
            assert not compare(item, item.relabel([2, 0, 3, 1]), name).separated


def test_molecules() -> None:
    """Decalin and bicyclopentyl, which 1-WL confuses even with atoms and bonds."""
    pytest.importorskip("rdkit")
    decalin = labelled_from_smiles("C1CCC2CCCCC2C1")
    bicyclopentyl = labelled_from_smiles("C1CCC(C1)C2CCCC2")
    assert not compare(decalin, bicyclopentyl, "1wl").separated
    assert compare(decalin, bicyclopentyl, "sek").separated
    phenol, cyclohexanol = (
        labelled_from_smiles(text) for text in ("Oc1ccccc1", "OC1CCCCC1")
    )
    assert compare(phenol, cyclohexanol, "1wl").round == 1  # bonds differ, atoms not
    assert compare(phenol, labelled_from_smiles("Nc1ccccc1"), "1wl").round == 0
