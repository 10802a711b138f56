"""A dataset in joined tensors, from which batches are cut without a Python loop."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.data.collate import collate

from sekgnn.errors import GraphInputError
from sekgnn.graphs import PackedGraphs, Undirected, pack_edge_indices

Positions = NDArray[np.int64]


class GraphStore:
    """The fields of G graphs, joined as PyG would, and where each graph's part is.

    PyG batches graph by graph and field by field in Python. Here a batch costs a few
    indexing operations per field, however many graphs are in it; the fields are equal.

    Args:
        graphs: ``Data`` objects, at least one, with the same fields.
        skip: Fields to leave out.

    Attributes:
        node_ptr: First node of every graph, int64 ``[G + 1]``.
        joined: The fields of all graphs, node numbers not shifted.
        cuts: Where each graph's part of a field begins, by name, ``[G + 1]``.

    Raises:
        GraphInputError: If there are no graphs, a number of nodes is unknown, or a
            field is of a kind that only PyG can batch.
    """

    def __init__(self, graphs: Iterable[Any], skip: Sequence[str] = ()) -> None:
        items = [_checked(graph) for graph in graphs]
        if not items:
            raise GraphInputError("no graphs to load: the dataset is empty.")
        self.base = type(items[0])
        sizes = [_num_nodes(data) for data in items]
        self.node_ptr = starts(np.array(sizes, dtype=np.int64))
        out, slices, _ = collate(self.base, items, increment=False, add_batch=False)
        names = [name for name in out.keys() if name != "num_nodes"]
        self.joined: dict[str, Any] = {name: out[name] for name in names}
        self.cuts = {name: np.asarray(slices[name]) for name in names}
        self.ptrs: dict[str, Positions] = {}
        self.dims: dict[str, int] = {}
        self.shifted: set[str] = set()
        self._packed: dict[Undirected, PackedGraphs] = {}
        for name in [name for name in names if name not in skip]:
            self._learn(name, items)
        self.ptrs["batch"] = self.node_ptr

    @classmethod
    def from_packed(
        cls,
        packed: PackedGraphs,
        nodes: Mapping[str, Tensor],
        edges: Mapping[str, Tensor],
        graphs: Mapping[str, Tensor],
    ) -> GraphStore:
        """Return graphs that are joined already.

        Args:
            packed: Their edges, which become ``edge_index``.
            nodes: Fields with a row per node.
            edges: Fields with a row per entry of ``packed.indices``.
            graphs: Fields with a row per graph.
        """
        self = cls.__new__(cls)
        self.base = Data
        self.node_ptr = packed.node_ptr
        edge_ptr = packed.indptr[packed.node_ptr]
        row = np.repeat(np.arange(packed.num_nodes), np.diff(packed.indptr))
        first = np.repeat(packed.node_ptr[:-1], np.diff(edge_ptr))
        pairs = torch.from_numpy(np.stack([row, packed.indices]) - first)
        each = np.arange(packed.num_graphs + 1)
        self.joined = {"edge_index": pairs, **edges, **nodes, **graphs}
        self.ptrs = {"edge_index": edge_ptr}
        for where, fields in (
            (edge_ptr, edges),
            (self.node_ptr, nodes),
            (each, graphs),
        ):
            self.ptrs |= dict.fromkeys(fields, where)
        self.cuts = dict(self.ptrs)
        self.dims = {**dict.fromkeys(self.joined, 0), "edge_index": 1}
        self.shifted = {"edge_index"}
        self.ptrs["batch"] = self.node_ptr
        self._packed = {"error": packed}
        return self

    @property
    def num_graphs(self) -> int:
        """Number of graphs G."""
        return self.node_ptr.size - 1

    def packed(self, undirected: Undirected = "error") -> PackedGraphs:
        """Return the graphs for compiled kernels; they are cleaned only once.

        Args:
            undirected: ``"error"`` or ``"add"`` when an edge lacks its reverse.

        Raises:
            GraphInputError: If there are no edges, or wrong ones; names the graph.
        """
        if undirected not in self._packed:
            edges = self.joined.get("edge_index")
            if edges is None:
                raise GraphInputError("the graphs have no edge_index.")
            self._packed[undirected] = pack_edge_indices(
                edges.cpu().numpy(),
                self.node_ptr,
                self.ptrs["edge_index"],
                undirected=undirected,
                loops="drop",
            )
        return self._packed[undirected]

    def take(self, chosen: Positions) -> Any:
        """Return the batch of the graphs ``chosen``, int64 ``[B]``, in that order."""
        batch = Batch(_base_cls=self.base)
        sizes = self.node_ptr[chosen + 1] - self.node_ptr[chosen]
        ptr = starts(sizes)
        known: dict[int, tuple[Tensor, Positions]] = {}
        for name, where in self.ptrs.items():
            if id(where) not in known:
                known[id(where)] = positions(where, chosen)
            flat, lengths = known[id(where)]
            if name == "batch":
                owner = np.repeat(np.arange(chosen.size), lengths)
                batch.batch = torch.from_numpy(owner)
                continue
            value = self.joined[name]
            if not isinstance(value, Tensor):
                batch[name] = [value[i] for i in chosen.tolist()]
                continue
            value = value.index_select(self.dims[name], flat)
            if name in self.shifted:
                shift = torch.from_numpy(np.repeat(ptr[:-1], lengths))
                value += shift.to(value.dtype)
            batch[name] = value
        batch.ptr = torch.from_numpy(ptr)
        batch._num_graphs = chosen.size
        return batch

    def _learn(self, name: str, items: list[Data]) -> None:
        """Note how field ``name`` is cut and joined."""
        value = self.joined[name]
        where = self.cuts[name]
        if where.shape != self.node_ptr.shape:
            raise GraphInputError(_cannot(name, "it is nested"))
        if isinstance(value, Tensor):
            if value.layout != torch.strided:
                raise GraphInputError(_cannot(name, "it is sparse"))
            first = items[0][name]
            dim = items[0].__cat_dim__(name, first)
            self.dims[name] = 0 if dim is None else dim % value.dim()
            if self._is_shifted(name, items):
                self.shifted.add(name)
        elif not isinstance(value, list):
            raise GraphInputError(_cannot(name, f"it is a {type(value).__name__}"))
        # fields that are cut alike share one array, so that positions are found once
        for other in (*self.ptrs.values(), self.node_ptr):
            if np.array_equal(other, where):
                where = other
                break
        self.ptrs[name] = where

    def _is_shifted(self, name: str, items: list[Data]) -> bool:
        """Return whether PyG adds the number of nodes before a graph to the field."""
        steps = [data.__inc__(name, data[name]) for data in items]
        if any(isinstance(step, Tensor) and step.numel() != 1 for step in steps):
            raise GraphInputError(_cannot(name, "it is shifted row by row"))
        shifts = np.array([int(step) for step in steps])
        if not shifts.any():
            return False
        if np.array_equal(shifts, np.diff(self.node_ptr)):
            return True
        raise GraphInputError(_cannot(name, "it does not count nodes"))


def starts(sizes: Positions) -> Positions:
    """Return the running sum of ``sizes`` with a zero before it."""
    out = np.zeros(sizes.size + 1, dtype=np.int64)
    np.cumsum(sizes, out=out[1:])
    return out


def positions(where: Positions, chosen: Positions) -> tuple[Tensor, Positions]:
    """Return the places of the chosen parts one after the other, and their sizes."""
    first = where[chosen]
    lengths = where[chosen + 1] - first
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if ends.size else 0
    flat = np.repeat(first - ends + lengths, lengths) + np.arange(total)
    return torch.from_numpy(flat), lengths


def _checked(graph: Any) -> Data:
    if isinstance(graph, Data):
        return graph
    raise GraphInputError(
        f"a torch_geometric Data is needed, got {type(graph).__name__}."
    )


def _num_nodes(data: Data) -> int:
    if data.num_nodes is None:
        raise GraphInputError("num_nodes is not set; isolated nodes would be lost.")
    return int(data.num_nodes)


def _cannot(name: str, why: str) -> str:
    return (
        f"field {name!r} cannot be joined here: {why}. Remove it, or use PyG's "
        "DataLoader, whose batches the models take as well."
    )
