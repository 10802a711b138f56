"""A trained model on whole files: predictions, vectors and metrics."""

from __future__ import annotations

import csv
import math
import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from sekgnn.checks import check_choice, require
from sekgnn.datasets import GraphTask, read_task, stream_task
from sekgnn.datasets.graph_task import add_graph_features
from sekgnn.datasets.read_task import TASK_FORMATS, task_format
from sekgnn.errors import GraphInputError, GraphInputWarning, ModelFileError
from sekgnn.files import as_cell, write_atomically
from sekgnn.graphs.graph_file import SUFFIX, GraphFile, read_graph_file
from sekgnn.graphs.read_options import MOLECULE_OPTIONS
from sekgnn.graphs.shards import read_manifest
from sekgnn.graphs.table import Row, row_place, table_headings
from sekgnn.parallel import Progress
from sekgnn.training.config import RunConfig
from sekgnn.training.objective import Objective
from sekgnn.training.predictor import Predictor
from sekgnn.training.run_folder import CONFIG_FILE, fold_folders, read_config
from sekgnn.training.run_record import RunRecord
from sekgnn.training.training import Training

Block = list[tuple[str, Sequence[Any]]]
"""Headings, and the values of some rows below each."""
_ROW, _TEXT = _NOT_COLUMNS = (-1, -2)  # what is known without being a column


