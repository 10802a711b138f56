"""Classes and numbers of graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from sekgnn.errors import GraphInputError
from sekgnn.estimators.graph_estimator import GraphEstimator, check_lengths


class SEKClassifier(ClassifierMixin, GraphEstimator):
    """Classify graphs with SEK-GIN, or another network of this library.

    Works with ``cross_val_score``, ``GridSearchCV``, ``clone`` and ``pickle``. X is a
    list of graphs of one kind: PyG ``Data``, networkx, :class:`~sekgnn.graphs.Graph`,
    or SMILES. A part of the training graphs is held back to choose the epoch.

    Args:
        model: ``"sek-gin"``, ``"sek-ppgn"``, ``"k-gin"``, ``"gin"``, ``"ppgn"``,
            ``"ridge"``, ``"forest"``, a kernel such as ``"wl"``, or one of your own
            (:func:`~sekgnn.models.register_model`).
        validation_fraction: Part of the training graphs that chooses the epoch.
        node_features: Node attributes of networkx graphs to use.
        random_state: Fixes everything that is random.
        threads: Of torch, while it trains and predicts; more than one pays only on
            large graphs.
        **parameters: Keys of :class:`~sekgnn.training.RunConfig` for model, encoding
            and training: ``hidden_channels``, ``num_layers``, ``num_hops``, ``scope``,
            ``walk_length``, ``epochs``, ``lr``, ``class_weight`` (also a dict of
            weights by label), ... Training stops after ``patience=30`` epochs without
            gain; ``None`` never stops, nor does ``keep="last"``, which with
            ``refit=True`` holds nothing back. With ``ensemble=N``, ``curves_`` and
            ``kept_epoch_`` are of the first network.

    Attributes:
        classes_: The labels.
        curves_: Loss and metrics of every epoch.
        kept_epoch_: The epoch whose weights are used, from 1.
        n_features_in_: Width of the node features.

    Example:
        >>> from sekgnn.graphs import cycle_graph, path_graph
        >>> graphs = [
        ...     make(n) for n in range(4, 24) for make in (cycle_graph, path_graph)
        ... ]
        >>> labels = ["cycle", "path"] * 20
        >>> model = SEKClassifier(hidden_channels=8, epochs=5).fit(graphs, labels)
        >>> model.predict_proba(graphs).shape
        (40, 2)
    """

    classes_: NDArray[Any]

    def fit(
        self,
        X: Sequence[Any],
        y: Sequence[Any],
        sample_weight: Sequence[float] | None = None,
    ) -> SEKClassifier:
        """Train.

        Args:
            X: Graphs.
            y: Their labels: numbers or texts.
            sample_weight: How much the loss of every graph weighs, not negative.

        Raises:
            GraphInputError: If a graph is wrong, or there are fewer than two classes.
            ConfigError: If a parameter cannot work.
        """
        labels = column_or_1d(np.asarray(y))
        check_lengths(X, labels)
        check_classification_targets(labels)
        self.classes_, numbers = np.unique(labels, return_inverse=True)
        if self.classes_.size < 2:
            raise GraphInputError("all graphs are of one class; nothing to learn.")
        if isinstance(self.class_weight, Mapping):
            own = compute_sample_weight(self.class_weight, labels)
            given = 1.0 if sample_weight is None else np.asarray(sample_weight)
            sample_weight = own * given
        self._train(
            X,
            "binary" if self.classes_.size == 2 else "multiclass",
            torch.from_numpy(numbers.astype(np.int64)),
            np.ones((labels.size, 1), dtype=np.bool_),
            tuple(self.classes_.tolist()),
            sample_weight,
        )
        return self

    def predict_proba(self, X: Sequence[Any]) -> NDArray[np.float64]:
        """Return the probability of every class, ``[G, C]``; columns ``classes_``."""
        return self._outputs(X)

    def predict(self, X: Sequence[Any]) -> NDArray[Any]:
        """Return the most probable label of every graph."""
        check_is_fitted(self, "predictor_")
        found: NDArray[Any] = self.classes_[self._outputs(X).argmax(axis=1)]
        return found

    def _restore(self, flat: bool) -> None:
        self.classes_ = np.array(self.predictor_.note.classes)


class SEKRegressor(RegressorMixin, GraphEstimator):
    """Predict numbers of graphs with SEK-GIN, or another network of this library.

    Parameters and X are those of :class:`SEKClassifier`. Targets are scaled inside;
    with several, NaN is a missing value.

    Attributes:
        curves_: Loss and metrics of every epoch.
        kept_epoch_: The epoch whose weights are used, from 1.
        n_features_in_: Width of the node features.
        n_outputs_: Number of targets.
    """

    n_outputs_: int

    def __sklearn_tags__(self) -> Any:
        """Say that there may be several targets."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(
        self, X: Sequence[Any], y: Any, sample_weight: Sequence[float] | None = None
    ) -> SEKRegressor:
        """Train.

        Args:
            X: Graphs.
            y: Numbers, ``[G]`` or ``[G, T]``.
            sample_weight: How much the loss of every graph weighs, not negative.

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
        numbers = torch.from_numpy(np.nan_to_num(values).astype(np.float32))
        self._train(X, "regression", numbers, mask, sample_weight=sample_weight)
        return self

    def predict(self, X: Sequence[Any]) -> NDArray[np.float64]:
        """Return a number per graph, ``[G]``, or ``[G, T]`` as in ``fit``."""
        found = self._outputs(X)
        return found[:, 0] if self._flat else found

    def _restore(self, flat: bool) -> None:
        self.n_outputs_ = len(self.predictor_.note.targets)
        self._flat = flat
