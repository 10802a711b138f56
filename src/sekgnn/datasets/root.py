"""Files of benchmarks: their location, and checks against the published ones."""

from __future__ import annotations

import hashlib
import io
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sekgnn.errors import DataNotFoundError, GraphInputError
from sekgnn.graphs import Graph, pack_edge_indices, unpack
from sekgnn.graphs.table import read_bytes

T = TypeVar("T")

VARIABLE = "SEKGNN_DATA"
"""Environment variable of the folder of benchmark data."""


class DataFile(NamedTuple):
    """A file of a benchmark.

    Attributes:
        path: Path below the data folder, with forward slashes.
        sha256: Digest of its content, in hexadecimal.
        public: Public files that are read instead, where to get and where to put them.
    """

    path: str
    sha256: str
    public: str


_BELOW = f" below the folder that {VARIABLE} (data_root) names"
_GENERATED = "leave data_root out to generate graphs of the same distribution"
_PNA_DIGESTS = {
    "graph_property/": {
        "train": "110d0f4fc424d9bdbe20b3c5a1c0b270f9313ef8affd59458809bf91fa12b29c",
        "val": "8ea1d9ffb0ed79067e80710b0d8ce1b127af88e6e1de0d371775b0fdabe6d791",
        "test": "1bf4c979f4e9aadd226ef6269d711276f0f2a79444a1db4321b379a22778475c",
    },
    "graph_property/seed12345/": {
        "train": "a5b37b90f89319a6dd75ca9f29164c711757d25715c8a34e6cd21eb4f7c158bd",
        "val": "58345d0c659d71fef30327c9cf21a2d85859a2efc5afa2b39e3e20191c406696",
        "test": "4d5c650038114be31f8f18fe0c41d6c9eb620e2c9d0faa6cec9df36854fcb236",
    },
}
DATA_FILES = {
    "brec": DataFile(
        "brec/brec.g6.txt",
        "53bbdf102ce280d1fa8d0859888a9583ec8319ad7cd9c9fb0bf7b6f5e1a1ed89",
        "get the seven files customize/Data/raw/*.npy of github.com/GraphPKU/BREC, or "
        "its brec_v3.npy (in BREC_data_all.zip), and name their folder or the file "
        f"with --data (data_root), or put them into brec/raw{_BELOW}",
    ),
    "sr25": DataFile(
        "sr25/sr251256.g6",
        "f55f86eb48cd61c3315c62341cc3a8c59289c58504edb3ab859d7ef2068b9aa4",
        "get the file sr251256.g6 of github.com/JiaruiFeng/KP-GNN (or of GNNAsKernel, "
        f"but not of PygHO, whose copy is damaged), and put it into sr25{_BELOW}",
    ),
    "exp": DataFile(
        "exp/exp.npz",
        "78381a639e2042eaea50054a17d79e2dc5b0d272ed4b7f28f48a2ffc1a57f7b9",
        "get GRAPHSAT.pkl of github.com/JiaruiFeng/KP-GNN (data/EXP/raw), of which "
        f"tensors alone are read, and put it into exp{_BELOW}",
    ),
    "cexp": DataFile(
        "exp/cexp.npz",
        "c4fae5c4278bca8de23f778d88421badcd57958443941e5f34775886aa75ae66",
        "get Data/CEXP/GRAPHSAT.txt of github.com/ralphabb/GNN-RNI, and put it as "
        f"CEXP.txt into exp{_BELOW}",
    ),
    "counting": DataFile(
        "counting/counting.npz",
        "385fb93074804a0e4f952e5cc10e755526c4381c734c3e06a37308f21831c8ab",
        "get randomgraph.mat of github.com/LingxiaoShawn/GNNAsKernel "
        f"(data/subgraphcount), and put it into counting{_BELOW}; or {_GENERATED}",
    ),
    **{
        folder + part: DataFile(f"{folder}{part}.npz", digest, _GENERATED)
        for folder, digests in _PNA_DIGESTS.items()
        for part, digest in digests.items()
    },
}
"""The files read here, by dataset."""


