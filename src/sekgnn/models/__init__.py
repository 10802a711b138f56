"""SEK-GNN and its relatives; models compared with it are in :mod:`sekgnn.paper`."""

from typing import TYPE_CHECKING

from sekgnn.lazy import lazy_names

if TYPE_CHECKING:
    from sekgnn.models.forest import Boosting, Forest
    from sekgnn.models.graph_inputs import GraphInputs
    from sekgnn.models.graph_model import MODELS, GraphModel, register_model
    from sekgnn.models.hop_encoder import HopEncoder
    from sekgnn.models.model_file import (
        build_model,
        load_model,
        load_models,
        save_model,
    )
    from sekgnn.models.networks import (
        GIN,
        PPGN,
        SEKGIN,
        SEKGNN,
        SEKPPGN,
        KHopGNN,
        PairEncoder,
        Ridge,
    )
    from sekgnn.models.options import ModelOptions

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
