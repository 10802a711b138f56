"""What a network says about graphs: gathered over batches and processes, as a table."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sekgnn.datasets.graph_task import Y_MASK, row_weights
from sekgnn.errors import ConfigError
from sekgnn.fields import GRAPH_NUMBER, SEEDS
from sekgnn.files import as_cell
from sekgnn.models import GraphModel
from sekgnn.training.objective import Objective


class Rows(NamedTuple):
    """What a model makes of graphs, or of nodes where targets are of nodes.

    Graphs are in rising order of their position in the dataset.

    Attributes:
        graph: Position of the graph of every row, int64 ``[R]``.
        row: Number of the row within its graph, from 0, int64 ``[R]``.
        out: Outputs of the model, or features that its last layer reads, ``[R, C]``.
        y: Targets, ``[R]`` or ``[R, T]``; ``mask`` tells where they are present.
        weight: How much each row's loss weighs, ``[R]``.
    """

    graph: Tensor
    row: Tensor
    out: Tensor
    y: Tensor
    mask: Tensor
    weight: Tensor

    def chosen(self, rows: Tensor) -> Rows:
        """Return some rows, by bool or number."""
        if rows.dtype == torch.bool and bool(rows.all()):
            return self  # rows may be long
        return Rows(*(column[rows] for column in self))

    def loss(self, objective: Objective) -> float:
        """Return the mean loss over all present targets."""
        total, count = objective.loss_sum(self.out, self.y, self.mask, self.weight)
        return float(total) / max(int(count), 1)

    def metrics(self, objective: Objective) -> dict[str, float]:
        """Return the metrics of the task."""
        return objective.metrics(objective.predictions(self.out), self.y, self.mask)


def join_predictions(parts: Sequence[Rows]) -> Rows:
    """Return the rows of all parts, on the CPU, each once, in rising order.

    A graph that several processes evaluated, because batches had to be filled up, is
    counted once.
    """
    rows = Rows(*(torch.cat(c).cpu() for c in zip(*parts, strict=True)))
    # rows of a graph count from 0, so this numbers all rows that can be
    key = rows.graph * (int(rows.row.max()) + 1) + rows.row
    if bool((key[1:] > key[:-1]).all()):
        return rows
    key, order = torch.sort(key, stable=True)
    first = torch.ones_like(key, dtype=torch.bool)
    first[1:] = key[1:] != key[:-1]
    return rows.chosen(order[first])


def predict_batches(
    model: GraphModel,
    batches: Iterable[Any],
    read: Callable[[Any], Tensor] | None = None,
    *,
    everywhere: bool = False,
) -> Rows:
    """Return the outputs of a model, on its device, for all graphs of a loader.

    The model is in evaluation mode meanwhile. With ``read``, what that makes of every
    batch instead of outputs. With ``everywhere``, rows of the loaders of all processes,
    which must all ask.
    """
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            parts = [_predict_batch(model, batch, read or model) for batch in batches]
    finally:
        model.train(was_training)
    rows = join_predictions(parts)
    if not (everywhere and torch.distributed.is_initialized()):
        return rows
    shares: list[Any] = [None] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(shares, rows)
    return join_predictions(shares)


def _predict_batch(
    model: GraphModel, batch: Any, read: Callable[[Any], Tensor]
) -> Rows:
    batch = shortened(batch, model.device).to(model.device)
    graph = batch[GRAPH_NUMBER]
    row = torch.zeros_like(graph)
    if model.level == "node" and SEEDS not in batch:
        graph = graph[batch.batch]
        row = torch.arange(len(graph), device=graph.device) - batch.ptr[batch.batch]
    out, weight = read(batch), row_weights(batch, model.level)
    if weight is None:
        weight = torch.ones(len(out), device=out.device)
    return Rows(graph, row, out, batch.y, batch[Y_MASK], weight)


def shortened(batch: Any, device: torch.device) -> Any:
    """Return a batch whose targets a device can hold: MPS has no float64."""
    if device.type == "mps" and batch.y is not None and batch.y.is_floating_point():
        batch.y = batch.y.float()
    return batch


def available_device(accelerator: str, dtype: str | None = None) -> str:
    """Return the kind of device behind the name of an accelerator, such as ``"cuda"``.

    ``auto`` takes a GPU where there is one, else the CPU; ``gpu`` takes NVIDIA's or
    Apple's, which have no float64.

    Raises:
        ConfigError: If there is no such device.
    """
    mps = torch.backends.mps.is_available()
    present = {"cuda": torch.cuda.is_available(), "mps": mps}
    wanted = {"auto": ("cuda", "mps"), "gpu": ("cuda", "mps"), "mps": ("mps",)}
    if accelerator not in wanted:
        return accelerator
    for device in wanted[accelerator]:
        if present[device] and not (device == "mps" and dtype == "float64"):
            return device
    if accelerator == "auto":
        return "cpu"
    why = " for float64" if mps else ""
    raise ConfigError(
        f"accelerator={accelerator!r} is not available here{why}: torch sees no such "
        "device; use cpu or auto."
    )


def shown_numbers(
    values: NDArray[np.float64], note: Objective | None = None, target: int = 0
) -> list[str]:
    """Return seven digits; more of a target that varies by little of its size."""
    digits = 7
    if note is not None and note.mean:
        size, spread = abs(note.mean[target]), note.scale[target]
        if size > 1e3 * spread > 0:
            digits = min(17, 4 + math.ceil(math.log10(size / spread)))
    return [f"{value:.{digits}g}" for value in values.tolist()]


def prediction_table(
    note: Objective,
    rows: Rows,
    columns: Mapping[str, list[Any]],
    fold: int,
    names: Mapping[str, list[Any]] | None = None,
) -> bytes:
    """Return the CSV file of test graphs: predictions beside their true targets.

    ``columns`` are those of ``Predictor.columns``; ``names``, by default the graph,
    say what the rows are; folds count from 1.
    """
    truth = rows.y.reshape(len(rows.y), -1)
    out: dict[str, list[Any]] = {
        **({"graph": rows.graph.tolist()} if names is None else names),
        "fold": [fold] * len(rows.graph),
    }
    for target, name in enumerate(note.targets):
        present, values = rows.mask[:, target].tolist(), truth[:, target].numpy()
        if note.classes is not None:
            shown: list[Any] = [note.classes[int(value)] for value in values]
        else:
            shown = [*shown_numbers(values, note, target)]
        pairs = zip(shown, present, strict=True)
        out[f"true {name}"] = [value if known else "" for value, known in pairs]
        out[f"predicted {name}"] = columns[f"predicted {name}"]
    out |= columns  # what is there keeps its place
    return to_csv(
        [*out], zip(*(map(as_cell, cells) for cells in out.values()), strict=True)
    )


def to_csv(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """Return a table as the bytes of a CSV file."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(headings)
    writer.writerows(rows)
    return text.getvalue().encode()
