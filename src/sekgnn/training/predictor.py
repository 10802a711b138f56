"""A trained model, or one per fold, on new graphs: lists, files, and tests."""

from __future__ import annotations

import csv
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sekgnn.checks import check_choice
from sekgnn.datasets import GraphTask, NodeTask, read_task, stream_task
from sekgnn.datasets.graph_task import Y_MASK, edge_width
from sekgnn.datasets.node_task import FEATURES
from sekgnn.datasets.read_task import task_format
from sekgnn.errors import (
    ConfigError,
    GraphInputError,
    GraphInputWarning,
    ModelFileError,
)
from sekgnn.fields import GRAPH_X, POSITIONS
from sekgnn.files import as_cell, write_atomically
from sekgnn.graphs.extras import require
from sekgnn.graphs.graph_file import SUFFIX, GraphFile, read_graph_file
from sekgnn.graphs.table import table_headings
from sekgnn.models import GraphModel
from sekgnn.models.module_model import ModuleModel
from sekgnn.nn.batch_loader import BatchSource
from sekgnn.parallel import Progress
from sekgnn.parsing import parse_as
from sekgnn.training.batches import encoding_cache, graph_source, seed_source
from sekgnn.training.calibration import Calibration
from sekgnn.training.config import DEVICES, RunConfig
from sekgnn.training.devices import available_device
from sekgnn.training.predictions import (
    all_metrics,
    predict_batches,
    predicted_columns,
)
from sekgnn.training.run_folder import (
    CONFIG_FILE,
    FOLD_FILE,
    MODEL_FILE,
    fold_folders,
    model_files,
    read_config,
)
from sekgnn.training.run_record import RECORD_FILE, FoldRecord, RunRecord
from sekgnn.training.task_note import TaskNote, read_models
from sekgnn.training.training import Trained, Training

_ROW, _TEXT = _OWN_COLUMNS = (-1, -2)  # what is known without being a column


