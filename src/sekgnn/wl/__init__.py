"""Exact Weisfeiler-Lehman tests: what can a method tell apart?"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sekgnn.wl.colouring import Colouring, Source, WLTest
from sekgnn.wl.comparison import compare, partition
from sekgnn.wl.encodings.base import SubstructureEncoding
from sekgnn.wl.encodings.distances import DistanceProfile
from sekgnn.wl.encodings.inner_fwl import InnerFWL
from sekgnn.wl.encodings.inner_wl import InnerWL
from sekgnn.wl.encodings.patterns import PatternCounts
from sekgnn.wl.encodings.walks import Walks
from sekgnn.wl.fwl2 import TwoFWL
from sekgnn.wl.fwl3 import ThreeFWL
from sekgnn.wl.graph_hash import wl_hash
from sekgnn.wl.isomorphism import Isomorphism
from sekgnn.wl.khop import KHopWL
from sekgnn.wl.one_wl import OneWL
from sekgnn.wl.refinement import Refinement, refine
from sekgnn.wl.registry import (
    ENCODINGS,
    TESTS,
    make_encoding,
    make_test,
    register,
    register_encoding,
)
from sekgnn.wl.sek import SEK
from sekgnn.wl.sek_fwl2 import SEKTwoFWL
from sekgnn.wl.subgraph import SubgraphWL
from sekgnn.wl.verdict import Verdict

if TYPE_CHECKING:
    from sekgnn.wl.features import WLFeatures, kernel_matrix

__all__ = [
    "ENCODINGS",
    "SEK",
    "TESTS",
    "Colouring",
    "DistanceProfile",
    "InnerFWL",
    "InnerWL",
    "Isomorphism",
    "KHopWL",
    "OneWL",
    "PatternCounts",
    "Refinement",
    "SEKTwoFWL",
    "Source",
    "SubgraphWL",
    "SubstructureEncoding",
    "ThreeFWL",
    "TwoFWL",
    "Verdict",
    "WLFeatures",
    "WLTest",
    "Walks",
    "compare",
    "kernel_matrix",
    "make_encoding",
    "make_test",
    "partition",
    "refine",
    "register",
    "register_encoding",
    "wl_hash",
]


def __getattr__(name: str) -> Any:
    """Load what needs scikit-learn when it is first asked for."""
    if name in ("WLFeatures", "kernel_matrix"):
        from sekgnn.graphs.extras import require

        require("sklearn", "sklearn")
        return getattr(import_module("sekgnn.wl.features"), name)
    raise AttributeError(f"module 'sekgnn.wl' has no attribute {name!r}")
