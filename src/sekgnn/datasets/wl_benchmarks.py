"""Graphs that weak tests cannot tell apart: CSL, EXP, CEXP, SR25, rook/Shrikhande."""

from __future__ import annotations

import hashlib
import io
import os
import pickle
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_positive, check_seed
from sekgnn.datasets.root import (
    Collection,
    find_data_file,
    read_data_file,
    read_data_graphs,
)
from sekgnn.errors import GraphInputError
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


class CSL(Collection[Graph]):
    """The 150 graphs of Murphy et al. 2019, "Relational Pooling", relabelled by a seed.

    Class c holds copies of the cycle of 41 nodes with further links of length
    ``SKIPS[c]``. All are 4-regular, so 1-WL sees one class.

    Args:
        seed: Of the relabelling.
        copies: Of every class.

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
    1-WL on the labelled graphs cannot tell them apart. Node labels are 0 and 1.

    The usual protocol is accuracy over ten contiguous folds of 120, in this order.

    Args:
        data_root: The data folder, by default what ``SEKGNN_DATA`` names, with
            ``exp/exp.npz`` or the published ``exp/GRAPHSAT.pkl`` (CEXP:
            ``exp/cexp.npz`` or ``exp/CEXP.txt``); or one file. Text is as in GNN-RNI:
            the number of graphs; of each graph its size and class; of each node its
            label, its degree and its neighbours. Of a pickle tensors are read, no code
            in it is run.

    Attributes:
        labels: Class 0 or 1 of every graph, opposite within a pair; int64 ``[1200]``.
        source: ``"published"``, or ``"another sample"`` if these are other graphs than
            those of the literature, as in GNN-RNI's ``Data/EXP/GRAPHSAT.txt``.

    Raises:
        DataNotFoundError: If there is none of these files; says where to get them.
        GraphInputError: If a file holds something else.
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
            for part in ([graph.num_nodes, int(y)], x, graph.edge_index()):
                digest.update(np.asarray(part).astype("<i8").tobytes())
        pairs = set(zip(labels[::2], labels[1::2], strict=False))
        if len(labels) % 2 or not pairs <= {(0, 1), (1, 0)}:
            raise GraphInputError(
                f"{path} does not hold pairs of graphs of the classes 0 and 1."
            )
        same = digest.hexdigest() == self._digest
        self.source = "published" if same else "another sample"
        self.labels = np.array(labels, dtype=np.int64)
        self.labels.flags.writeable = False

    def pairs(self) -> list[tuple[Graph, Graph]]:
        """Return the pairs (2k, 2k + 1)."""
        return list(zip(self[0::2], self[1::2], strict=True))


class CEXP(EXP):
    """The 1200 graphs of CEXP: EXP, changed so that 1-WL solves one half.

    1-WL tells apart the pairs (2k, 2k + 1) with even k ("learn") and none of those with
    odd k ("exp").

    Attributes:
        labels: Class 0 or 1 of every graph, opposite within a pair; int64 ``[1200]``.
    """

    _name = "cexp"
    _public = "exp/CEXP.txt"
    _digest = "e039411df7a6b6a457edfd4a34f6f17a904820a30fe64d1c8799069489987ee8"


class SR25(Collection[Graph]):
    """The 15 strongly regular graphs (25, 12, 5, 6), pairwise not isomorphic.

    2-FWL (3-WL) tells none of their 105 pairs apart.
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
    """Return ``count`` graphs, four families in turn, and the size of each share."""
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
        raise GraphInputError("it goes on after the last graph")


class _Fields:
    """Stands for PyG's ``Data``: takes its attributes, and does nothing."""


class _TensorReader(pickle.Unpickler):
    """Reads lists of PyG data; nothing that a pickle names is imported or called.

    What it may name is replaced: ``Data`` by a class without behaviour, the making of
    a tensor from bytes by torch's reader for untrusted files.
    """

    def find_class(self, module: str, name: str) -> Any:
        """Return what stands for a name, or refuse it."""
        from torch._utils import _rebuild_tensor_v2

        known = {
            ("torch_geometric.data.data", "Data"): _Fields,
            ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor_v2,
            ("torch.storage", "_load_from_bytes"): _storage,
            ("collections", "OrderedDict"): OrderedDict,
            ("_codecs", "encode"): lambda text, _: text.encode("latin-1"),
        }
        if (module, name) not in known:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which is not read")
        return known[module, name]


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
