"""The eight TU datasets of the paper, with PyG's features, and their folds."""

from __future__ import annotations

import io
import os
import tempfile
import urllib.request
import warnings
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_choice, check_memory
from sekgnn.datasets.by_name import (
    ATTRIBUTED_NAMES,
    ATTRIBUTES,
    TU_NAMES,
    register_dataset,
)
from sekgnn.datasets.graph_task import GraphTask, as_data, make_task
from sekgnn.datasets.root import (
    PAPER_STATISTICS,
    VARIABLE,
    check_statistics,
    find_data_root,
)
from sekgnn.datasets.targets import read_column
from sekgnn.errors import (
    CacheWarning,
    ConfigError,
    DataNotFoundError,
    GraphInputError,
    GraphInputWarning,
)
from sekgnn.files import (
    CACHE_VARIABLE,
    cache_folder,
    check_private,
    make_folder,
    write_atomically,
)
from sekgnn.graphs.graph_record import GraphRecord
from sekgnn.graphs.table import read_text
from sekgnn.graphs.tu_folder import tu_records

NUM_FOLDS = 10
COLLECTION = "https://www.chrsmrrs.com/graphkerneldatasets"


def tu_task(
    name: str,
    data_root: str | os.PathLike[str] | None = None,
    *,
    attributes: bool = False,
) -> GraphTask:
    """Read a TU dataset from local files or the internet.

    ``x`` holds the one-hot node labels, or the one-hot degree in the IMDB sets, which
    have none; ``y`` the class from 0, ``edge_attr`` the one-hot edge labels, if any:
    all as in PyG's ``TUDataset``. The text files are read every time, in a fraction of
    a second, so no prepared file can be stale or forged. Statistics are compared with
    the paper's table.

    Args:
        name: One of ``TU_NAMES``.
        data_root: The data folder, with the files in ``tu/NAME/raw``; by default
            ``SEKGNN_DATA``. Without either ``NAME.zip`` is downloaded once, to the
            cache folder, which others must not be able to write to.
        attributes: Also read the attributes of nodes, and scale all columns of ``x`` to
            mean 0 and variance 1 over the dataset.

    Raises:
        ConfigError: If there is no such dataset.
        DataNotFoundError: If files are missing and cannot be downloaded.
        GraphInputError: If a file is malformed, or the data is not that of the paper.
        OutputError: If the cache cannot be written, or others can write to it.

    Warns:
        CacheWarning: If a damaged download is repeated.
    """
    check_choice("name", name, TU_NAMES)
    raw = _raw_folder(name, data_root)
    if raw is not None:
        records = _records(raw)
    else:
        with tempfile.TemporaryDirectory() as folder:
            with zipfile.ZipFile(io.BytesIO(_archive(name))) as archive:
                archive.extractall(folder)
            records = _records(Path(folder, name))
    labels = [int(record.targets["y"]) for record in records]
    classes = sorted(set(labels))
    check_statistics(
        name,
        [record.graph.num_nodes for record in records],
        [record.graph.num_edges for record in records],
        graphs=(len(records),),
        tasks=len(classes),
    )
    places = [record.place for record in records]
    column = read_column("y", [classes.index(y) for y in labels], places, name)
    numbers = tuple(range(len(classes)))
    graphs = _with_features(records, attributes)
    task = make_task(name, graphs, places, [column], classes=numbers)
    reader = {"format": "benchmark"}
    name += ATTRIBUTES if attributes else ""
    return replace(task, name=name, source="TU collection", reader=reader)


def _registered(
    name: str, target: Sequence[str], *, data_root: str | Path | None, **unused: Any
) -> GraphTask:
    if target:
        raise ConfigError(f"{name} has one target, its class; leave target out.")
    plain = name.removesuffix(ATTRIBUTES)
    return tu_task(plain, data_root, attributes=plain != name)


for _name in (*TU_NAMES, *ATTRIBUTED_NAMES):
    register_dataset(_name)(partial(_registered, _name))


