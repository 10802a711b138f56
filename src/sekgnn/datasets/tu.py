"""The eight TU datasets of the paper as PyG datasets, and their folds."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import shutil
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_choice
from sekgnn.datasets.pyg import as_data
from sekgnn.datasets.root import VARIABLE, build_folder, find_data_root
from sekgnn.datasets.statistics import PAPER_STATISTICS, check_statistics
from sekgnn.errors import (
    CacheWarning,
    DataNotFoundError,
    GraphInputError,
    GraphInputWarning,
)
from sekgnn.files import cache_folder, check_private
from sekgnn.graphs.table import read_text
from sekgnn.graphs.tu_folder import tu_records
from sekgnn.memory import check_memory

if TYPE_CHECKING:
    from torch_geometric.data import Data, InMemoryDataset

NUM_FOLDS = 10
TU_NAMES = (
    "MUTAG",
    "PTC_MR",
    "PROTEINS",
    "ENZYMES",
    "BZR",
    "COX2",
    "IMDB-BINARY",
    "IMDB-MULTI",
)
"""TU sets that are known by name."""


def tu_dataset(
    name: str,
    data_root: str | os.PathLike[str] | None = None,
    *,
    cache_dir: str | os.PathLike[str] | None = None,
    degree_features: bool | None = None,
    use_node_attr: bool = False,
    transform: Callable[[Data], Data] | None = None,
) -> InMemoryDataset:
    """Read a TU dataset, from files at hand or from the internet.

    ``x`` holds the one-hot node labels, in the IMDB sets, which have none, the one-hot
    degree; ``y`` the class from 0, ``edge_attr`` the one-hot edge labels, if there are
    any: all as in PyG's ``TUDataset``. The text itself is read every time, in a
    fraction of a second, so there are no prepared files that could be stale or forged.
    Statistics are compared with the paper's table.

    Args:
        name: One of ``TU_NAMES``.
        data_root: The data folder, with the files in ``tu/NAME/raw``; by default what
            ``SEKGNN_DATA`` names. Without either they are downloaded once.
        cache_dir: Where to keep a download; by default what ``SEKGNN_CACHE`` names,
            else the user's cache folder. Others must not be able to write to it.
        degree_features: One-hot degrees as ``x``, beside node labels if there are any;
            by default only where there are no node labels.
        use_node_attr: Put the continuous node attributes before the labels in ``x``.
        transform: Applied whenever a graph is taken.

    Raises:
        ConfigError: If there is no such dataset.
        DataNotFoundError: If files are missing and cannot be downloaded.
        GraphInputError: If a file is wrong, or the data is not that of the paper.
        OutputError: If the cache cannot be written, or others can write to it.

    Warns:
        CacheWarning: If the download was damaged; it is made again.
    """
    from torch_geometric.data import InMemoryDataset

    check_choice("name", name, TU_NAMES)
    raw = _raw_folder(name, data_root)
    if raw is None:
        raw = _downloaded(name, cache_folder(cache_dir) / "tu" / name)
    graphs = _graphs(raw, degree_features, use_node_attr)
    check_statistics(
        name,
        [data.num_nodes for data in graphs],
        np.array([data.num_edges for data in graphs]) / 2,
        graphs=(len(graphs),),
        tasks=len({int(data.y) for data in graphs}),
    )
    dataset = InMemoryDataset(transform=transform)
    dataset.name = name
    dataset._data, dataset.slices = InMemoryDataset.collate(graphs)
    return dataset


def tu_folds(
    name: str, data_root: str | os.PathLike[str] | None = None
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return the training and test positions of the ten folds of DGCNN's files.

    They are not stratified, and in MUTAG, PTC_MR and PROTEINS 8, 4 and 3 graphs are
    never tested. They are not the folds of GIN's code, which draws its own.

    Args:
        name: One of ``TU_NAMES``; there are no files for BZR and COX2.
        data_root: The data folder, with
            ``tu/NAME/fold_idx/{train,test}_idx-{1..10}.txt``; by default what
            ``SEKGNN_DATA`` names.

    Raises:
        ConfigError: If there is no such dataset.
        DataNotFoundError: If a file is missing.
        GraphInputError: If a file holds a position that cannot be, twice or in both
            parts of a fold.
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
        files = [folder / f"{part}_idx-{number}.txt" for part in ("train", "test")]
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
    """Return the folder of the files at hand; ``None`` if there is none."""
    if data_root is None and not os.environ.get(VARIABLE):
        return None
    folder = find_data_root(data_root) / "tu" / name / "raw"
    files = sorted(folder.glob(f"{name}_*.txt"))
    if not files and data_root is not None:
        raise DataNotFoundError(
            f"{folder} holds no files {name}_*.txt. Put those of {name}.zip of "
            "www.chrsmrrs.com/graphkerneldatasets there, or leave data_root out to "
            "download them."
        )
    for part in ("A", "graph_indicator", "graph_labels") if files else ():
        if folder / f"{name}_{part}.txt" not in files:
            raise DataNotFoundError(
                f"{folder / f'{name}_{part}.txt'} is missing, though other files of "
                "the dataset are there; copy it as well."
            )
    return folder if files else None


def _downloaded(name: str, folder: Path) -> Path:
    """Return the folder of the raw files, downloaded first if they are not there."""
    from torch_geometric.datasets import TUDataset

    raw, sums = folder / name / "raw", folder / "raw.sha256"

    def build(draft: Path) -> None:
        dataset = TUDataset.__new__(TUDataset)  # for its download alone
        dataset.root, dataset.name, dataset.cleaned = str(draft), name, False
        (draft / name / "raw").mkdir(parents=True)
        try:
            with contextlib.redirect_stderr(io.StringIO()):  # "Downloading ..."
                dataset.download()
        except (OSError, RuntimeError, ValueError) as error:
            raise DataNotFoundError(
                f"{name} could not be downloaded ({error}). Get {name}.zip of "
                "www.chrsmrrs.com/graphkerneldatasets, put its text files into "
                f"tu/{name}/raw below a folder, and set {VARIABLE} to that folder."
            ) from error
        (draft / sums.name).write_bytes(_digest(draft / name / "raw").encode())

    check_private(folder)
    if folder.is_dir():
        if sums.is_file() and sums.read_bytes() == _digest(raw).encode():
            return raw
        text = f"the download {folder} is damaged; it is made again."
        warnings.warn(text, CacheWarning, stacklevel=3)
        shutil.rmtree(folder, ignore_errors=True)
    build_folder(folder, build)
    return raw


def _digest(folder: Path) -> str:
    """Return a name for the content of a folder's files."""
    digest = hashlib.sha256()
    for file in sorted(folder.glob("*.txt")):
        digest.update(f"{file.name}\0".encode())
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def _graphs(raw: Path, degree_features: bool | None, use_node_attr: bool) -> list[Data]:
    """Return the graphs as PyG reads them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphInputWarning)  # loops, as PyG drops them
        records = list(tu_records(raw))
    classes = sorted({int(record.targets["y"]) for record in records})
    if degree_features is None:
        named = records[0].names.node or ()
        degree_features = not any(name.startswith("label") for name in named)
    most = max(int(record.graph.degrees.max(initial=0)) for record in records)
    graphs = []
    for record in records:
        blocks = []
        if record.x is not None:
            blocks += _columns(record.x, record.names.node or (), use_node_attr)
        if degree_features:
            blocks.append(np.eye(most + 1, dtype=np.float32)[record.graph.degrees])
        edge_attr = None
        if record.edge_attr is not None:
            (edge_attr,) = _columns(record.edge_attr, record.names.edge or (), False)
        x = np.concatenate(blocks, axis=1) if blocks else None
        y = classes.index(int(record.targets["y"]))
        data = as_data(record.graph, x, edge_attr=edge_attr, y=y)
        if x is None:
            del data.x
        graphs.append(data)
    return graphs


def _columns(
    block: NDArray[np.float32], names: Sequence[str], attributes: bool
) -> list[NDArray[np.float32]]:
    """Return attributes, if wanted, and a column for each label from least to most.

    Our reader has columns only for labels that occur, PyG's also for those between.
    """
    count = sum(name.startswith("attribute") for name in names)
    blocks = [block[:, :count]] if attributes and count else []
    labels = np.array([int(name.split()[1]) for name in names[count:]], dtype=np.int64)
    if labels.size:
        width = int(labels.max() - labels.min()) + 1
        check_memory(4 * width * len(block), f"one column for each of {width} labels")
        wide = np.zeros((len(block), width), dtype=np.float32)
        wide[:, labels - labels.min()] = block[:, count:]
        blocks.append(wide)
    return blocks


def _positions(file: Path, count: int) -> NDArray[np.int64]:
    """Read one position per line, each below ``count`` and none twice."""
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
