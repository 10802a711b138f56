"""Hyper-parameter search with Optuna, on validation graphs alone."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sekgnn.search.named_spaces import NAMED_SPACES
from sekgnn.search.space import SearchSpace, load_space

if TYPE_CHECKING:
    from sekgnn.search.record import SearchRecord
    from sekgnn.search.study import search

__all__ = ["NAMED_SPACES", "SearchRecord", "SearchSpace", "load_space", "search"]

_HOMES = {
    "SearchRecord": "sekgnn.search.record",
    "search": "sekgnn.search.study",
}


def __getattr__(name: str) -> Any:
    """Load what needs torch when it is first asked for (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
