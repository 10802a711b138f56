"""Conversion of PyG graphs: one ``Data``, or a dataset as packed arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data, InMemoryDataset

from sekgnn.encoding.ragged import PARTS, RaggedEncoding
from sekgnn.errors import GraphInputError
from sekgnn.graphs import (
    PackedGraphs,
    SelfLoops,
    Undirected,
    from_pyg,
    pack_edge_indices,
)
from sekgnn.graphs.cleaning import edge_array
from sekgnn.parallel import even_chunks, run_chunks

_WEIGHTS = ("edge_weight", "edge_attr")  # from_pyg refuses NaN in these


class GraphDataset(Protocol):
    """The common interface of datasets: a length, and ``Data`` by number."""

    def __len__(self) -> int:
        """Number of graphs."""

    def __getitem__(self, index: int, /) -> Any:
        """Graph ``index``."""


def check_data(data: Any) -> Data:
    """Return ``data`` if it is a homogeneous PyG graph; else raise, with a cure."""
    if isinstance(data, Data):
        return data
    cure = (
        "call data.to_homogeneous() first"
        if hasattr(data, "node_types")
        else "for other graph types call sekgnn.encode"
    )
    raise GraphInputError(
        f"a torch_geometric Data is needed, got {type(data).__name__}; {cure}."
    )


def device_of(data: Data) -> torch.device:
    """Return the device that holds the edges of ``data``."""
    edges = data.adj_t if data.edge_index is None else data.edge_index
    device = edges.device
    return cast(torch.device, device() if callable(device) else device)


def attach_encoding(
    data: Data, encoding: Tensor | RaggedEncoding, attr_name: str | None
) -> Data:
    """Write ``encoding`` on ``data``, in place and on the device of its edges.

    It is ``[N, C, L]``, or ragged, which becomes a field per array. Without a name,
    columns ``[N, C * L]`` are appended to ``x``. Integer features then become floats;
    PyG's own transforms would truncate the encoding to integers.

    Raises:
        GraphInputError: If ``data.x`` cannot take columns.
    """
    device = device_of(data)
    if isinstance(encoding, RaggedEncoding):
        for name in PARTS:
            values = torch.from_numpy(np.array(getattr(encoding, name)))
            data[f"{attr_name}_{name}"] = values.to(device)
        return data
    encoding = encoding.to(device)
    if attr_name is not None:
        data[attr_name] = encoding
        return data
    columns = encoding.flatten(start_dim=1)  # [N, C * L]
    x = data.x
    if x is None:
        data.x = columns
        return data
    if not isinstance(x, Tensor) or x.layout != torch.strided or x.dim() not in (1, 2):
        raise GraphInputError(
            "data.x must be a dense tensor [N] or [N, F] to append to; "
            'pass attr_name="sub_enc" to keep the encoding apart.'
        )
    x = x.view(-1, 1) if x.dim() == 1 else x  # [N, F]
    dtype = torch.promote_types(x.dtype, columns.dtype)
    data.x = torch.cat([x.to(dtype), columns.to(x.device, dtype)], dim=1)
    return data


def pack_dataset(
    dataset: GraphDataset,
    undirected: Undirected,
    loops: SelfLoops,
    threads: int | None = None,
) -> PackedGraphs:
    """Pack ``dataset[0], ...`` by the rules of ``from_pyg``; errors name the graph."""
    if not hasattr(dataset, "__len__") or not hasattr(dataset, "__getitem__"):
        raise GraphInputError(
            "a dataset or list of Data is needed, with a length and items, got "
            f"{type(dataset).__name__}; pass list(...) of it."
        )
    if len(dataset) == 0:
        raise GraphInputError("no graphs to encode: the dataset is empty.")
    arrays = _collated(dataset)
    if arrays is None:
        arrays = _one_by_one(dataset, undirected, loops, threads)
    return pack_edge_indices(
        *arrays, undirected=undirected, loops=loops, threads=threads
    )


Arrays = tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]
"""``edge_index`` with local ids ``[2, E]``; ``node_ptr``, ``edge_ptr`` ``[G + 1]``."""


def _collated(dataset: Any) -> Arrays | None:
    """Read an in-memory dataset from its joined storage, or return ``None``.

    Only if ``dataset[i]`` is a slice of that storage: there is no transform, nothing is
    overridden, and the number of nodes of each graph is stored.
    """
    if not isinstance(dataset, InMemoryDataset) or dataset.transform is not None:
        return None
    kind = type(dataset)
    if (
        kind.get is not InMemoryDataset.get
        or kind.__getitem__ is not InMemoryDataset.__getitem__
    ):
        return None
    data, slices = dataset._data, dataset.slices
    if type(data) is not Data or slices is None or "edge_index" not in slices:
        return None
    if any(_not_finite(data[key]) for key in _WEIGHTS if key in data):
        return None  # the slow way names the graph
    stored = getattr(data.stores[0], "_num_nodes", None)
    if stored is not None:
        sizes = np.asarray(stored, dtype=np.int64)
    elif "x" in slices:
        sizes = np.diff(slices["x"].numpy(force=True))
    else:
        return None
    edge_index = data.edge_index.numpy(force=True)
    edge_ptr = slices["edge_index"].numpy(force=True)
    if dataset._indices is None:
        return edge_index, _starts(sizes), edge_ptr
    chosen = np.asarray(list(dataset.indices()), dtype=np.int64)
    lengths = np.diff(edge_ptr)[chosen]
    new_ptr = _starts(lengths)
    shift = edge_ptr[:-1][chosen] - new_ptr[:-1]  # [G]
    columns = np.arange(new_ptr[-1]) + np.repeat(shift, lengths)  # [E]
    return edge_index[:, columns], _starts(sizes[chosen]), new_ptr


def _one_by_one(
    dataset: GraphDataset,
    undirected: Undirected,
    loops: SelfLoops,
    threads: int | None,
) -> Arrays:
    """Collect the edges of every ``dataset[i]``."""
    edge_indices: list[Tensor] = []
    sizes: list[int] = []
    for i in range(len(dataset)):
        try:
            edge_index, num_nodes = node_pairs(dataset[i], undirected, loops)
        except GraphInputError as error:
            raise GraphInputError(f"graph {i}: {error}") from None
        edge_indices.append(edge_index)
        sizes.append(num_nodes)
    edge_ptr = _starts([edges.numel() // 2 for edges in edge_indices])
    joined = np.empty((2, edge_ptr[-1]), dtype=np.int64)

    def join(start: int, stop: int) -> None:
        columns = slice(edge_ptr[start], edge_ptr[stop])
        joined[:, columns] = torch.cat(edge_indices[start:stop], dim=1).numpy()

    run_chunks(join, even_chunks(len(edge_indices), 512), threads)
    return joined, _starts(sizes), edge_ptr


def node_pairs(
    data: Any, undirected: Undirected, loops: SelfLoops
) -> tuple[Tensor, int]:
    """Return pairs and node count of one graph; pack_edge_indices checks the rest."""
    store = check_data(data).stores[0]
    edges, num_nodes = store.get("edge_index"), store.get("num_nodes")
    x = store.get("x")
    plain = (
        isinstance(edges, Tensor)
        and edges.dim() == 2
        and edges.size(0) == 2
        and not edges.is_floating_point()
        and (num_nodes is not None or isinstance(x, Tensor))
        and not _not_finite(store.get("edge_weight"))
        and not _not_finite(store.get("edge_attr"))
    )
    if not plain:
        graph = from_pyg(data, undirected=undirected, loops=loops)
        return torch.from_numpy(graph.edge_index()), graph.num_nodes
    if type(edges) is not Tensor or edges.dtype != torch.int64 or not edges.is_cpu:
        edges = torch.from_numpy(edge_array(edges))
    return edges, int(x.size(0) if num_nodes is None else num_nodes)


def _not_finite(weights: Any) -> bool:
    """Return whether ``weights`` is a vector of floats with NaN or infinity."""
    return (
        isinstance(weights, Tensor)
        and weights.dim() == 1
        and weights.is_floating_point()
        and not bool(torch.isfinite(weights).all())
    )


def _starts(sizes: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return 0 and the running sums of ``sizes``."""
    return np.cumsum([0, *sizes], dtype=np.int64)
