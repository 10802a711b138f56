"""Tests, encodings and batches of graphs for hypothesis to draw."""

from __future__ import annotations

from typing import get_args

from hypothesis import strategies as st

from sekgnn.encoding.patterns import PATTERNS
from sekgnn.encoding.walk_encoding import SCOPES
from sekgnn.graphs import Graph
from sekgnn.testing import labelled_graphs
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
)
from sekgnn.wl.encodings.base import Encoding
from sekgnn.wl.encodings.walks import PARTS, Pairs

PAIRS: tuple[Pairs, ...] = get_args(Pairs)
KERNELS = st.sampled_from(["shortest_path", "diffusion"])
SMALL = st.integers(1, 3)


@st.composite
def walks(draw: st.DrawFn) -> Walks:
    """Draw any walks with few steps: every scope, part and way of pairing."""
    scope = draw(st.sampled_from(SCOPES))
    parts, pairs = PARTS, PAIRS[0]
    multisets = draw(st.sampled_from([True, True, False]))
    if multisets:
        pairs = draw(st.sampled_from(PAIRS))
        if scope != "internal":
            chosen = st.lists(st.sampled_from(PARTS), min_size=1, unique=True)
            parts = tuple(draw(chosen))
    return Walks(
        scope,
        radius=None if scope == "graph" else draw(SMALL),
        num_shells=draw(SMALL),
        walk_length=draw(st.integers(1, 5)),
        parts=parts,
        pairs=pairs,
        multisets=multisets,
        self_loops=draw(st.booleans()),
    )


def encodings() -> st.SearchStrategy[Encoding]:
    """Draw any substructure encoding function."""
    patterns = st.lists(st.sampled_from(PATTERNS), min_size=1, unique=True)
    return st.one_of(
        walks(),
        st.builds(InnerWL, SMALL, st.booleans()),
        st.builds(InnerFWL, SMALL, st.booleans()),
        st.builds(DistanceProfile, SMALL),
        st.builds(PatternCounts, patterns.map(tuple)),
    )


def seks(cls: type[SEK] = SEK) -> st.SearchStrategy[SEK]:
    """Draw a SEK test, or one that starts from its colours."""
    some = st.lists(encodings(), min_size=1, max_size=2).map(tuple)
    return st.builds(cls, SMALL, some, st.booleans(), KERNELS)


def node_tests() -> st.SearchStrategy[WLTest]:
    """Draw a test that colours nodes."""
    return st.one_of(
        st.just(OneWL()),
        st.builds(KHopWL, st.integers(1, 4), KERNELS),
        st.builds(SubgraphWL, SMALL, st.booleans()),
        seks(),
    )


def any_tests() -> st.SearchStrategy[WLTest]:
    """Draw any test; graphs of 3-FWL and isomorphism must be small."""
    return st.one_of(
        node_tests(),
        node_tests(),
        st.just(TwoFWL()),
        seks(SEKTwoFWL),
        st.just(ThreeFWL()),
        st.just(Isomorphism()),
    )


@st.composite
def batches(
    draw: st.DrawFn, max_nodes: int = 6, sizes: tuple[int, int] = (2, 3)
) -> list[Graph]:
    """Draw some graphs, all with labels of a kind or none; often one is a copy."""
    kind = labelled_graphs(
        max_nodes=max_nodes,
        node_labels=draw(st.booleans()),
        edge_labels=draw(st.booleans()),
        num_labels=draw(st.sampled_from([2, 3])),
    )
    some = draw(st.lists(kind, min_size=sizes[0], max_size=sizes[1]))
    if draw(st.booleans()):
        some[-1] = shuffled(draw, some[0])
    return some


def pairs(
    max_nodes: int = 6,
) -> st.SearchStrategy[tuple[Graph, Graph]]:
    """Draw two graphs, both with labels of a kind or none; often one is a copy."""
    return batches(max_nodes, (2, 2)).map(lambda two: (two[0], two[1]))


def shuffled(draw: st.DrawFn, item: Graph) -> Graph:
    """Return the graph under other names of its nodes."""
    return item.relabel(draw(st.permutations(range(item.num_nodes))))


@st.composite
def copies(draw: st.DrawFn, max_nodes: int = 7) -> tuple[Graph, Graph]:
    """Draw a graph, labelled or not, and a relabelled copy."""
    (item,) = draw(batches(max_nodes, (1, 1)))
    return item, shuffled(draw, item)


def limit(test: WLTest, most: int = 6) -> int:
    """Return how many nodes the brute force of a test can bear."""
    if isinstance(test, ThreeFWL):
        return 4
    return min(most, 5) if isinstance(test, Isomorphism) else most
