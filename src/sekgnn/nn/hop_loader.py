"""Graphs in memory: joined once, then cut into batches that carry their K hops."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.data.collate import collate

from sekgnn import fields
from sekgnn.checks import check_positive, check_seed
from sekgnn.encoding.ragged import PARTS, RaggedEncoding
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs import PackedGraphs, Undirected, pack_edge_indices
from sekgnn.hops import HopKernel, HopTable, hop_pairs
from sekgnn.nn.batch_loader import BatchLoader, BatchSource
from sekgnn.nn.hop_matrices import by_key, check_index, transposed
from sekgnn.nn.kernels import cut_hops
from sekgnn.nn.sparse_sum import Csr

Ints = NDArray[np.int64]

_PAIRS = (fields.HOP_EDGE_INDEX, fields.HOP_ORDER)


class GraphStore:
    """The fields of G graphs, joined as PyG would, and where each graph's part is.

    PyG batches graph by graph and field by field in Python. Here a batch costs a few
    indexing operations per field, however many graphs are in it; the fields are equal,
    but for pairs of hops, which become compressed rows.

    Args:
        graphs: ``Data`` objects, at least one, with the same fields.

    Attributes:
        node_ptr: First node of every graph, int64 ``[G + 1]``.
        joined: The fields of all graphs, node numbers not shifted.
        cuts: Where each graph's part of a field begins, by name, ``[G + 1]``.

    Raises:
        GraphInputError: If there are no graphs, a number of nodes is unknown, or a
            field is of a kind that only PyG can batch.
    """

    def __init__(self, graphs: Iterable[Any]) -> None:
        items = list(graphs)
        if not items:
            raise GraphInputError("no graphs to load: the dataset is empty.")
        self.base = type(items[0])
        self.node_ptr = starts(np.array([_num_nodes(data) for data in items]))
        out, slices, _ = collate(self.base, items, increment=False, add_batch=False)
        names = [name for name in out.keys() if name != "num_nodes"]
        self.joined: dict[str, Any] = {name: out[name] for name in names}
        self.cuts = {name: np.asarray(slices[name]) for name in names}
        self.dims: dict[str, int] = {}
        self.shifted: set[str] = set()
        self._packed: dict[Undirected, PackedGraphs] = {}
        for name in names:
            if name not in _PAIRS:
                self._learn(name, items)

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
        self.cuts = {
            **dict.fromkeys(("edge_index", *edges), edge_ptr),
            **dict.fromkeys(nodes, self.node_ptr),
            **dict.fromkeys(graphs, each),
        }
        self.dims = {**dict.fromkeys(self.joined, 0), "edge_index": 1}
        self.shifted = {"edge_index"}
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
                self.cuts["edge_index"],
                undirected=undirected,
                loops="drop",
            )
        return self._packed[undirected]

    def take(self, chosen: Ints) -> Any:
        """Return the batch of the graphs ``chosen``, int64 ``[B]``, in that order."""
        batch = Batch(_base_cls=self.base)
        known: dict[int, tuple[Tensor, Ints]] = {}

        def cut(where: Ints) -> tuple[Tensor, Ints]:
            if id(where) not in known:
                known[id(where)] = positions(where, chosen)
            return known[id(where)]

        _, sizes = cut(self.node_ptr)
        ptr = starts(sizes)
        for name, value in self.joined.items():
            if name in _PAIRS:
                continue
            if not isinstance(value, Tensor):
                batch[name] = [value[i] for i in chosen.tolist()]
                continue
            flat, lengths = cut(self.cuts[name])
            value = value.index_select(self.dims[name], flat)
            if name in self.shifted:
                shift = torch.from_numpy(np.repeat(ptr[:-1], lengths))
                value += shift.to(value.dtype)
            batch[name] = value
        batch.batch = torch.from_numpy(np.repeat(np.arange(chosen.size), sizes))
        batch.ptr = torch.from_numpy(ptr)
        batch._num_graphs = chosen.size
        return batch

    def _learn(self, name: str, items: list[Data]) -> None:
        """Note how field ``name`` is cut and joined."""
        value, where = self.joined[name], self.cuts[name]
        if where.shape != self.node_ptr.shape:
            raise _cannot(name, "it is nested")
        if isinstance(value, Tensor):
            if value.layout != torch.strided:
                raise _cannot(name, "it is sparse")
            first = items[0][name]
            dim = items[0].__cat_dim__(name, first)
            self.dims[name] = 0 if dim is None else dim % value.dim()
            if self._is_shifted(name, items):
                self.shifted.add(name)
        elif not isinstance(value, list):
            raise _cannot(name, f"it is a {type(value).__name__}")
        # fields that are cut alike share one array, so that positions are found once
        for other in (self.node_ptr, *self.cuts.values()):
            if np.array_equal(other, where):
                self.cuts[name] = other
                break

    def _is_shifted(self, name: str, items: list[Data]) -> bool:
        """Return whether PyG adds the number of nodes before a graph to the field."""
        steps = [data.__inc__(name, data[name]) for data in items]
        if any(isinstance(step, Tensor) and step.numel() != 1 for step in steps):
            raise _cannot(name, "it is shifted row by row")
        shifts = np.array([int(step) for step in steps])
        if not shifts.any():
            return False
        if np.array_equal(shifts, np.diff(self.node_ptr)):
            return True
        raise _cannot(name, "it does not count nodes")


def starts(sizes: Ints) -> Ints:
    """Return the running sum of ``sizes`` with a zero before it."""
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


def positions(where: Ints, chosen: Ints) -> tuple[Tensor, Ints]:
    """Return the places of the chosen parts one after the other, and their sizes."""
    first = where[chosen]
    lengths = where[chosen + 1] - first
    before = starts(lengths)
    flat = np.repeat(first - before[:-1], lengths) + np.arange(before[-1])
    return torch.from_numpy(flat), lengths


def _num_nodes(data: Any) -> int:
    if not isinstance(data, Data):
        raise GraphInputError(
            f"a torch_geometric Data is needed, got {type(data).__name__}."
        )
    if data.num_nodes is None:
        raise GraphInputError("num_nodes is not set; isolated nodes would be lost.")
    return int(data.num_nodes)


def _cannot(name: str, why: str) -> GraphInputError:
    return GraphInputError(
        f"field {name!r} cannot be joined here: {why}. Remove it, or use PyG's "
        "DataLoader, whose batches the models take as well."
    )


class GraphSource(BatchSource):
    """Graphs in memory with their K hops; arguments are those of :class:`HopLoader`.

    ``encodings`` of all nodes, ``[N, C, L]`` or ragged, are given where they are not
    among the fields: they may be mapped from a file, and only what is in a batch is
    read. The attribute ``hops`` holds all hops, and their transposes where those
    differ.
    """

    def __init__(
        self,
        graphs: GraphStore,
        num_hops: int,
        max_neighbors: int | None = None,
        *,
        kernel: HopKernel = "shortest_path",
        undirected: Undirected = "error",
        seed: int = 0,
        encodings: Tensor | RaggedEncoding | None = None,
    ) -> None:
        self.graphs, self.encodings = graphs, encodings
        self.num_hops = check_positive("num_hops", num_hops)
        self.max_neighbors = max_neighbors
        if max_neighbors is not None:
            check_positive("max_neighbors", max_neighbors)
        self.kernel, self.undirected = kernel, undirected
        stored = [graphs.joined[name] for name in _PAIRS if name in graphs.joined]
        if len(stored) == 2:
            if max_neighbors is not None:
                raise ConfigError(
                    "max_neighbors samples hops that are computed here, and the graphs "
                    "carry theirs; leave AddKHopEdges out, or give max_neighbors to it."
                )
            self.hops = _with_transpose(self._from_pairs(*stored))
        elif "edge_index" in graphs.joined:
            self.hops = self._found(check_seed(seed))
        else:
            raise GraphInputError(
                "the graphs have neither edge_index nor hop_edge_index; one is needed."
            )

    @property
    def num_items(self) -> int:
        """Number of graphs."""
        return self.graphs.num_graphs

    def draw(self, seed: int) -> GraphSource:
        """Return the same with the hops that ``seed`` samples, where they are."""
        if self.max_neighbors is None:
            return self
        drawn = copy.copy(self)
        drawn.hops = self._found(seed)
        return drawn

    def batch(self, numbers: Sequence[int]) -> Any:
        """Return the batch of some graphs, with one CSR per hop."""
        chosen = np.array(numbers, dtype=np.int64)
        batch = self.graphs.take(chosen)
        node_ptr = self.graphs.node_ptr
        cut = (node_ptr, chosen, self.num_hops)
        tables = [
            [*map(torch.from_numpy, cut_hops(hops.indptr, hops.indices, *cut))]
            for hops in self.hops
        ]
        (indptr, indices), (t_indptr, t_indices) = tables[0], tables[-1]
        batch[fields.HOPS] = Csr(indptr, indices, t_indptr, t_indices, self.num_hops)
        batch[fields.GRAPH_NUMBER] = torch.from_numpy(chosen)
        if self.encodings is None:
            return batch
        nodes, _ = positions(node_ptr, chosen)
        if isinstance(self.encodings, Tensor):
            batch[fields.SUB_ENC] = self.encodings[nodes]
        else:
            for name, values in _cut_ragged(self.encodings, nodes, chosen).items():
                batch[name] = values
        return batch

    def _found(self, seed: int) -> tuple[HopTable, ...]:
        """Return the hops that ``seed`` samples, and their transposes."""
        hops = hop_pairs(
            self.graphs.packed(self.undirected),
            self.num_hops,
            kernel=self.kernel,
            max_neighbors=self.max_neighbors,
            seed=seed,
            threads=torch.get_num_threads(),
        )
        # all hops of an undirected graph are symmetric
        return (hops,) if self.max_neighbors is None else _with_transpose(hops)

    def _from_pairs(self, edges: Tensor, order: Tensor) -> HopTable:
        """Return the hops of pairs that are there already."""
        check_index("hop_edge_index", edges)
        check_index("hop_order", order)
        node_ptr = self.graphs.node_ptr
        counts = np.diff(self.graphs.cuts[fields.HOP_ORDER])
        ends, hop = edges.cpu().numpy(), order.cpu().numpy()
        limit = np.repeat(np.diff(node_ptr), counts)
        if ends.size and (ends.min() < 0 or bool((ends >= limit).any())):
            raise GraphInputError("hop_edge_index holds nodes outside its graph.")
        if hop.size and hop.min() < 1:
            raise GraphInputError("hop_order counts from 1; see AddKHopEdges.")
        keep = hop <= self.num_hops
        total = int(node_ptr[-1])
        sender, receiver = (ends + np.repeat(node_ptr[:-1], counts))[:, keep]
        keys = (hop[keep] - 1) * total + receiver
        return HopTable(*by_key(keys, sender, self.num_hops * total), self.num_hops)


def _with_transpose(hops: HopTable) -> tuple[HopTable, ...]:
    """Return the hops and their transposes, or the hops alone if they are symmetric."""
    columns = _transposed(hops)
    ordered = _transposed(columns)  # the hops, with nodes in rising order
    same = np.array_equal(columns.indptr, ordered.indptr) and np.array_equal(
        columns.indices, ordered.indices
    )
    return (hops,) if same else (hops, columns)


def _transposed(hops: HopTable) -> HopTable:
    table = transposed(hops.indptr, hops.indices, hops.num_nodes)
    return HopTable(*table, hops.num_hops)


def _cut_ragged(
    encoding: RaggedEncoding, nodes: Tensor, chosen: Ints
) -> dict[str, Tensor]:
    """Return the fields of a batch of graphs and their nodes; nothing is renumbered."""
    multisets, members, vectors = (
        positions(column, chosen)[0].numpy() for column in encoding.starts.T
    )
    places = nodes.numpy(), multisets, members, members, vectors, chosen
    return {
        name: torch.from_numpy(getattr(encoding, part)[place])
        for name, part, place in zip(fields.SUB_ENC_PARTS, PARTS, places, strict=True)
    }


class HopLoader(BatchLoader):
    r"""Load batches of graphs with the compressed rows of :math:`N_1, \dots, N_K`.

    The dataset is joined once; a batch is then cut out of the joined tensors, its hops
    by straight copies with an offset, so that nothing is sorted or searched per batch
    and the layers find everything ready. Pairs that ``AddKHopEdges`` left on the graphs
    are used; without them the hops are computed here, from ``edge_index``.

    With ``max_neighbors=c`` every node keeps at most c nodes of each hop, drawn
    uniformly (SEK paper, section 5): O(c n) per layer.

    Args:
        dataset: ``Data`` objects in memory; all kinds of PyG datasets, and lists.
        batch_size: Graphs per batch.
        shuffle: Another order in every epoch.
        num_hops: K.
        kernel: ``"shortest_path"`` or ``"diffusion"``, where hops are computed here.
        max_neighbors: c, or ``None`` for all, where hops are computed here.
        resample: Draw new neighbours in every epoch; else the same in all, those of
            ``AddKHopEdges(K, max_neighbors=c, seed=seed)``.
        seed: Seed of order and samples. Epoch e depends on (seed, e) alone.
        undirected: ``"error"`` or ``"add"`` when an edge lacks its reverse.
        **kwargs: As for ``torch.utils.data.DataLoader``: ``drop_last``,
            ``num_workers``, ...

    Raises:
        ConfigError: If a parameter cannot work.
        GraphInputError: If a graph cannot be used.

    Example:
        >>> from torch_geometric.data import Data
        >>> edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        >>> graphs = [Data(edge_index=edge_index, num_nodes=3)] * 4
        >>> batch = next(iter(HopLoader(graphs, batch_size=2, num_hops=2)))
        >>> batch.num_graphs, batch.hops.sizes(1).tolist(), batch.hops.sizes(2).tolist()
        (2, [1, 2, 1, 1, 2, 1], [1, 0, 1, 1, 0, 1])
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int = 1,
        shuffle: bool = False,
        *,
        num_hops: int,
        kernel: HopKernel = "shortest_path",
        max_neighbors: int | None = None,
        resample: bool = True,
        seed: int = 0,
        undirected: Undirected = "error",
        **kwargs: Any,
    ) -> None:
        source = GraphSource(
            GraphStore(dataset[i] for i in range(len(dataset))),
            num_hops,
            max_neighbors,
            kernel=kernel,
            undirected=undirected,
            seed=seed,
        )
        drawn = resample and max_neighbors is not None
        kwargs |= {"batch_size": batch_size, "shuffle": shuffle}
        super().__init__(source, seed, drawn, **kwargs)
