"""Estimators keep scikit-learn's promises over lists of graphs."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import validate_data
from torch_geometric.data import Data

from sekgnn.datasets import list_task, networkx_task
from sekgnn.errors import ConfigError, GraphInputError, ModelFileError
from sekgnn.estimators import SEKClassifier, SEKRegressor
from sekgnn.graphs import Graph, cycle_graph, path_graph
from sekgnn.models import load_model
from sekgnn.models.options import MODEL_KINDS
from sekgnn.search import SearchSpace, search
from sekgnn.training import RunConfig
from sekgnn.training.predictor import Predictor

SMALL: dict[str, Any] = {
    "model": "gin",
    "hidden_channels": 8,
    "num_layers": 2,
    "epochs": 12,
    "batch_size": 8,
    "lr": 0.02,
    "validation_fraction": 0.2,
}


pytestmark = pytest.mark.usefixtures("one_thread")


def data(count: int = 12) -> tuple[list[Graph], list[str]]:
    graphs: list[Graph] = []
    for n in range(4, 4 + count):
        graphs += [cycle_graph(n), path_graph(n)]
    return graphs, ["cycle", "path"] * count


@pytest.mark.parametrize("two", [(1, "1"), (True, 1), ("True", True)])
def test_labels_of_two_kinds_are_not_merged(two: tuple[Any, Any]) -> None:
    with pytest.raises(GraphInputError, match="same label"):
        SEKClassifier(**SMALL).fit(data()[0], [*two] * 12)


def test_classifier_learns_and_keeps_its_labels() -> None:
    graphs, labels = data()
    model = SEKClassifier(**SMALL).fit(graphs, labels)
    assert model.classes_.tolist() == ["cycle", "path"]
    assert set(model.predict(graphs)) <= {"cycle", "path"}
    assert model.score(graphs, labels) == 1.0  # paths have ends
    chances = model.predict_proba(graphs)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    assert (model.classes_[chances.argmax(1)] == model.predict(graphs)).all()
    assert 1 <= model.kept_epoch_ <= len(model.curves_["val_loss"])
    assert model.n_features_in_ == 1


def test_forms_of_a_graph_agree() -> None:
    """The same graphs as Graph, networkx and PyG give the same network."""
    graphs, labels = data(8)
    from sekgnn.datasets import as_data

    forms: list[list[Any]] = [
        graphs,
        [nx.Graph([(int(u), int(v)) for u, v in zip(*g.edge_index(), strict=True)])
         for g in graphs],
        [as_data(g, y=7) for g in graphs],
    ]  # fmt: skip
    probabilities = [
        SEKClassifier(**SMALL).fit(f, labels).predict_proba(f) for f in forms
    ]
    np.testing.assert_allclose(probabilities[1], probabilities[0], atol=1e-6)
    np.testing.assert_allclose(probabilities[2], probabilities[0], atol=1e-6)


def test_molecules() -> None:
    pytest.importorskip("rdkit")
    texts = ["C" * n for n in range(1, 13)] + ["C" * n + "O" for n in range(1, 13)]
    labels = [0] * 12 + [1] * 12
    model = SEKClassifier(**SMALL).fit(texts, labels)
    assert model.predict(["CCCCCO", "CCCCCC"]).tolist() == [1, 0]
    with pytest.raises(GraphInputError, match="graph 1: rdkit cannot read"):
        model.predict(["C", "C("])


def test_regressor_scales_and_shapes(tmp_path: Path) -> None:
    graphs, _ = data()
    sizes = np.array([1000.0 + 10 * g.num_nodes for g in graphs])
    exact = {**SMALL, "epochs": 60, "norm": "none"}
    model = SEKRegressor(**exact).fit(graphs, sizes)
    assert model.predict(graphs).shape == (24,)
    assert model.score(graphs, sizes) > 0.8
    both = np.stack([sizes, -sizes], axis=1)
    both[3, 1] = np.nan
    pair = SEKRegressor(**SMALL).fit(graphs, both)
    assert pair.predict(graphs).shape == (24, 2) and pair.n_outputs_ == 2
    column = SEKRegressor(**SMALL).fit(graphs, sizes[:, None])
    assert column.predict(graphs).shape == (24, 1)
    column.save(tmp_path / "column.safetensors")
    again = SEKRegressor.load(tmp_path / "column.safetensors")
    assert again.predict(graphs).shape == (24, 1)


def test_missing_targets_are_left_out() -> None:
    graphs, _ = data()
    y = np.array([[g.num_nodes, 0.0] for g in graphs], dtype=float)
    y[::2, 1] = np.nan
    a = SEKRegressor(**SMALL).fit(graphs, y).predict(graphs)
    assert np.isfinite(a).all()
    with pytest.raises(GraphInputError, match="not all missing"):
        SEKRegressor(**SMALL).fit(graphs, np.full((24, 1), np.nan))


def test_same_seed_same_network_and_globals_untouched() -> None:
    graphs, labels = data(6)
    torch.manual_seed(3)
    before = torch.random.get_rng_state()
    fits = [
        SEKClassifier(**SMALL, random_state=s).fit(graphs, labels) for s in (1, 1, 2)
    ]
    assert torch.equal(before, torch.random.get_rng_state())
    a, b, c = (m.predict_proba(graphs) for m in fits)
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a, c)


def test_an_ensemble_is_one_estimator_in_one_file(tmp_path: Path) -> None:
    graphs, labels = data(6)
    alone, both = (
        SEKClassifier(**SMALL, ensemble=n).fit(graphs, labels) for n in (1, 2)
    )
    first, second = (
        Predictor([m], [both.predictor_.note]).predict(list_task(graphs).graphs)
        for m in both.predictor_.models
    )
    np.testing.assert_array_equal(first, alone.predict_proba(graphs))
    assert not np.allclose(first, second)
    mean = both.predict_proba(graphs)
    np.testing.assert_allclose(mean, (first + second) / 2)
    both.save(tmp_path / "both.safetensors")
    again = SEKClassifier.load(tmp_path / "both.safetensors")
    for other in (again, pickle.loads(pickle.dumps(both))):
        np.testing.assert_array_equal(other.predict_proba(graphs), mean)
    mixed = SEKClassifier(**SMALL, blend=("forest",)).fit(graphs, labels)
    mixed.save(tmp_path / "mixed.safetensors")
    again = SEKClassifier.load(tmp_path / "mixed.safetensors")
    assert [m.name for m in again.predictor_.models] == ["gin", "forest"]
    trees = Predictor(again.predictor_.models[1:], again.predictor_.notes[1:])
    half = (first + trees.predict(list_task(graphs).graphs)) / 2
    np.testing.assert_allclose(again.predict_proba(graphs), half)
    with pytest.raises(ModelFileError, match="2 networks of an ensemble"):
        load_model(tmp_path / "both.safetensors")


def test_all_graphs_may_train() -> None:
    graphs, labels = data(6)
    options = {**SMALL, "epochs": 3, "schedule": "cosine", "keep": "last"}
    held = SEKClassifier(**options).fit(graphs, labels)
    model = SEKClassifier(**options, refit=True).fit(graphs, labels)
    assert (held.kept_epoch_, model.kept_epoch_) == (3, 3)
    assert held.curves_.keys() - model.curves_.keys() > {"val_loss"}
    assert model.curves_["lr"][-1] == pytest.approx(0.02 * 0.02)


@pytest.mark.parametrize("kind", [SEKClassifier, SEKRegressor])
def test_pickle_and_files(kind: Any, tmp_path: Path) -> None:
    graphs, labels = data(6)
    y = labels if kind is SEKClassifier else [float(g.num_nodes) for g in graphs]
    model = kind(**SMALL).fit(graphs, y)
    text = pickle.dumps(model)
    assert b"torch" not in text  # the network is in it as a safe file
    model.save(tmp_path / "model.safetensors")
    for other in (pickle.loads(text), kind.load(tmp_path / "model.safetensors")):
        np.testing.assert_array_equal(other.predict(graphs), model.predict(graphs))
        assert other.kept_epoch_ == model.kept_epoch_
        assert other.curves_ == model.curves_
        assert other.get_params()["lr"] == 0.02
    wrong = SEKRegressor if kind is SEKClassifier else SEKClassifier
    with pytest.raises(ModelFileError, match=f"holds no {wrong.__name__}"):
        wrong.load(tmp_path / "model.safetensors")
    assert pickle.loads(pickle.dumps(kind())).lr == 1e-3


def test_wrong_input() -> None:
    graphs, labels = data(6)
    model = SEKClassifier(**SMALL)
    cases: list[tuple[list[Any], list[str], str]] = [
        (graphs, labels[:-1], "12 graphs, but 11 targets"),
        ([], [], "no graphs"),
        (graphs, ["a"] * 12, "of one class"),
        ([*graphs[:-1], "C"], labels, "graph 11 is str"),
    ]
    for wrong, y, message in cases:
        with pytest.raises(ValueError, match=message):
            model.fit(wrong, y)
    with pytest.raises(ConfigError, match="'epochs'"):
        SEKClassifier(epohcs=3)
    with pytest.raises(ConfigError, match="Did you mean 'attention'"):
        SEKClassifier(jump="attentive").fit(graphs, labels)
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        SEKClassifier().predict(graphs)
    model.fit(graphs, labels)
    with pytest.raises(GraphInputError, match="node features"):
        pytest.importorskip("rdkit")
        model.predict(["CCO"])


class Rows:
    """Rows of a matrix as graphs of one node, for checks that fit to matrices."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        numbers = isinstance(self, SEKRegressor)
        X, y = validate_data(self, X, y, multi_output=numbers, y_numeric=numbers)
        return super().fit(_nodes(X), y, sample_weight)  # type: ignore[misc]

    def _read(self, X: Any) -> Any:
        rows = validate_data(self, X, reset=False)
        return super()._read(_nodes(rows))  # type: ignore[misc]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.two_d_array = True
        return tags


