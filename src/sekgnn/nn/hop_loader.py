"""A data loader whose batches carry their K hops, ready for the layers."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sekgnn import fields
from sekgnn.checks import check_positive, check_seed
from sekgnn.encoding.ragged import PARTS, RaggedEncoding
from sekgnn.errors import GraphInputError
from sekgnn.graphs.cleaning import Undirected
from sekgnn.hops import HopKernel, HopTable, hop_pairs
from sekgnn.nn.batch_loader import BatchLoader, BatchSource
from sekgnn.nn.graph_store import GraphStore, positions
from sekgnn.nn.hop_matrices import check_index
from sekgnn.nn.kernels import (
    cut_hops,
    group,
    sample_rows,
    transpose,
)

_PAIRS = (fields.HOP_EDGE_INDEX, fields.HOP_ORDER)
_CSR = (
    fields.HOP_INDPTR,
    fields.HOP_INDICES,
    fields.HOP_T_INDPTR,
    fields.HOP_T_INDICES,
)


class GraphSource(BatchSource):
    """Graphs in memory with their K hops.

    The pairs that ``AddKHopEdges`` left on the graphs are used as they are; without
    them hops are computed from ``edge_index``.

    Args:
        graphs: The joined graphs.
        num_hops: K.
        max_neighbors: Keep at most this many nodes of every hop of every node.
        kernel: What a hop is, where hops are computed here.
        undirected: ``"error"`` or ``"add"`` when an edge lacks its reverse.
        seed: Of the sample.
        encodings: Encodings of all nodes, ``[N, C, L]`` or ragged, if they are not
            among the fields: they may be mapped from a file, and only what is in a
            batch is read.

    Attributes:
        hops: All hops, and their transposes where those differ.

    Raises:
        ConfigError: If a parameter cannot work.
        GraphInputError: If the graphs have neither edges nor pairs, or wrong ones.
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
        joined = graphs.joined
        self.stored: HopTable | None = None
        if all(name in joined for name in _PAIRS):
            self.stored = self._from_pairs(*(joined[name] for name in _PAIRS))
        elif "edge_index" not in joined:
            raise GraphInputError(
                "the graphs have neither edge_index nor hop_edge_index; one is needed."
            )
        self.hops = self._tables(check_seed(seed))

    @property
    def num_items(self) -> int:
        """Number of graphs."""
        return self.graphs.num_graphs

    def draw(self, seed: int) -> GraphSource:
        """Return the same with the hops that ``seed`` samples, where they are."""
        if self.max_neighbors is None:
            return self
        drawn = copy.copy(self)
        drawn.hops = self._tables(seed)
        return drawn

    def batch(self, numbers: Sequence[int]) -> Any:
        """Return the batch of some graphs, with one CSR per hop."""
        chosen = np.array(numbers, dtype=np.int64)
        batch = self.graphs.take(chosen)
        for name, tensor in zip(_CSR, self._cut(chosen), strict=False):
            batch[name] = tensor
        batch[fields.NUM_HOPS] = self.num_hops
        batch[fields.GRAPH_NUMBER] = torch.from_numpy(chosen)
        nodes, _ = positions(self.graphs.node_ptr, chosen)
        if isinstance(self.encodings, Tensor):
            batch[fields.SUB_ENC] = self.encodings[nodes]
        elif self.encodings is not None:
            for name, values in cut_ragged(self.encodings, nodes, chosen).items():
                batch[name] = values
        return batch

    def _cut(self, chosen: NDArray[np.int64]) -> list[Tensor]:
        """Return the CSR of a batch: two tensors, or four with the transpose."""
        cut = (self.graphs.node_ptr, chosen, self.num_hops)
        return [
            torch.from_numpy(array)
            for hops in self.hops
            for array in cut_hops(hops.indptr, hops.indices, *cut)
        ]

    def _tables(self, seed: int) -> tuple[HopTable, ...]:
        """Return the hops that ``seed`` samples, and their transposes."""
        if self.stored is None:
            hops = hop_pairs(
                self.graphs.packed(self.undirected),
                self.num_hops,
                kernel=self.kernel,
                max_neighbors=self.max_neighbors,
                seed=seed,
                threads=torch.get_num_threads(),
            )
            if self.max_neighbors is None:
                return (hops,)  # of an undirected graph, so symmetric
        else:
            hops = self._sampled(self.stored, seed)
        columns = _transposed(hops)
        ordered = _transposed(columns)  # the hops, with nodes in rising order
        same = np.array_equal(columns.indptr, ordered.indptr) and np.array_equal(
            columns.indices, ordered.indices
        )
        return (hops,) if same else (hops, columns)

    def _from_pairs(self, edges: Tensor, order: Tensor) -> HopTable:
        """Return the hops of pairs that are there already."""
        check_index("hop_edge_index", edges)
        check_index("hop_order", order)
        node_ptr = self.graphs.node_ptr
        counts = np.diff(self.graphs.cuts[fields.HOP_ORDER])
        ends = edges.cpu().numpy()
        hop = order.cpu().numpy()
        limit = np.repeat(np.diff(node_ptr), counts)
        if ends.size and (ends.min() < 0 or bool((ends >= limit).any())):
            raise GraphInputError("hop_edge_index holds nodes outside its graph.")
        if hop.size and hop.min() < 1:
            raise GraphInputError("hop_order counts from 1; see AddKHopEdges.")
        keep = hop <= self.num_hops
        total = int(node_ptr[-1])
        shift = np.repeat(node_ptr[:-1], counts)[keep]
        sender, receiver = ends[0][keep] + shift, ends[1][keep] + shift
        keys = (hop[keep] - 1) * total + receiver
        indptr = np.empty(self.num_hops * total + 1, dtype=np.int64)
        indices = np.empty(keys.size, dtype=np.int32)
        group(keys, sender, indptr, indices)
        return HopTable(indptr, indices, self.num_hops)

    def _sampled(self, hops: HopTable, seed: int) -> HopTable:
        """Return at most ``max_neighbors`` nodes of every row."""
        limit = self.max_neighbors
        if limit is None:
            return hops
        indptr = np.zeros_like(hops.indptr)
        np.cumsum(np.minimum(np.diff(hops.indptr), limit), out=indptr[1:])
        indices = np.empty(indptr[-1], dtype=np.int32)
        rows = hops.indptr, hops.indices, self.graphs.node_ptr, self.num_hops
        sample_rows(*rows, limit, np.uint64(seed), indptr, indices)
        return HopTable(indptr, indices, self.num_hops)


