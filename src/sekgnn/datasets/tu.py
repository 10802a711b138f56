"""The eight TU datasets of the paper, through PyG's ``TUDataset``, and their folds."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_choice
from sekgnn.datasets.root import VARIABLE, build_folder, find_data_root
from sekgnn.datasets.statistics import PAPER_STATISTICS, check_statistics
from sekgnn.errors import CacheWarning, DataNotFoundError, GraphInputError
from sekgnn.files import cache_folder
from sekgnn.graphs.table import read_text

if TYPE_CHECKING:
    from torch_geometric.data import Data
    from torch_geometric.datasets import TUDataset

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


def tu_dataset(
    name: str,
    data_root: str | os.PathLike[str] | None = None,
    *,
    cache_dir: str | os.PathLike[str] | None = None,
    degree_features: bool | None = None,
    use_node_attr: bool = False,
    transform: Callable[[Data], Data] | None = None,
) -> TUDataset:
    """Load a TU dataset, from files at hand or from the internet.

    The raw files are copied to a cache folder, where PyG prepares them; the data folder
    is only read. ``x`` holds the one-hot node labels, in the IMDB sets, which have
    none, the one-hot degree; ``y`` the class from 0, ``edge_attr`` the one-hot edge
    labels, if there are any. Statistics are compared with the paper's table.

    Args:
        name: One of ``TU_NAMES``.
        data_root: The data folder, with the files in ``tu/NAME/raw``; by default what
            ``SEKGNN_DATA`` names. Without either PyG downloads the files.
        cache_dir: Where to keep prepared data; by default what ``SEKGNN_CACHE`` names,
            else the user's cache folder.
        degree_features: One-hot degrees as ``x``, beside node labels if there are any;
            by default only where there are no node labels.
        use_node_attr: Put the continuous node attributes before the labels in ``x``.
        transform: Applied whenever a graph is taken.

    Raises:
        ConfigError: If there is no such dataset.
        DataNotFoundError: If files are missing and cannot be downloaded.
        GraphInputError: If the data is not that of the paper.
        OutputError: If the cache cannot be written.

    Warns:
        CacheWarning: If the prepared copy was damaged; it is made again.
    """
    check_choice("name", name, TU_NAMES)
    raw = _raw_files(name, data_root)
    key = _digest(raw) if raw else "downloaded"
    folder = cache_folder(cache_dir) / "tu" / f"{name}-{key}"
    dataset = _prepared(name, folder, raw, use_node_attr)
    if "x" in dataset.slices:
        sizes = dataset.slices["x"].diff().tolist()
    else:
        sizes = dataset._data._num_nodes
    check_statistics(
        name,
        sizes,
        dataset.slices["edge_index"].diff().numpy() / 2,
        graphs=(len(dataset),),
        tasks=int(dataset._data.y.unique().numel()),
    )
    if degree_features is None:
        degree_features = dataset.num_node_labels == 0
    if degree_features:
        _add_degrees(dataset, sizes)
    dataset.transform = transform
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
    folder = find_data_root(data_root) / "tu" / name / "fold_idx"
    count = PAPER_STATISTICS[name].graphs[0]
    folds = []
    for number in range(1, NUM_FOLDS + 1):
        files = [folder / f"{part}_idx-{number}.txt" for part in ("train", "test")]
        for file in files:
            if not file.is_file():
                raise DataNotFoundError(
                    f"{file} does not exist; without files of folds for {name}, draw "
                    "stratified ones."
                )
        train, test = (_positions(file, count) for file in files)
        both = np.intersect1d(train, test)
        if both.size:
            raise GraphInputError(
                f"{folder}: graph {both[0]} is in training and test of fold {number}."
            )
        folds.append((train, test))
    return folds


def _raw_files(name: str, data_root: str | os.PathLike[str] | None) -> list[Path]:
    """Return the files at hand, or none if there is no data folder."""
    if data_root is None and not os.environ.get(VARIABLE):
        return []
    folder = find_data_root(data_root) / "tu" / name / "raw"
    files = sorted(folder.glob(f"{name}_*.txt"))
    if not files and data_root is not None:
        raise DataNotFoundError(
            f"{folder} holds no files {name}_*.txt. Place the raw files of the TU "
            "dataset there, or leave data_root out to download them."
        )
    for part in ("A", "graph_indicator", "graph_labels") if files else ():
        if folder / f"{name}_{part}.txt" not in files:
            raise DataNotFoundError(
                f"{folder / f'{name}_{part}.txt'} is missing, though other files of "
                "the dataset are there; copy it as well."
            )
    return files


def _digest(files: list[Path]) -> str:
    """Return a name for the content of the files, so that no cache is ever stale."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.name}\0".encode())
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:16]


def _prepared(
    name: str, folder: Path, raw: list[Path], use_node_attr: bool
) -> TUDataset:
    """Return PyG's dataset, prepared in ``folder`` first if it is not there."""
    from torch_geometric.datasets import TUDataset

    def build(draft: Path) -> None:
        place = draft / name / "raw"
        if raw:  # else it must be absent: then PyG downloads
            place.mkdir(parents=True)
        for file in raw:
            shutil.copyfile(file, place / file.name)
        try:
            with contextlib.redirect_stderr(io.StringIO()):  # "Processing...", "Done!"
                TUDataset(str(draft), name)
        except (OSError, RuntimeError, ValueError, IndexError) as error:
            if raw:
                raise GraphInputError(
                    f"the raw files of {name} cannot be read: {error}. Replace them."
                ) from error
            raise DataNotFoundError(
                f"{name} could not be downloaded ({error}). Place its raw files in "
                f"tu/{name}/raw below a folder, and set {VARIABLE} to that folder."
            ) from error

    if (folder / name / "processed" / "data.pt").is_file():
        try:
            return TUDataset(str(folder), name, use_node_attr=use_node_attr)
        except Exception as error:  # whatever PyG or torch make of damaged bytes
            text = f"the prepared copy {folder} is damaged ({error}); it is made again."
            warnings.warn(text, CacheWarning, stacklevel=3)
            shutil.rmtree(folder, ignore_errors=True)
    build_folder(folder, build)
    return TUDataset(str(folder), name, use_node_attr=use_node_attr)


def _add_degrees(dataset: TUDataset, sizes: list[int]) -> None:
    """Append the one-hot degree, as wide as the largest of the dataset, to ``x``."""
    import torch
    from torch_geometric.utils import degree, one_hot

    ptr = torch.tensor([0, *sizes]).cumsum(0)
    shift = torch.repeat_interleave(ptr[:-1], dataset.slices["edge_index"].diff())
    row = dataset._data.edge_index[0] + shift
    features = one_hot(degree(row, int(ptr[-1]), dtype=torch.long))
    labels = dataset._data.x
    dataset._data.x = features if labels is None else torch.cat([labels, features], 1)
    dataset.slices["x"] = ptr


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
