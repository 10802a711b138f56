"""Graphs that weak tests cannot separate: BREC, CSL, EXP, SR25, rook/Shrikhande."""

from __future__ import annotations

import hashlib
import io
import os
import pickle
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_choice, check_positive, check_seed
from sekgnn.datasets.root import (
    Collection,
    check_content,
    find_data_file,
    find_data_root,
    not_found,
    read_data_file,
    read_data_graphs,
)
from sekgnn.errors import DataNotFoundError, GraphInputError
from sekgnn.graphs import (
    Graph,
    LabelledGraph,
    barabasi_albert_graph,
    csl_graph,
    from_graph6,
    random_graph,
    random_regular_graph,
    rook_graph,
    shrikhande_graph,
)
from sekgnn.graphs.table import read_bytes
from sekgnn.parallel import Progress

NUM_NODES = 41
SKIPS = (2, 3, 4, 5, 6, 9, 11, 12, 13, 16)

SatGraph = tuple[Graph, NDArray[np.int64], int]
"""A graph, the label of every node, and the class."""

CATEGORIES = {
    "basic": "basic",
    "simple_regular": "simple regular",
    "strongly_regular": "strongly regular",
    "four_vertex": "4-vertex condition",
    "distance_regular": "distance-regular",
    "extension": "extension",
    "cfi": "CFI",
}
"""The categories in the order of tables, and their names there."""

_TEXT, _COPIES = "brec.g6.txt", "brec_v3.npy"
_RAW = {
    "basic.npy": ("Basic", "basic", 60),
    "regular.npy": ("Regular", "simple_regular", 50),
    "str.npy": ("Str", "strongly_regular", 50),
    "extension.npy": ("Extension", "extension", 100),
    "cfi.npy": ("CFI", "cfi", 100),
    "4vtx.npy": ("4-Vertex_Condition", "four_vertex", 20),
    "dr.npy": ("Distance_Regular", "distance_regular", 20),
}
"""Upstream's files in the order of BREC: upstream's category, ours, and pairs."""
_FOLDERS = (".", "brec", "raw", "brec/raw", "Data/raw", "customize/Data/raw")
"""Possible subfolders: ours, upstream's, and those of a clone."""
_PER_PAIR = 64  # graphs of a pair in brec_v3.npy: 32 copies of each, alternating


class CSL(Collection[Graph]):
    """The 150 graphs of Murphy et al. 2019, "Relational Pooling", relabelled by a seed.

    Class c holds copies of the cycle on 41 nodes with additional links of length
    ``SKIPS[c]``. All are 4-regular, so 1-WL sees one class.

    Args:
        seed: Seed of the relabelling.
        copies: Copies per class.

    Attributes:
        labels: Class of every graph, int64 ``[10 * copies]``.

    Example:
        >>> CSL(copies=2).labels.tolist()[:4]
        [0, 0, 1, 1]
    """

    def __init__(self, seed: int = 0, copies: int = 15) -> None:
        check_positive("copies", copies)
        rng = np.random.default_rng(check_seed(seed))
        super().__init__(
            csl_graph(NUM_NODES, skip).relabel(rng.permutation(NUM_NODES))
            for skip in SKIPS
            for _ in range(copies)
        )
        self.labels = np.repeat(np.arange(len(SKIPS)), copies)
        self.labels.flags.writeable = False