def _transposed(hops: HopTable) -> HopTable:
    """Return every hop transposed."""
    indptr, indices = np.empty_like(hops.indptr), np.empty_like(hops.indices)
    nodes = max(hops.num_nodes, 1)
    transpose(hops.indptr, hops.indices, nodes, indptr, indices)
    return HopTable(indptr, indices, hops.num_hops)


def cut_ragged(
    encoding: RaggedEncoding, nodes: Tensor, chosen: NDArray[np.int64]
) -> dict[str, Tensor]:
    """Return the fields of a batch of graphs: nothing is renumbered.

    Args:
        encoding: Of all graphs.
        nodes: Places of the nodes of the batch, int64 ``[N]``.
        chosen: Graphs of the batch, int64 ``[B]``.
    """
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
        max_neighbors: c, or ``None`` for all.
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
        >>> batch.num_graphs, batch.hop_indptr.shape, batch.hop_indices.shape
        (2, torch.Size([13]), torch.Size([12]))
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
        graphs = GraphStore((dataset[i] for i in range(len(dataset))), skip=_PAIRS)
        source = GraphSource(
            graphs,
            num_hops,
            max_neighbors,
            kernel=kernel,
            undirected=undirected,
            seed=seed,
        )
        drawn = resample and max_neighbors is not None
        kwargs |= {"batch_size": batch_size, "shuffle": shuffle}
        super().__init__(source, seed, drawn, **kwargs)
