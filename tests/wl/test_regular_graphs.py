"""Regular graphs, of which 1-WL sees nothing: what little each test sees is right.

Among random small graphs degrees give most away, and a test that looks at the wrong
walks or shells finds the same classes. Here it does not.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.wl.test_brute_force import assert_same_refinement, assert_same_values

from sekgnn.graphs import (
    Graph,
    LabelledGraph,
    circulant_graph,
    complete_graph,
    cycle_graph,
    random_regular_graph,
)
from sekgnn.hops import HopKernel
from sekgnn.wl import (
    SEK,
    DistanceProfile,
    InnerFWL,
    InnerWL,
    KHopWL,
    OneWL,
    PatternCounts,
    SEKTwoFWL,
    SubgraphWL,
    ThreeFWL,
    TwoFWL,
    Walks,
    WLTest,
)
from sekgnn.wl.encodings.base import Encoding


def rings(*sizes: int) -> Graph:
    """Return cycles side by side."""
    graph = cycle_graph(sizes[0])
    for size in sizes[1:]:
        graph = graph.disjoint_union(cycle_graph(size))
    return graph


DRAWN = [random_regular_graph(8, 3, np.random.default_rng(seed)) for seed in range(5)]
FAMILIES: dict[str, list[Graph]] = {
    "two": [rings(8), rings(4, 4), rings(3, 5), rings(7), rings(3, 4), rings(6)],
    "three": [
        circulant_graph(8, [1, 4]),
        complete_graph(4).disjoint_union(complete_graph(4)),
        circulant_graph(6, [1, 3]),
        circulant_graph(6, [2, 3]),
        *DRAWN,
    ],
}
KERNELS: list[HopKernel] = ["shortest_path", "diffusion"]
ENCODINGS: list[Encoding] = [
    Walks(walk_length=3, parts=("f1",)),
    Walks(walk_length=3, num_shells=2, parts=("f2",)),
    Walks(walk_length=3, num_shells=2, parts=("f3",)),
    Walks(walk_length=3, num_shells=1, parts=("f3",)),
    Walks(walk_length=2, num_shells=3, pairs="all"),
    Walks(walk_length=3, num_shells=2, self_loops=False),
    Walks(walk_length=3, num_shells=2, multisets=False),
    Walks("ego", radius=1, walk_length=3),
    Walks("ego", radius=2, walk_length=3, parts=("f1", "f2")),
    Walks("ego", radius=2, walk_length=2, multisets=False, self_loops=False),
    Walks("internal", radius=1, walk_length=2),
    Walks("internal", radius=2, walk_length=3),
    Walks("internal", radius=2, walk_length=2, pairs="all"),
    Walks("internal", radius=2, walk_length=2, multisets=False),
    Walks("internal", radius=2, walk_length=2, self_loops=False),
    DistanceProfile(1),
    DistanceProfile(3),
    PatternCounts(("cycle3",)),
    PatternCounts(("cycle4", "clique4")),
    PatternCounts(("cycle5",)),
    PatternCounts(("cycle6",)),
    *(InnerWL(radius, marked) for radius in (1, 2) for marked in (True, False)),
    *(InnerFWL(radius, each) for radius in (1, 2) for each in (False, True)),
]
TESTS: list[WLTest] = [
    OneWL(),
    *(KHopWL(hops, kernel) for hops in (2, 3, 4) for kernel in KERNELS),
    *(SubgraphWL(radius, marked) for radius in (1, 2) for marked in (True, False)),
    *(
        SEK(2, (Walks(walk_length=2, num_shells=1, parts=("f3",)),), context, kernel)
        for context in (True, False)
        for kernel in KERNELS
    ),
    SEK(1, (PatternCounts(("cycle3",)), PatternCounts(("cycle4",)))),
    TwoFWL(),
    SEKTwoFWL(2, (PatternCounts(("cycle3",)),), False),
    SEKTwoFWL(2, (Walks(walk_length=2, num_shells=1),)),
    ThreeFWL(),
]


def labelled(family: str, kind: str) -> list[LabelledGraph]:
    """Return a family with no labels, or with labels of the nodes, or of the edges."""
    items = [LabelledGraph(graph) for graph in FAMILIES[family]]
    if kind == "nodes":
        return [
            LabelledGraph(g.graph, [int(v == 0) for v in range(g.num_nodes)])
            for g in items
        ]
    if kind == "edges":
        pairs = [(g, g.graph.edge_index().T.tolist()) for g in items]
        return [
            LabelledGraph(g.graph, None, [int(0 in p) for p in e]) for g, e in pairs
        ]
    return items


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("f", ENCODINGS, ids=str)
def test_encodings(f: Encoding, family: str) -> None:
    kinds = ["none"] if isinstance(f, PatternCounts) else ["none", "nodes"]
    kinds += ["edges"] if isinstance(f, InnerWL | InnerFWL) else []
    for kind in kinds:
        assert_same_values(labelled(family, kind), f)


@pytest.mark.parametrize("kind", ["none", "nodes", "edges"])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("test", TESTS, ids=str)
def test_refinements(test: WLTest, family: str, kind: str) -> None:
    items = labelled(family, kind)
    assert_same_refinement(test, items[:3] if isinstance(test, ThreeFWL) else items)
