"""Nodes and links of one packed graph: what is learned from, trained and predicted."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sekgnn import train
from sekgnn.datasets import link_task, node_task
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs import GraphFile, pack_pairs
from sekgnn.training import data as training_data
from sekgnn.training.config import RunConfig
from sekgnn.training.predict_file import FilePredictions, evaluate_run
from sekgnn.training.predictor import Predictor
from sekgnn.training.settings import SEEDS, chosen_config

node_tasks = sys.modules["sekgnn.datasets.node_task"]  # a function has its name
_OPTIONS: dict[str, Any] = {
    "model": "sek-gin", "num_hops": 2, "max_neighbors": 3, "num_layers": 2,
    "hidden_channels": 8, "epochs": 2, "batch_size": 32, "scope": "internal",
    "radius": 1, "num_shells": 1, "walk_length": 3,
}  # fmt: skip


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for room in (training_data, node_tasks):  # that of compiled kernels stays
        monkeypatch.setattr(room, "cache_folder", lambda: tmp_path / "cache")


def _blocks(path: Path, **arrays: Any) -> GraphFile:
    """Two classes, edges inside them; node 3 has no class."""
    rng = np.random.default_rng(0)
    y = np.arange(240) % 2
    pairs = rng.integers(0, 120, size=(900, 2)) * 2
    pairs[450:] += 1
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    part = np.arange(240) % 6
    given: dict[str, Any] = {
        "x": rng.standard_normal((240, 3)).astype(np.float32) + y[:, None],
        "y": np.where(np.arange(240) == 3, -1, y),
        "train_mask": part < 4,
        "val_mask": part == 4,
        "test_mask": part == 5,
    }
    given = {k: v for k, v in {**given, **arrays}.items() if v is not None}
    return pack_pairs([pairs], 240, path, arrays=given, undirected="add")


def test_nodes_are_learned_and_all_are_predicted(tmp_path: Path) -> None:
    """The record, ``evaluate`` and ``predict`` say the same of the test nodes."""
    file = _blocks(tmp_path / "g.csr")
    record = train(str(file.path), tmp_path / "run", **_OPTIONS)
    assert record.data["items"] == 239 and record.data["level"] == "node"
    accuracy = record.result("test_accuracy").value
    assert accuracy > 0.6
    assert "validation nodes; the test nodes" in record.selected_on
    (again,) = evaluate_run(tmp_path / "run")
    assert again["accuracy"] == pytest.approx(accuracy, abs=1e-6)
    out = io.StringIO()
    predictor = Predictor.load(tmp_path / "run")
    done = FilePredictions(predictor, file.path)
    done.write(out, chunk_size=50)
    assert done.sentence() == "predicted 240 nodes;"
    everywhere = list(csv.DictReader(io.StringIO(out.getvalue())))
    assert [row["node"] for row in everywhere] == [str(i) for i in range(240)]
    with (tmp_path / "run" / "predictions.csv").open() as lines:
        tested = list(csv.DictReader(lines))
    assert [int(row["node"]) for row in tested] == list(range(5, 240, 6))
    for row in tested:
        same = everywhere[int(row["node"])]
        assert float(same["probability 1"]) == pytest.approx(
            float(row["probability 1"]), abs=1e-5
        )


def test_links_are_held_out_and_learned(tmp_path: Path) -> None:
    """No item is an edge of the graph that messages use; half of them once were."""
    file = _blocks(tmp_path / "g.csr")
    task, again = link_task(file), link_task(file)
    np.testing.assert_array_equal(task.items, again.items)
    assert task.file.graph == again.file.graph
    held, others = task.items[task.y == 1], task.items[task.y == 0]
    assert len(held) == len(others) > 0.1 * file.graph.num_edges
    known = {tuple(e) for e in file.graph.edge_index().T.tolist()}
    left = {tuple(e) for e in task.file.graph.edge_index().T.tolist()}
    assert {tuple(e) for e in held.tolist()} <= known
    assert not {tuple(e) for e in others.tolist()} & known
    assert not {tuple(e) for e in task.items.tolist()} & left
    assert len(left) == len(known) - 2 * len(held)
    assert len({tuple(e) for e in others.tolist()}) == len(others)
    ends = np.bincount(held.ravel(), minlength=240)  # nothing of one node tells
    np.testing.assert_array_equal(ends, np.bincount(others.ravel(), minlength=240))
    record = train(str(file.path), tmp_path / "run", level="link", **_OPTIONS)
    assert record.headline.metric == "test_accuracy"
    assert "validation pairs; the test pairs" in record.selected_on
    predictor = Predictor.load(tmp_path / "run")
    ((_, found, _),) = predictor.predict_items(file, [[0, 2], [2, 0], [0, 1]])
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-6)
    with pytest.raises(ConfigError, match="targets of a link; give it pairs"):
        next(predictor.predict_items(file))


def test_ends_that_cannot_be_paired_anew_leave_as_many_pairs(tmp_path: Path) -> None:
    """In a star two edges have no ends that are not joined, but for their leaves."""
    star = np.stack([np.zeros(200, np.int64), np.arange(1, 201)], axis=1)
    task = link_task(pack_pairs([star], 201, tmp_path / "s.csr", undirected="add"))
    others = task.items[task.y == 0]
    assert len({tuple(e) for e in others.tolist()}) == int(task.y.sum()) > 0
    assert (others.min(axis=1) > 0).all() and (others[:, 0] < others[:, 1]).all()


def ring(path: Path, n: int) -> GraphFile:
    """Each node joined to the next four, a tenth of that moved."""
    rng, nodes = np.random.default_rng(0), np.arange(n)
    pairs = np.concatenate([np.stack([nodes, (nodes + j) % n], 1) for j in range(1, 5)])
    moved = rng.random(len(pairs)) < 0.1
    pairs[moved, 1] = rng.integers(0, n, moved.sum())
    return pack_pairs([pairs[pairs[:, 0] != pairs[:, 1]]], n, path, undirected="add")


@pytest.mark.parametrize("model", ["k-gin", "graphsage"])
def test_links_are_learned_where_nodes_look_alike(model: str, tmp_path: Path) -> None:
    """On a ring of no features only walks between two nodes tell; a tenth is noise."""
    file = ring(tmp_path / "ring.csr", 1000)
    record = train(
        str(file.path), tmp_path / "run", level="link", model=model, epochs=4,
        num_layers=2, hidden_channels=16, max_neighbors=4, batch_size=64, lr=0.01,
    )  # fmt: skip
    assert record.result("test_auroc").value > 0.9  # random edges cannot be known


def test_links_are_learned_where_nothing_else_is_said(tmp_path: Path) -> None:
    """In as many steps as it takes; the places of all nodes, known, would give 0.95."""
    file = ring(tmp_path / "ring.csr", 2000)
    record = train(str(file.path), tmp_path / "run", level="link", epochs=12)
    assert record.result("test_auroc").value > 0.9
    assert {name: record.config[name] for name in SEEDS} == SEEDS


def test_nodes_are_learned_where_nothing_else_is_said(tmp_path: Path) -> None:
    """A node's own features say 80 %; those of its neighbours the rest."""
    x = np.eye(2)[np.arange(240) % 2] + np.random.default_rng(1).normal(size=(240, 2))
    file = _blocks(tmp_path / "g.csr", x=x.astype(np.float32))
    record = train(str(file.path), tmp_path / "run", epochs=30)
    assert record.result("test_accuracy").value > 0.9
    assert {name: record.config[name] for name in SEEDS} == SEEDS


