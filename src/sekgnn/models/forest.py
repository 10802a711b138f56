"""Trees on pooled encodings, in a forest or boosted: by scikit-learn, as tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from sekgnn.checks import check_positive
from sekgnn.models.graph_inputs import GraphInputs
from sekgnn.models.graph_model import GraphModel, register_model
from sekgnn.models.kinds import ForestOptions
from sekgnn.models.linear_skip import PooledFeatures
from sekgnn.models.options import LINKS, Link
from sekgnn.nn.choices import POOLS
from sekgnn.nn.kernels import add_leaves

_LEAST = 1e-30  # probability that stands for 0, whose logarithm is not finite


class DecisionTrees(nn.Module):
    r"""Mean of the binary decision trees of each output.

    .. math:: o_c = \frac{1}{|T_c|} \sum_{t \in T_c} w_{\ell_t(x),\, c - c_t},
              \qquad T_c = \{t : c_t \le c < c_t + W\}

    where :math:`\ell_t(x)` is the leaf of x in tree t. From node i one goes on to
    ``left[i]`` if ``x[feature[i]] <= threshold[i]``, with x rounded to float32 as
    scikit-learn does, and else to ``right[i]``; a leaf leads to itself. The sizes of
    the tensors come with the trees, also when a state is loaded. Without trees the
    outputs are 0.

    Args:
        in_channels: P, width of x.
        out_channels: O.

    Attributes:
        feature: Of every node of all trees, int32 ``[M]``.
        threshold: Float64 ``[M]``.
        left: Number of a later node, or of this one; int32 ``[M]``.
        right: Likewise.
        value: w, float64 ``[M, W]``.
        start: First node of every tree, int32 ``[T]``.
        column: :math:`c_t`, the first output of every tree, int32 ``[T]``.

    Shapes:
        - **input:** :math:`(R, P)`
        - **output:** float64 :math:`(R, O)`
    """

    KINDS: ClassVar[dict[str, torch.dtype]] = {
        "feature": torch.int32,
        "threshold": torch.float64,
        "left": torch.int32,
        "right": torch.int32,
        "value": torch.float64,
        "start": torch.int32,
        "column": torch.int32,
    }
    feature: Tensor
    threshold: Tensor
    left: Tensor
    right: Tensor
    value: Tensor
    start: Tensor
    column: Tensor

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.in_channels = check_positive("in_channels", in_channels)
        self.out_channels = check_positive("out_channels", out_channels)
        for name, kind in self.KINDS.items():
            shape = (0, 1) if name == "value" else (0,)
            self.register_buffer(name, torch.zeros(shape, dtype=kind))

    def forward(self, x: Tensor) -> Tensor:
        """Return ``[R, O]``; computed on the CPU."""
        out = torch.zeros(len(x), self.out_channels, dtype=torch.float64)
        trees = [getattr(self, name).cpu().numpy() for name in self.KINDS]
        rows = x.detach().float().cpu().contiguous().numpy()
        arguments = [*trees, rows, out.numpy()]
        add_leaves(*arguments)
        first = torch.arange(self.out_channels) - self.value.size(1)  # before the first
        column = self.column.cpu().unsqueeze(1)
        count = ((column > first) & (column <= first + self.value.size(1))).sum(0)
        return (out / count.clamp(min=1)).to(x.device)

    def set_trees(self, trees: Sequence[dict[str, Tensor]]) -> None:
        """Take trees whose nodes count from 0; raise ValueError if they are none."""
        sizes = [len(tree["feature"]) for tree in trees]
        first = np.cumsum([0, *sizes[:-1]]).tolist()
        for name, kind in self.KINDS.items():
            parts = [tree[name] for tree in trees]
            if name in ("left", "right", "start"):
                parts = [part + node for part, node in zip(parts, first, strict=True)]
            setattr(self, name, torch.cat(parts).to(self.start.device, kind))
        self._check()

    def _check(self) -> None:
        """Raise if some way through the trees leads nowhere, or round and round."""
        count, width = len(self.feature), self.value.size(1)
        node = torch.arange(count, device=self.feature.device)
        nodes = (self.threshold, self.left, self.right, self.value)
        sound = all(len(each) == count for each in nodes)
        sound = sound and self.start.shape == self.column.shape
        bounds: tuple[tuple[Tensor, Any, int], ...] = (
            (self.feature, 0, self.in_channels),
            (self.start, 0, count),
            (self.column, 0, self.out_channels - width + 1),
            *((side, node, count) for side in (self.left, self.right) if sound),
        )
        for values, low, high in bounds:
            sound = sound and bool(((values >= low) & (values < high)).all())
        if not sound:
            raise ValueError("these tensors are not decision trees of this size")

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *rest: Any
    ) -> None:
        """Load trees of whatever size."""
        errors: list[str] = rest[-1]
        found = {name: state_dict.get(prefix + name) for name in self.KINDS}
        for name, value in found.items():
            own = getattr(self, name)
            if value is not None and value.dim() == own.dim():
                setattr(self, name, own.new_empty(value.shape))
        super()._load_from_state_dict(state_dict, prefix, *rest)
        try:
            self._check()
        except ValueError as error:
            errors.append(f"{prefix[:-1]}: {error}")

    def extra_repr(self) -> str:
        trees = f"{self.start.numel()} trees, {self.feature.numel()} nodes"
        return f"{self.in_channels}, {self.out_channels}, {trees}"


@register_model("forest")
class Forest(GraphModel):
    r"""Random forest on the fixed vector of a graph, or of a node.

    The vector is that of :class:`~sekgnn.models.linear_skip.PooledFeatures`, with all
    five pools. Trees are regression trees of the outputs: numbers, labels 0 or 1, and
    for C classes C indicators, whose variance is the Gini impurity and whose mean in a
    leaf is the probability. Outputs are as those of a network: scaled numbers, or
    logarithms that softmax or sigmoid turn into probabilities.
    """

    learns: ClassVar[bool] = False
    data_sized: ClassVar[tuple[str, ...]] = tuple(
        f"trees.{name}" for name in DecisionTrees.KINDS
    )
    options: ForestOptions
    link: Tensor

    def encoders(self, options: ForestOptions) -> list[nn.Module]:
        """Return no branch, but make the trees."""
        self.features = PooledFeatures(
            self.encoding,
            self.in_channels,
            self.edge_channels,
            powers=0,
            pools="+".join(POOLS),
            level=self.level,
            graph_channels=self.graph_channels,
        )
        self.trees = DecisionTrees(self.features.num_features, self.out_channels)
        self.register_buffer("link", torch.tensor(0))
        return []

    @property
    def num_parameters(self) -> int:
        """Number of nodes of all trees."""
        return self.trees.feature.numel()

    def compute(self, inputs: GraphInputs) -> Tensor:
        """Return the output from prepared tensors."""
        return self.link_outputs(self.trees(self.features(inputs)))

    def link_outputs(self, mean: Tensor) -> Tensor:
        """Return the outputs that the task's link turns back into ``mean``."""
        if self.link == 0:
            return mean
        out = mean.clamp(min=_LEAST).log()
        return out if self.link == 1 else out - (1 - mean).clamp(min=_LEAST).log()

    def grow(
        self,
        x: Tensor,
        y: Tensor,
        mask: Tensor,
        link: Link,
        seed: int,
        weights: Tensor | None = None,
    ) -> None:
        """Grow the trees.

        Targets share their trees where all are present and weigh the same; otherwise
        each has trees of its own.

        Args:
            x: Vectors, ``[R, P]``.
            y: Class numbers ``[R]``, or labels or numbers to learn ``[R, T]``.
            mask: Where they are present, bool ``[R, T]``.
            link: What turns outputs into predictions.
            seed: Fixes the trees.
            weights: Of rows, ``[R, 1]``, or of rows and targets, ``[R, T]``.
        """
        self.link.fill_(LINKS.index(link))
        if y.dim() == 1:
            y = F.one_hot(y, self.out_channels)
            mask = mask.expand_as(y)
        parts = [(0, mask.all(1), y)]
        apart = weights is not None and weights.size(1) > 1
        if apart or not torch.equal(mask.any(1), mask.all(1)):
            parts = [(c, mask[:, c], y[:, c : c + 1]) for c in range(y.size(1))]
        vectors = x.numpy().astype(np.float32)
        grown: list[dict[str, Tensor]] = []
        for column, here, wanted in parts:
            if not here.any():  # nothing is known: 0, the mean, or even odds
                here = torch.arange(len(y)) == 0
                wanted = torch.full_like(wanted, 0.0 if link == "none" else 0.5)
            rows = wanted[here].double().numpy()
            own = _row_weights(weights, here, column)
            trees = self._fitted(vectors[here.numpy()], rows, seed, own)
            grown += [_tensors(tree, column) for tree in trees]
        self.trees.set_trees(grown)

    def _fitted(
        self,
        x: NDArray[np.float32],
        y: NDArray[np.float64],
        seed: int,
        weights: NDArray[np.float64] | None,
    ) -> list[Any]:
        """Return scikit-learn's trees of some rows."""
        from sklearn import ensemble  # takes a while

        forest = ensemble.ExtraTreesRegressor(
            n_estimators=self.options.n_estimators,
            max_depth=self.options.max_depth,
            min_samples_leaf=self.options.min_samples_leaf,
            max_features=self.options.max_features or "sqrt",
            random_state=seed,
            n_jobs=torch.get_num_threads(),
        )
        forest.fit(x, y if y.shape[1] > 1 else y[:, 0], sample_weight=weights)
        return [each.tree_ for each in forest.estimators_]


