"""How to read further graphs so that they are like those a model was trained on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sekgnn.datasets.read_task import TASK_FORMATS, task_format
from sekgnn.errors import GraphInputError
from sekgnn.training.task_note import TaskNote


def reader_options(
    note: TaskNote,
    path: str | os.PathLike[str],
    *,
    smiles: str | None = None,
    skip_invalid: bool = False,
) -> dict[str, Any]:
    """Return the options of the reader for ``path``.

    Args:
        note: Of the model.
        path: The further graphs.
        smiles: Column of the SMILES; that of the training data by default.
        skip_invalid: Leave out SMILES that rdkit cannot read.

    Raises:
        GraphInputError: If the model was trained on another format.
    """
    form = task_format(Path(path))
    trained = note.reader or {}
    known = trained.get("format")
    if known == "benchmark" and form != "json":
        raise GraphInputError(
            f"the model was trained on a benchmark, whose features {path} lacks; give "
            "graphs as JSON lines, with x as in that benchmark."
        )
    if known not in (None, "benchmark", form):
        raise GraphInputError(
            f"the model was trained on {TASK_FORMATS[known]}; {path} is "
            f"{TASK_FORMATS[form]}, whose features mean something else."
        )
    if form == "smiles":
        return {
            "smiles": smiles or trained.get("smiles", "smiles"),
            "add_hydrogens": bool(trained.get("add_hydrogens", False)),
            "skip_invalid": skip_invalid,
        }
    if form == "tu" and known == "tu":
        return {
            "node_labels": _labels(note.feature_names),
            "edge_labels": _labels(note.edge_feature_names),
        }
    return {}


def _labels(names: tuple[str, ...] | None) -> list[int] | None:
    """Return the labels behind the one-hot columns ``label 0``, ``label 3``, ..."""
    found = [name.removeprefix("label ") for name in names or ()
             if name.startswith("label ")]  # fmt: skip
    return [int(float(text)) for text in found] or None
