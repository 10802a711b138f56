"""Numbers of graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from sekgnn.datasets import list_task
from sekgnn.errors import GraphInputError
from sekgnn.estimators.graph_estimator import (
    GraphEstimator,
    check_lengths,
    with_targets,
)


class SEKRegressor(RegressorMixin, GraphEstimator):
    """Predict numbers of graphs with SEK-GIN, or another network of this library.

    Parameters and X are those of :class:`SEKClassifier`. Targets are scaled inside;
    with several, NaN is a missing value.

    Attributes:
        curves_: Loss and metrics of every epoch.
        best_epoch_: The epoch whose weights are used, from 1.
        n_features_in_: Width of the node features.
        n_outputs_: Number of targets.
    """

    n_outputs_: int

    def fit(self, X: Sequence[Any], y: Any) -> SEKRegressor:
        """Train.

        Args:
            X: Graphs.
            y: Numbers, ``[G]`` or ``[G, T]``.

        Raises:
            GraphInputError: If a graph or a number is wrong.
            ConfigError: If a parameter cannot work.
        """
        values = np.asarray(y, dtype=np.float64)
        check_lengths(X, values)
        self._flat = values.ndim == 1
        values = values.reshape(len(values), -1)
        mask = ~np.isnan(values)
        if np.isinf(values).any() or not mask.any(axis=0).all():
            raise GraphInputError("targets must be finite, and not all missing.")
        self.n_outputs_ = values.shape[1]
        task = with_targets(
            list_task(X, self.node_features),
            "regression",
            torch.from_numpy(np.nan_to_num(values).astype(np.float32)),
            mask,
        )
        self._train(task)
        return self

    def predict(self, X: Sequence[Any]) -> NDArray[np.float64]:
        """Return a number per graph, ``[G]``, or ``[G, T]`` as in ``fit``."""
        found = self._outputs(X)
        return found[:, 0] if self._flat else found

    def _restore(self, flat: bool) -> None:
        self.n_outputs_ = len(self.predictor_.note.targets)
        self._flat = flat