def _row_weights(
    weights: Tensor | None, here: Tensor, column: int
) -> NDArray[np.float64] | None:
    """Return the weights of some rows, one for all targets or that of a column."""
    if weights is None:
        return None
    own: NDArray[np.float64] = (
        weights[here, column if weights.size(1) > 1 else 0].double().numpy()
    )
    return own


def _tensors(tree: Any, column: int) -> dict[str, Tensor]:
    """Return a tree of scikit-learn."""
    numbers = np.arange(tree.node_count)
    leaf = tree.children_left < 0
    arrays = {
        "feature": np.where(leaf, 0, tree.feature),
        "threshold": tree.threshold,
        "left": np.where(leaf, numbers, tree.children_left),
        "right": np.where(leaf, numbers, tree.children_right),
        "value": tree.value[:, :, 0],
        "start": np.zeros(1, dtype=np.int64),
        "column": np.array([column]),
    }
    return {name: torch.from_numpy(values) for name, values in arrays.items()}


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
                own = _row_weights(weights, here, column)
                wanted = y[here, column].double().numpy()
                rows = vectors[here.numpy()]
                grown.extend(self._target(rows, wanted, link, seed, own, column))
        self.trees.set_trees(grown)

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
            yield _boosted(rounds, float(starts[number]), column)

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
        return _boosted([trees[0] for trees in model._predictors], start, column)

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


def _boosted(rounds: list[Any], start: float, column: int) -> list[dict[str, Tensor]]:
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
