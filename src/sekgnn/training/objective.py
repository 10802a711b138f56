"""What a task asks of a network: the loss, the metrics, and what its outputs mean."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import torch
import torch.nn.functional as F
from torch import Tensor

from sekgnn.checks import check_choice
from sekgnn.datasets.graph_task import GraphTask
from sekgnn.datasets.targets import Label, TaskKind
from sekgnn.errors import ConfigError, ModelFileError
from sekgnn.graphs.shards import Reader
from sekgnn.models import GraphModel, load_models, save_model
from sekgnn.models.model_file import ModuleModel, read_about
from sekgnn.models.options import Link
from sekgnn.parsing import Size, read_as
from sekgnn.training.config import TREES, RunConfig
from sekgnn.training.data import sampled
from sekgnn.training.run_folder import MODEL_FILE

METRICS: dict[TaskKind, tuple[str, ...]] = {
    "binary": ("accuracy", "balanced_accuracy", "f1", "auroc", "auprc"),
    "multiclass": ("accuracy", "balanced_accuracy", "f1"),
    "multilabel": ("auroc", "auprc", "accuracy", "f1"),
    "regression": ("mae", "mse", "rmse", "log10_mse", "r2"),
}
"""The metrics of every kind of task; the first is the one to compare by."""

TARGET_METRICS: dict[TaskKind, tuple[str, ...]] = {
    "multilabel": ("auroc", "auprc", "accuracy", "f1"),
    "regression": ("mae", "mse", "rmse", "r2"),
}
"""The metrics that are also reported of each of several targets."""


@dataclass(frozen=True)
class Objective:
    r"""Loss and metrics of a task, and all else that a model needs to predict for it.

    It is kept in the model's file. Missing targets count nowhere.

    Binary and multiclass tasks have one output per class and the cross entropy;
    multilabel tasks one output per label and the binary cross entropy; regression
    learns :math:`(y - \mu) / \sigma` by the chosen loss and predicts
    :math:`\sigma o + \mu` for output o; with ``loss="bce"``, for targets that are 0
    or 1, it learns them by the binary cross entropy and predicts probabilities.
    Metrics are of predictions in the units of the data.

    Args:
        kind: The kind of task.
        loss: ``"mse"``, ``"mae"``, ``"huber"`` or ``"bce"``, for regression.
        mean: :math:`\mu`, one per target.
        scale: :math:`\sigma`, one per target.
        comparable: Whether the targets of a regression have one unit. If not, errors
            are not averaged over them; the coefficient of determination is.
        class_weights: By which losses are multiplied: one per class, or per label that
            of 0 and that of 1; empty for none.
    """

    kind: TaskKind
    loss: str = "mse"
    mean: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()
    comparable: bool = True
    class_weights: tuple[tuple[float, ...], ...] = ()
    targets: tuple[str, ...] = ()
    classes: tuple[Label, ...] | None = None
    units: str = "as given"
    feature_names: tuple[str, ...] | None = None
    edge_feature_names: tuple[str, ...] | None = None
    reader: Annotated[dict[str, Any], Reader] | None = None
    max_neighbors: Size | None = None
    sample_seed: int = 0
    graph_feature_names: tuple[str, ...] = ()

    @classmethod
    def fit(
        cls,
        kind: TaskKind,
        loss: str,
        normalize: bool,
        y: Tensor,
        mask: Tensor,
        comparable: bool = True,
        class_weight: str | None = None,
        **more: Any,
    ) -> Objective:
        """Return the objective of a task, from its training targets.

        ``normalize`` shifts and scales the targets of a regression. ``"balanced"`` as
        ``class_weight`` gives all classes, or both values of a label, the same weight
        together: n / (C n_c) for n_c of n graphs in class c of C. What is ``more`` is
        for the constructor.

        Raises:
            ConfigError: If ``loss`` or ``class_weight`` do not fit the task.

        Shapes:
            - **y:** :math:`(G)` or :math:`(G, T)`; **mask:** bool :math:`(G, T)`
        """
        if kind != "regression":
            if loss != "mse":
                raise ConfigError(
                    f"loss={loss!r} is for regression; this task is {kind}."
                )
            weights = () if class_weight is None else _balanced(y, mask)
            return cls(kind, class_weights=weights, **more)
        if class_weight is not None:
            raise ConfigError("class_weight is for classes; this task is a regression.")
        if loss == "bce":
            if not bool(((y == 0) | (y == 1))[mask].all()):
                raise ConfigError(
                    "loss='bce' is for targets that are 0 or 1; use 'mse' for others."
                )
            normalize = False
        units = [
            _unit(column[present].double()) if normalize else (0.0, 1.0)
            for column, present in zip(y.unbind(1), mask.unbind(1), strict=True)
        ]
        mean, scale = zip(*units, strict=True)
        return cls(kind, loss, mean, scale, comparable, **more)

    @classmethod
    def of(cls, config: RunConfig, data: GraphTask, train: GraphTask) -> Objective:
        """Return the objective of a model that is trained on some of the data.

        Raises:
            ConfigError: If loss, monitor or threshold do not fit the kind of task.
        """
        assert data.kind is not None  # as there are targets
        if config.threshold is not None and data.kind != "binary":
            raise ConfigError(
                f"threshold is for two classes; {data.name} is {data.kind}."
            )
        if config.adaptive and data.kind != "regression":
            raise ConfigError(
                f"adaptive is for intervals of numbers; {data.name} is {data.kind}."
            )
        objective = cls.fit(
            data.kind,
            config.loss,
            config.normalize,
            *train.targets(),
            data.has_one_unit,
            config.class_weight,
            targets=data.target_names,
            classes=data.classes,
            units=data.units,
            feature_names=data.feature_names,
            edge_feature_names=data.edge_feature_names,
            reader=data.reader,
            max_neighbors=sampled(data, config.max_neighbors),
            sample_seed=config.seed,
            graph_feature_names=data.graph_feature_names,
        )
        objective.check_monitor(config.monitor)
        return objective

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The metrics; the first is the one to compare by."""
        return METRICS[self.kind] if self.comparable else ("r2",)

    def check_monitor(self, name: str) -> str:
        """Return a metric to select by; raise ConfigError if the task lacks it."""
        return check_choice("monitor", name, ("loss", *self.metric_names))

    def weights(self, y: Tensor, weight: Tensor | None = None) -> Tensor | None:
        """Return the weight of every loss, ``[G, T]`` or ``[G, 1]``.

        That of its graph, ``[G]``, times that of its class; ``None`` if all are 1.
        """
        equal = weight is None or bool((weight == 1).all())
        out = None if weight is None or equal else weight.unsqueeze(1)
        if self.class_weights:
            table = torch.tensor(self.class_weights, device=y.device)  # [T, C]
            column = y.unsqueeze(1) if y.dim() == 1 else y
            by_class = torch.stack(
                [w[k] for w, k in zip(table, column.long().unbind(1), strict=True)], 1
            )
            out = by_class if out is None else by_class * out
        return out

    def loss_sum(
        self,
        out: Tensor,
        y: Tensor,
        mask: Tensor,
        weight: Tensor | None = None,
        bound: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Return the weighted sum of the losses of all present targets, their number.

        Weights are 1 on average, so that they need not be added up. Of a number that is
        known to be at least y (``bound`` 1), or at most y (-1), the loss is that of y
        where the output violates this, else 0; it counts as present.

        Shapes:
            - **out:** :math:`(G, C)`; **y:** :math:`(G)` or :math:`(G, T)`;
              **mask:** bool :math:`(G, T)`; **weight:** :math:`(G)`;
              **bound:** :math:`(G, T)`
        """
        if self.kind in ("binary", "multiclass"):
            each = F.cross_entropy(out, y, reduction="none").unsqueeze(1)  # [G, 1]
        elif self.kind == "multilabel" or self.loss == "bce":
            wanted = y.to(out.dtype)
            each = F.binary_cross_entropy_with_logits(out, wanted, reduction="none")
        else:
            exact = y if y.dtype == torch.float64 else y.to(out.dtype)
            wanted = self.wanted(exact).to(out.dtype)
            if bound is not None:
                out = torch.where(bound > 0, torch.minimum(out, wanted), out)
                out = torch.where(bound < 0, torch.maximum(out, wanted), out)
                mask = mask | (bound != 0)
            losses: dict[str, Any] = {
                "mse": F.mse_loss,
                "mae": F.l1_loss,
                "huber": F.smooth_l1_loss,
            }
            each = losses[self.loss](out, wanted, reduction="none")  # [G, T]
        weights = self.weights(y, weight)
        if weights is not None:
            each = each * weights.to(each.dtype)
        return each[mask].sum(), mask.sum()

    @property
    def link(self) -> Link:
        """What turns outputs into predictions."""
        if self.kind in ("binary", "multiclass"):
            return "softmax"
        return "none" if self.is_least_squares else "sigmoid"

    @property
    def is_least_squares(self) -> bool:
        """Whether outputs are numbers with an error, not logits."""
        return self.kind == "regression" and self.loss != "bce"

    def wanted(self, y: Tensor) -> Tensor:
        """Return what outputs of a regression should be, ``[G, T]``."""
        return (y - self._tensor(self.mean, y)) / self._tensor(self.scale, y)

    def predictions(self, out: Tensor) -> Tensor:
        """Return probabilities ``[G, C]`` or values ``[G, T]``, float64."""
        out = out.double()
        if self.kind in ("binary", "multiclass"):
            return out.softmax(dim=1)
        if self.kind == "multilabel" or self.loss == "bce":
            return out.sigmoid()
        return out * self._tensor(self.scale, out) + self._tensor(self.mean, out)

    def metrics(
        self,
        predicted: Tensor,
        y: Tensor,
        mask: Tensor,
        threshold: float | None = None,
    ) -> dict[str, float]:
        """Return every metric of the task; NaN where it is not defined.

        With several targets these are means over the targets, each over the graphs
        where it is present. No weights are looked at. Of two classes the second is
        decided for above ``threshold``, or else the likelier one.
        """
        if self.kind in ("binary", "multiclass"):
            present = mask[:, 0]
            return _class_metrics(self.kind, predicted[present], y[present], threshold)
        rows = self._each(predicted, y, mask)
        return {
            name: float(
                torch.tensor([row[name] for row in rows], dtype=torch.float64).nanmean()
            )
            for name in self.metric_names
        }

    def target_metrics(
        self, predicted: Tensor, y: Tensor, mask: Tensor
    ) -> dict[str, float]:
        """Return the metrics of each of several targets, such as ``mae[logp]``.

        Empty where there is one target only.
        """
        if self.kind in ("binary", "multiclass") or len(self.targets) == 1:
            return {}
        rows = self._each(predicted, y, mask, every=True)
        return {
            f"{metric}[{name}]": row.get(metric, float("nan"))
            for name, row in zip(self.targets, rows, strict=True)
            for metric in TARGET_METRICS[self.kind]
        }

    def _each(
        self, predicted: Tensor, y: Tensor, mask: Tensor, every: bool = False
    ) -> list[dict[str, float]]:
        """Return the metrics of every target, those without values only if asked."""
        one = _label_metrics if self.kind == "multilabel" else _value_metrics
        return [
            dict(
                zip(
                    METRICS[self.kind],
                    one(predicted[present, i], y[present, i].double()),
                    strict=True,
                )
            )
            if present.any()
            else {}
            for i, present in enumerate(mask.unbind(1))
            if every or present.any()
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; weights of classes are for training alone."""
        values = asdict(self)
        del values["class_weights"]
        return values

    @classmethod
    def from_dict(cls, values: Any) -> Objective:
        """Return that of :meth:`to_dict`; raise ModelFileError if it is none."""
        try:
            objective = read_as(cls, values, "task")
            objective._check()
        except ValueError as error:
            raise ModelFileError(
                f"the model's task cannot be read: {error}; get the file again."
            ) from error
        return objective

    def _check(self) -> None:
        """Raise ValueError if the parts do not fit together."""
        sizes = {len(self.mean), len(self.scale)}
        numbers = len(self.targets) if self.kind == "regression" else 0
        if not self.targets or sizes != {numbers}:
            raise ValueError("targets, mean and scale do not belong together")
        if self.kind in ("binary", "multiclass") and len(self.classes or ()) < 2:
            raise ValueError("it has no classes")

    @property
    def num_outputs(self) -> int:
        """How many outputs a model of this task has."""
        labelled = self.kind in ("binary", "multiclass")
        return len(self.classes or ()) if labelled else len(self.targets)

    @staticmethod
    def _tensor(values: tuple[float, ...], like: Tensor) -> Tensor:
        return torch.tensor(values, dtype=like.dtype, device=like.device)


def save_trained(model: GraphModel, objective: Objective, folder: Path) -> None:
    """Write a model to its folder, with what its outputs mean."""
    save_model(model, folder / MODEL_FILE, {"task": objective.to_dict()})


def read_models(path: Path) -> list[tuple[GraphModel, Objective]]:
    """Return the models in a file or run folder, each with what its outputs mean.

    Those of a folder are networks, then trees; or those of all its folds.

    Raises:
        ModelFileError: If one is damaged or foreign.
    """
    if path.is_dir():
        return [pair for file in _model_files(path) for pair in read_models(file)]
    objective = Objective.from_dict(read_about(path).get("task", {}))
    models = load_models(path)
    for model in models:
        foreign, outputs = isinstance(model, ModuleModel), model.out_channels
        if not foreign and outputs != objective.num_outputs:
            raise ModelFileError(
                f"{path} is damaged: its model has {outputs} outputs, and its task "
                f"{objective.num_outputs}."
            )
    return [(model, objective) for model in models]


def _model_files(folder: Path) -> list[Path]:
    trees = (f"{name}/{MODEL_FILE}" for name in TREES)
    names = (MODEL_FILE, f"member-*/{MODEL_FILE}", *trees)
    files = [file for name in names for file in sorted(folder.glob(name))]
    folds = sorted(folder.glob("fold-*"))
    return files or [file for fold in folds for file in _model_files(fold)]


def _unit(values: Tensor) -> tuple[float, float]:
    """Return mean and standard deviation of a target; 1 where all are equal."""
    if not values.numel():
        return 0.0, 1.0
    if bool(values.min() == values.max()):  # their mean may be off by a rounding
        return float(values[0]), 1.0
    return float(values.mean()), float(values.std(correction=0))


def _balanced(y: Tensor, mask: Tensor) -> tuple[tuple[float, ...], ...]:
    """Return the weight of every class, or of 0 and 1 of every label."""
    out = []
    for column, here in zip(y.reshape(len(y), -1).unbind(1), mask.unbind(1),
                            strict=True):  # fmt: skip
        least = int(y.max()) + 1 if y.dim() == 1 else 2
        counts = torch.bincount(column[here].long(), minlength=least)
        share = counts.sum() / (len(counts) * counts.clamp(min=1).double())
        out.append(tuple(torch.where(counts > 0, share, 1.0).tolist()))
    return tuple(out)


def _torchmetrics() -> Any:
    """Return its functions; to load them takes as long as to load PyTorch."""
    from torchmetrics import functional

    return functional


def _class_metrics(
    kind: TaskKind, p: Tensor, y: Tensor, threshold: float | None = None
) -> dict[str, float]:
    if not y.numel():
        return dict.fromkeys(METRICS[kind], float("nan"))
    score = p[:, 1]
    if threshold is not None:
        p = F.one_hot((score > threshold).long(), 2).double()
    classes = p.size(1)
    common: dict[str, Any] = {"task": "multiclass", "num_classes": classes}
    present = torch.bincount(y, minlength=classes) > 0
    recall = _torchmetrics().recall(p, y, average="none", **common)[present]
    f1 = _torchmetrics().f1_score(p, y, average="none", **common)[present]
    out = {
        "accuracy": float((p.argmax(1) == y).double().mean()),
        "balanced_accuracy": float(recall.mean()),
        "f1": float(f1.mean()),
    }
    if kind == "binary":
        out |= {"auroc": _auroc(score, y), "auprc": _auprc(score, y)}
    return out


def _label_metrics(score: Tensor, truth: Tensor) -> tuple[float, ...]:
    truth = truth.long()
    hits = ((score > 0.5).long() == truth).double().mean()
    f1 = _torchmetrics().f1_score(score, truth, task="binary")
    return _auroc(score, truth), _auprc(score, truth), float(hits), float(f1)


def _value_metrics(predicted: Tensor, truth: Tensor) -> tuple[float, ...]:
    error = predicted - truth
    mse = error.square().mean()
    spread = (truth - truth.mean()).square().mean()
    r2 = 1 - mse / spread if spread > 0 else mse * float("nan")
    values = (error.abs().mean(), mse, mse.sqrt(), mse.log10(), r2)
    return tuple(float(value) for value in values)


def _auroc(score: Tensor, truth: Tensor) -> float:
    """Return the area under the ROC curve; NaN if only one class is present."""
    if truth.min() == truth.max() or not bool(torch.isfinite(score).all()):
        return float("nan")
    area: Any = _torchmetrics().auroc(_ranks(score), truth, task="binary")
    return float(area)


def _auprc(score: Tensor, truth: Tensor) -> float:
    """Return the area under precision and recall, as average precision.

    That is the mean, over the positives, of the precision among all that score at
    least as high; NaN without positives. Guessing reaches the share of positives.
    """
    if not bool(truth.any()) or not bool(torch.isfinite(score).all()):
        return float("nan")
    area: Any = _torchmetrics().average_precision(_ranks(score), truth, task="binary")
    return float(area)


def _ranks(score: Tensor) -> Tensor:
    """Return scores in the same order, below 1.

    float32, which torchmetrics uses, could not tell probabilities near 1 apart.
    """
    ranks = torch.unique(score, return_inverse=True)[1]
    return ranks / (ranks.max() + 1)
