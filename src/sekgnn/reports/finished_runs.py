"""Finished runs in their folders, under distinct names."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sekgnn.errors import GraphInputError
from sekgnn.training.run_record import PREDICTIONS_FILE, RECORD_FILE, RunRecord

_LONGEST = 80  # of a name that becomes part of a file name


@dataclass(frozen=True)
class Run:
    """A run under a name.

    Attributes:
        name: The folder's name; with folders above it if another run has the same.
        slug: The name as part of a file name, unique in a report.
        predictions: Its file of predictions, or ``None``.
    """

    name: str
    slug: str
    record: RunRecord
    predictions: Path | None = None


def load_runs(paths: Iterable[str | os.PathLike[str]]) -> list[Run]:
    """Return the runs in some folders or record files, each once, in order.

    Raises:
        GraphInputError: If a path holds no finished run, or its record is damaged.
    """
    files: list[Path] = []
    records: list[RunRecord] = []
    for path in paths:
        file = Path(path).resolve()
        if file.is_dir():
            file = file / RECORD_FILE
        if file not in files:
            record = RunRecord.load(path)
            for name in ("config", "data", "model", "versions"):
                if not isinstance(getattr(record, name), dict):
                    raise GraphInputError(f"{path} is damaged: {name} holds no keys.")
            records.append(record)
            files.append(file)
    names = distinct_names(files)
    runs = []
    for file, record, name, slug in zip(
        files, records, names, safe_names(names), strict=True
    ):
        table = file.parent / PREDICTIONS_FILE
        beside = file.name == RECORD_FILE and table.is_file()
        runs.append(Run(name, slug, record, table if beside else None))
    return runs


def distinct_names(files: list[Path]) -> list[str]:
    """Return the last folders of every path, enough to tell them apart.

    Example:
        >>> distinct_names([Path("/a/x/record.json"), Path("/b/x/record.json")])
        ['a/x', 'b/x']
    """
    parts = [
        file.parent.parts if file.name == RECORD_FILE else file.with_suffix("").parts
        for file in files
    ]
    sizes = [1] * len(parts)
    while True:
        names = ["/".join(p[-n:]) for p, n in zip(parts, sizes, strict=True)]
        often = Counter(names)
        longer = [
            min(n + (often[name] > 1), max(len(p), 1))
            for name, p, n in zip(names, parts, sizes, strict=True)
        ]
        if longer == sizes:
            return _numbered(names)
        sizes = longer


def safe_names(names: Iterable[str]) -> list[str]:
    """Return distinct names that may be part of a file name on any system.

    Example:
        >>> safe_names(["a/b c", "a-b-c", "..", ""])
        ['a-b-c', 'a-b-c-2', 'run', 'run-2']
    """
    plain = [re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") for name in names]
    return _numbered([name[-_LONGEST:].strip("-.") or "run" for name in plain])


def _numbered(names: list[str]) -> list[str]:
    """Return names made distinct by numbers, on any file system."""
    taken: set[str] = set()
    out = []
    for name in names:
        number, text = 1, name
        while text.casefold() in taken:
            number += 1
            text = f"{name}-{number}"
        taken.add(text.casefold())
        out.append(text)
    return out
