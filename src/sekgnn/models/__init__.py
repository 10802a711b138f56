"""SEK-GNN and its relatives; models compared with it are in :mod:`sekgnn.paper`."""

from typing import TYPE_CHECKING

from sekgnn.lazy import lazy_names

if TYPE_CHECKING:
    from sekgnn.models.boosting import Boosting
    from sekgnn.models.forest import Forest
    from sekgnn.models.graph_inputs import GraphInputs
    from sekgnn.models.graph_model import MODELS, GraphModel, register_model
    from sekgnn.models.hop_encoder import HopEncoder
    from sekgnn.models.model_file import load_model, load_models, save_model
    from sekgnn.models.module_model import build_model
    from sekgnn.models.networks import (
        GIN,
        PPGN,
        SEKGIN,
        SEKGNN,
        SEKPPGN,
        KHopGNN,
        Ridge,
    )
    from sekgnn.models.options import ModelOptions
    from sekgnn.models.pair_encoder import PairEncoder

__all__ = [
    "GIN",
    "MODELS",
    "PPGN",
    "SEKGIN",
    "SEKGNN",
    "SEKPPGN",
    "Boosting",
    "Forest",
    "GraphInputs",
    "GraphModel",
    "HopEncoder",
    "KHopGNN",
    "ModelOptions",
    "PairEncoder",
    "Ridge",
    "build_model",
    "load_model",
    "load_models",
    "register_model",
    "save_model",
]

__getattr__, __dir__ = lazy_names(__name__)
