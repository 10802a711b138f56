"""Substructure encodings and K-hop graph neural networks (SEK-GNN, KDD'23).

Public names load what they need when first used; importing the package loads nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
)

if TYPE_CHECKING:
    from sekgnn import brec, datasets, estimators, graphs, models, nn, training, wl
    from sekgnn.encoding.encoder import encode, encode_many
    from sekgnn.encoding.exact import encode_exact
    from sekgnn.encoding.sampled import encode_sampled
    from sekgnn.encoding.spec import WalkEncoding
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
        save_model,
    )
    from sekgnn.nn import GINEPlusConv, HopLoader, SEKConv
    from sekgnn.training import RunConfig
    from sekgnn.transforms.add_khop_edges import AddKHopEdges
    from sekgnn.transforms.add_substructure_encoding import AddSubstructureEncoding
    from sekgnn.transforms.encode_dataset import encode_dataset
    from sekgnn.walks.powers import landing_probabilities
    from sekgnn.walks.returns import return_probabilities

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
    "KHopGNN",
    "MissingExtraError",
    "ModelFileError",
    "OutputError",
    "RunConfig",
    "SEKClassifier",
    "SEKConv",
    "SEKRegressor",
    "WalkEncoding",
    "__version__",
    "brec",
    "build_model",
    "datasets",
    "encode",
    "encode_dataset",
    "encode_exact",
    "encode_many",
    "encode_sampled",
    "estimators",
    "graphs",
    "hop_pairs",
    "landing_probabilities",
    "load_model",
    "models",
    "nn",
    "return_probabilities",
    "save_model",
    "training",
    "wl",
]

_HOMES = {
    "AddKHopEdges": "sekgnn.transforms",
    "AddSubstructureEncoding": "sekgnn.transforms",
    "WalkEncoding": "sekgnn.encoding.spec",
    "GIN": "sekgnn.models",
    "GINEPlusConv": "sekgnn.nn",
    "Graph": "sekgnn.graphs",
    "HopLoader": "sekgnn.nn",
    "KHopGNN": "sekgnn.models",
    "PPGN": "sekgnn.models",
    "RunConfig": "sekgnn.training",
    "SEKClassifier": "sekgnn.estimators",
    "SEKConv": "sekgnn.nn",
    "SEKGIN": "sekgnn.models",
    "SEKGNN": "sekgnn.models",
    "SEKPPGN": "sekgnn.models",
    "SEKRegressor": "sekgnn.estimators",
    "build_model": "sekgnn.models",
    "encode": "sekgnn.encoding.encoder",
    "encode_dataset": "sekgnn.transforms",
    "encode_exact": "sekgnn.encoding.exact",
    "encode_many": "sekgnn.encoding.encoder",
    "encode_sampled": "sekgnn.encoding.sampled",
    "hop_pairs": "sekgnn.hops",
    "landing_probabilities": "sekgnn.walks.powers",
    "load_model": "sekgnn.models",
    "return_probabilities": "sekgnn.walks.returns",
    "save_model": "sekgnn.models",
}
_ROOMS = (
    "brec",
    "datasets",
    "estimators",
    "graphs",
    "models",
    "nn",
    "training",
    "wl",
)


def __getattr__(name: str) -> Any:
    """Load a public name when it is first asked for (PEP 562)."""
    if name in _ROOMS:
        return import_module(f"sekgnn.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'sekgnn' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *__all__})