class FilePredictions:
    """What a trained model says of a file of any length: read and written in pieces.

    Args:
        predictor: The trained model.
        path: Graphs like those it was trained on, or for a model of nodes a graph file.
        smiles: Columns of SMILES; those of the training data by default.
        skip_invalid: Leave predictions of SMILES that rdkit cannot read blank.
        columns: Columns or keys of the input to write, ``row`` among them; by default
            all columns of a table.

    Attributes:
        done: Number of graphs, or nodes of a graph file, so far.
        skipped: Where the SMILES are that could not be read.

    Raises:
        GraphInputError: If the file is wrong or does not fit the model.
    """

    def __init__(
        self,
        predictor: Predictor,
        path: str | os.PathLike[str],
        *,
        smiles: str | Sequence[str] | None = None,
        skip_invalid: bool = False,
        columns: Sequence[str] | None = None,
    ) -> None:
        self.predictor, self.path = predictor, Path(path)
        self.reading: dict[str, Any] = {"smiles": smiles, "skip_invalid": skip_invalid}
        self.on_nodes = predictor.models[0].level == "node"
        self.is_graph_file = self.path.suffix.lower() == SUFFIX
        self.kept = {} if self.is_graph_file else _kept_columns(self.path, columns)
        self.done = 0
        self.skipped: list[str] = []
        self._unread: list[Row] = []

    def write(
        self, file: TextIO, *, chunk_size: int = 1024, progress: Progress | None = None
    ) -> None:
        """Write a CSV line per graph, or per node where targets are of nodes.

        The columns of the input come first, in their order, then ``node`` where targets
        are of nodes, then the predictions. For input without columns the first is
        ``row``, the number of the graph there, from 1. What a spreadsheet would run as
        a formula is written as text (:func:`~sekgnn.files.as_cell`). Rows that cannot
        be read keep their place, with blank predictions.

        Args:
            file: Where to write.
            chunk_size: Graphs in memory at a time.
            progress: Called with the number of graphs so far, and that of all, or 0
                where it shows at the end.
        """
        if self.is_graph_file:
            graph = read_graph_file(self.path)
            total, blocks = graph.graph.num_nodes, self._node_blocks(graph, chunk_size)
        else:
            self._check_headings()
            total, blocks = 0, self._graph_blocks(chunk_size)
        writer = csv.writer(file, lineterminator="\n")
        for number, block in enumerate(blocks):
            if not number:
                writer.writerow([as_cell(heading) for heading, _ in block])
            columns = (map(as_cell, column) for _, column in block)
            writer.writerows(zip(*columns, strict=True))
            if progress is not None:
                progress(self.done, total)

    def write_vectors(
        self, output: str | os.PathLike[str], *, progress: Progress | None = None
    ) -> None:
        """Write what the last layer of the trained networks reads.

        ``output`` is an npz file with ``vectors``, float32 ``[G, C]``, and a column
        each; or a Parquet file with columns ``v0``, ``v1``, ...

        Raises:
            ConfigError: If the model has no vector, as a forest.
            OutputError: If the output cannot be written.
        """
        if len(set(self.kept.values())) < len(self.kept):
            raise GraphInputError(
                f"{self.path} has two columns of one name; choose columns (--columns)."
            )
        columns: dict[str, list[Any]] = {name: [] for name in self.kept.values()}
        parts = []
        for task, values in self.chunks(1024):
            parts.append(self.predictor.fingerprint(task.graphs))
            for name, heading in self.kept.items():
                columns[heading] += values[name]
            if progress is not None:
                progress(self.done, 0)
        vectors, path = np.concatenate(parts), Path(output)
        if path.suffix == ".parquet":
            arrow, parquet = require("pyarrow", None), require("pyarrow.parquet", None)
            numbered = {f"v{i}": column for i, column in enumerate(vectors.T)}
            table = arrow.table({**columns, **numbered})
            write_atomically(path, lambda file: parquet.write_table(table, file))
            return
        arrays: dict[str, Any] = {
            name: np.array(["" if v is None else str(v) for v in values])
            for name, values in columns.items()
        }
        arrays["vectors"] = vectors
        write_atomically(path, lambda file: np.savez(file, **arrays))

    def to_dict(self) -> dict[str, Any]:
        """Return how many were predicted, of what, and how many were left out."""
        return {
            "graphs": self.done,
            "skipped": len(self.skipped),
            "skipped_rows": self.skipped,
            "of": "nodes" if self.is_graph_file else "graphs",
        }

    def sentence(self) -> str:
        """Return :meth:`to_dict` in words."""
        words = f"predicted {self.done} {'nodes' if self.is_graph_file else 'graphs'}"
        if self.skipped:
            words += f" and could not read {len(self.skipped)}"
            words += f" ({', '.join(self.skipped)})"
        return words + ";"

    def _check_headings(self) -> None:
        for heading, _ in self._predicted([]):
            if heading in self.kept.values():
                raise GraphInputError(
                    f"{self.path} has a column {heading!r} already, which the "
                    "predictions need; rename it, or choose the columns to keep with "
                    "columns (--columns)."
                )

    def chunks(self, size: int) -> Iterator[tuple[GraphTask, dict[Any, Sequence[Any]]]]:
        """Yield graphs that fit the model, and the values of their columns."""
        note = self.predictor.note
        known = [name for name in self.kept if name not in _NOT_COLUMNS]
        for task in stream_task(
            self.path,
            chunk_size=size,
            columns=[*known, *feature_columns(note)],
            on_invalid=self._skip,
            **reader_options(note, self.path, **self.reading),
        ):
            task = with_features(task, note)
            self.predictor.check(task, str(self.path))
            self.done += len(task)
            yield task, {_ROW: task.rows, _TEXT: task.texts or (), **task.columns}

    def _skip(self, row: Row) -> None:
        self.skipped.append(row_place(row))
        self._unread.append(row)

    def _graph_blocks(self, size: int) -> Iterator[Block]:
        for task, values in self.chunks(size):
            columns = [(heading, values[name]) for name, heading in self.kept.items()]
            if self.on_nodes:  # a row for every node
                rows = np.repeat(np.arange(len(task)), task.sizes).tolist()
                columns = [(name, [cells[i] for i in rows]) for name, cells in columns]
            block = [*columns, *self._predicted(task.graphs)]
            yield self._with_unread(block, task.rows) if self._unread else block
        if self._unread:
            columns = [(heading, []) for heading in self.kept.values()]
            yield self._with_unread([*columns, *self._predicted([])], ())

    def _with_unread(self, block: Block, rows: Sequence[int]) -> Block:
        """Return predictions of some rows, and blanks for those that were not read.

        Those beyond the last of the rows wait for the next block, if there is one.
        """
        last = rows[-1] if rows else math.inf
        due = [row for row in self._unread if row[0] < last]
        self._unread = [row for row in self._unread if row[0] > last]
        order = np.argsort([*rows, *(number for number, *_ in due)], kind="stable")
        known = [name for name in self.kept if name not in _NOT_COLUMNS]
        names = [*self.kept, *[None] * (len(block) - len(self.kept))]
        out: Block = []
        for name, (heading, cells) in zip(names, block, strict=True):
            blanks = []
            for number, _, (smiles, *others) in due:
                kept = dict(zip(known, others, strict=False))  # features may follow
                blanks.append({_ROW: number, _TEXT: smiles, **kept}.get(name, ""))
            both = [*cells, *blanks]
            out.append((heading, [both[i] for i in order]))
        return out

    def _node_blocks(self, file: GraphFile, size: int) -> Iterator[Block]:
        items = self.predictor.predict_items(file, batch_size=size)
        for nodes, mean, spread in items:
            self.done += len(nodes)
            columns = self.predictor.columns(mean, spread)
            yield [("node", nodes.tolist()), *columns.items()]

    def _predicted(self, graphs: Sequence[Any]) -> Block:
        predicted = self.predictor.predict_with_spread(graphs)
        columns: Block = [*self.predictor.columns(*predicted).items()]
        if not self.on_nodes:
            return columns
        nodes = [node for graph in graphs for node in range(int(graph.num_nodes))]
        return [("node", nodes), *columns]


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


