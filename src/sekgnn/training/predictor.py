"""A trained model, or one per fold, with what its outputs mean."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sekgnn.datasets import GraphTask
from sekgnn.datasets.graph_task import Y_MASK
from sekgnn.errors import GraphInputError, GraphInputWarning, ModelFileError
from sekgnn.models import GraphModel, load_model
from sekgnn.models.model_file import read_about
from sekgnn.training.batches import JoinedGraphs
from sekgnn.training.fit import MODEL_FILE
from sekgnn.training.fold import FOLD_FILE
from sekgnn.training.learning_data import edge_width
from sekgnn.training.predictions import predict_batches
from sekgnn.training.record import RECORD_FILE
from sekgnn.training.task_note import TaskNote

_MEMORY_SHARE = 0.5  # of the machine's memory that one graph may take


class Predictor:
    """Predicts for graphs like those a model was trained on.

    With several models, the predictions (probabilities, or values) are averaged.

    Args:
        models: One or more, with the same inputs and outputs.
        notes: What the outputs of each mean.
    """

    def __init__(self, models: Sequence[GraphModel], notes: Sequence[TaskNote]) -> None:
        """Keep them."""
        self.models = tuple(models)
        self.notes = tuple(notes)
        self.note = self.notes[0]

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Predictor:
        """Return the predictor in a run folder or a model file.

        Reading it runs no code from it. A run of several folds gives all their models,
        when all have finished.

        Raises:
            ModelFileError: If there is none, or it is damaged or foreign.

        Warns:
            GraphInputWarning: If the run has not finished: the model is its best yet.
        """
        place = Path(path)
        files = [place]
        if place.is_dir():
            files = [place / MODEL_FILE]
            finished = (place / RECORD_FILE).is_file()
            if not files[0].is_file() and finished:
                files = sorted(place.glob(f"fold-*/{MODEL_FILE}"))
            if not files or not files[0].is_file():
                raise ModelFileError(
                    f"{path} holds no {MODEL_FILE}; it is no run folder, or the run "
                    "has not come far enough: repeat its command to continue it."
                )
            if not finished and not (place / FOLD_FILE).is_file():
                text = f"the run in {path} has not finished; its best model is used."
                warnings.warn(text, GraphInputWarning, stacklevel=2)
        notes = [TaskNote.from_dict(read_about(file).get("task", {})) for file in files]
        return cls([load_model(file) for file in files], notes)

    def check(self, task: GraphTask, source: str) -> None:
        """Raise if the graphs are not what the model reads.

        Args:
            task: The graphs.
            source: What to call them.

        Raises:
            GraphInputError: If so; says what differs.
        """
        model, note = self.models[0], self.note
        pairs = (
            ("node", note.feature_names, task.feature_names),
            ("edge", note.edge_feature_names, task.edge_feature_names),
        )
        for what, wanted, found in pairs:
            if what == "edge" and not model.edge_channels:
                continue
            if wanted is not None and found is not None and wanted != found:
                odd = sorted(set(wanted) ^ set(found))
                raise GraphInputError(
                    f"{source} does not fit the model: other {what} features "
                    f"(differing: {', '.join(odd[:5]) or 'their order'})."
                )
        if model.in_channels and task.num_features != model.in_channels:
            raise GraphInputError(
                f"{source} does not fit the model: {task.num_features} node features, "
                f"the model reads {model.in_channels}."
            )
        for data, place in zip(task.graphs, task.places, strict=True):
            if model.edge_channels:
                width = edge_width(data)
                empty = data.edge_index.size(1) == 0
                if width != model.edge_channels and not empty:
                    raise GraphInputError(
                        f"{source}, {place}: {width} edge features, the model reads "
                        f"{model.edge_channels}."
                    )
            if model.needs_pairs:
                _check_pairs(model, int(data.num_nodes), f"{source}, {place}")

    def predict(
        self, graphs: Sequence[Any], *, batch_size: int = 256
    ) -> NDArray[np.float64]:
        """Return probabilities ``[R, C]`` of classes, or values ``[R, T]``.

        Rows are graphs, or nodes where targets are of nodes, in the order given.

        Args:
            graphs: PyG ``Data`` with the features of the training graphs.
            batch_size: Graphs at a time.

        Raises:
            GraphInputError: If a graph cannot be used.
        """
        if not len(graphs):
            return np.empty((0, self.models[0].out_channels))
        plain = [_without_targets(data, self.models[0]) for data in graphs]
        first = self.models[0]
        joined = JoinedGraphs(
            plain,
            first.num_hops,
            first.encoding,
            max_neighbors=self.note.max_neighbors,
            seed=self.note.sample_seed,
        )
        everything = np.arange(joined.num_graphs)
        parts: list[NDArray[np.float64]] = []
        for model, note in zip(self.models, self.notes, strict=True):
            batches = joined.evaluation_batches(everything, batch_size)
            found = predict_batches(model, batches)
            parts.append(note.objective.predictions(found.out).numpy())
        mean: NDArray[np.float64] = np.mean(parts, axis=0)
        return mean


def _without_targets(data: Any, model: GraphModel) -> Any:
    """Return the fields that a model reads, with empty targets."""
    from torch_geometric.data import Data

    rows = int(data.num_nodes) if model.level == "node" else 1
    fields: dict[str, Any] = {
        "edge_index": data.edge_index,
        "num_nodes": int(data.num_nodes),
        "y": torch.zeros(rows, 1),
        Y_MASK: torch.zeros(rows, 1, dtype=torch.bool),
    }
    if model.in_channels:
        fields["x"] = data.x
    if model.edge_channels:
        attr = data.get("edge_attr")
        if attr is None:
            attr = torch.zeros(0, model.edge_channels)
        fields["edge_attr"] = attr.view(attr.size(0), model.edge_channels)
    return Data(**fields)


def _check_pairs(model: GraphModel, nodes: int, place: str) -> None:
    """Refuse a graph whose pairs of nodes would not fit into memory."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return
    needed = 4 * nodes * nodes * model.hidden_channels * 4
    if needed > _MEMORY_SHARE * memory:
        raise GraphInputError(
            f"{place}: {nodes} nodes are too many for a model of all pairs of nodes, "
            f"which would take about {needed / 2**30:.0f} GiB; use sek-gin."
        )
