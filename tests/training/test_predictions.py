"""What is collected is what the network says of each graph, each row once."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pytest
import torch
from tests.models.helpers import make
from tests.nn.helpers import SPEC, dressed
from tests.training.helpers import graph_source

from sekgnn.datasets.graph_task import Y_MASK
from sekgnn.graphs import cycle_graph, path_graph, petersen_graph, rook_graph
from sekgnn.models import GraphModel
from sekgnn.nn.batch_loader import BatchSource
from sekgnn.training.objective import Objective
from sekgnn.training.predictions import (
    join_predictions,
    predict_batches,
    prediction_table,
)
from sekgnn.training.predictor import Predictor

SHAPES = [cycle_graph(5), path_graph(3), petersen_graph(), rook_graph(3), path_graph(1)]


def items(level: str, count: int = 9) -> list[Any]:
    out = dressed([SHAPES[i % 5] for i in range(count)])
    draw = torch.Generator().manual_seed(0)
    for item in out:
        rows = item.num_nodes if level == "node" else 1
        item.y = torch.randn(rows, 2, generator=draw)
        item[Y_MASK] = torch.rand(rows, 2, generator=draw) > 0.2
    return out


def joined(graphs: list[Any]) -> BatchSource:
    """Return the graphs for a model in float64, whose encodings are on them."""
    return graph_source(graphs, 3)


@pytest.mark.parametrize("level", ["graph", "node"])
@pytest.mark.parametrize("size", [1, 4, 100])
def test_rows_are_those_of_each_graph_alone_in_order(level: str, size: int) -> None:
    graphs = items(level)
    model = make("SEKGIN", level=level)
    order = np.array([7, 2, 5, 0, 8])
    found = predict_batches(model, joined(graphs).batches(order, size))
    numbers = sorted(order.tolist())
    with torch.inference_mode():
        alone = [model(graphs[i]) for i in numbers]
    assert torch.allclose(found.out, torch.cat(alone), atol=1e-10)
    assert torch.equal(found.y, torch.cat([graphs[i].y for i in numbers]))
    assert torch.equal(found.mask, torch.cat([graphs[i][Y_MASK] for i in numbers]))
    sizes = [len(rows) for rows in alone]
    assert found.graph.tolist() == np.repeat(numbers, sizes).tolist()
    assert found.row.tolist() == [r for size in sizes for r in range(size)]


@pytest.mark.parametrize("level", ["graph", "node"])
def test_a_graph_that_several_processes_evaluated_counts_once(level: str) -> None:
    graphs = items(level)
    model = make("SEKGIN", level=level)
    store = joined(graphs)
    order = np.array([6, 3])  # two graphs for four processes
    shares = [
        predict_batches(model, store.batches(order, 2, rank=rank, world=4))
        for rank in range(4)
    ]
    once = predict_batches(model, store.batches(np.array([3, 6]), 2))
    both = join_predictions(shares)
    assert torch.allclose(both.out, once.out, atol=1e-10)
    assert torch.equal(both.graph, once.graph)
    goal = Objective("regression", mean=(0.0, 0.0), scale=(1.0, 1.0))
    assert both.loss(goal) == pytest.approx(once.loss(goal))
    assert both.metrics(goal) == pytest.approx(once.metrics(goal), nan_ok=True)


@pytest.mark.parametrize("width", [1, 2])
def test_a_single_graph_is_a_row_too(width: int) -> None:
    graphs = items("graph")
    for graph in graphs:
        graph.y, graph[Y_MASK] = graph.y[:, :width], graph[Y_MASK][:, :width]
    found = predict_batches(make("SEKGIN"), joined(graphs).batches(np.array([3]), 4))
    assert (found.y.shape, found.mask.shape) == ((1, width), (1, width))
    assert (found.graph.tolist(), found.row.tolist()) == ([3], [0])


def test_a_model_is_left_in_its_mode() -> None:
    model: GraphModel = make("SEKGIN")
    model.train()
    running = {k: v.clone() for k, v in model.state_dict().items()}
    predict_batches(model, joined(items("graph")).batches(np.arange(9), 4))
    assert model.training
    for name, value in model.state_dict().items():
        assert torch.equal(value, running[name]), name


def rows(note: Objective, graphs: list[Any], model: Any) -> list[list[str]]:
    store = graph_source(graphs, 3)
    found = predict_batches(model, store.batches(np.array([4, 1]), 8))
    predicted = note.predictions(found.out)
    columns = Predictor((), [note]).columns(predicted.numpy())
    content = prediction_table(note, found, columns, 2)
    return list(csv.reader(io.StringIO(content.decode())))


def test_the_table_of_values_leaves_missing_targets_empty() -> None:
    graphs = items("graph")
    graphs[1][Y_MASK] = torch.tensor([[True, False]])
    note = Objective(kind="regression", targets=("a", "b, c"), classes=None,
                    mean=(1.0, 2.0), scale=(3.0, 4.0))  # fmt: skip
    model = make("SEKGIN")
    head, first, second = rows(note, graphs, model)
    assert head == ["graph", "fold", "true a", "predicted a", "true b, c",
                    "predicted b, c"]  # fmt: skip
    assert (first[0], second[0], first[1], first[4]) == ("1", "4", "2", "")
    value = model(graphs[1])[0, 0].item() * 3 + 1
    assert float(first[3]) == pytest.approx(value, rel=1e-5)
    assert float(first[2]) == pytest.approx(graphs[1].y[0, 0].item(), rel=1e-5)


def test_the_table_of_classes_names_them() -> None:
    graphs = items("graph")
    for i, graph in enumerate(graphs):
        graph.y = torch.tensor([i % 2])
        graph[Y_MASK] = torch.ones(1, 1, dtype=torch.bool)
    note = Objective(kind="binary", targets=("ring",), classes=("no", 'y"es'))
    head, first, _ = rows(note, graphs, make("SEKGIN"))
    assert head[2:] == ["true ring", "predicted ring", "probability no",
                        'probability y"es']  # fmt: skip
    assert first[2] == 'y"es'
    p = [float(first[4]), float(first[5])]
    assert sum(p) == pytest.approx(1, abs=1e-6)
    assert first[3] == note.classes[int(np.argmax(p))]  # type: ignore[index]


def test_the_encoding_of_these_models_is_on_the_graphs() -> None:
    """The tests above would not notice a encoding that the graphs do not carry."""
    assert make("SEKGIN").encoding == SPEC