def feature_columns(note: Objective) -> tuple[str, ...]:
    """Return the columns whose numbers belong to the vector of a graph."""
    return tuple((note.reader or {}).get("features", ()))


def with_features(task: GraphTask, note: Objective) -> GraphTask:
    """Return further graphs with the features of their own that a model reads."""
    descriptors = (note.reader or {}).get("descriptors", "none")
    return add_graph_features(task, feature_columns(note), descriptors)


def molecule_options(note: Objective) -> dict[str, bool]:
    """Return how the molecules were read that a model was trained on."""
    reader = note.reader or {}
    return {name: bool(reader.get(name, False)) for name in MOLECULE_OPTIONS}


def reader_options(
    note: Objective,
    path: Path,
    *,
    smiles: str | Sequence[str] | None,
    skip_invalid: bool,
) -> dict[str, Any]:
    """Return how to read further graphs, so that they mean what those of training did.

    Raises:
        GraphInputError: If the model was trained on another format.
    """
    form = task_format(path)
    kept = form == "shards"
    if kept:
        form = read_manifest(path)["reader"]["format"]
    trained = note.reader or {}
    known = trained.get("format")
    if known == "benchmark" and form != "json":
        raise GraphInputError(
            f"the model was trained on a benchmark, whose features {path} lacks; "
            "give graphs as JSON lines, with x as in that benchmark."
        )
    if known not in (None, "benchmark", form):
        raise GraphInputError(
            f"the model was trained on {TASK_FORMATS.get(known, known)}; {path} is "
            f"{TASK_FORMATS.get(form, form)}, whose features mean something else."
        )
    if kept:
        return {}
    if form == "smiles":
        return {
            "smiles": smiles or trained.get("smiles", "smiles"),
            **molecule_options(note),
            "skip_invalid": skip_invalid,
        }
    if form == "tu" and known == "tu":
        return {
            "node_labels": _label_numbers(note.feature_names),
            "edge_labels": _label_numbers(note.edge_feature_names),
        }
    return {}


def _label_numbers(names: tuple[str, ...] | None) -> list[int] | None:
    """Return the labels behind the one-hot columns ``label 0``, ``label 3``, ..."""
    texts = [name.removeprefix("label ") for name in names or ()
             if name.startswith("label ")]  # fmt: skip
    return [int(float(text)) for text in texts] or None


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
    size = config.ensemble + len(config.blend)
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
    smiles: str | Sequence[str] | None = None,
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
    options = reader_options(note, Path(path), smiles=smiles, skip_invalid=skip_invalid)
    names = () if task_format(Path(path)) == "tu" else target or note.targets
    task = read_task(
        Path(path),
        names,
        kind=note.kind,
        classes=note.classes,
        columns=feature_columns(note),
        **options,
    )
    task = with_features(replace(task, name=Path(path).name), note)
    predictor.check(task, str(path))
    kept = task.with_targets()
    if len(kept) < len(task):
        text = f"{task.name}: {task.without_targets()} are left out."
        warnings.warn(text, GraphInputWarning, stacklevel=2)
    return predictor.metrics(kept)
