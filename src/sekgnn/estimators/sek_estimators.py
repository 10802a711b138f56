"""Classifiers and regressors of graphs, as scikit-learn estimators."""

from __future__ import annotations

import inspect
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, TypedDict

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from sekgnn.checks import MOST_LEVELS, check_positive, nearest
from sekgnn.datasets import Split, list_task
from sekgnn.datasets.graph_task import set_targets, set_weights
from sekgnn.datasets.targets import Label, TaskKind
from sekgnn.errors import ConfigError, GraphInputError, ModelFileError
from sekgnn.models import save_model
from sekgnn.models.model_file import read_about
from sekgnn.models.options import MODEL_KINDS, OWN
from sekgnn.parameters import build, plain
from sekgnn.parsing import Size, read_as
from sekgnn.training.config import RunConfig, config_fields
from sekgnn.training.predictor import Predictor
from sekgnn.training.settings import check_imported, import_typed
from sekgnn.training.splits import check_training_classes, inner_split
from sekgnn.training.training import Training

_Encoded = tuple[TaskKind, NDArray[Any], NDArray[np.bool_], tuple[Any, ...] | None]


class _Parameters(TypedDict, total=False):
    class_weight: str | list[tuple[Label, float]] | None


class _Fitted(TypedDict):
    curves_: dict[str, list[float]]
    kept_epoch_: Size
    n_features_in_: Size
    _flat: bool


class _Note(TypedDict):
    name: str
    params: _Parameters
    fitted: _Fitted


_FITTED = ("curves_", "kept_epoch_", "n_features_in_", "_flat")

KEYS = {
    item.name: item.default
    for item in config_fields()
    if item.metadata["section"] in ("model", "encoding", "training")
    and item.name != "tensorboard"
}
"""The config keys that are parameters of an estimator, with their defaults."""
PARAMETERS: dict[str, Any] = {
    **KEYS,
    "patience": 30,
    "validation_fraction": 0.1,
    "node_features": (),
    "random_state": 0,
    "threads": 1,
}
"""Every parameter of an estimator, with its default."""


