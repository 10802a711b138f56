"""The ladder of tests: one list for BREC's scoreboard, the explorer and the adviser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sekgnn.encoding.patterns import PatternCounts
from sekgnn.encoding.walk_encoding import Scope
from sekgnn.wl.encodings.ego_nets import DistanceProfile, InnerFWL, InnerWL
from sekgnn.wl.encodings.walks import Walks, walk_family
from sekgnn.wl.fwl import ThreeFWL, TwoFWL
from sekgnn.wl.graph_classes import Isomorphism
from sekgnn.wl.hop_wl import KHopWL, OneWL
from sekgnn.wl.refinement import WLTest
from sekgnn.wl.sek import SEK, SEKTwoFWL, SubgraphWL

MEMORY_CLASSES = ("n·ball", "n²", "n³")
"""Growth of the memory, the smallest first; a ball is the neighbourhood of a node."""

WHOLE = 1_000
"""A radius beyond every graph of BREC: the ball is the whole graph."""


@dataclass(frozen=True)
class Rung:
    """A test and its rank among the others.

    Attributes:
        key: Short name, unique on a ladder.
        label: Name in tables.
        memory: One of :data:`MEMORY_CLASSES`; empty for isomorphism, which is no test
            of this family.
        after: Cheaper tests to run first; this one sees only graphs they do not
            separate.
        refines: Keys of weaker rungs.
        keys: Config keys that train a network of the same power; empty if there is
            none.
        about: What a round reads, in a phrase.
        edges: Whether the test sees labels of edges.
        rounds: Rounds of the test; ``None`` for all.
    """

    key: str
    label: str
    test: WLTest
    memory: str = "n·ball"
    after: tuple[WLTest, ...] = ()
    refines: tuple[str, ...] = ()
    keys: dict[str, Any] = field(default_factory=dict, hash=False)
    about: str = ""
    edges: bool = True
    rounds: int | None = None


def _sek(*encodings: Any, num_hops: int = 4) -> SEK:
    return SEK(num_hops, encodings)


_INTERNAL = tuple(Walks("internal", h, walk_length=12, pairs="all") for h in (1, 2, 3))
_FULL = (Walks("graph"), *_INTERNAL)
_SUMS = (
    Walks("graph", multisets=False),
    *(Walks("internal", h, walk_length=12, multisets=False) for h in (1, 2, 3)),
)
_STAIRS = (
    _sek(Walks("internal", 1)),
    _sek(Walks("internal", 2)),
    _sek(InnerWL(WHOLE)),
    _sek(InnerFWL(3, neighbours=True)),
)
"""The cheaper first; each sees only graphs that those before it do not separate."""

BOARD = (
    Rung("1wl", "1-WL", OneWL(), refines=("features", "1wl-nodes"),
         keys={"model": "gin"}, about="the colours of a node's neighbours"),
    Rung("khop2", "K-hop 1-WL, K = 2", KHopWL(2), refines=("1wl",),
         keys={"model": "k-gin", "num_hops": 2}),
    Rung("khop4", "K-hop 1-WL, K = 4", KHopWL(4),
         about="the colours at each distance up to 4"),
    Rung("khop8", "K-hop 1-WL, K = 8", KHopWL(8)),
    Rung("diffusion4", "K-hop 1-WL, diffusion, K = 4", KHopWL(4, "diffusion")),
    Rung("subgraph1", "Subgraph 1-WL, h = 1", SubgraphWL(1)),
    Rung("subgraph3", "Subgraph 1-WL, h = 3", SubgraphWL(3),
         about="ego-nets of radius 3, refined inside"),
    Rung("marked3", "Subgraph 1-WL, marked, h = 3", SubgraphWL(3, True)),
    Rung("distances8", "SEK, distances, K = 8", _sek(DistanceProfile(8), num_hops=8)),
    Rung("patterns", "SEK, cycles to 5 and K4", _sek(PatternCounts())),
    Rung("internal1", "SEK, internal h = 1", _sek(Walks("internal", 1))),
    Rung("internal2", "SEK, internal h = 2", _sek(Walks("internal", 2))),
    Rung("internal123", "SEK, internal h = 1, 2, 3", _sek(*_INTERNAL)),
    Rung("fwl_h1", "SEK, inner 2-FWL h = 1", _sek(InnerFWL(1))),
    Rung("fwl_h3", "SEK, inner 2-FWL h = 3", _sek(InnerFWL(3))),
    Rung("marking", "SEK, inner 1-WL, whole graph", _sek(InnerWL(WHOLE))),
    Rung("marking_internal2", "SEK, inner 1-WL whole graph + internal h = 2",
         _sek(InnerWL(WHOLE), Walks("internal", 2, walk_length=12))),
    Rung("marking_fwl3", "SEK, inner 1-WL whole graph + inner 2-FWL h = 3",
         _sek(InnerWL(WHOLE), InnerFWL(3))),
    Rung("all_ball",
         "SEK, internal h = 1, then h = 2, then inner 1-WL whole graph, then inner "
         "2-FWL h = 3, each edge marked", _STAIRS[-1], after=_STAIRS[:-1]),
    Rung("graph_f1", "SEK, graph, f1", _sek(Walks("graph", parts=("f1",))), "n²"),
    Rung("graph", "SEK, graph, f1–f3", _sek(Walks("graph")), "n²",
         about="4 hops, started from walks on the whole graph"),
    Rung("sums", "SEK, graph + internal h = 1, 2, 3, sums", _sek(*_SUMS), "n²"),
    Rung("full", "SEK, graph + internal h = 1, 2, 3", _sek(*_FULL), "n²"),
    Rung("2fwl", "2-FWL (3-WL)", TwoFWL(), "n²", refines=("khop3",),
         keys={"model": "ppgn"}, about="pairs of nodes, through every third node"),
    Rung("sek2fwl", "SEK 2-FWL, graph + internal h = 1, 2, 3", SEKTwoFWL(4, _FULL),
         "n²"),
    Rung("sek2fwl_marking", "SEK 2-FWL, inner 1-WL whole graph + inner 2-FWL h = 3",
         SEKTwoFWL(4, (InnerWL(WHOLE), InnerFWL(3))), "n²"),
    Rung("fwl_whole", "SEK, inner 2-FWL, whole graph", _sek(InnerFWL(WHOLE)), "n²"),
    Rung("all_n2", "the same four, then SEK, inner 2-FWL, whole graph",
         _sek(InnerFWL(WHOLE)), "n²", after=_STAIRS),
    Rung("3fwl", "3-FWL (4-WL)", ThreeFWL(), "n³"),
    Rung("isomorphism", "isomorphism (igraph, bliss)", Isomorphism(), ""),
)  # fmt: skip
"""The rungs that BREC's scoreboard shows, the cheaper memory first."""

