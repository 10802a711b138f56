"""The tests of the scoreboard: the table of known results, and what goes beyond it."""

from __future__ import annotations

from dataclasses import dataclass

from sekgnn.wl.colouring import WLTest
from sekgnn.wl.encodings.distances import DistanceProfile
from sekgnn.wl.encodings.inner_fwl import InnerFWL
from sekgnn.wl.encodings.inner_wl import InnerWL
from sekgnn.wl.encodings.patterns import PatternCounts
from sekgnn.wl.encodings.walks import Walks
from sekgnn.wl.fwl2 import TwoFWL
from sekgnn.wl.fwl3 import ThreeFWL
from sekgnn.wl.isomorphism import Isomorphism
from sekgnn.wl.khop import KHopWL
from sekgnn.wl.one_wl import OneWL
from sekgnn.wl.sek import SEK
from sekgnn.wl.sek_fwl2 import SEKTwoFWL
from sekgnn.wl.subgraph import SubgraphWL

MEMORY_CLASSES = ("n·ball", "n²", "n³")
"""Growth of the memory, the smallest first; a ball is what one node sees."""

WHOLE = 1_000
"""A radius beyond every graph of BREC: the ball is the whole graph."""

_INTERNAL = tuple(Walks("internal", h, walk_length=12, pairs="all") for h in (1, 2, 3))
_FULL = (Walks("graph"), *_INTERNAL)
_SUMS = (
    Walks("graph", multisets=False),
    *(Walks("internal", h, walk_length=12, multisets=False) for h in (1, 2, 3)),
)


@dataclass(frozen=True)
class Entry:
    """One row of the scoreboard.

    Attributes:
        key: Short name, unique.
        label: What the table calls it.
        test: The test.
        memory: One of :data:`MEMORY_CLASSES`, or empty for the ceiling, which is no
            test of this family.
        after: Tests that are asked before, of which this one sees what is left.
    """

    key: str
    label: str
    test: WLTest
    memory: str
    after: tuple[WLTest, ...] = ()


def _sek(*encodings: object, num_hops: int = 4) -> SEK:
    return SEK(num_hops, encodings)  # type: ignore[arg-type]


_STAIRS = (
    _sek(Walks("internal", 1)),
    _sek(Walks("internal", 2)),
    _sek(InnerWL(WHOLE)),
    _sek(InnerFWL(3, neighbours=True)),
)
"""The cheaper first; each sees only what those before it leave together."""

BOARD: tuple[Entry, ...] = (
    Entry("1wl", "1-WL", OneWL(), "n·ball"),
    Entry("khop2", "K-hop 1-WL, K = 2", KHopWL(2), "n·ball"),
    Entry("khop4", "K-hop 1-WL, K = 4", KHopWL(4), "n·ball"),
    Entry("khop8", "K-hop 1-WL, K = 8", KHopWL(8), "n·ball"),
    Entry(
        "diffusion4",
        "K-hop 1-WL, diffusion, K = 4",
        KHopWL(4, "diffusion"),
        "n·ball",
    ),
    Entry("subgraph1", "Subgraph 1-WL, h = 1", SubgraphWL(1), "n·ball"),
    Entry("subgraph3", "Subgraph 1-WL, h = 3", SubgraphWL(3), "n·ball"),
    Entry("marked3", "Subgraph 1-WL, marked, h = 3", SubgraphWL(3, True), "n·ball"),
    Entry(
        "distances8",
        "SEK, distances, K = 8",
        _sek(DistanceProfile(8), num_hops=8),
        "n·ball",
    ),
    Entry("patterns", "SEK, cycles to 5 and K4", _sek(PatternCounts()), "n·ball"),
    Entry("internal1", "SEK, internal h = 1", _sek(Walks("internal", 1)), "n·ball"),
    Entry("internal2", "SEK, internal h = 2", _sek(Walks("internal", 2)), "n·ball"),
    Entry("internal123", "SEK, internal h = 1, 2, 3", _sek(*_INTERNAL), "n·ball"),
    Entry("fwl_h1", "SEK, inner 2-FWL h = 1", _sek(InnerFWL(1)), "n·ball"),
    Entry("fwl_h3", "SEK, inner 2-FWL h = 3", _sek(InnerFWL(3)), "n·ball"),
    Entry("marking", "SEK, inner 1-WL, whole graph", _sek(InnerWL(WHOLE)), "n·ball"),
    Entry(
        "marking_internal2",
        "SEK, inner 1-WL whole graph + internal h = 2",
        _sek(InnerWL(WHOLE), Walks("internal", 2, walk_length=12)),
        "n·ball",
    ),
    Entry(
        "marking_fwl3",
        "SEK, inner 1-WL whole graph + inner 2-FWL h = 3",
        _sek(InnerWL(WHOLE), InnerFWL(3)),
        "n·ball",
    ),
    Entry(
        "all_ball",
        "SEK, internal h = 1, then h = 2, then inner 1-WL whole graph, then inner "
        "2-FWL h = 3, each edge marked",
        _STAIRS[-1],
        "n·ball",
        _STAIRS[:-1],
    ),
    Entry("graph_f1", "SEK, graph, f1", _sek(Walks("graph", parts=("f1",))), "n²"),
    Entry("graph", "SEK, graph, f1–f3", _sek(Walks("graph")), "n²"),
    Entry("sums", "SEK, graph + internal h = 1, 2, 3, sums", _sek(*_SUMS), "n²"),
    Entry("full", "SEK, graph + internal h = 1, 2, 3", _sek(*_FULL), "n²"),
    Entry("2fwl", "2-FWL (3-WL)", TwoFWL(), "n²"),
    Entry(
        "sek2fwl",
        "SEK 2-FWL, graph + internal h = 1, 2, 3",
        SEKTwoFWL(4, _FULL),
        "n²",
    ),
    Entry(
        "sek2fwl_marking",
        "SEK 2-FWL, inner 1-WL whole graph + inner 2-FWL h = 3",
        SEKTwoFWL(4, (InnerWL(WHOLE), InnerFWL(3))),
        "n²",
    ),
    Entry("fwl_whole", "SEK, inner 2-FWL, whole graph", _sek(InnerFWL(WHOLE)), "n²"),
    Entry(
        "all_n2",
        "the same four, then SEK, inner 2-FWL, whole graph",
        _sek(InnerFWL(WHOLE)),
        "n²",
        _STAIRS,
    ),
    Entry("3fwl", "3-FWL (4-WL)", ThreeFWL(), "n³"),
    Entry("isomorphism", "isomorphism (igraph, bliss)", Isomorphism(), ""),
)
"""Every row, the cheaper memory first."""