class EXP(Collection[Graph]):
    """The 1200 graphs of EXP (Abboud et al. 2021), in 600 pairs.

    Graphs 2k and 2k + 1 are a pair: one formula is satisfiable and the other not, and
    1-WL on the labelled graphs cannot separate them. Node labels are 0 and 1.

    The usual protocol is accuracy over ten contiguous folds of 120, in this order.

    Args:
        data_root: The data folder, by default ``SEKGNN_DATA``, with ``exp/exp.npz`` or
            the published ``exp/GRAPHSAT.pkl`` (CEXP: ``exp/cexp.npz`` or
            ``exp/CEXP.txt``); or one file. Text is as in GNN-RNI: the number of graphs;
            per graph its size and class; per node its label, degree and neighbours.
            From a pickle only tensors are read, and no code is run.

    Attributes:
        labels: Class 0 or 1 of every graph, opposite within a pair; int64 ``[1200]``.
        source: ``"published"``, or ``"another sample"`` for graphs other than those of
            the literature, such as GNN-RNI's ``Data/EXP/GRAPHSAT.txt``.

    Raises:
        DataNotFoundError: If none of these files exists; says where to get them.
        GraphInputError: If a file has other contents.
    """

    _name = "exp"
    _public = "exp/GRAPHSAT.pkl"
    _digest = "2c93bff850afbc56d69fcbc96a0fb6b73be2d7a758ecb7e3261b9e451c0a513b"

    def __init__(self, data_root: str | os.PathLike[str] | None = None) -> None:
        if data_root is not None and Path(data_root).is_file():
            path = Path(data_root)
        else:
            path = find_data_file(self._name, data_root, self._public)
        rows: Iterable[SatGraph]
        if path.suffix == ".npz":
            graphs, arrays = read_data_graphs(self._name, path.parents[1])
            cuts = np.cumsum([graph.num_nodes for graph in graphs])[:-1]
            rows = zip(graphs, np.split(arrays["x"], cuts), arrays["y"], strict=True)
        else:
            rows = read_sat_pairs(path)
        labels = []
        digest = hashlib.sha256()
        for graph, x, y in rows:
            self.append(LabelledGraph(graph, x))
            labels.append(int(y))
            for array in ([graph.num_nodes, int(y)], x, graph.edge_index()):
                digest.update(np.asarray(array).astype("<i8").tobytes())
        pairs = set(zip(labels[::2], labels[1::2], strict=False))
        if len(labels) % 2 or not pairs <= {(0, 1), (1, 0)}:
            raise GraphInputError(
                f"{path} does not hold pairs of graphs of the classes 0 and 1."
            )
        is_published = digest.hexdigest() == self._digest
        self.source = "published" if is_published else "another sample"
        self.labels = np.array(labels, dtype=np.int64)
        self.labels.flags.writeable = False

    def pairs(self) -> list[tuple[Graph, Graph]]:
        """Return the pairs (2k, 2k + 1)."""
        return list(zip(self[0::2], self[1::2], strict=True))


class CEXP(EXP):
    """The 1200 graphs of CEXP: EXP, changed so that 1-WL solves one half.

    1-WL separates the pairs (2k, 2k + 1) with even k ("learn") and none with odd k
    ("exp").

    Attributes:
        labels: Class 0 or 1 of every graph, opposite within a pair; int64 ``[1200]``.
    """

    _name = "cexp"
    _public = "exp/CEXP.txt"
    _digest = "e039411df7a6b6a457edfd4a34f6f17a904820a30fe64d1c8799069489987ee8"


class SR25(Collection[Graph]):
    """The 15 strongly regular graphs (25, 12, 5, 6), pairwise non-isomorphic.

    2-FWL (3-WL) separates none of their 105 pairs.
    """

    def __init__(self, data_root: str | os.PathLike[str] | None = None) -> None:
        texts = read_data_file("sr25", data_root).decode("ascii").split()
        super().__init__(from_graph6(text) for text in texts)


def rook_shrikhande() -> tuple[Graph, Graph]:
    """Return the rook's graph 4 x 4 and the Shrikhande graph; needs no file.

    Both are strongly regular (16, 6, 2, 2). The neighbours of a node form two triangles
    in the first and a hexagon in the second.

    Example:
        >>> [g.num_edges for g in rook_shrikhande()]
        [48, 48]
    """
    return rook_graph(4), shrikhande_graph()


def demo_graphs(
    count: int, seed: int, progress: Progress | None = None
) -> tuple[list[Graph], dict[str, int]]:
    """Return ``count`` graphs from four families in turn, and counts per family."""
    rng = np.random.default_rng(seed)

    def size() -> int:
        return int(rng.integers(10, 41))

    def sparse() -> Graph:
        n = size()
        return random_graph(n, 4 / (n - 1), rng)

    families: dict[str, Callable[[], Graph]] = {
        "Erdős–Rényi, 10 to 40 nodes, mean degree about 4": sparse,
        "random 3-regular, 10 to 40 nodes": lambda: random_regular_graph(
            2 * int(rng.integers(5, 21)), 3, rng
        ),
        "Barabási–Albert, 10 to 40 nodes": lambda: barabasi_albert_graph(
            size(), 2, rng
        ),
        "circular skip links, 41 nodes": lambda: csl_graph(41, int(rng.choice(SKIPS))),
    }
    draws = list(families.values())
    graphs = []
    for i in range(count):
        graphs.append(draws[i % len(draws)]())
        if progress is not None:
            progress(i + 1, count)
    shares = {name: len(range(i, count, len(draws))) for i, name in enumerate(families)}
    return graphs, shares