@pytest.mark.parametrize("level", ["node", "link"])
def test_what_is_chosen_for_one_graph_is_what_was_not_given(
    level: str, tmp_path: Path
) -> None:
    data = {"data": str(ring(tmp_path / "ring.csr", 300).path), "level": level}
    config, words = chosen_config(None, {**data, "lr": 0.1, "model": "k-gin"})
    assert (config.model, config.lr, config.epochs) == ("k-gin", 0.1, 100)
    assert config.batch_size == SEEDS["batch_size"] and "epochs 100" in words
    assert config.max_neighbors == (10 if level == "node" else 5)
    keys = {**data, "optimizer": "adamw"}
    assert chosen_config(None, keys) == (RunConfig.from_dict(keys), "")
    plain, words = chosen_config(None, data, "plain")
    assert (plain, words) == (RunConfig.from_dict(data), "")


@pytest.mark.parametrize(
    ("arrays", "options", "message"),
    [
        ({"y": None}, {}, "no array 'y' to predict"),
        ({"y": np.zeros(240, np.int64)}, {}, "has 1 classes"),
        ({"y": np.full(240, np.nan)}, {}, "no node has a target"),
        ({"x": np.full((240, 2), np.inf)}, {}, "feature 0 of node 0 is not finite"),
        ({"x": np.zeros(240)}, {}, r"x must be floats \[nodes, features\]"),
        ({"val_mask": np.ones(240, bool)}, {}, "is in two of train_mask"),
        ({"test_mask": None}, {}, "test_mask is missing"),
        ({}, {"model": "ppgn"}, "not trained on sampled neighbourhoods"),
        ({}, {"aggregate": "learned", "merge": "concat"}, "by ranges of nodes"),
        ({}, {"level": "link", "target": "y"}, "leave target out"),
        ({}, {"optimizer": "lbfgs", "max_neighbors": None, "norm": "none"}, "lbfgs"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_written(
    arrays: dict[str, Any], options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    """In one line that names file and cure."""
    file = _blocks(tmp_path / "g.csr", **arrays)
    given: dict[str, Any] = {**_OPTIONS, **options}
    if options.get("model") == "ppgn":
        given = {"model": "ppgn"}
    with pytest.raises((GraphInputError, ConfigError), match=message):
        train(str(file.path), tmp_path / "run", **given)
    assert not (tmp_path / "run").exists()


def test_numbers_and_labels_of_nodes_are_tasks_too(tmp_path: Path) -> None:
    """Floats are regression, NaN where missing; booleans are labels."""
    numbers = np.linspace(0, 1, 240)
    numbers[7] = np.nan
    found = node_task(_blocks(tmp_path / "a.csr", y=numbers))
    assert (found.kind, len(found)) == ("regression", 239)
    labels = np.random.default_rng(0).random((240, 3)) < 0.5
    found = node_task(_blocks(tmp_path / "b.csr", y=labels))
    assert (found.kind, found.target_names) == ("multilabel", ("y 0", "y 1", "y 2"))