_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_POSITIONAL = dict.fromkeys(("self", "model"), inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _has_vectors(estimator: GraphEstimator) -> bool:
    """Return True for a network, which learns vectors; raise otherwise."""
    kind = MODEL_KINDS.get(estimator.model, OWN)
    if not kind.network or estimator.blend:
        raise ConfigError(
            f"model {estimator.model!r} has no learned vectors; use a network alone."
        )
    return True


class GraphEstimator(  # type: ignore[call-arg]  # mypy knows no scikit-learn
    TransformerMixin, BaseEstimator, auto_wrap_output_keys=None
):
    """A model of this library with ``fit`` and ``predict``.

    Parameters are the keys of :class:`~sekgnn.training.RunConfig` for model, encoding
    and training, and a few of scikit-learn.
    """

    model: str
    keep: str | None
    class_weight: str | Mapping[Any, float] | None
    validation_fraction: float
    node_features: Sequence[str]
    random_state: int | np.random.RandomState | None
    threads: int
    blend: Sequence[str]
    _flat = True  # whether y is one column without a second dimension

    def __init__(self, model: str = PARAMETERS["model"], **parameters: Any) -> None:
        for name in parameters:
            if name not in PARAMETERS:
                raise ConfigError(
                    f"{type(self).__name__} has no parameter {name!r}."
                    f"{nearest(name, PARAMETERS)}"
                )
        for name, value in {**PARAMETERS, **parameters, "model": model}.items():
            setattr(self, name, value)

    __init__.__signature__ = inspect.Signature([  # type: ignore[attr-defined]
        inspect.Parameter(name, _POSITIONAL.get(name, _KEYWORD), default=default)
        for name, default in {"self": inspect.Parameter.empty, **PARAMETERS}.items()
    ])  # fmt: skip

    def __sklearn_tags__(self) -> Any:
        """Declare that X is not a matrix, and that learned vectors are float32."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.transformer_tags.preserves_dtype = []
        return tags

    def run_config(self) -> RunConfig:
        """Return the parameters as the config of a run."""
        values = {name: getattr(self, name) for name in KEYS}
        if self.keep == "last":
            values["patience"] = None  # only used to choose an epoch
        if isinstance(self.class_weight, Mapping):
            values["class_weight"] = None  # graphs get weights instead
        typed = import_typed(values)
        return RunConfig.from_dict({**typed, "val_fraction": self.validation_fraction})

    def fit(
        self, X: Sequence[Any], y: Any, sample_weight: Sequence[float] | None = None
    ) -> Self:
        """Train.

        Args:
            X: Graphs.
            y: Labels, as numbers or texts; or numbers to predict, ``[G]`` or
                ``[G, T]``.
            sample_weight: Non-negative weight of the loss of every graph.

        Raises:
            GraphInputError: If a graph or a target is invalid, or there are fewer than
                two classes.
            ConfigError: If a parameter is invalid.
        """
        if not len(X):
            raise GraphInputError("no graphs are given.")
        kind, rows, mask, classes = self._encode(y)
        _check_lengths(X, rows, "targets")
        task = list_task(X, self.node_features)
        set_targets(task.graphs, torch.from_numpy(rows), mask)
        width = mask.shape[1]
        names = ("y",) if width == 1 else tuple(f"y{i}" for i in range(width))
        task = replace(task, kind=kind, target_names=names, classes=classes, mask=mask)
        weights = self._weights(y, sample_weight)
        if weights is not None:
            weights = column_or_1d(weights)
            _check_lengths(X, weights, "weights")
            set_weights(task, weights.tolist(), "sample_weight")
        random = check_random_state(self.random_state)
        seed = int(random.randint(np.iinfo(np.int32).max))
        data = task.with_targets()
        count = np.arange(len(data))
        config = replace(self.run_config(), seed=seed)
        train, val = count, count[:0]
        if config.watched:
            train, val = inner_split(
                count, self.validation_fraction, seed, data.class_numbers
            )
            if not train.size or not val.size:
                raise GraphInputError(
                    f"too few graphs to train and validate (n_samples={count.size}); "
                    "give more, or set keep='last' and refit=True."
                )
        check_training_classes(train, data.class_numbers, task.classes, "fit")
        split = Split(train, val, np.empty(0, dtype=np.int64))
        with _torch_threads(self.threads):
            training = Training(config, data, splits=[split], cache=False)
            done = training.fit_members()
        self.predictor_ = Predictor.of(done)
        self.curves_ = done[0].curves
        self.kept_epoch_ = done[0].kept_epoch
        self.n_features_in_ = task.num_features
        return self

    def _encode(self, y: Any) -> _Encoded:
        """Return the kind of task, targets, mask and classes."""
        raise NotImplementedError

    def _weights(self, y: Any, sample_weight: Any) -> Any:
        """Return the weight of every graph, ``[G]``, or ``None``."""
        return sample_weight

    @available_if(_has_vectors)
    def transform(self, X: Sequence[Any]) -> NDArray[np.float32]:
        """Return the learned vectors of graphs, ``[G, C]``.

        They are the inputs of the last layer; those of an ensemble are concatenated.
        Models that are not networks, such as ``ridge``, have no such method.
        """
        check_is_fitted(self, "predictor_")
        with _torch_threads(self.threads):
            return self.predictor_.fingerprint(self._read(X))

    def _outputs(self, graphs: Sequence[Any]) -> NDArray[np.float64]:
        check_is_fitted(self, "predictor_")
        with _torch_threads(self.threads):
            return self.predictor_.predict(self._read(graphs))

    def _read(self, graphs: Sequence[Any]) -> Sequence[Any]:
        """Return the graphs, checked to fit the model."""
        if not len(graphs):
            return []
        task = list_task(graphs, self.node_features)
        self.predictor_.check(task, "the list of graphs")
        return task.graphs

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to one safetensors file, all or nothing.

        Raises:
            OutputError: If it cannot be written; an older file is then unchanged.
        """
        check_is_fitted(self, "predictor_")
        params = {**self.get_params(), "random_state": None}
        if isinstance(self.class_weight, Mapping):  # keys need not be strings
            params["class_weight"] = [*self.class_weight.items()]
        if isinstance(self.random_state, int):
            params["random_state"] = self.random_state
        about = {
            "task": self.predictor_.note.to_dict(),
            "estimator": {
                "name": type(self).__name__,
                "params": plain(params),
                "fitted": {name: getattr(self, name) for name in _FITTED},
            },
        }
        first, *others = self.predictor_.models
        save_model(first, path, about, others=others)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return an estimator written by :meth:`save`; no code of the file is run.

        Raises:
            ModelFileError: If the file is damaged, or has other contents.
            ConfigError: If a parameter would need an import.
        """
        try:
            about = {} if Path(path).is_dir() else read_about(path)
            if Path(path).is_dir() or ("estimator" not in about and "task" in about):
                raise ValueError("it is a run of sekgnn train; use sekgnn.load(path)")
            note = read_as(_Note, about.get("estimator"), "estimator")
            if note["name"] != cls.__name__:
                raise ValueError(f"it is a {note['name']}")
            estimator = build(cls, cls.__name__, note["params"])
        except ModelFileError:
            raise
        except ValueError as error:
            raise ModelFileError(f"{path} holds no {cls.__name__}: {error}.") from error
        if isinstance(estimator.class_weight, list):
            estimator.class_weight = dict(estimator.class_weight)
        estimator.predictor_ = Predictor.load(path)
        check_imported(note["params"])  # or else fit() would import them
        for name, value in note["fitted"].items():
            setattr(estimator, name, value)
        return estimator

    def __getstate__(self) -> dict[str, Any]:
        """Store the network in the pickle as the bytes of a safetensors file."""
        state = dict(super().__getstate__())
        if state.pop("predictor_", None) is not None:
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder, "estimator.safetensors")
                self.save(file)
                state["_file"] = file.read_bytes()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Read the network from the bytes of a safetensors file."""
        content = state.pop("_file", None)
        super().__setstate__(state)
        if content is not None:
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder, "estimator.safetensors")
                file.write_bytes(content)
                self.predictor_ = Predictor.load(file)