class Predictor:
    """Predicts for graphs like those that models of the same inputs were trained on.

    With several models, the predictions (probabilities, or values) are averaged
    (:meth:`join`). ``calibration`` says how far their mean may be off, if that was
    measured.
    """

    def __init__(
        self,
        models: Sequence[GraphModel],
        notes: Sequence[TaskNote],
        calibration: Calibration | None = None,
    ) -> None:
        self.calibration = calibration
        self.models = tuple(models)
        self.notes = tuple(notes)
        self.note = self.notes[0]
        columns = 1 if self.note.classes else len(self.note.targets)
        if calibration is not None and calibration.confidence is not None:
            if len(calibration.radii) != columns:
                raise ModelFileError(
                    f"{FOLD_FILE} is damaged: its calibration is not of these targets."
                )

    @classmethod
    def of(
        cls, trained: Sequence[Trained], calibration: Calibration | None = None
    ) -> Predictor:
        """Return the predictor of fitted models."""
        models, notes = [one.model for one in trained], [one.note for one in trained]
        return cls(models, notes, calibration)

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
        place = Path(path)
        files = [place]
        calibration = None
        if place.is_dir():
            finished = (place / RECORD_FILE).is_file()
            folds = sorted(place.glob("fold-*"))
            files = model_files(place) if finished or not folds else []
            if not files:
                raise ModelFileError(
                    f"{path} holds no {MODEL_FILE}; it is not a run folder, or the run "
                    "has not got far enough: repeat its command to continue it."
                )
            if not finished and not (place / FOLD_FILE).is_file():
                text = f"the run in {path} has not finished; its best model is used."
                warnings.warn(text, GraphInputWarning, stacklevel=2)
            calibration = _read_calibration(folds or [place])
        pairs = [pair for file in files for pair in read_models(file)]
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
        if model.graph_channels != len(task.graph_feature_names):
            raise GraphInputError(
                f"{source} does not fit the model, which reads "
                f"{model.graph_channels} features of graphs beside them; predict from "
                "a file like the one it was trained on."
            )
        for what, wanted, found in pairs:
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
        return self.join(
            predict_batches(model, batches).out
            for model, batches in self._batches(graphs, batch_size)
        )

    def join(
        self, outputs: Iterable[Tensor]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Return the mean prediction of the outputs of every model, and the deviation.

        Networks have equal weight, and so have other models; where there are both, each
        kind has half of the weight. The deviation is that of a sample of models (ddof
        1); one model has none.
        """
        pairs = zip(self.notes, outputs, strict=True)
        each = torch.stack([note.objective.predictions(out) for note, out in pairs])
        learns = torch.tensor([model.learns for model in self.models])
        kinds = [each[learns], each[~learns]]
        mean = torch.stack([kind.mean(dim=0) for kind in kinds if len(kind)])
        spread = each.std(dim=0).numpy() if len(each) > 1 else None
        return mean.mean(dim=0).numpy(), spread

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
        parts = []
        for model, batches in self._batches(graphs, batch_size):
            with torch.inference_mode():
                each = [
                    model.represent(model.prepare(batch.to(model.device)))
                    for batch in batches
                ]
            parts.append(torch.cat(each).cpu().numpy().astype(np.float32))
        return np.concatenate(parts, axis=1)

    def _batches(
        self, graphs: Sequence[Any], batch_size: int
    ) -> Iterator[tuple[GraphModel, Iterable[Any]]]:
        """Yield every model, and the batches it reads."""
        prepared: dict[Any, BatchSource] = {}  # by what models read
        for model in self.models:
            reads = (
                *(model.num_hops, model.encoding, model.precision),
                *(model.in_channels, model.edge_channels, model.graph_channels),
                model.kind.coordinates,
            )
            if reads not in prepared:
                prepared[reads] = graph_source(
                    [_without_targets(data, model) for data in graphs],
                    model.num_hops,
                    model.encoding,
                    max_neighbors=self.note.max_neighbors,
                    seed=self.note.sample_seed,
                    dtype=model.precision,
                )
            everything = np.arange(len(graphs))
            yield model, prepared[reads].batches(everything, batch_size)

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
        note = self.note
        task = NodeTask(
            (), note.kind, note.targets, note.classes, np.empty((0, 0), np.bool_), (),
            file=file, items=chosen,
        )  # fmt: skip
        sources = [
            seed_source(
                task,
                model.num_hops,
                model.options.num_layers,
                model.encoding,
                max_neighbors=note.max_neighbors,
                seed=note.sample_seed,
                dtype=model.precision,
                cache_dir=encoding_cache(),
            )
            for model in self.models
        ]
        for start in range(0, len(chosen), batch_size):
            part = np.arange(start, min(start + batch_size, len(chosen)))
            with torch.inference_mode():
                outputs = [
                    model.eval()(source.batch(part.tolist()).to(model.device)).cpu()
                    for model, source in zip(self.models, sources, strict=True)
                ]
            yield chosen[part], *self.join(outputs)

    def metrics(self, data: GraphTask) -> dict[str, float]:
        """Return the metrics of the predictions for graphs with targets."""
        if isinstance(data, NodeTask):
            parts = self.predict_items(data.file, data.items)
            predicted = torch.from_numpy(np.concatenate([own for _, own, _ in parts]))
        else:
            predicted = torch.from_numpy(self.predict(data.graphs))
        return all_metrics(self.note, predicted, *data.targets(), self.calibration)


def _read_calibration(folders: Sequence[Path]) -> Calibration | None:
    """Return the calibration of a training, or what holds for several together."""
    found = []
    for file in (folder / FOLD_FILE for folder in folders):
        if not file.is_file():
            return None
        try:
            fold = parse_as(FoldRecord, file.read_text(encoding="utf-8"))
            found.append(Calibration.from_dict(fold.calibration))
        except (OSError, ValueError, TypeError) as error:
            raise ModelFileError(f"{file} is damaged: {error}.") from error
    try:
        return Calibration.joined(found)
    except ValueError as error:
        raise ModelFileError(f"the {FOLD_FILE} of folds differ: {error}.") from error


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
    if model.kind.coordinates:
        fields[POSITIONS] = data[POSITIONS]
    if model.graph_channels:
        fields[GRAPH_X] = data[GRAPH_X]
    return Data(**fields)


@dataclass(frozen=True)
class StreamCount:
    """How many graphs, or nodes of one graph, were predicted, and how many left out."""

    graphs: int
    skipped: int = 0
    first_skipped: str | None = None
    of: str = "graphs"

    def sentence(self) -> str:
        """Return them in words."""
        words = f"predicted {self.graphs} {self.of}"
        if self.skipped:
            words += f" and left out {self.skipped} (the first: {self.first_skipped})"
        return words + ";"


def predict_stream(
    predictor: Predictor,
    path: Path,
    file: TextIO,
    *,
    smiles: str | None = None,
    skip_invalid: bool = False,
    columns: Sequence[str] | None = None,
    chunk_size: int = 1024,
    progress: Progress | None = None,
) -> StreamCount:
    """Predict for a file of any length: read, predict and write piece by piece.

    Writes a CSV line per graph, or per node where targets are of nodes: the columns of
    the input, in their order, then ``node`` where targets are of nodes, then the
    predictions. For input without columns the first is ``row``, the number of the
    graph there, from 1. What a spreadsheet would run as a formula is written as text
    (:func:`~sekgnn.files.as_cell`).

    Args:
        predictor: The trained model.
        path: Graphs like those it was trained on.
        file: Where to write.
        smiles: Column of the SMILES; that of the training data by default.
        skip_invalid: Leave out SMILES that rdkit cannot read.
        columns: Columns or keys of the input to write, ``row`` among them; by default
            all columns of a table.
        chunk_size: Graphs in memory at a time.
        progress: Called with the number of graphs so far, and 0: how many there are
            shows at the end.

    Raises:
        GraphInputError: If the file is wrong or does not fit the model.
    """
    note = predictor.note
    if path.suffix.lower() == SUFFIX:
        return _predict_nodes(predictor, path, file, chunk_size, progress)
    of_nodes = predictor.models[0].level == "node"
    stream = InputStream(predictor, path, smiles, skip_invalid, columns)

    def said(graphs: Sequence[Any]) -> dict[str, list[Any]]:
        found = predictor.predict_with_spread(graphs)
        return predicted_columns(note, *found, predictor.calibration)

    added = [*(["node"] if of_nodes else []), *said([])]
    headings = [*stream.kept.values(), *added]
    taken = [name for name in added if name in stream.kept.values()]
    if taken:
        raise GraphInputError(
            f"{path} has a column {taken[0]!r} already, which the predictions need; "
            "rename it, or choose the columns to keep with columns (--columns)."
        )
    writer = csv.writer(file, lineterminator="\n")
    for task, own in stream.chunks(chunk_size):
        if stream.graphs == len(task):
            writer.writerow(map(as_cell, headings))
        fields = zip(*said(task.graphs).values(), strict=True)
        for i in range(len(task)):
            cells = [as_cell(own[name][i]) for name in stream.kept]
            size = int(task[i].num_nodes) if of_nodes else 1
            for node in range(size):
                place = [node] if of_nodes else []
                writer.writerow([*cells, *place, *map(as_cell, next(fields))])
        if progress is not None:
            progress(stream.graphs, 0)
    return stream.count()


def _predict_nodes(
    predictor: Predictor,
    path: Path,
    file: TextIO,
    chunk_size: int,
    progress: Progress | None,
) -> StreamCount:
    """Write a CSV line per node of a graph file."""
    writer = csv.writer(file, lineterminator="\n")
    count, note = 0, predictor.note
    graph = read_graph_file(path)
    for nodes, mean, spread in predictor.predict_items(graph, batch_size=chunk_size):
        columns = predicted_columns(note, mean, spread, predictor.calibration)
        if not count:
            writer.writerow(["node", *columns])
        cells = (map(as_cell, column) for column in columns.values())
        writer.writerows(zip(nodes.tolist(), *cells, strict=True))
        count += len(nodes)
        if progress is not None:
            progress(count, graph.graph.num_nodes)
    return StreamCount(count, of="nodes")


class InputStream:
    """Graphs of a file for a trained model, a chunk at a time, with their columns.

    ``kept`` holds the columns, each with its heading; ``graphs`` counts what was read
    so far. Arguments are those of :func:`predict_stream`.

    Raises:
        GraphInputError: If the file is wrong.
    """

    def __init__(
        self,
        predictor: Predictor,
        path: Path,
        smiles: str | None = None,
        skip_invalid: bool = False,
        columns: Sequence[str] | None = None,
    ) -> None:
        self.predictor, self.path = predictor, path
        self.options = predictor.note.reader_options(
            path, smiles=smiles, skip_invalid=skip_invalid
        )
        self.kept = _kept_columns(path, columns)
        self.graphs = 0
        self.skipped: list[str] = []

    def chunks(self, size: int) -> Iterator[tuple[GraphTask, dict[Any, Sequence[Any]]]]:
        """Yield graphs that fit the model, and the values of their columns."""
        note = self.predictor.note
        known = [name for name in self.kept if name not in _OWN_COLUMNS]
        for task in stream_task(
            self.path,
            chunk_size=size,
            columns=[*known, *note.features],
            on_invalid=lambda row: self.skipped.append(row.place),
            **self.options,
        ):
            task = note.add_features(task)
            self.predictor.check(task, str(self.path))
            self.graphs += len(task)
            yield task, {_ROW: task.rows, _TEXT: task.texts or (), **task.columns}

    def count(self) -> StreamCount:
        """Return how many graphs were read and left out."""
        first = self.skipped[0] if self.skipped else None
        return StreamCount(self.graphs, len(self.skipped), first)


def _kept_columns(path: Path, columns: Sequence[str] | None) -> dict[Any, str]:
    """Return the columns of the input to write, each with its heading."""
    form, table = task_format(path), path.suffix.lower() != ".smi"
    headings = table_headings(path) if form == "smiles" and table else []
    if columns is None:
        if headings:  # by number, as headings may repeat
            return dict(enumerate(headings))
        return {_ROW: "row", **({_TEXT: "smiles"} if form == "smiles" else {})}
    own = {"row": _ROW} if "row" not in headings else {}
    if form == "smiles" and not table:
        own["smiles"] = _TEXT
    return {own.get(name, name): name for name in columns}


def write_fingerprints(
    run: str | os.PathLike[str],
    path: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    smiles: str | None = None,
    skip_invalid: bool = False,
    columns: Sequence[str] | None = None,
    accelerator: str = "auto",
    progress: Progress | None = None,
) -> StreamCount:
    """Write what the last layer of a trained network reads, for graphs of a file.

    Options are those of :func:`predict_stream`. ``output`` is an npz file with
    ``vectors``, float32 ``[G, C]``, and a column each; or a Parquet file with columns
    ``v0``, ``v1``, ...

    Raises:
        ModelFileError: If the model is missing or damaged.
        ConfigError: If the model has no vector, as a forest; or there is no such
            device.
        GraphInputError: If the file is wrong or does not fit the model.
        OutputError: If the output cannot be written.
    """
    predictor = Predictor.load(run, accelerator)
    stream = InputStream(predictor, Path(path), smiles, skip_invalid, columns)
    kept: list[list[Any]] = [[] for _ in stream.kept]
    parts = []
    for task, own in stream.chunks(1024):
        parts.append(predictor.fingerprint(task.graphs).astype(np.float32))
        for column, name in zip(kept, stream.kept, strict=True):
            column += own[name]
        if progress is not None:
            progress(stream.graphs, 0)
    vectors = np.concatenate(parts)
    place = Path(output)
    named = dict(zip(stream.kept.values(), kept, strict=True))
    if len(named) < len(kept):
        raise GraphInputError(
            f"{path} has two columns of one name; choose columns (--columns)."
        )
    if place.suffix == ".parquet":
        arrow, parquet = require("pyarrow", None), require("pyarrow.parquet", None)
        own = {f"v{i}": column for i, column in enumerate(vectors.T)}
        table = arrow.table({**named, **own})
        write_atomically(place, lambda file: parquet.write_table(table, file))
    else:
        texts = {
            name: np.array(["" if v is None else str(v) for v in values])
            for name, values in named.items()
        }
        arrays: dict[str, Any] = {**texts, "vectors": vectors}
        write_atomically(place, lambda file: np.savez(file, **arrays))
    return stream.count()


def evaluate_run(
    folder: str | os.PathLike[str],
    part: str = "test",
    data_root: str | Path | None = None,
    accelerator: str = "auto",
) -> list[dict[str, float]]:
    """Return the metrics of a run's models on a part of its own data, fold by fold.

    Parts are ``"train"``, ``"val"`` and ``"test"``.

    Raises:
        ModelFileError: If a model is missing or damaged.
        GraphInputError: If the part is empty, or the data has changed or is gone.
    """
    check_choice("part", part, ("train", "val", "test"))
    place = Path(folder)
    config = RunConfig.from_dict(read_config(place / CONFIG_FILE))
    record = RunRecord.load(place)
    training = Training(config, data_root=data_root)
    if training.data.fingerprint() != record.data.get("fingerprint"):
        raise GraphInputError(
            f"the data of {folder} has changed since, and with it the split; name the "
            "file to evaluate on all of it."
        )
    count, size = len(training.splits), config.ensemble + config.with_forest
    folders = [place] if count == 1 else fold_folders(place, count)
    folds = [Predictor.load(each, accelerator) for each in folders]
    for fold, each in zip(folds, folders, strict=True):
        if len(fold.models) != size:
            raise ModelFileError(
                f"{each} holds {len(fold.models)} of {size} models; the others were "
                "removed."
            )
    chosen = [getattr(split, part) for split in training.splits]
    if not all(each.size for each in chosen):
        raise GraphInputError(
            f"the run has no {part} part (protocol {config.protocol}"
            f"{', refit' if config.refit else ''}); choose another."
        )
    return [
        fold.metrics(training.data.subset(each))
        for fold, each in zip(folds, chosen, strict=True)
    ]


def evaluate_file(
    folder: str | os.PathLike[str],
    path: str | os.PathLike[str],
    target: tuple[str, ...] = (),
    *,
    smiles: str | None = None,
    skip_invalid: bool = False,
    accelerator: str = "auto",
) -> dict[str, float]:
    """Return the metrics of a run's model on other graphs, whose targets are known.

    Columns of targets and of SMILES are by default those of the training data.

    Raises:
        ModelFileError: If the model is missing or damaged.
        GraphInputError: If the file is wrong or does not fit the model.
    """
    predictor = Predictor.load(folder, accelerator)
    note = predictor.note
    options = note.reader_options(path, smiles=smiles, skip_invalid=skip_invalid)
    names = () if task_format(Path(path)) == "tu" else target or note.targets
    task = read_task(
        Path(path),
        names,
        kind=note.kind,
        classes=note.classes,
        columns=note.features,
        **options,
    )
    task = note.add_features(replace(task, name=Path(path).name))
    predictor.check(task, str(path))
    kept = task.with_targets()
    if len(kept) < len(task):
        text = f"{task.name}: {task.without_targets()} are left out."
        warnings.warn(text, GraphInputWarning, stacklevel=2)
    return predictor.metrics(kept)