def read_sat_pairs(path: Path) -> list[SatGraph]:
    """Read ``GRAPHSAT.pkl``, or text such as ``GRAPHSAT.txt``."""
    content = read_bytes(path)
    try:
        return list(_pickled(content) if path.suffix == ".pkl" else _text(content))
    except Exception as error:  # a damaged pickle may raise anything
        raise GraphInputError(
            f"{path} is not a published file of EXP or CEXP: {error}."
        ) from None


def _text(content: bytes) -> Iterator[SatGraph]:
    """Read the number of graphs; per graph n and its class; per node a row."""
    words = np.array(content.split(), dtype=np.int64)
    start = 1

    def take(count: int) -> NDArray[np.int64]:
        nonlocal start
        start += count
        if count < 0 or start > words.size:
            raise GraphInputError("it ends too early")
        return words[start - count : start]

    for _ in range(int(words[0])):
        n, y = take(2).tolist()
        kinds, edges = np.zeros(n, dtype=np.int64), []
        for node in range(n):
            kinds[node], degree = take(2).tolist()
            edges.append(np.stack([np.full(degree, node), take(degree)]))
        yield Graph.from_edge_index(np.concatenate(edges, axis=1), n), kinds, y
    if start != words.size:
        raise GraphInputError("it continues after the last graph")


class _Fields:
    """Stand-in for PyG's ``Data`` that only holds attributes."""


class _TensorReader(pickle.Unpickler):
    """Reads lists of PyG data without importing or calling anything a pickle names.

    Allowed names are replaced: ``Data`` by a class without behaviour, the construction
    of tensors from bytes by torch's reader for untrusted files.
    """

    def find_class(self, module: str, name: str) -> Any:
        """Return the stand-in for a name, or refuse the name."""
        from torch._utils import _rebuild_tensor_v2

        stand_ins = {
            ("torch_geometric.data.data", "Data"): _Fields,
            ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor_v2,
            ("torch.storage", "_load_from_bytes"): _storage,
            ("collections", "OrderedDict"): OrderedDict,
            ("_codecs", "encode"): lambda text, _: text.encode("latin-1"),
        }
        if (module, name) not in stand_ins:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which is not read")
        return stand_ins[module, name]


def _storage(content: bytes) -> Any:
    import torch

    return torch.load(io.BytesIO(content), weights_only=True)


def _pickled(content: bytes) -> Iterator[SatGraph]:
    """Read a list of PyG data with the attributes ``edge_index``, ``x`` and ``y``."""
    for item in _TensorReader(io.BytesIO(content)).load():
        fields = {**vars(item), **vars(item).get("_store", {})}
        x = fields["x"].reshape(len(fields["x"]), -1)
        x = (x if x.size(1) == 1 else x.argmax(1)).reshape(-1).numpy().astype(np.int64)
        edges = fields["edge_index"].numpy()
        yield Graph.from_edge_index(edges, x.size), x, int(fields["y"])


@dataclass(frozen=True)
class BRECPair:
    """Two non-isomorphic graphs that 1-WL cannot separate.

    Attributes:
        index: Number of the pair in BREC, 0..399.
        category: A key of ``CATEGORIES``.
        first: One graph.
        second: The other, with the same degrees.
    """

    index: int
    category: str
    first: Graph
    second: Graph


