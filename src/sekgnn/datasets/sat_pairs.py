"""EXP and CEXP as they are published: text, or a pickle of which tensors are read."""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.errors import GraphInputError
from sekgnn.graphs import Graph
from sekgnn.graphs.table import read_bytes

SatPairs = tuple[list[Graph], list[NDArray[np.int64]], list[int]]
"""Graphs, the label of every node, and the class of every graph."""


def read_sat_pairs(path: Path) -> SatPairs:
    """Read ``GRAPHSAT.pkl``, or text such as ``GRAPHSAT.txt``.

    Raises:
        GraphInputError: If the file holds something else.
    """
    content = read_bytes(path)
    try:
        return _pickled(content) if path.suffix == ".pkl" else _text(content)
    except Exception as error:  # a damaged pickle may raise anything
        raise GraphInputError(
            f"{path} is not a published file of EXP or CEXP: {error}."
        ) from None


def _text(content: bytes) -> SatPairs:
    """Read the number of graphs; per graph n and its class; per node a row."""
    words = np.array(content.split(), dtype=np.int64)
    place = 1

    def take(count: int) -> NDArray[np.int64]:
        nonlocal place
        place += count
        if count < 0 or place > words.size:
            raise GraphInputError("it ends too early")
        return words[place - count : place]

    graphs, labels, classes = [], [], []
    for _ in range(int(words[0])):
        n, y = take(2).tolist()
        own, edges = np.zeros(n, dtype=np.int64), []
        for node in range(n):
            own[node], degree = take(2).tolist()
            near = take(degree)
            edges.append(np.stack([np.full(degree, node), near]))
        graphs.append(Graph.from_edge_index(np.concatenate(edges, axis=1), n))
        labels.append(own)
        classes.append(y)
    if place != words.size:
        raise GraphInputError("it goes on after the last graph")
    return graphs, labels, classes


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
            ("_codecs", "encode"): _latin,  # bytes, in old protocols
        }
        if (module, name) not in known:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which is not read")
        return known[module, name]


def _latin(text: str, _: str) -> bytes:
    return text.encode("latin-1")


def _storage(content: bytes) -> Any:
    import torch

    return torch.load(io.BytesIO(content), weights_only=True)


def _pickled(content: bytes) -> SatPairs:
    """Read a list of PyG data with the attributes ``edge_index``, ``x`` and ``y``."""
    graphs, labels, classes = [], [], []
    for item in _TensorReader(io.BytesIO(content)).load():
        fields = {**vars(item), **vars(item).get("_store", {})}
        x = fields["x"].reshape(len(fields["x"]), -1)
        x = (x if x.size(1) == 1 else x.argmax(1)).reshape(-1).numpy().astype(np.int64)
        edges = fields["edge_index"].numpy()
        graphs.append(Graph.from_edge_index(edges, x.size))
        labels.append(x)
        classes.append(int(fields["y"]))
    return graphs, labels, classes
