"""Exact Weisfeiler-Lehman tests: which graphs can a method tell apart?"""

from typing import TYPE_CHECKING

from sekgnn.digest import colours_of
from sekgnn.encoding.patterns import PatternCounts
from sekgnn.lazy import lazy_names
from sekgnn.wl.encodings.base import (
    EXACT_ENCODINGS,
    ExactEncoding,
    make_exact_encoding,
    register_exact_encoding,
)
from sekgnn.wl.encodings.ego_nets import DistanceProfile, InnerFWL, InnerWL
from sekgnn.wl.encodings.walks import Walks
from sekgnn.wl.fwl import PairColouring, ThreeFWL, TwoFWL
from sekgnn.wl.graph_classes import Isomorphism, partition, wl_hash
from sekgnn.wl.hop_wl import HopColouring, KHopWL, OneWL
from sekgnn.wl.refinement import (
    TESTS,
    Batch,
    Colouring,
    Refinement,
    Source,
    WLTest,
    refine,
    register_test,
)
from sekgnn.wl.sek import SEK, SEKTwoFWL, SubgraphWL
from sekgnn.wl.verdict import Verdict, compare, make_test

if TYPE_CHECKING:
    from sekgnn.wl.features import WLFeatures, kernel_matrix

__all__ = [
    "EXACT_ENCODINGS",
    "SEK",
    "TESTS",
    "Batch",
    "Colouring",
    "DistanceProfile",
    "ExactEncoding",
    "HopColouring",
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
    "make_exact_encoding",
    "make_test",
    "partition",
    "refine",
    "register_exact_encoding",
    "register_test",
    "wl_hash",
]

__getattr__, __dir__ = lazy_names(__name__)