class BREC(Collection[BRECPair]):
    """The pairs of BREC (Wang and Zhang, ICML 2024), in its own order.

    ================  =====  =======  =====
    category          pairs  index    nodes
    ================  =====  =======  =====
    basic             60     0-59     10
    simple_regular    50     60-109   7-10
    strongly_regular  50     110-159  16-35
    extension         100    160-259  10-19
    cfi               100    260-359  18-198
    four_vertex       20     360-379  63
    distance_regular  20     380-399  30-63
    ================  =====  =======  =====

    The paper's category "Regular" (140 pairs) is split into its four parts. The
    relabelled copies of upstream's file are left out: :mod:`sekgnn.brec` makes them
    from a seed.

    Args:
        data_root: The data folder, by default ``SEKGNN_DATA``; or a folder with
            upstream's seven raw files ``*.npy``; or a file, ``brec.g6.txt`` or
            upstream's ``brec_v3.npy``. All are checked to hold the same graphs, and
            nothing is unpickled.

    Raises:
        DataNotFoundError: If none of these files exists; says where to get them.
        GraphInputError: If a file has other contents.
    """

    def __init__(self, data_root: str | os.PathLike[str] | None = None) -> None:
        path = _find_brec(data_root)
        text = check_content("brec", _read_brec(path), path)
        rows = (line.split("\t") for line in text.decode("ascii").splitlines())
        ours = {theirs: category for theirs, category, _ in _RAW.values()}
        super().__init__(
            BRECPair(int(index), ours[category], from_graph6(a), from_graph6(b))
            for category, index, a, b in rows
        )

    @classmethod
    def of(cls, pairs: Iterable[BRECPair]) -> BREC:
        """Return a collection of given pairs, which keep their indices."""
        collection = cls.__new__(cls)
        collection.extend(pairs)
        return collection

    def select(self, *categories: str) -> BREC:
        """Return the pairs of some categories, in the order of BREC.

        Raises:
            ConfigError: If there is no such category.
        """
        chosen = {check_choice("category", name, CATEGORIES) for name in categories}
        return BREC.of(pair for pair in self if pair.category in chosen)


def _find_brec(data_root: str | os.PathLike[str] | None) -> Path:
    """Return the file, or the folder of the seven, or raise with where to get them."""
    try:
        if data_root is not None and Path(data_root).is_file():
            return Path(data_root)
        root = find_data_root(data_root)
        for folder in (root / name for name in _FOLDERS):
            for file in (folder / _TEXT, folder / _COPIES):
                if file.is_file():
                    return file
            missing = [name for name in _RAW if not (folder / name).is_file()]
            if not missing:
                return folder
            if len(missing) < len(_RAW):
                raise DataNotFoundError(
                    f"{folder} holds files of BREC, but not {', '.join(missing)}."
                )
        raise DataNotFoundError(f"{root} holds no files of BREC.")
    except DataNotFoundError as error:
        raise not_found("brec", error) from None


def _read_brec(path: Path) -> bytes:
    """Return the text of ``brec.g6.txt``, built from upstream's arrays if necessary."""
    categories, _, counts = zip(*_RAW.values(), strict=True)
    if path.is_dir():
        files = zip(_RAW, counts, strict=True)
        arrays = [_brec_texts(path / name, 2 * pairs) for name, pairs in files]
    elif path.suffix == ".npy":
        pairs = sum(counts)
        # the second half repeats one graph
        copies = _brec_texts(path, 2 * _PER_PAIR * pairs)
        arrays = [copies[: copies.size // 2].reshape(pairs, _PER_PAIR)[:, :2]]
    else:
        return read_bytes(path)
    names = np.repeat(categories, counts).tolist()
    graphs = [text for array in arrays for text in array.reshape(-1).tolist()]
    graphs = [t.decode("latin-1") if isinstance(t, bytes) else t for t in graphs]
    rows = zip(names, graphs[::2], graphs[1::2], strict=True)
    lines = [f"{name}\t{i}\t{a}\t{b}\n" for i, (name, a, b) in enumerate(rows)]
    return "".join(lines).encode()


def _brec_texts(path: Path, count: int) -> NDArray[Any]:
    """Return the graph6 strings of a file; nothing is unpickled."""
    try:  # mapped, so that a header larger than the file is an error
        texts: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        raise GraphInputError(
            f"{path} is not an array of strings: it is damaged, or holds objects, "
            "which are not unpickled."
        ) from None
    if texts.dtype.kind not in "SU" or texts.size != count:
        raise GraphInputError(
            f"{path} holds {texts.size} values of type {texts.dtype}, expected {count} "
            "graph6 strings."
        )
    return texts
