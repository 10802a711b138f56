"""Models that are fitted at once run like networks, and beside them as a baseline."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.training.helpers import check_evaluation, config, run
from typer.testing import CliRunner

from sekgnn.cli.main import app
from sekgnn.datasets import networkx_task
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.estimators import SEKClassifier
from sekgnn.graphs import cycle_graph, path_graph
from sekgnn.graphs.molecules import descriptor_names
from sekgnn.models import load_model
from sekgnn.reports.run_figures import read_predictions
from sekgnn.search.worker import Validation
from sekgnn.training import RunRecord
from sekgnn.training.baseline import Baseline
from sekgnn.training.objective import Objective
from sekgnn.training.paired import Outcome, paired_error
from sekgnn.training.predict_file import evaluate_file
from sekgnn.training.predictions import Rows
from sekgnn.training.predictor import Predictor
from sekgnn.training.run_folder import MODEL_FILE
from sekgnn.training.training import Training

SMALL: dict[str, Any] = {"walk_length": 3, "num_shells": 1}
FOREST: dict[str, Any] = {
    **SMALL, "model": "forest", "hidden_channels": None, "num_layers": None,
    "n_estimators": 20,
}  # fmt: skip


@pytest.mark.parametrize("target", ["ring", "size,weight", "big,odd", "size"])
def test_a_forest_is_trained_saved_and_used(
    target: str, lines: Path, tmp_path: Path
) -> None:
    """Every kind of task, with missing targets; the file gives the same numbers."""
    record = run(config(lines, target, **FOREST), tmp_path / "run")
    (fold,) = record.folds
    assert fold.kept_epoch == 1
    assert {len(curve) for curve in fold.curves.values()} == {1}
    assert "no epochs" in record.selected_on
    check_evaluation(tmp_path / "run")
    measured = evaluate_file(tmp_path / "run", lines)
    assert {f"test_{name}" for name in measured} == fold.metrics.keys()
    stored = load_model(tmp_path / "run" / MODEL_FILE)
    assert stored.trees.start.numel() >= 20  # type: ignore[operator, union-attr]


@pytest.mark.parametrize("protocol", ["nested", "xu2019", "wijesinghe2022", "fixed"])
def test_protocols_select_nothing(protocol: str, lines: Path, tmp_path: Path) -> None:
    settings = config(lines, "ring", protocol=protocol, folds=3, **FOREST)
    record = run(settings, tmp_path / "one")
    assert len(record.folds) == 3
    assert record.headline.protocol == protocol
    assert "no epochs" in record.headline.selected_on
    mean = sum(fold.metrics["test_accuracy"] for fold in record.folds) / 3
    assert record.headline.value == pytest.approx(mean)
    if protocol in ("xu2019", "wijesinghe2022"):  # both readings of a curve are one
        for name in ("xu2019", "wijesinghe2022"):
            value = record.result("test_accuracy", name).value
            assert value == record.headline.value
    if protocol == "nested":
        two = run(settings, tmp_path / "two", jobs=2)
        assert two.results == record.results


def test_targets_of_nodes(tmp_path: Path) -> None:
    import networkx as nx

    graphs = [nx.path_graph(n) for n in range(4, 24)]
    task = networkx_task(graphs, range(20))
    for data in task.graphs:
        degree = torch.bincount(data.edge_index[0], minlength=data.num_nodes)
        data.y, data.y_mask = degree - 1, torch.ones(data.num_nodes, 1).bool()
    task = replace(task, kind="binary", classes=(0, 1), level="node")
    settings = replace(config(Path("x"), "y", **FOREST), data="", target=())
    record = run(settings, tmp_path / "run", data=task)
    assert record.result("test_accuracy").value == 1.0  # ends have another degree
    rows = Predictor.load(tmp_path / "run").predict(task.graphs[:2])
    assert rows.shape == (4 + 5, 2)
    for data in task.graphs:
        data.y = torch.zeros_like(data.y)
    with pytest.raises(GraphInputError, match="of one class"):
        run(settings, tmp_path / "blank", data=task)
    assert not (tmp_path / "blank").exists()


@pytest.mark.parametrize("model", ["ridge", "forest"])
def test_estimators_and_searches_take_them(
    model: str, lines: Path, tmp_path: Path
) -> None:
    graphs = [make(n) for n in range(4, 24) for make in (cycle_graph, path_graph)]
    found = SEKClassifier(model=model, **SMALL).fit(graphs, ["cycle", "path"] * 20)
    assert found.score(graphs, ["cycle", "path"] * 20) == 1.0
    assert found.kept_epoch_ == 1
    found.save(tmp_path / "estimator.safetensors")
    again = SEKClassifier.load(tmp_path / "estimator.safetensors")
    np.testing.assert_array_equal(
        again.predict_proba(graphs), found.predict_proba(graphs)
    )
    settings = config(lines, "ring", **SMALL).without_network(model)
    outcome = Validation(settings).value(settings)
    assert outcome.epochs == (1,)
    assert np.isfinite(outcome.value)


def test_a_run_of_a_network_says_what_goes_without(lines: Path, tmp_path: Path) -> None:
    settings = replace(config(lines, "ring", **SMALL), baseline=True)
    record = run(settings, tmp_path / "run")
    found = record.baseline
    assert found["metric"] == "test_accuracy"
    assert found["selected_on"] == "val_accuracy of the validation graphs"
    assert found["value"] == found["each"][found["model"]]
    saved = RunRecord.load(tmp_path / "run").baseline
    assert saved == json.loads(record.to_json())["baseline"]
    for name, value in found["each"].items():  # it is what such a run reaches
        training = Training(settings.without_network(name))
        trained = training.fit()
        metrics = trained.evaluate().metrics(trained.note)
        assert metrics["accuracy"] == pytest.approx(value)
    sentence = record.baseline_sentence()
    assert sentence is not None
    assert sentence.startswith("without a network, test_accuracy: ")
    assert all(f"{n} {v:.3g}" in sentence for n, v in found["each"].items())
    assert f"this model {record.headline.value:.3g}" in sentence
    value = record.headline.value
    for best, words in [
        (2.0, f"Use {found['model']}, the best"),
        (-1.0, "Use this model: it is ahead of"),
        (value + 0.1, "Not distinguishable: this model is behind"),
        (value - 0.1, "Not distinguishable: this model is ahead of"),
    ]:
        other = replace(record, baseline={**found, "value": best, "error": 0.15})
        said = str(other.baseline_sentence())
        gap = f"by {abs(value - best):.3g} ± 0.15 (standard error, "
        assert words in said and gap in said
        assert f"{len(record.folds[0].split['test'])} tested)" in said
    old = {name: v for name, v in found.items() if name != "error"}
    ahead = replace(record, baseline={**old, "value": 2.0}).baseline_sentence()
    gap = f"{2.0 - value:.3g}"  # records of earlier versions know no standard error
    assert f"it is ahead by {gap}; or try --preset" in str(ahead)


def test_nothing_is_selected_without_validation_graphs(
    lines: Path, tmp_path: Path
) -> None:
    settings = config(lines, "ring", protocol="xu2019", folds=3, **SMALL)
    record = run(replace(settings, baseline=True, epochs=1), tmp_path / "run")
    found = record.baseline
    assert found["model"] is None and found["selected_on"] == "nothing"
    assert found["each"].keys() == {"ridge", "forest"}
    sentence = str(record.baseline_sentence())
    assert "test_accuracy: ridge" in sentence and "Use" not in sentence


def test_a_baseline_that_cannot_be_is_left_out_with_a_reason(
    lines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sekgnn.training.baseline._LARGEST", 100)
    with pytest.raises(ConfigError, match="sends no messages"):
        config(lines, **FOREST, max_neighbors=2)
    record = run(replace(config(lines), baseline=True), tmp_path / "run")
    assert record.baseline.keys() == {"left_out"}
    assert "too large" in record.baseline["left_out"]["forest"]
    assert "no baseline without a network" in str(record.baseline_sentence())


def test_the_command_prints_it_once_and_only_if_wanted(
    lines: Path, tmp_path: Path
) -> None:
    common = ["train", str(lines), *"--target size --model gin --epochs 1".split()]
    said = CliRunner().invoke(app, [*common, "--output", str(tmp_path / "a")])
    assert said.output.count("without a network") == 1, said.output
    no = [*common, "--no-baseline", "--output", str(tmp_path / "b")]
    said = CliRunner().invoke(app, no)
    assert said.exit_code == 0 and "without a network" not in said.output
    old = json.loads((tmp_path / "b" / "record.json").read_text())
    del old["baseline"]  # as records of earlier versions
    (tmp_path / "b" / "record.json").write_text(json.dumps(old))
    assert RunRecord.load(tmp_path / "b").baseline == {}


def test_learned_multisets_stand_beside_moments(lines: Path, tmp_path: Path) -> None:
    """Neither model can read multisets, and a run is not to fail after its training."""
    more = {**SMALL, "aggregate": "learned", "blend": ["forest"]}
    settings = replace(config(lines, "ring", **more), baseline=True)
    record = run(settings, tmp_path / "run")
    assert {*record.baseline["each"]} == {"ridge", "forest"}
    assert settings.without_network("ridge").aggregate == "moments"


def test_molecules_have_trees_of_descriptors_and_counts(tmp_path: Path) -> None:
    """They are what a run of such trees is; those of a blend are not fitted twice."""
    pytest.importorskip("rdkit")
    texts = [f"{'C' * a}{b}{'C' * c}" for a in range(1, 6) for b in "CNO"
             for c in range(4)]  # fmt: skip
    rows = [f"{t},{t.count('N') - len(t) + 0.5}" for t in texts]
    file = tmp_path / "mols.csv"
    file.write_text("smiles,value\n" + "\n".join(rows))
    settings = replace(config(file, "value", **SMALL), baseline=True, epochs=1)
    plain = run(settings, tmp_path / "plain")
    assert [*plain.baseline["each"]] == ["ridge", "forest", "boosting"]
    assert plain.model.get("graph_channels", 0) == 0  # the network reads none of it
    trees = ("forest", "boosting")
    mixed = run(replace(settings, blend=trees), tmp_path / "mixed")
    assert mixed.model.get("graph_channels", 0) == 0
    (fold,) = mixed.folds
    for name in trees:
        reached = fold.baseline[name]["test_mae"]
        assert reached == fold.members[name]["test_mae"]
    alone = settings.without_network("boosting", "rdkit+morgan")
    (other,) = run(alone, tmp_path / "alone").folds
    wanted = fold.members["boosting"]["test_mae"]
    assert other.metrics["test_mae"] == pytest.approx(wanted)
    graphs = Predictor.load(tmp_path / "mixed").models[1:]
    assert {model.graph_channels for model in graphs} == {
        2048 + len(descriptor_names())
    }
    check_evaluation(tmp_path / "mixed")


def test_a_baseline_takes_no_longer_than_the_network(
    lines: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What would begin later is left out."""
    monkeypatch.setattr("sekgnn.training.baseline._LEAST", 0.0)
    found = Baseline(Training(config(lines, "size", **SMALL))).fold(0, seconds=0.0)
    assert "longer than the network" in found["forest"]["left_out"]


