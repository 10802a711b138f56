"""A trained model on whole files: predictions, vectors and metrics."""

from __future__ import annotations

import csv
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from sekgnn.checks import check_choice
from sekgnn.datasets import GraphTask, read_task, stream_task
from sekgnn.datasets.read_task import task_format
from sekgnn.errors import GraphInputError, GraphInputWarning, ModelFileError
from sekgnn.files import as_cell, write_atomically
from sekgnn.graphs.extras import require
from sekgnn.graphs.graph_file import SUFFIX, GraphFile, read_graph_file
from sekgnn.graphs.table import table_headings
from sekgnn.parallel import Progress
from sekgnn.training.config import RunConfig
from sekgnn.training.predictions import predicted_columns
from sekgnn.training.predictor import Predictor
from sekgnn.training.run_folder import CONFIG_FILE, fold_folders, read_config
from sekgnn.training.run_record import RunRecord
from sekgnn.training.training import Training

Block = list[tuple[str, Sequence[Any]]]
"""Headings, and the values of some rows below each."""
_ROW, _TEXT = _NOT_COLUMNS = (-1, -2)  # what is known without being a column


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
    if path.suffix.lower() == SUFFIX:
        graph = read_graph_file(path)
        _write(_node_blocks(predictor, graph, chunk_size, progress), file)
        return StreamCount(graph.graph.num_nodes, of="nodes")
    stream = InputStream(predictor, path, smiles, skip_invalid, columns)
    added = [heading for heading, _ in _predicted(predictor, [])]
    taken = [name for name in added if name in stream.kept.values()]
    if taken:
        raise GraphInputError(
            f"{path} has a column {taken[0]!r} already, which the predictions need; "
            "rename it, or choose the columns to keep with columns (--columns)."
        )
    _write(_graph_blocks(stream, chunk_size, progress), file)
    return stream.count()


def _write(blocks: Iterable[Block], file: TextIO) -> None:
    """Write blocks of rows below one heading."""
    writer = csv.writer(file, lineterminator="\n")
    for number, block in enumerate(blocks):
        if not number:
            writer.writerow([as_cell(heading) for heading, _ in block])
        writer.writerows(
            zip(*(map(as_cell, column) for _, column in block), strict=True)
        )


def _predicted(predictor: Predictor, graphs: Sequence[Any]) -> Block:
    """Return the columns of predictions for graphs, or for all of their nodes."""
    mean, spread = predictor.predict_with_spread(graphs)
    columns = predicted_columns(predictor.note, mean, spread, predictor.calibration)
    if predictor.models[0].level != "node":
        return [*columns.items()]
    nodes = [node for graph in graphs for node in range(int(graph.num_nodes))]
    return [("node", nodes), *columns.items()]


def _graph_blocks(
    stream: InputStream, size: int, progress: Progress | None
) -> Iterator[Block]:
    """Yield the rows of a file of graphs."""
    for task, kept in stream.chunks(size):
        columns = [(heading, kept[name]) for name, heading in stream.kept.items()]
        if stream.predictor.models[0].level == "node":  # a row for every node
            rows = np.repeat(np.arange(len(task)), task.sizes).tolist()
            columns = [(name, [cells[i] for i in rows]) for name, cells in columns]
        yield [*columns, *_predicted(stream.predictor, task.graphs)]
        if progress is not None:
            progress(stream.graphs, 0)


def _node_blocks(
    predictor: Predictor, file: GraphFile, size: int, progress: Progress | None
) -> Iterator[Block]:
    """Yield a row per node of a graph file."""
    done = 0
    for nodes, mean, spread in predictor.predict_items(file, batch_size=size):
        columns = predicted_columns(predictor.note, mean, spread, predictor.calibration)
        yield [("node", nodes.tolist()), *columns.items()]
        done += len(nodes)
        if progress is not None:
            progress(done, file.graph.num_nodes)


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
        known = [name for name in self.kept if name not in _NOT_COLUMNS]
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
    folders = fold_folders(place, len(training.splits))
    size = config.ensemble + config.with_forest
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