class RowClassifier(Rows, SEKClassifier):
    pass


class RowRegressor(Rows, SEKRegressor):
    pass


def _nodes(matrix: Any) -> list[Data]:
    none = torch.empty(2, 0, dtype=torch.long)
    return [
        Data(x=torch.tensor(row, dtype=torch.float32)[None], edge_index=none)
        for row in matrix
    ]


EXACT: dict[str, Any] = {
    "model": "gin", "encoding": "none", "hidden_channels": 8, "num_layers": 1,
    "norm": "none", "optimizer": "lbfgs", "epochs": 1, "dtype": "float64",
    "keep": "last", "refit": True, "normalize": False,
}  # fmt: skip
"""A network whose loss is that of all graphs: no batches, no graphs held back."""

NOT_FOR_US = {
    "check_sample_weight_equivalence_on_dense_data": "wants 1e-7, weights are float32",
    "check_regressors_train": "sets alpha, which is no penalty here",
}


@pytest.mark.parametrize("cls", [RowClassifier, RowRegressor])
def test_checks_of_scikit_learn(cls: type) -> None:
    """All of its checks, on a network, but for those listed in docs/training.md."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(
            cls(**EXACT), expected_failed_checks=NOT_FOR_US, on_fail=None, on_skip=None
        )
    failed = {r["check_name"]: str(r["exception"]) for r in results
              if r["status"] == "failed"}  # fmt: skip
    assert failed == {}
    assert sum(r["status"] == "passed" for r in results) >= 50  # a few more with pandas


def test_weights_are_repetitions_and_classes_may_have_them(tmp_path: Path) -> None:
    graphs, labels = data(6)
    times = [1, 3, 0, 2] * 3
    more, names = [
        [item for item, n in zip(items, times, strict=True) for _ in range(n)]
        for items in (graphs, labels)
    ]
    exact = {**EXACT, "epochs": 3}
    models = [
        SEKClassifier(**exact).fit(graphs, labels, sample_weight=times),
        SEKClassifier(**exact).fit(more, names),
    ]
    probabilities = [model.predict_proba(graphs) for model in models]
    np.testing.assert_allclose(probabilities[0], probabilities[1], atol=1e-5)
    heavy = {"cycle": 3.0, "path": 1.0}
    by_class = SEKClassifier(**exact, class_weight=heavy).fit(graphs, labels)
    by_graph = SEKClassifier(**exact).fit(
        graphs, labels, sample_weight=[heavy[label] for label in labels]
    )
    chances = by_class.predict_proba(graphs)
    np.testing.assert_array_equal(chances, by_graph.predict_proba(graphs))
    by_class.save(tmp_path / "model.safetensors")
    again = SEKClassifier.load(tmp_path / "model.safetensors")
    assert again.class_weight == heavy
    np.testing.assert_array_equal(again.predict_proba(graphs), chances)
    vectors = clone(by_class).fit_transform(graphs, labels)
    np.testing.assert_array_equal(vectors, by_class.transform(graphs))


def test_weights_vectors_and_threads() -> None:
    """A graph of weight 0 might as well have another label; vectors give the output."""
    graphs, labels = data(8)
    wrong = ["path", "path", *labels[2:]]
    weights = [0.0] * 2 + [1.0] * 14
    # all graphs train: the split must not depend on labels
    more: dict[str, Any] = {**SMALL, "keep": "last", "refit": True, "norm": "layer"}
    models = [
        SEKClassifier(**more).fit(graphs, classes, sample_weight=weights)
        for classes in (labels, wrong)
    ]
    probabilities = [model.predict_proba(graphs) for model in models]
    np.testing.assert_allclose(probabilities[0], probabilities[1], atol=1e-6)
    even = SEKClassifier(**more).fit(graphs, wrong).predict_proba(graphs)
    assert np.abs(even - probabilities[0]).max() > 1e-3
    vectors = models[0].transform(graphs)
    head = models[0].predictor_.models[0].head
    with torch.no_grad():
        again = head(torch.from_numpy(vectors)).double().softmax(1).numpy()
    np.testing.assert_allclose(again, probabilities[0], atol=1e-6)
    torch.set_num_threads(2)
    models[0].predict(graphs)
    assert torch.get_num_threads() == 2
    torch.set_num_threads(1)
    with pytest.raises(GraphInputError, match="16 graphs, but 2 weights"):
        SEKClassifier(**more).fit(graphs, labels, sample_weight=[1.0, 2.0])
    with pytest.raises(GraphInputError, match="is not a weight"):
        SEKRegressor(**SMALL).fit(graphs, range(16), sample_weight=[-1.0] * 16)
    with pytest.raises(AttributeError) as caught:
        SEKClassifier(model="ridge").transform(graphs)
    assert "no learned vectors" in str(caught.value.__cause__)
    assert not hasattr(SEKClassifier(model="wl"), "transform")


@pytest.mark.parametrize("model", MODEL_KINDS)
def test_every_model_is_an_estimator(model: str, tmp_path: Path) -> None:
    """Of classes and numbers; the pickle says the same; one of a kind is searched."""
    kind, (graphs, labels) = MODEL_KINDS[model], data(5)
    sizes = [float(graph.num_nodes) for graph in graphs]
    keys: dict[str, Any] = {"model": model, "walk_length": 3}
    keys |= {"epochs": 1, "hidden_channels": 8} if kind.network else {}
    if model == "fgw":
        pytest.importorskip("ot")
    if model == "dtnn":
        with pytest.raises(GraphInputError, match="positions"):
            SEKRegressor(**keys).fit(graphs, sizes)
        return
    for cls, y in ((SEKClassifier, labels), (SEKRegressor, sizes)):
        fitted = cls(**keys).fit(graphs, y)
        again = pickle.loads(pickle.dumps(fitted))
        outputs = fitted._outputs(graphs)
        assert np.isfinite(outputs).all() and len(outputs) == 10
        np.testing.assert_allclose(again._outputs(graphs), outputs, rtol=1e-5)
        assert hasattr(fitted, "transform") == kind.network
    if model not in ("pna", "gin-ak+", "kp-gin+", "graphsnn", "wl"):
        return
    task = networkx_task([graph.to_networkx() for graph in graphs], labels)
    record = search(
        RunConfig(**keys, val_fraction=0.2),
        SearchSpace.from_dict({"lr": [0.1, 0.2]} if kind.network else {"svm_c": [1]}),
        tmp_path / "search",
        trials=1,
        data=task,
    )
    assert record.best_config().model == model


@pytest.mark.slow
def test_grid_search_in_several_processes() -> None:
    graphs, labels = data(8)
    search = GridSearchCV(
        SEKClassifier(**SMALL), {"class_weight": [None, "balanced"]}, cv=2, n_jobs=2
    )
    search.fit(graphs, labels)
    assert search.best_score_ > 0.5
