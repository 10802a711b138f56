"""SEK-GNN and the networks it is compared with."""

from typing import TYPE_CHECKING

from sekgnn.lazy import lazy_names

if TYPE_CHECKING:
    from sekgnn.models.baselines import (
        DGCNN,
        KPGIN,
        PNA,
        GraphSAGE,
        GraphSNN,
        KPGINPlus,
    )
    from sekgnn.models.capsules import CapsGNN
    from sekgnn.models.ego_models import DeepLRP, GINAKPlus, NestedGNN
    from sekgnn.models.forest import Forest
    from sekgnn.models.graph_inputs import GraphInputs
    from sekgnn.models.graph_model import GraphModel, register_model
    from sekgnn.models.hop_encoder import HopEncoder
    from sekgnn.models.kernel_machine import (
        FGW,
        GNTK,
        WWL,
        KernelMachine,
        RetGK,
        WLSubtree,
    )
    from sekgnn.models.model_file import load_model, load_models, save_model
    from sekgnn.models.molecule_models import DTNN, MPNN
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
    from sekgnn.models.registry import MODELS, build_model

__all__ = [
    "DGCNN",
    "DTNN",
    "FGW",
    "GIN",
    "GNTK",
    "KPGIN",
    "MODELS",
    "MPNN",
    "PNA",
    "PPGN",
    "SEKGIN",
    "SEKGNN",
    "SEKPPGN",
    "WWL",
    "CapsGNN",
    "DeepLRP",
    "Forest",
    "GINAKPlus",
    "GraphInputs",
    "GraphModel",
    "GraphSAGE",
    "GraphSNN",
    "HopEncoder",
    "KHopGNN",
    "KPGINPlus",
    "KernelMachine",
    "ModelOptions",
    "NestedGNN",
    "PairEncoder",
    "RetGK",
    "Ridge",
    "WLSubtree",
    "build_model",
    "load_model",
    "load_models",
    "register_model",
    "save_model",
]

__getattr__, __dir__ = lazy_names(__name__)
