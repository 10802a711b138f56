"""Exact Weisfeiler-Lehman tests: what can a method tell apart?"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sekgnn.wl.batch import Batch
from sekgnn.wl.colouring import Colouring, Source, WLTest
from sekgnn.wl.digest import colours_of
from sekgnn.wl.encodings.base import ExactEncoding
from sekgnn.wl.encodings.distances import DistanceProfile
from sekgnn.wl.encodings.inner import InnerFWL, InnerWL
from sekgnn.wl.encodings.patterns import PatternCounts
from sekgnn.wl.encodings.walks import Walks
from sekgnn.wl.fwl2 import PairColouring, TwoFWL
from sekgnn.wl.fwl3 import ThreeFWL
from sekgnn.wl.graph_classes import partition, wl_hash
from sekgnn.wl.hop_wl import HopColouring, Hops, KHopWL, OneWL
from sekgnn.wl.isomorphism import Isomorphism
from sekgnn.wl.refinement import Refinement, refine
from sekgnn.wl.registry import (
    ENCODINGS,
    TESTS,
    make_encoding,
    make_test,
    register_encoding,
    register_test,
)
from sekgnn.wl.sek import SEK, SEKTwoFWL
from sekgnn.wl.subgraph import SubgraphWL
from sekgnn.wl.verdict import Verdict, compare

if TYPE_CHECKING:
    from sekgnn.wl.features import WLFeatures, kernel_matrix

__all__ = [
    "ENCODINGS",
    "SEK",
    "TESTS",
    "Batch",
    "Colouring",
    "DistanceProfile",
    "ExactEncoding",
    "HopColouring",
    "Hops",
    "InnerFWL",
    "InnerWL",
    "Isomorphism",
    "KHopWL",
    "OneWL",
    "PairColouring",
    "PatternCounts",
    "Refinement",
    "SEKTwoFWL",
    "Source",
    "SubgraphWL",
    "ThreeFWL",
    "TwoFWL",
    "Verdict",
    "WLFeatures",
    "WLTest",
    "Walks",
    "colours_of",
    "compare",
    "kernel_matrix",
    "make_encoding",
    "make_test",
    "partition",
    "refine",
    "register_encoding",
    "register_test",
    "wl_hash",
]


def __getattr__(name: str) -> Any:
    """Load what needs scikit-learn when it is first asked for."""
    if name in ("WLFeatures", "kernel_matrix"):
        from sekgnn.graphs.extras import require

        require("sklearn", "sklearn")
        return getattr(import_module("sekgnn.wl.features"), name)
    raise AttributeError(f"module 'sekgnn.wl' has no attribute {name!r}")
