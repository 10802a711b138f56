"""Training: configs, data, the loop, named protocols, run folders and records."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sekgnn.training.config import RunConfig
from sekgnn.training.record import FoldRecord, Result, RunRecord

if TYPE_CHECKING:
    from sekgnn.training.learning_data import LearningData
    from sekgnn.training.run import run as train
    from sekgnn.training.sources import load_data

__all__ = [
    "FoldRecord",
    "LearningData",
    "Result",
    "RunConfig",
    "RunRecord",
    "load_data",
    "train",
]

_HOMES = {
    "LearningData": ("sekgnn.training.learning_data", "LearningData"),
    "load_data": ("sekgnn.training.sources", "load_data"),
    "train": ("sekgnn.training.run", "run"),
}


def __getattr__(name: str) -> Any:
    """Load what needs torch when it is first asked for (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home, own_name = _HOMES[name]
    return getattr(import_module(home), own_name)