def tu_folds(
    name: str, data_root: str | os.PathLike[str] | None = None
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return the training and test positions of the ten folds of DGCNN's files.

    They are not stratified, and 8, 4 and 3 graphs of MUTAG, PTC_MR and PROTEINS are
    never tested. GIN's code has other folds, drawn at random.

    Args:
        name: One of ``TU_NAMES``; there are no files for BZR and COX2.
        data_root: The data folder, with
            ``tu/NAME/fold_idx/{train,test}_idx-{1..10}.txt``; by default
            ``SEKGNN_DATA``.

    Raises:
        ConfigError: If there is no such dataset.
        DataNotFoundError: If a file is missing.
        GraphInputError: If a position is out of range, repeated, or in both parts of a
            fold.
    """
    check_choice("name", name, TU_NAMES)
    hint = (
        "Leave published_folds out to draw stratified folds, or get those of "
        "github.com/muhanzhang/pytorch_DGCNN (data/NAME/10fold_idx; of MUTAG and PTC "
        f"the graphs are in another order there), and put them into tu/{name}/fold_idx."
    )
    try:
        folder = find_data_root(data_root) / "tu" / name / "fold_idx"
    except DataNotFoundError as error:
        raise DataNotFoundError(f"{error} {hint}") from None
    count = PAPER_STATISTICS[name].graphs[0]
    folds = []
    for number in range(1, NUM_FOLDS + 1):
        files = [folder / f"{split}_idx-{number}.txt" for split in ("train", "test")]
        for file in files:
            if not file.is_file():
                raise DataNotFoundError(f"{file} does not exist. {hint}")
        train, test = (_positions(file, count) for file in files)
        both = np.intersect1d(train, test)
        if both.size:
            raise GraphInputError(
                f"{folder}: graph {both[0]} is in training and test of fold {number}."
            )
        folds.append((train, test))
    return folds


def _raw_folder(name: str, data_root: str | os.PathLike[str] | None) -> Path | None:
    """Return the folder of local files, if any."""
    if data_root is None and not os.environ.get(VARIABLE):
        return None
    folder = find_data_root(data_root) / "tu" / name / "raw"
    suffixes = ("A", "graph_indicator", "graph_labels")
    missing = [
        suffix for suffix in suffixes if not (folder / f"{name}_{suffix}.txt").is_file()
    ]
    if not missing:
        return folder
    if data_root is None and len(missing) == len(suffixes):
        return None
    raise DataNotFoundError(
        f"{folder / f'{name}_{missing[0]}.txt'} is missing. Put the text files of "
        f"{COLLECTION}/{name}.zip there, or leave data_root out to download them."
    )


def _archive(name: str) -> bytes:
    """Return the content of ``NAME.zip``, downloaded unless the cache holds it."""
    root = cache_folder()
    file = root / "tu" / f"{name}.zip"
    check_private(file, root)
    if file.is_file():
        content = file.read_bytes()
        if _is_whole(content):
            return content
        text = f"the download {file} is damaged and is repeated."
        warnings.warn(text, CacheWarning, stacklevel=3)
    make_folder(file.parent, f"set {CACHE_VARIABLE} to a folder you may write to")
    try:
        with urllib.request.urlopen(f"{COLLECTION}/{name}.zip", timeout=60) as answer:
            content = answer.read()
        if not _is_whole(content):
            raise ValueError("the download is not a complete zip file")
    except (OSError, ValueError) as error:
        raise DataNotFoundError(
            f"{name} could not be downloaded ({error}). Get {COLLECTION}/{name}.zip, "
            f"put its text files into tu/{name}/raw below a folder, and set {VARIABLE} "
            "to that folder."
        ) from error
    write_atomically(file, lambda draft: draft.write(content))
    return content


def _is_whole(content: bytes) -> bool:
    """Return whether these bytes are a zip file with correct checksums."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return archive.testzip() is None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError):
        return False


def _records(raw: Path) -> list[GraphRecord]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphInputWarning)  # loops, as PyG drops them
        return list(tu_records(raw))


def _with_features(records: Sequence[GraphRecord], attributes: bool) -> list[Any]:
    """Return the graphs as PyG reads them, with or without node attributes."""
    if attributes:
        rows = np.concatenate([record.x for record in records if record.x is not None])
        rows = rows.astype(np.float64)
        shift, scale = rows.mean(0), rows.std(0, ddof=1).clip(1e-6)
    most = max(int(record.graph.degrees.max(initial=0)) for record in records)
    graphs = []
    for record in records:
        if attributes and record.x is not None:
            x = ((record.x - shift) / scale).astype(np.float32)
        else:
            x = _labels(record.x, record.names.node)
        if x is None:
            x = np.eye(most + 1, dtype=np.float32)[record.graph.degrees]
        edge_attr = _labels(record.edge_attr, record.names.edge)
        graphs.append(as_data(record.graph, x, edge_attr=edge_attr))
    return graphs


def _labels(
    block: NDArray[np.float32] | None, names: Sequence[str] | None
) -> NDArray[np.float32] | None:
    """Return a column per label from smallest to largest; ``None`` without labels.

    Our reader has columns only for labels that occur, PyG's for all labels in between.
    """
    columns = [i for i, name in enumerate(names or ()) if name.startswith("label")]
    if block is None or not columns:
        return None
    labels = np.array([int((names or ())[i].split()[1]) for i in columns])
    width = int(labels.max() - labels.min()) + 1
    check_memory(4 * width * len(block), f"one column for each of {width} labels")
    wide = np.zeros((len(block), width), dtype=np.float32)
    wide[:, labels - labels.min()] = block[:, columns]
    return wide


def _positions(file: Path, count: int) -> NDArray[np.int64]:
    """Read one position per line, distinct and below ``count``."""
    seen: dict[int, int] = {}
    for number, line in enumerate(read_text(file).split("\n"), start=1):
        word = line.strip()
        if not word:
            continue
        if not (word.isascii() and word.isdigit()) or int(word) >= count:
            raise GraphInputError(
                f"{file}, line {number}: {word!r} is not a position in 0..{count - 1}."
            )
        if seen.setdefault(int(word), number) != number:
            raise GraphInputError(
                f"{file}, line {number}: graph {word} is also in line "
                f"{seen[int(word)]}."
            )
    if not seen:
        raise GraphInputError(f"{file} is empty.")
    return np.array(list(seen), dtype=np.int64)
