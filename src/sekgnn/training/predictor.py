"""A trained model, or one per fold, on new graphs."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sekgnn.checks import check_choice
from sekgnn.datasets import GraphTask, NodeTask
from sekgnn.datasets.graph_task import Y_MASK, edge_width
from sekgnn.datasets.node_task import FEATURES
from sekgnn.errors import (
    ConfigError,
    GraphInputError,
    GraphInputWarning,
    ModelFileError,
)
from sekgnn.fields import GRAPH_X, POSITIONS
from sekgnn.graphs.graph_file import GraphFile
from sekgnn.models import GraphModel
from sekgnn.models.model_file import ModuleModel
from sekgnn.nn.batch_loader import BatchSource
from sekgnn.parsing import read_as
from sekgnn.training.calibration import (
    Calibration,
    best_threshold,
    blend_weights,
)
from sekgnn.training.config import DEVICES
from sekgnn.training.data import encoding_cache, model_reads, task_source
from sekgnn.training.objective import Objective, read_models
from sekgnn.training.predictions import (
    Rows,
    available_device,
    predict_batches,
    shown_numbers,
)
from sekgnn.training.run_folder import FOLD_FILE, MODEL_FILE
from sekgnn.training.run_record import RECORD_FILE, FoldRecord
from sekgnn.training.training import Trained


class Predictor:
    """Predicts for graphs like those that models of the same inputs were trained on.

    With several models, the predictions (probabilities, or values) are averaged
    (:meth:`join`). ``calibration`` says how far their mean may be off, if that was
    measured.
    """

    def __init__(
        self,
        models: Sequence[GraphModel],
        notes: Sequence[Objective],
        calibration: Calibration | None = None,
    ) -> None:
        self.calibration = calibration
        self.models = tuple(models)
        self.notes = tuple(notes)
        self.note = self.notes[0]
        columns = 1 if self.note.classes else len(self.note.targets)
        if calibration is not None and calibration.confidence is not None:
            sizes = {len(calibration.radii), len(calibration.floors or range(columns))}
            if sizes != {columns}:
                raise ModelFileError(
                    f"{FOLD_FILE} is damaged: its calibration is not of these targets."
                )

    @classmethod
    def of(cls, trained: Sequence[Trained]) -> Predictor:
        """Return the predictor of fitted models."""
        return cls([one.model for one in trained], [one.note for one in trained])

    @classmethod
    def load(cls, path: str | os.PathLike[str], accelerator: str = "auto") -> Predictor:
        """Return the predictor in a run folder or a model file.

        Reading it runs no code from it. An ensemble gives all its networks, and a run
        of several folds all their models, when all have finished.

        Raises:
            ModelFileError: If there is none, or it is damaged or foreign.
            ConfigError: If there is no such device.

        Warns:
            GraphInputWarning: If the run has not finished: the model is its best yet.
        """
        check_choice("accelerator", accelerator, DEVICES)
        folder = Path(path)
        calibration = None
        if not folder.is_dir():
            pairs = read_models(folder)
        else:
            finished = (folder / RECORD_FILE).is_file()
            folds = sorted(folder.glob("fold-*"))
            pairs = read_models(folder) if finished or not folds else []
            if not pairs:
                raise ModelFileError(
                    f"{path} holds no {MODEL_FILE}; it is not a run folder, or the run "
                    "has not got far enough: repeat its command to continue it."
                )
            if not finished and not (folder / FOLD_FILE).is_file():
                text = f"the run in {path} has not finished; its best model is used."
                warnings.warn(text, GraphInputWarning, stacklevel=2)
            calibration = _read_calibration(folds or [folder])
        models, notes = [model for model, _ in pairs], [note for _, note in pairs]
        for model in models:
            model.to(available_device(accelerator, model.precision))
        return cls(models, notes, calibration)

    def check(self, task: GraphTask, source: str) -> None:
        """Raise GraphInputError if graphs of ``source`` are not what models read."""
        model, note = self.models[0], self.note
        pairs = [("node", note.feature_names, task.feature_names)]
        if model.edge_channels:
            pairs += [("edge", note.edge_feature_names, task.edge_feature_names)]
        width = max(model.graph_channels for model in self.models)
        if width > len(task.graph_feature_names):  # what only trees read may follow
            raise GraphInputError(
                f"{source} does not fit the model, which reads "
                f"{width} features of graphs beside them; predict from "
                "a file like the one it was trained on."
            )
        for what, wanted, given in pairs:
            if wanted is not None and given is not None and wanted != given:
                odd = sorted(set(wanted) ^ set(given))
                columns = sum(name.startswith("component_") for name in wanted)
                raise GraphInputError(
                    f"{source} does not fit the model: other {what} features "
                    f"(differing: {', '.join(odd[:5]) or 'their order'})."
                    + f" It reads {columns} molecules per row."
                    * bool(columns)
                )
        if model.in_channels and task.num_features != model.in_channels:
            raise GraphInputError(
                f"{source} does not fit the model: {task.num_features} node features, "
                f"the model reads {model.in_channels}."
            )
        for data, where in zip(task.graphs, task.places, strict=True):
            if model.edge_channels:
                width = edge_width(data)
                empty = data.edge_index.size(1) == 0
                if width != model.edge_channels and not empty:
                    raise GraphInputError(
                        f"{source}, {where}: {width} edge features, the model reads "
                        f"{model.edge_channels}."
                    )
        for model in self.models:
            task.check(model.check_graph, source)

    def predict(
        self, graphs: Sequence[Any], *, batch_size: int = 256
    ) -> NDArray[np.float64]:
        """Return probabilities ``[R, C]`` of classes, or values ``[R, T]``.

        Rows are graphs, or nodes where targets are of nodes, in the order given. Graphs
        are PyG ``Data`` with the features of the training graphs.

        Raises:
            GraphInputError: If a graph cannot be used.
        """
        return self.predict_with_spread(graphs, batch_size=batch_size)[0]

    def predict_with_spread(
        self, graphs: Sequence[Any], *, batch_size: int = 256
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Return the mean over the models, and their standard deviation (ddof 1).

        Takes and raises what :meth:`predict` does, and both are of its shape; with one
        model there is no deviation.
        """
        if not len(graphs):
            none = np.empty((0, self.models[0].out_channels))
            return none, (none if len(self.models) > 1 else None)
        sources = self._sources([self._read(data) for data in graphs])
        return self._mean(sources, np.arange(len(graphs)), batch_size)

    def join(
        self, outputs: Iterable[Tensor]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Return the mean prediction of the outputs of every model, and the deviation.

        Every kind of model has the weight that validation graphs gave it, or all have
        the same; those of a kind share it equally. The deviation is that of a sample of
        models (ddof 1); one model has none.
        """
        pairs = zip(self.notes, outputs, strict=True)
        each = torch.stack([note.predictions(out) for note, out in pairs])
        weights = self.weights.to(each).view(-1, *[1] * (each.dim() - 1))
        spread = each.std(dim=0).numpy() if len(each) > 1 else None
        return (weights * each).sum(dim=0).numpy(), spread

    def calibrate(self, members: Sequence[Trained]) -> None:
        """Measure what validation graphs say about the mean of the fitted models."""
        config, note = members[0].training.config, self.note
        weighted = bool(config.blend) and config.watched == "val"
        if not weighted and config.confidence is None and config.threshold is None:
            return

        @cache
        def evaluated(part: str) -> list[Rows]:
            return [member.evaluate(part) for member in members]

        def said(part: str) -> tuple[Any, ...]:
            rows = evaluated(part)
            mean, spread = self.join(one.out for one in rows)
            return torch.from_numpy(mean), rows[0].y, rows[0].mask, spread

        known = Calibration()
        if weighted:
            known = Calibration(weights=self._fitted_weights(evaluated("val")))
            self.calibration = known  # the rest is about the weighted mean
        if config.confidence is not None:
            *found, spread = said("calibration")
            more: dict[str, Any] = {}
            if config.adaptive:  # by graphs that do not calibrate
                others = said("val" if config.validation_chooses else "train")[-1]
                least = 1e-6 * np.array(note.scale)
                floors = np.maximum(np.median(others, axis=0), least).tolist()
                more = {"spread": torch.from_numpy(spread), "floors": tuple(floors)}
            fitted = Calibration.fit(note, config.confidence, *found, **more)
            known = replace(fitted, weights=known.weights)
        if config.threshold is not None:
            cut = best_threshold(note, config.threshold, *said("val")[:3])
            known = replace(known, threshold=cut)
        self.calibration = known

    def _fitted_weights(self, rows: Sequence[Rows]) -> tuple[tuple[str, float], ...]:
        """Return the weight of every kind of model, by each one's validation graphs."""
        kinds = model_kinds(self.models)
        each: dict[str, list[Tensor]] = {kind: [] for kind in kinds}
        for kind, note, one in zip(kinds, self.notes, rows, strict=True):
            each[kind].append(note.predictions(one.out).double())
        means = [torch.stack(outputs).mean(0) for outputs in each.values()]
        weights = blend_weights(self.note, means, rows[0].y, rows[0].mask)
        return tuple(zip(each, weights, strict=True))

    @property
    def weights(self) -> Tensor:
        """The share of every model in the mean, float64 ``[M]``."""
        kinds = model_kinds(self.models)
        known = {} if self.calibration is None else dict(self.calibration.weights)
        each = [known.get(kind, 1.0) / kinds.count(kind) for kind in kinds]
        return torch.tensor(each, dtype=torch.float64) / sum(each)

    def fingerprint(
        self, graphs: Sequence[Any], *, batch_size: int = 256
    ) -> NDArray[np.float32]:
        """Return what the last layer of the networks reads, ``[R, C]``.

        The vectors of several networks stand side by side. Takes and raises what
        :meth:`predict` does.

        Raises:
            ConfigError: If a model has no such vector, as a forest.
        """
        for model in self.models:
            if not model.learns or isinstance(model, ModuleModel):
                raise ConfigError(
                    f"model {model.name!r} has no learned vectors; use a network of "
                    "this library."
                )
        if not len(graphs):
            return np.empty((0, 0), dtype=np.float32)
        vectors = []
        for model, batches in self.batches(graphs, batch_size):
            with torch.inference_mode():
                rows = [
                    model.represent(model.prepare(batch.to(model.device)))
                    for batch in batches
                ]
            vectors.append(torch.cat(rows).cpu().numpy().astype(np.float32))
        return np.concatenate(vectors, axis=1)

    def batches(
        self, graphs: Sequence[Any], batch_size: int
    ) -> Iterator[tuple[GraphModel, Iterable[Any]]]:
        """Yield every model with the batches of graphs that it reads."""
        sources = self._sources([self._read(data) for data in graphs])
        for model, source in zip(self.models, sources, strict=True):
            yield model, source.batches(np.arange(len(graphs)), batch_size)

    def _sources(self, data: NodeTask | Sequence[Any]) -> list[BatchSource]:
        """Return the source of every model's batches; like models share one."""
        known: dict[Any, BatchSource] = {}
        for model in self.models:
            reads = model_reads(model, data)
            if reads not in known:
                known[reads] = task_source(
                    data,
                    reads,
                    max_neighbors=self.note.max_neighbors,
                    seed=self.note.sample_seed,
                    cache_dir=encoding_cache() if isinstance(data, NodeTask) else None,
                )
        return [known[model_reads(model, data)] for model in self.models]

    def _mean(
        self, sources: Sequence[BatchSource], chosen: NDArray[np.int64], batch_size: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Return what :meth:`join` makes of some items of the models' sources."""
        return self.join(
            predict_batches(model, source.batches(chosen, batch_size)).out
            for model, source in zip(self.models, sources, strict=True)
        )

    def _read(self, data: Any) -> Any:
        """Return the fields of a graph that models read, with empty targets."""
        from torch_geometric.data import Data

        if not hasattr(data, "edge_index"):
            raise GraphInputError(
                f"PyG Data is needed, got {type(data).__name__} {data!r:.40}; "
                "sekgnn.load(run).predict takes SMILES and graphs of other libraries."
            )
        rows = int(data.num_nodes) if self.models[0].level == "node" else 1
        fields: dict[str, Any] = {
            "edge_index": data.edge_index,
            "num_nodes": int(data.num_nodes),
            "y": torch.zeros(rows, 1),
            Y_MASK: torch.zeros(rows, 1, dtype=torch.bool),
        }
        width = max(model.edge_channels for model in self.models)
        if width:
            attr = data.get("edge_attr")
            attr = torch.zeros(0, width) if attr is None else attr
            fields["edge_attr"] = attr.view(attr.size(0), width)
        if any(model.in_channels for model in self.models):
            fields["x"] = data.x
        if any(model.kind.coordinates for model in self.models):
            fields[POSITIONS] = data[POSITIONS]
        if any(model.graph_channels for model in self.models):
            fields[GRAPH_X] = data[GRAPH_X]
        return Data(**fields)

    def predict_items(
        self, file: GraphFile, items: Any = None, *, batch_size: int = 1024
    ) -> Iterator[
        tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64] | None]
    ]:
        """Predict for nodes, or pairs of nodes, of one graph, a batch at a time.

        Encodings are computed by ranges of nodes and kept in the cache folder; memory
        holds what one batch needs. Items are nodes, int ``[I]``, or pairs ``[I, 2]``;
        all nodes by default.

        Yields:
            The items, and what :meth:`predict_with_spread` returns for them.

        Raises:
            ConfigError: If models of graphs are asked about nodes or links.
            GraphInputError: If the graph does not fit the model.
        """
        level, n = self.models[0].level, file.graph.num_nodes
        chosen = np.arange(n) if items is None else np.asarray(items, dtype=np.int64)
        if level == "graph" or (chosen.ndim == 2) != (level == "link"):
            raise ConfigError(
                f"the model predicts targets of a {level}; give it "
                + {"graph": "graphs", "node": "nodes"}.get(level, "pairs of nodes")
                + " (Predictor.predict_items)."
            )
        x = file.nodes.get(FEATURES)
        width = 0 if x is None or x.ndim != 2 else int(x.shape[1])
        if self.models[0].in_channels not in (0, width):
            raise GraphInputError(
                f"{file.path} does not fit the model: {width} node features, the model "
                f"reads {self.models[0].in_channels}."
            )
        note, nothing = self.note, np.zeros((len(chosen), 1))
        task = NodeTask(
            (), note.kind, note.targets, note.classes, nothing.astype(np.bool_), (),
            file=file, items=chosen, y=nothing,
        )  # fmt: skip
        sources = self._sources(task)
        for start in range(0, len(chosen), batch_size):
            rows = np.arange(start, min(start + batch_size, len(chosen)))
            yield chosen[rows], *self._mean(sources, rows, batch_size)

    def metrics(self, data: GraphTask) -> dict[str, float]:
        """Return the metrics of the predictions for graphs with targets."""
        if isinstance(data, NodeTask):
            said = self._mean(self._sources(data), np.arange(len(data)), 1024)
        else:
            said = self.predict_with_spread(data.graphs)
        return self.measure(torch.from_numpy(said[0]), *data.targets(), said[1])

    def measure(
        self,
        predicted: Tensor,
        y: Tensor,
        mask: Tensor,
        spread: NDArray[np.float64] | None = None,
    ) -> dict[str, float]:
        """Return metrics of the task, of each of several targets, and of intervals.

        Predictions are probabilities ``[R, C]`` of classes, or values ``[R, T]``, and
        spreads those of :meth:`join`.
        """
        note, known, table = self.note, self.calibration, (predicted, y, mask)
        threshold = None if known is None else known.threshold
        out = note.metrics(*table, threshold) | note.target_metrics(*table)
        if known is not None and known.confidence is not None:
            out |= known.metrics(note.kind, note.targets, *table, spread)
        return out

    def decided(self, predicted: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the class that is decided for, its number, of probabilities.

        The likeliest, or the second of two above the threshold of the calibration.
        """
        if self.calibration is not None and self.calibration.threshold is not None:
            return (predicted[:, 1] > self.calibration.threshold).astype(np.int64)
        return predicted.argmax(axis=1)

    def columns(
        self,
        predicted: NDArray[np.float64],
        spread: NDArray[np.float64] | None = None,
    ) -> dict[str, list[Any]]:
        """Return predictions as columns of a table, by their headings.

        ``predicted`` values or labels come first, then ``probability`` of every class,
        ``spread`` over several models (of the label's probability), and ``lower`` and
        ``upper`` end of an interval or the ``set`` of likely labels. Arguments are what
        :meth:`join` returns.
        """
        note, known = self.note, self.calibration
        rows = np.arange(len(predicted))
        out: dict[str, list[Any]] = {}
        if note.classes is None:
            for i, (name, column) in enumerate(
                zip(note.targets, predicted.T, strict=True)
            ):
                out[f"predicted {name}"] = shown_numbers(column, note, i)
            spreads = () if spread is None else spread.T
        else:
            chosen = self.decided(predicted)
            out[f"predicted {note.targets[0]}"] = [note.classes[int(c)] for c in chosen]
            for label, column in zip(note.classes, predicted.T, strict=True):
                out[f"probability {label}"] = shown_numbers(column)
            spreads = () if spread is None else spread[rows, chosen][None]
        for name, column in zip(note.targets, spreads, strict=False):
            out[f"spread {name}"] = shown_numbers(column)
        if known is None or known.confidence is None:
            return out
        radii = known.half_widths(spread)
        for i, name in enumerate(note.targets):
            radius = radii[..., i]
            if note.kind == "regression":
                out[f"lower {name}"] = shown_numbers(predicted[:, i] - radius, note, i)
                out[f"upper {name}"] = shown_numbers(predicted[:, i] + radius, note, i)
                continue
            chances, labels = predicted, note.classes or (0, 1)
            if note.classes is None:
                chances = np.stack([1 - predicted[:, i], predicted[:, i]], axis=1)
            inside = 1 - chances <= radius
            out[f"set {name}"] = [
                "; ".join(str(labels[k]) for k in np.flatnonzero(row)) for row in inside
            ]
        return out


def model_kinds(models: Sequence[GraphModel]) -> list[str]:
    """Return the kind of every model: ``"network"``, or the name of trees."""
    return ["network" if model.learns else model.name for model in models]


def _read_calibration(folders: Sequence[Path]) -> Calibration | None:
    """Return the calibration of a training, or what holds for several together."""
    files = [folder / FOLD_FILE for folder in folders]
    if not all(file.is_file() for file in files):
        return None
    try:
        known = [FoldRecord.load(file).calibration for file in files]
        return Calibration.joined(
            [read_as(Calibration, one) if one else None for one in known]
        )
    except ValueError as error:
        raise ModelFileError(f"the calibration of models is damaged: {error}") from None
