"""What a network says about graphs: gathered over batches and processes, as a table."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities import dim_zero_cat

from sekgnn.datasets.graph_task import Y_MASK
from sekgnn.files import as_cell
from sekgnn.models import GraphModel
from sekgnn.training.batches import GRAPH_NUMBER
from sekgnn.training.objective import Objective
from sekgnn.training.task_note import TaskNote


class Predictions(NamedTuple):
    """Outputs and truths, graphs in rising order of their position in the dataset.

    Rows are graphs, or nodes where targets are of nodes.

    Attributes:
        graph: Position of the graph of every row, int64 ``[R]``.
        row: Number of the row within its graph, from 0, int64 ``[R]``.
        out: Outputs of the network, ``[R, C]``.
        y: Targets, ``[R]`` or ``[R, T]``.
        mask: Where they are present, bool ``[R, T]``.
    """

    graph: Tensor
    row: Tensor
    out: Tensor
    y: Tensor
    mask: Tensor

    def loss(self, objective: Objective) -> float:
        """Return the mean loss over all present targets."""
        total, count = objective.loss_sum(self.out, self.y, self.mask)
        return float(total) / max(int(count), 1)

    def metrics(self, objective: Objective) -> dict[str, float]:
        """Return the metrics of the task."""
        return objective.metrics(objective.predictions(self.out), self.y, self.mask)


class PredictionCollector(Metric):
    """Keeps outputs until the end of an epoch; joins those of all processes.

    A graph that several processes evaluated, because batches had to be filled up, is
    counted once.
    """

    full_state_update = False

    def __init__(self) -> None:
        """Start empty."""
        super().__init__()
        for name in Predictions._fields:
            self.add_state(name, default=[], dist_reduce_fx="cat")

    def update(self, model: GraphModel, batch: Any) -> None:
        """Take the outputs of ``model`` for a batch."""
        graph = batch[GRAPH_NUMBER]
        row = torch.zeros_like(graph)
        if model.level == "node":
            graph = graph[batch.batch]
            row = torch.arange(len(graph), device=graph.device) - batch.ptr[batch.batch]
        parts = Predictions(graph, row, model(batch).detach(), batch.y, batch[Y_MASK])
        for name, value in parts._asdict().items():
            getattr(self, name).append(value)

    def compute(self) -> Any:
        """Not for use: torchmetrics takes the dimensions of single rows away."""
        return self.ordered()

    def gather(self) -> Predictions:
        """Return all rows of all processes, each once, in rising order."""
        with self.sync_context():
            return self.ordered()

    def ordered(self) -> Predictions:
        """Return the rows of this process, on the CPU, each once, in rising order."""
        parts = [dim_zero_cat(getattr(self, name)) for name in Predictions._fields]
        found = Predictions(*(part.cpu() for part in parts))
        # rows of a graph count from 0, so this numbers all rows that can be
        key = found.graph * (int(found.row.max()) + 1) + found.row
        key, order = torch.sort(key, stable=True)
        first = torch.ones_like(key, dtype=torch.bool)
        first[1:] = key[1:] != key[:-1]
        chosen = order[first]
        return Predictions(*(value[chosen] for value in found))


def predict_batches(model: GraphModel, batches: Iterable[Any]) -> Predictions:
    """Return the outputs of a model for all graphs of a loader.

    The model is in evaluation mode meanwhile.
    """
    collector = PredictionCollector()
    was_training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            for batch in batches:
                collector.update(model, batch)
    finally:
        model.train(was_training)
    return collector.ordered()


def mean_prediction(models: Sequence[GraphModel], each: Sequence[Tensor]) -> Tensor:
    """Return the mean prediction of several models, ``[R, C]``.

    Networks have equal weight, and so have other models; where there are both, each
    kind has half of the weight.

    Args:
        models: The models that predict.
        each: Probabilities or values of each, ``[R, C]``.
    """
    kinds = [
        [own for model, own in zip(models, each, strict=True) if model.learns == learns]
        for learns in (True, False)
    ]
    means = [torch.stack(kind).mean(dim=0) for kind in kinds if kind]
    return torch.stack(means).mean(dim=0)


def predicted_headings(note: TaskNote) -> list[str]:
    """Return the headings of what a model predicts."""
    headings = [f"predicted {name}" for name in note.targets]
    if note.classes is not None:
        headings += [f"probability {label}" for label in note.classes]
    return headings


def predicted_fields(note: TaskNote, predicted: NDArray[np.float64]) -> list[list[Any]]:
    """Return a row of fields per row of predictions: label or values, probabilities.

    Args:
        note: What the columns mean.
        predicted: Probabilities ``[R, C]`` of classes, or values ``[R, T]``.
    """
    numbers = [[f"{value:.7g}" for value in row] for row in predicted.tolist()]
    if note.classes is None:
        return [list(row) for row in numbers]
    chosen = predicted.argmax(axis=1) if predicted.size else []
    return [
        [note.classes[int(c)], *row] for c, row in zip(chosen, numbers, strict=True)
    ]


def prediction_table(
    note: TaskNote, found: Predictions, predicted: Tensor, fold: int
) -> bytes:
    """Return the CSV file of test graphs: predictions beside their true targets.

    Args:
        note: What the columns mean.
        found: The rows and their targets.
        predicted: Probabilities ``[R, C]`` of classes, or values ``[R, T]``.
        fold: Number of the fold, from 1.
    """
    width = len(note.targets)
    fields = predicted_fields(note, predicted.numpy())
    truth = found.y.reshape(len(found.y), -1)
    rows = []
    for i, graph in enumerate(found.graph.tolist()):
        true: list[Any] = []
        for target in range(width):
            if not found.mask[i, target]:
                true.append("")
            elif note.classes is not None:
                true.append(note.classes[int(truth[i, target])])
            else:
                true.append(f"{float(truth[i, target]):.7g}")
        pairs = [v for pair in zip(true, fields[i][:width], strict=True) for v in pair]
        rows.append([graph, fold, *map(as_cell, pairs), *fields[i][width:]])
    pairs = [h for name in note.targets for h in (f"true {name}", f"predicted {name}")]
    return to_csv(["graph", "fold", *pairs, *predicted_headings(note)[width:]], rows)


def to_csv(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """Return a table as the bytes of a CSV file."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(headings)
    writer.writerows(rows)
    return text.getvalue().encode()