def find_data_root(data_root: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of benchmark data: ``data_root``, or else ``SEKGNN_DATA``.

    Raises:
        DataNotFoundError: If neither is given, or the folder does not exist.
    """
    path = os.environ.get(VARIABLE) if data_root is None else data_root
    if not path:
        raise DataNotFoundError(
            f"no folder of benchmark data is known: set {VARIABLE} to it, or pass "
            "data_root."
        )
    folder = Path(path)
    if not folder.is_dir():
        source = f"{VARIABLE} names" if data_root is None else "data_root is"
        raise DataNotFoundError(
            f"{source} {folder}, which is not a folder; set {VARIABLE} (or data_root) "
            "to the folder of benchmark data."
        )
    return folder


def has_data_file(
    name: str, data_root: str | os.PathLike[str] | None = None, *others: str
) -> bool:
    """Return whether to read a file of data that can also be generated.

    True if ``data_root`` is given, even if the file is missing. Otherwise true if the
    folder ``SEKGNN_DATA`` holds it, or one of ``others``.
    """
    if data_root is not None:
        return True
    if not os.environ.get(VARIABLE):
        return False
    root = find_data_root()
    return any((root / path).is_file() for path in (DATA_FILES[name].path, *others))


def find_data_file(
    name: str, data_root: str | os.PathLike[str] | None = None, *others: str
) -> Path:
    """Return the path of one of ``DATA_FILES``, or of one of ``others`` instead.

    Raises:
        DataNotFoundError: If the folder or the file is missing; says what to put where.
    """
    paths = (DATA_FILES[name].path, *others)
    try:
        root = find_data_root(data_root)
        for path in paths:
            if (root / path).is_file():
                return root / path
        raise DataNotFoundError(f"{root} holds no {' or '.join(paths)}.")
    except DataNotFoundError as error:
        raise not_found(name, error) from None


def read_data_file(name: str, data_root: str | os.PathLike[str] | None = None) -> bytes:
    """Return the content of one of ``DATA_FILES`` after checking its SHA-256.

    Raises:
        DataNotFoundError: As :func:`find_data_file`.
        GraphInputError: If the digest differs, or the file cannot be read.
    """
    path = find_data_file(name, data_root)
    return check_content(name, read_bytes(path), path)


def not_found(name: str, reason: object) -> DataNotFoundError:
    """Return the error for a missing file, with where to get it."""
    return DataNotFoundError(
        f"{name.upper()} is not here: {reason} To have it, {DATA_FILES[name].public}."
    )


def check_content(name: str, content: bytes, path: object) -> bytes:
    """Return the content of a benchmark file, or raise if its digest differs."""
    file, digest = DATA_FILES[name], hashlib.sha256(content).hexdigest()
    if digest != file.sha256:
        raise GraphInputError(
            f"{path} is not the file it should be: its SHA-256 is {digest}, expected "
            f"{file.sha256}. Replace it: {file.public}."
        )
    return content


def read_data_graphs(
    name: str, data_root: str | os.PathLike[str] | None = None
) -> tuple[list[Graph], dict[str, NDArray[Any]]]:
    """Return the graphs of an ``.npz`` benchmark file, and its other arrays.

    Takes and raises what :func:`read_data_file` does.
    """
    content = io.BytesIO(read_data_file(name, data_root))
    with np.load(content, allow_pickle=False) as file:
        arrays = {key: file[key] for key in file.files}
    structure = (arrays.pop(key) for key in ("edge_index", "node_ptr", "edge_ptr"))
    return unpack(pack_edge_indices(*structure)), arrays


class Collection(list[T]):
    """The items of a benchmark.

    Those read from a file take ``data_root``, the data folder (by default
    ``SEKGNN_DATA``), and raise ``DataNotFoundError`` if the file is missing and
    ``GraphInputError`` if its SHA-256 differs.
    """

    def __repr__(self) -> str:
        source = f", {self.source}" if hasattr(self, "source") else ""
        return f"{type(self).__name__}({len(self)}{source})"


STANDARD_ERRORS = 6.0
"""Tolerance of the mean of a random sample."""


@dataclass(frozen=True)
class Statistics:
    """One line of the paper's appendix table "Datasets Statistics".

    Attributes:
        tasks: Number of classes, or of targets in regression.
        graphs: Number of graphs, or of training, validation and test graphs.
        nodes: Mean number of nodes; of the training graphs if there is a split.
        edges: Mean number of edges.
        directed: Whether every edge counts twice in ``edges``.
        tolerance: Tolerance of a mean: the last printed digit.
    """

    tasks: int
    graphs: tuple[int, ...]
    nodes: float
    edges: float
    directed: bool = False
    tolerance: float = 0.01


PAPER_STATISTICS = {
    "graph_property": Statistics(3, (5120, 640, 1280), 19.5, 101.1, True, 0.1),
    "counting": Statistics(4, (1500, 1000, 2500), 18.8, 62.6, True, 0.1),
    "MUTAG": Statistics(2, (188,), 17.93, 19.79),
    "PTC_MR": Statistics(2, (344,), 14.29, 14.69),
    "PROTEINS": Statistics(2, (1113,), 39.06, 72.82),
    "ENZYMES": Statistics(6, (600,), 32.63, 62.14),
    "BZR": Statistics(2, (405,), 35.75, 38.36),
    "COX2": Statistics(2, (467,), 41.22, 43.45),
    "IMDB-BINARY": Statistics(2, (1000,), 19.77, 96.53),
    "IMDB-MULTI": Statistics(3, (1500,), 13.0, 65.94),
    "QM9": Statistics(12, (129433,), 18.0, 18.6, tolerance=0.1),
}
"""The table, by dataset. It has 129,433 molecules of QM9, where qm9pack and PyG have
130,831, so their number is not compared."""


def check_statistics(
    name: str,
    num_nodes: Any,
    num_edges: Any,
    *,
    graphs: tuple[int, ...] | None = None,
    tasks: int | None = None,
    sampled: bool = False,
) -> None:
    """Compare a loaded dataset with the paper's table.

    Numbers of nodes and undirected edges are per graph, ``[G]``; the numbers of graphs
    (or those of each split) and of tasks are optional. For a random sample of the
    published distribution, means may differ by ``STANDARD_ERRORS`` standard errors.

    Raises:
        GraphInputError: If they disagree; gives both numbers.

    Example:
        >>> check_statistics("MUTAG", [17.93] * 188, [19.79] * 188, graphs=(188,))
    """
    paper = PAPER_STATISTICS[name]
    edges = np.asarray(num_edges, dtype=np.float64) * (2 if paper.directed else 1)
    checks: list[tuple[str, object, object, bool]] = [
        ("graphs", graphs, paper.graphs, graphs in (None, paper.graphs)),
        ("classes or targets", tasks, paper.tasks, tasks in (None, paper.tasks)),
    ]
    for quantity, values, expected in (
        ("mean number of nodes", np.asarray(num_nodes, np.float64), paper.nodes),
        ("mean number of edges", edges, paper.edges),
    ):
        mean = float(values.mean()) if values.size else float("nan")
        slack = paper.tolerance
        if sampled:
            slack += STANDARD_ERRORS * float(values.std()) / max(values.size, 1) ** 0.5
        checks.append(
            (quantity, round(mean, 4), expected, abs(mean - expected) <= slack)
        )
    wrong = [
        f"{quantity} {got} (paper: {want})"
        for quantity, got, want, ok in checks
        if not ok
    ]
    if wrong:
        raise GraphInputError(
            f"{name} is not the dataset of the paper: {', '.join(wrong)}. Another "
            "version, or files cut short? Replace them."
        )
