"""SEK-GNN and the networks it is compared with."""

from typing import TYPE_CHECKING

from sekgnn.lazy import lazy_names

if TYPE_CHECKING:
    from sekgnn.models.gin import GIN
    from sekgnn.models.graph_inputs import GraphInputs
    from sekgnn.models.graph_model import GraphModel
    from sekgnn.models.model_file import save_model
    from sekgnn.models.ppgn import PPGN
    from sekgnn.models.registry import MODELS, build_model, load_model
    from sekgnn.models.sek_gin import SEKGIN
    from sekgnn.models.sek_gnn import SEKGNN, KHopGNN
    from sekgnn.models.sek_ppgn import SEKPPGN

__all__ = [
    "GIN",
    "MODELS",
    "PPGN",
    "SEKGIN",
    "SEKGNN",
    "SEKPPGN",
    "GraphInputs",
    "GraphModel",
    "KHopGNN",
    "build_model",
    "load_model",
    "save_model",
]

__getattr__, __dir__ = lazy_names(__name__)
