"""Kernel machines are scikit-learn's, chosen without test graphs, in safe files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC
from tests.training.helpers import config, graph_source, run

from sekgnn.datasets import read_task
from sekgnn.errors import ConfigError, GraphInputError, ModelFileError
from sekgnn.models import load_model, save_model
from sekgnn.models.options import MODEL_KINDS
from sekgnn.paper import WWL, KernelMachine
from sekgnn.paper.graph_kernels import KernelGraphs
from sekgnn.paper.kinds import KernelOptions
from sekgnn.training.build import make_model
from sekgnn.training.config import RunConfig
from sekgnn.training.predictor import Predictor
from sekgnn.training.training import Trained, Training

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
KERNELS = [
    name
    for name, kind in MODEL_KINDS.items()
    if issubclass(kind.options_type, KernelOptions)
]
NO_LAYERS: dict[str, Any] = {"num_layers": None, "hidden_channels": None}


def settings(path: Path, target: str, model: str = "wl", **more: Any) -> RunConfig:
    return config(path, target, model=model, **NO_LAYERS, **more)


def fitted(chosen: RunConfig, number: int = 0) -> tuple[Training, Trained]:
    training = Training(chosen)
    return training, training.fit(number)


def read(training: Training, model: KernelMachine, subset: str) -> tuple[Any, Any]:
    """Return graphs and targets of a subset of the first split."""
    chosen = getattr(training.splits[0], subset)
    batches = list(training.prepare().batches(chosen, 999))
    graphs = [model.read(model.prepare(batch)) for batch in batches]
    return KernelGraphs.join(graphs), torch.cat([b.y for b in batches]).numpy()


@pytest.mark.parametrize("target", ["ring", "nodes"])
def test_classes_are_those_of_scikit_learn(target: str, lines: Path) -> None:
    """Two classes, and five, whose votes may be tied."""
    if target == "nodes":
        text = lines.read_text().splitlines()
        lines.write_text("".join(
            line[:-1] + f', "nodes": "n{line.count("[") % 5}"}}\n' for line in text
        ))  # fmt: skip
    training, trained = fitted(settings(lines, target, "wwl", test_fraction=0.4))
    model: Any = trained.model
    train, y = read(training, model, "train")
    test, _ = read(training, model, "test")
    kernel = model.fitted_kernel()
    gamma = float(model.gamma)
    svm = SVC(C=_c(training, model, train, y), kernel="precomputed", break_ties=True)
    svm.fit(np.exp(-gamma * kernel.between(train)[0]), y)
    out = trained.evaluate().out
    matrix = np.exp(-gamma * kernel.between(test, train)[0])
    assert out.argmax(1).tolist() == svm.predict(matrix).tolist()
    scores = svm.decision_function(matrix)
    margins = out if out.size(1) > 2 else out[:, 1] - out[:, 0]
    np.testing.assert_allclose(margins, scores, atol=1e-10)


def _c(training: Training, model: Any, graphs: Any, y: Any) -> float:
    """Return C, which is the largest share that any coefficient has."""
    for c in (0.1, 1.0, 10.0, 100.0, 1000.0):
        other = training.change(
            RunConfig.from_dict({**training.config.to_dict(), "svm_c": c})
        )
        again: Any = other.fit().model
        same = again.coef.shape == model.coef.shape
        if (
            same
            and torch.allclose(again.coef, model.coef)
            and (again.chosen == model.chosen and again.gamma == model.gamma)
        ):
            return c
    raise AssertionError("no C gives these coefficients")


def test_numbers_are_kernel_ridge(lines: Path) -> None:
    """With missing targets; parameters given, so nothing is chosen."""
    chosen = settings(lines, "size,weight", svm_c=5.0, rounds=2)
    training, trained = fitted(chosen)
    model: Any = trained.model
    train, _ = read(training, model, "train")
    test, _ = read(training, model, "test")
    data = training.data.subset(np.sort(training.splits[0].train))
    y, mask = data.targets()
    targets = trained.note.wanted(y.double()).numpy()
    kernel = model.fitted_kernel()
    out = trained.evaluate().out.numpy()
    for target in range(2):
        rows = np.flatnonzero(mask[:, target].numpy())
        train_graphs = train.subset(rows)
        ridge = KernelRidge(alpha=1 / (2 * 5.0), kernel="precomputed")
        mean = targets[rows, target].mean()
        ridge.fit(kernel.between(train_graphs)[0], targets[rows, target] - mean)
        expected = ridge.predict(kernel.between(test, train_graphs)[0]) + mean
        np.testing.assert_allclose(out[:, target], expected, atol=1e-9)


@pytest.mark.parametrize("model", KERNELS)
def test_every_kernel_runs_predicts_and_is_kept(
    model: str, lines: Path, tmp_path: Path
) -> None:
    """In folds, without known values, and after a change of the order of graphs."""
    if model == "fgw":
        pytest.importorskip("ot")
    chosen = settings(lines, "ring", model, protocol="nested", folds=2)
    record = run(chosen, tmp_path / "run")
    assert record.selected_on.endswith("C and the kernel's parameters without test "
                                       "graphs")  # fmt: skip
    predictor = Predictor.load(tmp_path / "run")
    first: Any = predictor.models[0]
    assert first.known is None and first.precision == "float64"
    training = Training(chosen)
    graphs = training.data.subset(training.splits[0].test).graphs
    alone = Predictor(predictor.models[:1], predictor.notes[:1])
    together = alone.predict(graphs)
    assert record.folds[0].metrics["test_accuracy"] == pytest.approx(
        float((together.argmax(1) == [int(g.y) for g in graphs]).mean())
    )
    singly = np.concatenate([alone.predict([graph]) for graph in graphs[::-1]])
    np.testing.assert_allclose(singly[::-1], together, atol=1e-6)
    file = tmp_path / "again.safetensors"
    save_model(first, file)
    again: Any = load_model(file)
    assert again.to_config() == first.to_config()
    assert np.array_equal(Predictor([again], alone.notes).predict(graphs), together)


def test_parameters_are_chosen_without_the_test_graphs(lines: Path) -> None:
    """Other targets of test graphs change nothing, with and without validation."""
    for protocol in ("nested", "fixed", "xu2019"):
        chosen = settings(lines, "ring", "wwl", protocol=protocol, folds=3)
        _, trained = fitted(chosen)
        other = Training(chosen)
        for graph in other.splits[0].test:
            data = other.data[int(graph)]
            data.y = 1 - data.y
        assert all(
            torch.equal(a, b)
            for a, b in zip(
                trained.model.state_dict().values(),
                other.fit().model.state_dict().values(),
                strict=True,
            )
        )


def test_kernel_values_are_computed_once_for_all_folds(
    lines: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sekgnn.paper.graph_kernels import SubtreeKernel

    counted: list[int] = []
    between = SubtreeKernel.between

    def counting(self: Any, *graphs: Any) -> Any:
        counted.append(len(graphs))
        return between(self, *graphs)

    monkeypatch.setattr(SubtreeKernel, "between", counting)
    training = Training(settings(lines, "ring", protocol="nested", folds=3))
    for number in range(3):
        training.fit(number).evaluate()
    assert counted == [1]


def test_what_kernels_cannot_do_is_said_first(lines: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="several labels of a graph"):
        Training(settings(lines, "big,odd"))
    with pytest.raises(ConfigError, match="reads no edge features"):
        make_model(RunConfig(model="wl", edge_features=True), _task(lines), 0)
    with pytest.raises(ConfigError, match="jump of gntk"):
        make_model(RunConfig(model="gntk", jump="sum"), _task(lines), 0)
    for key, value in (("svm_c", 0.0), ("gamma", -1.0), ("alpha", 1.5), ("rounds", 0)):
        name = "fgw" if key == "alpha" else "wwl"
        keys: dict[str, Any] = {"model": name, key: value}
        with pytest.raises(ConfigError, match=f"{key} must be"):
            RunConfig.from_dict(keys)
    with pytest.raises(ConfigError, match="compares graphs"):
        WWL(0, 2, level="node")
    model = make_model(RunConfig(model="wl"), _task(lines), 0)
    with pytest.raises(GraphInputError, match=r"1,000,000 graphs.*GiB"):
        model.check_task("softmax", 10**6)


def _task(lines: Path) -> Any:
    return read_task(lines, ("ring",))


@pytest.mark.parametrize("name", KernelMachine.data_sized)
def test_damaged_graphs_are_refused(name: str, lines: Path, tmp_path: Path) -> None:
    _, trained = fitted(settings(lines, "ring"))
    model: Any = trained.model
    value = getattr(model, name)
    setattr(model, name, value[:-1])
    save_model(model, tmp_path / "file.safetensors")
    with pytest.raises(ModelFileError, match="not the graphs"):
        load_model(tmp_path / "file.safetensors")
    if name == "indices":
        setattr(model, name, value + 10**6)
        save_model(model, tmp_path / "file.safetensors")
        with pytest.raises(ModelFileError, match="not the graphs"):
            load_model(tmp_path / "file.safetensors")


@pytest.mark.parametrize("value", [-1, 10**9])
def test_a_parameter_that_was_not_tried_is_refused(
    value: int, lines: Path, tmp_path: Path
) -> None:
    _, trained = fitted(settings(lines, "ring"))
    model: Any = trained.model
    model.chosen.fill_(value)
    save_model(model, tmp_path / "file.safetensors")
    with pytest.raises(ModelFileError, match="not the graphs"):
        load_model(tmp_path / "file.safetensors")
    with pytest.raises(ConfigError, match=r"rounds .*at most"):
        RunConfig.from_dict({"model": "wl", "rounds": 10**9})


def test_an_unfitted_machine_says_zero(lines: Path) -> None:
    task = _task(lines)
    model = make_model(RunConfig(model="gntk"), task, 0)
    batch = next(iter(graph_source(task.graphs, 1).batches(np.arange(5), 5)))
    assert torch.equal(model(batch), torch.zeros(5, 2, dtype=torch.float64))
