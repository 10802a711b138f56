"""Learned vectors of graphs, from a file to a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sekgnn.errors import GraphInputError
from sekgnn.files import write_atomically
from sekgnn.graphs.extras import require
from sekgnn.parallel import Progress
from sekgnn.training.predictor import InputStream, Predictor, StreamCount

VECTORS = "vectors"
"""Name of the matrix in npz files."""


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

    Options are those of :func:`~sekgnn.training.predictor.predict_stream`.

    Args:
        run: Folder of the run, or a model file.
        path: Graphs like those it was trained on.
        output: An npz file with ``vectors``, float32 ``[G, C]``, and a column each; or
            a Parquet file with columns ``v0``, ``v1``, ...
        smiles: See there.
        skip_invalid: See there.
        columns: See there.
        accelerator: Device to compute on.
        progress: See there.

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
        arrays: dict[str, Any] = {**texts, VECTORS: vectors}
        write_atomically(place, lambda file: np.savez(file, **arrays))
    return stream.count()
