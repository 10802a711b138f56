"""Predictions for files of any length: read, predict and write piece by piece."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

from sekgnn.datasets import stream_task
from sekgnn.training.input_options import reader_options
from sekgnn.training.prediction_table import predicted_fields, predicted_headings
from sekgnn.training.predictor import Predictor


@dataclass(frozen=True)
class StreamCount:
    """How many graphs were predicted.

    Attributes:
        graphs: Predicted.
        skipped: Left out because rdkit could not read them.
        first_skipped: Place of the first of these.
    """

    graphs: int
    skipped: int = 0
    first_skipped: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)

    def sentence(self) -> str:
        """Return them in words."""
        words = f"predicted {self.graphs} graphs"
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
    chunk_size: int = 1024,
    tell: Callable[[int], None] | None = None,
) -> StreamCount:
    """Write a CSV line per graph of ``path``, or per node where targets are of nodes.

    Columns are ``row`` (number of the graph in the input, from 1), ``node`` where
    targets are of nodes, ``smiles`` where there are any, and the predictions.

    Args:
        predictor: The trained model.
        path: Graphs like those it was trained on.
        file: Where to write.
        smiles: Column of the SMILES; that of the training data by default.
        skip_invalid: Leave out SMILES that rdkit cannot read.
        chunk_size: Graphs in memory at a time.
        tell: Called with the number of graphs so far.

    Raises:
        GraphInputError: If the file is wrong or does not fit the model.
    """
    note = predictor.note
    of_nodes = predictor.models[0].level == "node"
    skipped: list[str] = []
    options = reader_options(note, path, smiles=smiles, skip_invalid=skip_invalid)
    writer = csv.writer(file, lineterminator="\n")
    count = 0
    for task in stream_task(
        path,
        chunk_size=chunk_size,
        on_invalid=lambda row: skipped.append(row.place),
        **options,
    ):
        predictor.check(task, str(path))
        if not count:
            first = ["row", *(["node"] if of_nodes else [])]
            texts = ["smiles"] if task.texts is not None else []
            writer.writerow([*first, *texts, *predicted_headings(note)])
        fields = iter(predicted_fields(note, predictor.predict(task.graphs)))
        for i, row in enumerate(task.rows):
            text = [] if task.texts is None else [task.texts[i]]
            size = int(task[i].num_nodes) if of_nodes else 1
            for node in range(size):
                place = [row, node] if of_nodes else [row]
                writer.writerow([*place, *text, *next(fields)])
        count += len(task)
        if tell is not None:
            tell(count)
    return StreamCount(count, len(skipped), skipped[0] if skipped else None)