@contextmanager
def _torch_threads(count: int) -> Iterator[None]:
    """Let torch use ``count`` threads inside the block.

    Torch's threads wait in a busy loop: on graphs as small as molecules, or when other
    processes use the cores, several threads are many times slower than one.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(check_positive("threads", count, maximum=MOST_LEVELS))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _check_lengths(graphs: Sequence[Any], rows: NDArray[Any], things: str) -> None:
    if len(graphs) != len(rows):
        raise GraphInputError(f"{len(graphs)} graphs, but {len(rows)} {things}.")


def _kind_of(label: Any) -> str:
    """Return the kind of a label; numpy would convert mixed kinds silently."""
    if isinstance(label, bool | np.bool_):
        return "truth values"
    return "texts" if isinstance(label, str) else "numbers"


class SEKClassifier(ClassifierMixin, GraphEstimator):
    """Classify graphs with SEK-GIN, or another network of this library.

    Works with ``cross_val_score``, ``GridSearchCV``, ``clone`` and ``pickle``. X is a
    list of graphs of one type: PyG ``Data``, networkx, :class:`~sekgnn.graphs.Graph`,
    or SMILES. A part of the training graphs is held out to choose the epoch.

    Args:
        model: ``"sek-gin"``, ``"sek-ppgn"``, ``"k-gin"``, ``"gin"``, ``"ppgn"``,
            ``"ridge"``, ``"forest"``, a kernel such as ``"wl"``, or one of your own
            (:func:`~sekgnn.models.register_model`).
        validation_fraction: Fraction of the training graphs to choose the epoch with.
        node_features: Node attributes of networkx graphs to use.
        random_state: Seed of all random numbers.
        threads: Threads of torch in training and prediction; more than one pays only
            on large graphs.
        **parameters: Keys of :class:`~sekgnn.training.RunConfig` for model, encoding
            and training: ``hidden_channels``, ``num_layers``, ``num_hops``, ``scope``,
            ``walk_length``, ``epochs``, ``lr``, ``class_weight`` (also a dict of
            weights by label), ... Training stops after ``patience=30`` epochs without
            improvement, but not with ``None`` or ``keep="last"``; the latter with
            ``refit=True`` holds nothing out. With ``ensemble=N``, ``curves_`` and
            ``kept_epoch_`` are those of the first network.

    Attributes:
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

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, sorted."""
        return np.array(self.predictor_.note.classes)

    def _encode(self, y: Any) -> _Encoded:
        kinds = set() if isinstance(y, np.ndarray) else {_kind_of(value) for value in y}
        if len(kinds) > 1:
            raise GraphInputError(
                f"y holds {' and '.join(sorted(kinds))}, some of which would become "
                "the same label; make all of one kind."
            )
        labels = column_or_1d(np.asarray(y))
        check_classification_targets(labels)
        classes, numbers = np.unique(labels, return_inverse=True)
        if classes.size < 2:
            raise GraphInputError("all graphs are of one class; nothing to learn.")
        kind: TaskKind = "binary" if classes.size == 2 else "multiclass"
        mask = np.ones((labels.size, 1), dtype=np.bool_)
        return kind, numbers.astype(np.int64), mask, tuple(classes.tolist())

    def _weights(self, y: Any, sample_weight: Any) -> Any:
        if not isinstance(self.class_weight, Mapping):
            return sample_weight
        weight = compute_sample_weight(self.class_weight, column_or_1d(np.asarray(y)))
        return weight if sample_weight is None else weight * np.asarray(sample_weight)

    def predict_proba(self, X: Sequence[Any]) -> NDArray[np.float64]:
        """Return the probability of every class, ``[G, C]``; columns ``classes_``."""
        return self._outputs(X)

    def predict(self, X: Sequence[Any]) -> NDArray[Any]:
        """Return the most probable label of every graph."""
        check_is_fitted(self, "predictor_")
        numbers = self._outputs(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[numbers]
        return labels


class SEKRegressor(RegressorMixin, GraphEstimator):
    """Predict numbers of graphs with SEK-GIN, or another network of this library.

    Parameters and X are those of :class:`SEKClassifier`. Targets are scaled
    internally; with several, NaN is a missing value.

    Attributes:
        curves_: Loss and metrics of every epoch.
        kept_epoch_: The epoch whose weights are used, from 1.
        n_features_in_: Width of the node features.
    """

    @property
    def n_outputs_(self) -> int:
        """Number of targets."""
        return len(self.predictor_.note.targets)

    def __sklearn_tags__(self) -> Any:
        """Declare that there may be several targets."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _encode(self, y: Any) -> _Encoded:
        values = np.asarray(y, dtype=np.float64)
        self._flat = values.ndim == 1
        values = values.reshape(len(values), -1)
        mask = ~np.isnan(values)
        if np.isinf(values).any() or not mask.any(axis=0).all():
            raise GraphInputError("targets must be finite, and not all missing.")
        return "regression", np.nan_to_num(values), mask, None

    def predict(self, X: Sequence[Any]) -> NDArray[np.float64]:
        """Return a number per graph, ``[G]``, or ``[G, T]`` as in ``fit``."""
        values = self._outputs(X)
        return values[:, 0] if self._flat else values
