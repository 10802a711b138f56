"""Training: configs, data, the loop, named protocols, run folders and records."""

from typing import TYPE_CHECKING

from sekgnn.lazy import lazy_names
from sekgnn.training.config import RunConfig

if TYPE_CHECKING:
    from sekgnn.training.data import load_data
    from sekgnn.training.explain import Explanation, explain
    from sekgnn.training.load import TrainedModel, load
    from sekgnn.training.run import train
    from sekgnn.training.run_record import FoldRecord, Result, RunRecord
    from sekgnn.training.settings import load_preset
    from sekgnn.training.training import Training

__all__ = [
    "Explanation",
    "FoldRecord",
    "Result",
    "RunConfig",
    "RunRecord",
    "TrainedModel",
    "Training",
    "explain",
    "load",
    "load_data",
    "load_preset",
    "train",
]

__getattr__, __dir__ = lazy_names(__name__)
