"""Substructure encodings and K-hop graph neural networks (SEK-GNN, KDD'23).

Public names load what they need when first used; importing the package loads nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sekgnn._version import __version__
from sekgnn.errors import (
    CacheWarning,
    ConfigError,
    DataNotFoundError,
    GraphInputError,
    GraphInputWarning,
    MissingExtraError,
    ModelFileError,
    OutputError,
    ResumeWarning,
)
from sekgnn.lazy import lazy_names

if TYPE_CHECKING:
    from sekgnn import (
        brec,
        datasets,
        encoding,
        estimators,
        graphs,
        hops,
        models,
        nn,
        reports,
        search,
        training,
        transforms,
        walks,
        wl,
    )
    from sekgnn import testing as testing  # not in __all__: it needs hypothesis
    from sekgnn.encoding.encoder import encode, encode_many
    from sekgnn.encoding.exact import encode_exact
    from sekgnn.encoding.sampled import encode_sampled
    from sekgnn.encoding.substructure import SubstructureEncoding, register_encoding
    from sekgnn.encoding.walk_encoding import WalkEncoding
    from sekgnn.estimators import SEKClassifier, SEKRegressor
    from sekgnn.graphs import Graph
    from sekgnn.hops import hop_pairs
    from sekgnn.models import (
        GIN,
        PPGN,
        SEKGIN,
        SEKGNN,
        SEKPPGN,
        KHopGNN,
        build_model,
        load_model,
        register_model,
        save_model,
    )
    from sekgnn.nn import (
        GINEPlusConv,
        HopLoader,
        HopNeighborLoader,
        SEKConv,
        register_message,
    )
    from sekgnn.training.config import RunConfig
    from sekgnn.training.load import load
    from sekgnn.training.run import train
    from sekgnn.transforms.add_khop_edges import AddKHopEdges
    from sekgnn.transforms.add_substructure_encoding import AddSubstructureEncoding
    from sekgnn.transforms.encode_dataset import encode_dataset
    from sekgnn.walks.returns import landing_probabilities, return_probabilities
    from sekgnn.wl import compare, register_test

__all__ = [
    "GIN",
    "PPGN",
    "SEKGIN",
    "SEKGNN",
    "SEKPPGN",
    "AddKHopEdges",
    "AddSubstructureEncoding",
    "CacheWarning",
    "ConfigError",
    "DataNotFoundError",
    "GINEPlusConv",
    "Graph",
    "GraphInputError",
    "GraphInputWarning",
    "HopLoader",
    "HopNeighborLoader",
    "KHopGNN",
    "MissingExtraError",
    "ModelFileError",
    "OutputError",
    "ResumeWarning",
    "RunConfig",
    "SEKClassifier",
    "SEKConv",
    "SEKRegressor",
    "SubstructureEncoding",
    "WalkEncoding",
    "__version__",
    "brec",
    "build_model",
    "compare",
    "datasets",
    "encode",
    "encode_dataset",
    "encode_exact",
    "encode_many",
    "encode_sampled",
    "encoding",
    "estimators",
    "graphs",
    "hop_pairs",
    "hops",
    "landing_probabilities",
    "load",
    "load_model",
    "models",
    "nn",
    "register_encoding",
    "register_message",
    "register_model",
    "register_test",
    "reports",
    "return_probabilities",
    "save_model",
    "search",
    "train",
    "training",
    "transforms",
    "walks",
    "wl",
]

__getattr__, __dir__ = lazy_names(__name__)
