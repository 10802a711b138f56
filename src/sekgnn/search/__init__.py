"""Hyper-parameter search with Optuna, on validation graphs alone."""

from typing import TYPE_CHECKING

from sekgnn.lazy import lazy_names
from sekgnn.training.space import SPACE_NAMES, SearchSpace, load_space

if TYPE_CHECKING:
    from sekgnn.search.record import SearchRecord
    from sekgnn.search.study import search

__all__ = ["SPACE_NAMES", "SearchRecord", "SearchSpace", "load_space", "search"]

__getattr__, __dir__ = lazy_names(__name__)