_BY_KEY = {rung.key: rung for rung in BOARD}


def explored() -> tuple[Rung, ...]:
    """Return the rungs that every page of the explorer shows, with their defaults."""
    ego, internal = (SEK(encodings=walk_family((s,))) for s in ("ego", "internal"))
    started = "4 hops, started from"
    return (
        *(_BY_KEY[key] for key in ("1wl", "khop4", "subgraph3", "graph")),
        Rung("ego", "SEK, ego", ego, about=f"{started} walks inside ego-nets"),
        Rung("internal", "SEK, internal", internal,
             about=f"{started} walks inside ego-nets without their centres"),
        Rung("sek", "SEK, graph + internal", SEK(), about=f"{started} both"),
        _BY_KEY["2fwl"],
    )  # fmt: skip


def advised(
    num_shells: int, walk_length: int, edge_labels: bool = False
) -> tuple[Rung, ...]:
    """Return the rungs of the adviser by rising cost, with walks of these sizes."""

    def sek(
        key: str,
        label: str,
        scope: Sequence[Scope],
        radius: Sequence[int],
        *refines: str,
        kind: type[SEK] = SEK,
        multisets: bool = False,
    ) -> Rung:
        walks = walk_family(
            scope,
            radius,
            multisets=multisets,
            num_shells=num_shells,
            walk_length=walk_length,
        )
        keys: dict[str, Any] = {
            "model": "sek-ppgn" if kind is SEKTwoFWL else "sek-gin",
            "num_hops": 3,
            "scope": [*scope],
        }
        if "internal" in scope:
            keys["radius"] = [*radius]
        if multisets:
            keys["aggregate"] = "learned"
        return Rung(key, label, kind(3, walks), refines=refines, keys=keys)

    one_wl = _BY_KEY["1wl"]
    both: tuple[Scope, ...] = ("graph", "internal")
    blind = replace(one_wl, refines=(), keys={}, edges=False)
    rungs = (
        replace(blind, key="features", label="node features alone", rounds=0),
        replace(blind, key="1wl-nodes", label="1-WL without edge features",
                refines=("features",)),
        one_wl,
        _BY_KEY["khop2"],
        Rung("khop3", "K-hop 1-WL, K = 3", KHopWL(3), refines=("khop2",),
             keys={"model": "k-gin", "num_hops": 3}),
        sek("internal1", "internal radius 1", ("internal",), (1,), "khop3"),
        sek("internal12", "internal radius 1 and 2", ("internal",), (1, 2),
            "internal1"),
        sek("graph", "walks on the graph", ("graph",), (), "khop3"),
        sek("both", "graph and internal radius 1 and 2", both, (1, 2), "internal12",
            "graph"),
        sek("multisets", "the same with multisets", both, (1, 2), "both",
            multisets=True),
        _BY_KEY["2fwl"],
        sek("sek2fwl", "SEK 2-FWL", both, (1, 2), "2fwl", "both", kind=SEKTwoFWL),
    )  # fmt: skip
    return tuple(r for r in rungs if edge_labels or r.key != "1wl-nodes")
