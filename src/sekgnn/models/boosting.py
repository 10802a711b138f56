"""Gradient boosting on pooled encodings: fitted by scikit-learn, kept as tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sekgnn.models.forest import Forest
from sekgnn.models.graph_model import register_model
from sekgnn.models.options import Link


@register_model("boosting")
class Boosting(Forest):
    r"""Gradient-boosted regression trees on the fixed vector of a graph, or of a node.

    .. math:: o_c = b_c + \sum_{t=1}^{T_c} w_{\ell_t(x),\, c}

    with scikit-learn's histograms of 255 bins. A target of numbers has trees of its
    own; o is the logarithm of the odds of a label, or before the softmax of a class.
    """

    def grow(
        self,
        x: Tensor,
        y: Tensor,
        mask: Tensor,
        link: Link,
        seed: int,
        weights: Tensor | None = None,
    ) -> None:
        """Fit the trees; takes what :meth:`Forest.grow` does."""
        vectors = x.numpy().astype(np.float32)
        grown: list[dict[str, Tensor]] = []
        if y.dim() == 1:
            own = None if weights is None else weights[:, 0].double().numpy()
            for columns in self._classes(vectors, y.numpy(), seed, own):
                grown.extend(columns)
        else:
            for column in range(y.size(1)):
                here = mask[:, column]
                own = None
                if weights is not None:
                    each = weights[here, column if weights.size(1) > 1 else 0]
                    own = each.double().numpy()
                wanted = y[here, column].double().numpy()
                rows = vectors[here.numpy()]
                grown.extend(self._target(rows, wanted, link, seed, own, column))
        first = 0
        for tree in grown:
            for name in ("left", "right", "start"):
                tree[name] += first
            first += len(tree["feature"])
        self.trees.set_trees(
            **{name: torch.cat([tree[name] for tree in grown]) for name in grown[0]}
        )

    def _classes(
        self,
        x: NDArray[np.float32],
        y: NDArray[np.int64],
        seed: int,
        weights: NDArray[np.float64] | None,
    ) -> Iterator[list[dict[str, Tensor]]]:
        """Yield the trees of every class; those of the first of two add up to 0."""
        known = np.unique(y)
        if len(known) < 2:
            for column in range(self.out_channels):
                yield [_leaf(30.0 if column in known else 0.0, column)]
            return
        model = self._model("Classifier", seed).fit(x, y, sample_weight=weights)
        starts = model._baseline_prediction[0]
        columns = known[1:] if len(known) == 2 else known
        for column in sorted(set(range(self.out_channels)) - set(columns.tolist())):
            missing = column not in known
            yield [_leaf(-30.0 * missing, column)]
        for number, column in enumerate(columns.tolist()):
            rounds = [trees[number] for trees in model._predictors]
            yield _tensors(rounds, float(starts[number]), column)

    def _target(
        self,
        x: NDArray[np.float32],
        y: NDArray[np.float64],
        link: Link,
        seed: int,
        weights: NDArray[np.float64] | None,
        column: int,
    ) -> list[dict[str, Tensor]]:
        """Return the trees of one target: numbers, or labels 0 and 1."""
        if len(np.unique(y)) < 2:  # nothing to learn: the value, or likely odds
            value = float(y[0]) if len(y) else 0.0
            return [_leaf(value if link == "none" else 8.0 * (2 * value - 1), column)]
        model = self._model("Regressor" if link == "none" else "Classifier", seed)
        model.fit(x, y, sample_weight=weights)
        start = float(np.ravel(model._baseline_prediction)[0])
        return _tensors([trees[0] for trees in model._predictors], start, column)

    def _model(self, kind: str, seed: int) -> Any:
        from sklearn import ensemble  # takes a while

        return getattr(ensemble, f"HistGradientBoosting{kind}")(
            max_iter=self.options.n_estimators,
            max_depth=self.options.max_depth,
            min_samples_leaf=self.options.min_samples_leaf,
            random_state=seed,
        )


def _leaf(value: float, column: int) -> dict[str, Tensor]:
    """Return a tree that always says one number."""
    node = torch.zeros(1, dtype=torch.int64)
    return {
        "feature": node, "threshold": node.double(), "left": node.clone(),
        "right": node.clone(), "value": torch.tensor([[value]], dtype=torch.float64),
        "start": node.clone(), "column": torch.tensor([column]),
    }  # fmt: skip


def _tensors(rounds: list[Any], start: float, column: int) -> list[dict[str, Tensor]]:
    """Return the trees of an output, whose mean is their sum and ``start``."""
    trees = []
    for tree in rounds:
        nodes = tree.nodes
        numbers, leaf = np.arange(len(nodes)), nodes["is_leaf"].astype(bool)
        arrays = {
            "feature": np.where(leaf, 0, nodes["feature_idx"]),
            "threshold": np.where(leaf, 0.0, nodes["num_threshold"]),
            "left": np.where(leaf, numbers, nodes["left"]),
            "right": np.where(leaf, numbers, nodes["right"]),
            "value": (len(rounds) * nodes["value"] + start)[:, None],
            "start": np.zeros(1, dtype=np.int64),
            "column": np.array([column]),
        }
        trees.append(
            {name: torch.from_numpy(values) for name, values in arrays.items()}
        )
    return trees