def test_how_sure_a_lead_is(lines: Path, tmp_path: Path) -> None:
    """Of a mean it is s / sqrt(n) of the paired differences, by the tables of runs."""
    settings = replace(config(lines, "size", **SMALL), baseline=True)
    (fold,) = run(settings, tmp_path / "run").folds
    run(settings.without_network("ridge"), tmp_path / "ridge")
    errors = []
    for name in ("run", "ridge"):
        table = read_predictions(tmp_path / name / "predictions.csv")
        true, predicted = table.numbers("size")
        errors.append(np.abs(true - predicted))
    each = errors[0] - errors[1]
    wanted = each.std(ddof=1) / np.sqrt(each.size)
    assert fold.baseline["ridge"]["paired_error"] == pytest.approx(wanted, rel=1e-4)


@pytest.mark.parametrize("count", [30, 200])
def test_the_jackknife_of_a_metric_that_is_no_mean(count: int) -> None:
    """Of areas under curves it is the spread over fresh samples, about."""
    goal = Objective("multilabel", targets=("a",))
    random = np.random.default_rng(0)
    differences, said = [], []
    for _ in range(40):
        y = (np.arange(count) % 2)[:, None].astype(np.float32)
        first = y + random.normal(size=(count, 1))
        second = first + random.normal(size=(count, 1))
        graph = torch.arange(count)
        all_known = torch.ones(count, 1, dtype=torch.bool)
        about = torch.from_numpy(y), all_known, torch.ones(count)
        rows = Rows(graph, 0 * graph, torch.empty(count, 1), *about)
        pair = [Outcome(goal, torch.from_numpy(p), rows) for p in (first, second)]
        aurocs = [goal.metrics(one.predicted, rows.y, rows.mask)["auroc"]
                  for one in pair]  # fmt: skip
        differences.append(aurocs[0] - aurocs[1])
        said.append(paired_error(*(one.leaving_out() for one in pair)))
    assert np.mean(said) == pytest.approx(np.std(differences), rel=0.25)


def test_a_fold_interrupted_in_its_baselines_ends_the_same(
    lines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = {**SMALL, "protocol": "nested", "folds": 2, "baseline": True}
    settings = config(lines, "ring", **keys)
    whole = run(settings, tmp_path / "whole")
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Baseline, "fold", interrupt)
        run(settings, tmp_path / "resumed")
    resumed = run(settings, tmp_path / "resumed")
    assert resumed.baseline == whole.baseline and resumed.results == whole.results


def interrupt(*_: Any) -> None:
    raise KeyboardInterrupt
