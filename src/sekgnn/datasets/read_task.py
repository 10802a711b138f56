"""One function that reads a task from any file format known here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from sekgnn.datasets.graph_task import GraphTask
from sekgnn.datasets.json_task import json_task
from sekgnn.datasets.smiles_task import smiles_task
from sekgnn.datasets.target_kind import Label, TaskKind
from sekgnn.datasets.tu_task import tu_task
from sekgnn.errors import ConfigError, GraphInputError

Format = Literal["smiles", "json", "tu"]
_JSON = (".jsonl", ".ndjson")
_TABLES = (".csv", ".tsv", ".parquet")


def task_format(path: str | Path) -> Format:
    """Return the format of a file or folder, which its suffix tells.

    Raises:
        GraphInputError: If the path does not exist or tells no format.
    """
    place = Path(path)
    if not place.exists():
        raise GraphInputError(f"{path} does not exist; check the path.")
    if place.is_dir():
        return "tu"
    suffix = place.suffix.lower()
    if suffix in _JSON:
        return "json"
    if suffix in _TABLES:
        return "smiles"
    raise GraphInputError(
        f"{path}: the suffix {suffix!r} tells no format; known are "
        f"{', '.join([*_TABLES, *_JSON])} and TU folders."
    )


def read_task(
    path: str | Path,
    targets: Sequence[str] | str = (),
    *,
    kind: TaskKind | None = None,
    classes: Sequence[Label] | None = None,
    **options: Any,
) -> GraphTask:
    """Read graphs and targets; the suffix tells the format.

    ``.csv``, ``.tsv`` and ``.parquet`` are read by :func:`smiles_task`, ``.jsonl`` and
    ``.ndjson`` by :func:`json_task`, a folder by :func:`tu_task`, which takes its
    targets from files and needs no names.

    Args:
        path: What to read.
        targets: Names of the targets; none for graphs to predict on.
        kind: The kind of task; by default the targets tell.
        classes: The labels, if they are known.
        **options: Of the reader, such as ``smiles`` or ``skip_invalid``.

    Raises:
        GraphInputError: If the path does not exist or tells no format, or as the
            reader.
        ConfigError: If ``kind`` does not fit, or targets are named for a folder.
    """
    form = task_format(path)
    if form == "json":
        return json_task(path, targets, kind=kind, classes=classes, **options)
    if form == "smiles":
        return smiles_task(path, targets, kind=kind, classes=classes, **options)
    if targets:
        raise ConfigError(
            f"{path} is a TU folder, whose targets are in its files; name none."
        )
    return tu_task(path, kind=kind, classes=classes, **options)
