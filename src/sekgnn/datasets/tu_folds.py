"""The ten folds of the TU datasets that are widely copied as files."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_choice
from sekgnn.datasets.root import data_root
from sekgnn.datasets.statistics import PAPER_STATISTICS
from sekgnn.datasets.tu import TU_NAMES
from sekgnn.errors import DataNotFoundError, GraphInputError
from sekgnn.graphs.text import read_text

NUM_FOLDS = 10


def tu_folds(
    name: str, root: str | os.PathLike[str] | None = None
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return the training and test positions of the ten folds of DGCNN's files.

    They are not stratified, and in MUTAG, PTC_MR and PROTEINS 8, 4 and 3 graphs are
    never tested. They are not the folds of GIN's code, which draws its own.

    Args:
        name: One of ``TU_NAMES``; there are no files for BZR and COX2.
        root: The data folder, with ``tu/NAME/fold_idx/{train,test}_idx-{1..10}.txt``;
            by default what ``SEKGNN_DATA`` names.

    Raises:
        ConfigError: If there is no such dataset.
        DataNotFoundError: If a file is missing.
        GraphInputError: If a file holds a position that cannot be, twice or in both
            parts of a fold.
    """
    check_choice("name", name, TU_NAMES)
    folder = data_root(root) / "tu" / name / "fold_idx"
    count = PAPER_STATISTICS[name].graphs[0]
    folds = []
    for number in range(1, NUM_FOLDS + 1):
        parts = []
        for part in ("train", "test"):
            file = folder / f"{part}_idx-{number}.txt"
            if not file.is_file():
                raise DataNotFoundError(
                    f"{file} does not exist; without files of folds for {name}, draw "
                    "stratified ones."
                )
            parts.append(_positions(file, count))
        both = np.intersect1d(parts[0], parts[1])
        if both.size:
            raise GraphInputError(
                f"{folder}: graph {both[0]} is in training and test of fold {number}."
            )
        folds.append((parts[0], parts[1]))
    return folds


def _positions(file: os.PathLike[str], count: int) -> NDArray[np.int64]:
    """Read one position per line, each below ``count`` and none twice."""
    seen: dict[int, int] = {}
    for number, line in enumerate(read_text(str(file)).split("\n"), start=1):
        word = line.strip()
        if not word:
            continue
        if not (word.isascii() and word.isdigit()) or int(word) >= count:
            raise GraphInputError(
                f"{file}, line {number}: {word!r} is no position in 0..{count - 1}."
            )
        if seen.setdefault(int(word), number) != number:
            raise GraphInputError(
                f"{file}, line {number}: graph {word} is also in line "
                f"{seen[int(word)]}."
            )
    if not seen:
        raise GraphInputError(f"{file} is empty.")
    return np.array(list(seen), dtype=np.int64)
