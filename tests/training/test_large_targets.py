"""Targets that are large beside what they differ by: 1e9 + n is learned as n is."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from sekgnn.datasets import networkx_task, pyg_task
from sekgnn.datasets.node_task import _targets
from sekgnn.estimators import SEKRegressor
from sekgnn.training.config import RunConfig
from sekgnn.training.objective import Objective
from sekgnn.training.predict_file import evaluate_run
from sekgnn.training.run import train
from sekgnn.training.training import Training

GRAPHS = [nx.gnp_random_graph(9, 0.35, seed=i) for i in range(60)]
COUNTS = [float(sum(nx.triangles(graph).values()) // 3) for graph in GRAPHS]
OFFSET = 1e9


def shifted(metrics: dict[str, float]) -> Any:
    return pytest.approx(metrics, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(
    "model", [{"model": "ridge"}, {"model": "retgk"}, {"epochs": 3}]
)
def test_metrics_are_those_of_what_targets_differ_by(model: dict[str, Any]) -> None:
    found = []
    for offset in (0.0, OFFSET):
        y = [offset + count for count in COUNTS]
        data = networkx_task(GRAPHS, y, kind="regression")
        training = Training(RunConfig(**model, dtype="float64"), data)
        trained = training.fit()
        found.append(trained.evaluate().metrics(trained.note))
    assert found[1] == shifted(found[0])


def test_saying_the_mean_of_all_is_not_perfect() -> None:
    y = OFFSET + torch.arange(10).double().unsqueeze(1)
    mask = torch.ones(10, 1, dtype=torch.bool)
    goal = Objective.fit("regression", "mse", True, y, mask)
    out = torch.zeros(10, 1)
    assert goal.loss_sum(out, y, mask)[0] == pytest.approx(10)
    metrics = goal.metrics(goal.predictions(out), y, mask)
    assert (metrics["mae"], metrics["mse"], metrics["r2"]) == (2.5, 8.25, 0.0)


def test_a_run_its_evaluation_and_its_table_keep_what_targets_differ_by(
    tmp_path: Path,
) -> None:
    table = tmp_path / "data.jsonl"
    lines = [
        {"edges": [*map(list, g.edges)], "num_nodes": len(g), "energy": OFFSET + n}
        for g, n in zip(GRAPHS, COUNTS, strict=True)
    ]
    table.write_text("".join(json.dumps(line) + "\n" for line in lines))
    keys: dict[str, Any] = {"target": ["energy"], "kind": "regression"}
    run = tmp_path / "run"
    record = train(table, run, model="ridge", confidence=0.5, **keys)
    metrics = record.folds[0].metrics
    assert 0 < metrics["test_mae"] < 2
    (again,) = evaluate_run(run)
    assert again["mae"] == pytest.approx(metrics["test_mae"])
    (file,) = run.rglob("predictions.csv")
    with file.open() as text:
        rows = list(csv.DictReader(text))
    errors = [float(r["true energy"]) - float(r["predicted energy"]) for r in rows]
    assert np.abs(errors).mean() == pytest.approx(metrics["test_mae"], rel=1e-3)
    assert all(float(r["lower energy"]) < float(r["upper energy"]) for r in rows)


def test_no_way_in_rounds_them() -> None:
    y = [OFFSET + count for count in COUNTS]
    graphs = []
    for graph, value in zip(GRAPHS, y, strict=True):
        edges = torch.tensor([*graph.edges, *[(v, u) for u, v in graph.edges]]).t()
        target = torch.tensor([value], dtype=torch.float64)
        graphs.append(Data(edge_index=edges, num_nodes=len(graph), y=target))
    assert pyg_task(graphs, kind="regression").targets()[0].flatten().tolist() == y
    kind, table, _, _ = _targets(np.array(y), None, "nodes")
    assert (kind, table[:, 0].tolist()) == ("regression", y)
    model = SEKRegressor(epochs=1, hidden_channels=4, num_layers=1)
    spread = np.ptp(model.fit(GRAPHS, y).predict(GRAPHS) - OFFSET)
    assert 0 < spread < 100


def test_data_that_float32_tells_apart_has_the_digest_that_it_had() -> None:
    short = networkx_task(GRAPHS, [count / 3 for count in COUNTS], kind="regression")
    kept = short.fingerprint()
    for data in short:
        data.y = data.y.float()
    assert short.fingerprint() == kept
    other = networkx_task(GRAPHS, [1e9 + c for c in COUNTS], kind="regression")
    again = networkx_task(GRAPHS, [1e9 + 2 * c for c in COUNTS], kind="regression")
    assert other.fingerprint() != again.fingerprint()
