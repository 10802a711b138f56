"""A data loader whose batches carry their K hops, ready for the layers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader

from sekgnn import fields
from sekgnn.checks import check_positive, check_seed
from sekgnn.encoding.ragged import PARTS, RaggedEncoding
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs.cleaning import Undirected
from sekgnn.graphs.packed import PackedGraphs
from sekgnn.hops import HopKernel, hop_pairs
from sekgnn.nn.graph_store import GraphStore, positions
from sekgnn.nn.hop_matrices import check_index
from sekgnn.nn.kernels import (
    cut_indices,
    cut_indptr,
    group,
    sample_rows,
    transpose,
)

Rows = tuple[NDArray[np.int64], NDArray[np.int32]]
"""Row starts int64 ``[K N + 1]`` and nodes int32 ``[M]``, hop-major."""

_PAIRS = (fields.HOP_EDGE_INDEX, fields.HOP_ORDER)
_CSR = (
    fields.HOP_INDPTR,
    fields.HOP_INDICES,
    fields.HOP_T_INDPTR,
    fields.HOP_T_INDICES,
)


class HopStore:
    """The hops of G graphs as one CSR, and its transpose where that differs.

    The pairs that ``AddKHopEdges`` left on the graphs are used as they are; without
    them hops are computed from ``edge_index``.

    Args:
        graphs: The joined graphs.
        num_hops: K.
        max_neighbors: Keep at most this many nodes of every hop of every node.
        kernel: What a hop is, where hops are computed here.
        undirected: ``"error"`` or ``"add"`` when an edge lacks its reverse.

    Raises:
        ConfigError: If a parameter cannot work.
        GraphInputError: If the graphs have neither edges nor pairs, or wrong ones.
    """

    def __init__(
        self,
        graphs: GraphStore,
        num_hops: int,
        max_neighbors: int | None = None,
        kernel: HopKernel = "shortest_path",
        undirected: Undirected = "error",
    ) -> None:
        """Keep all hops, or what is needed to sample them."""
        self.node_ptr = graphs.node_ptr
        self.num_hops = check_positive("num_hops", num_hops)
        self.max_neighbors = max_neighbors
        if max_neighbors is not None:
            check_positive("max_neighbors", max_neighbors)
        self.kernel = kernel
        self.rows: Rows | None = None
        self.columns: Rows | None = None
        self.stored: Rows | None = None
        self.graphs: PackedGraphs | None = None
        joined = graphs.joined
        if all(name in joined for name in _PAIRS):
            pairs, order = (joined[name] for name in _PAIRS)
            self.stored = self._from_pairs(pairs, order, graphs.cuts[_PAIRS[1]])
        elif "edge_index" not in joined:
            raise GraphInputError(
                "the graphs have neither edge_index nor hop_edge_index; one is needed."
            )
        else:
            self.graphs = graphs.packed(undirected)

    def draw(self, seed: int) -> None:
        """Make the rows of one epoch; ``seed`` matters only where hops are sampled."""
        if self.rows is not None and self.max_neighbors is None:
            return
        if self.stored is None:
            self.rows = self._computed(seed)
        elif self.max_neighbors is None:
            self.rows = self.stored
        else:
            self.rows = self._sampled(self.stored, self.max_neighbors, seed)
        if self.stored is None and self.max_neighbors is None:
            return  # of an undirected graph, so symmetric
        columns = self._transposed(self.rows)
        ordered = self._transposed(columns)  # the rows, with nodes in rising order
        same = np.array_equal(columns[0], ordered[0]) and np.array_equal(
            columns[1], ordered[1]
        )
        self.columns = None if same else columns

    def cut(self, chosen: NDArray[np.int64]) -> tuple[Tensor, ...]:
        """Return the CSR of a batch: two tensors, or four with the transpose."""
        if self.rows is None:
            self.draw(0)
        blocks = [self.rows] if self.columns is None else [self.rows, self.columns]
        nodes = int((self.node_ptr[chosen + 1] - self.node_ptr[chosen]).sum())
        out: list[Tensor] = []
        for block in blocks:
            assert block is not None
            indptr = np.empty(self.num_hops * nodes + 1, dtype=np.int32)
            cut_indptr(block[0], self.node_ptr, chosen, self.num_hops, indptr)
            indices = np.empty(indptr[-1], dtype=np.int32)
            cut_indices(*block, self.node_ptr, chosen, self.num_hops, indices)
            out += [torch.from_numpy(indptr), torch.from_numpy(indices)]
        return tuple(out)

    def _computed(self, seed: int) -> Rows:
        """Return the rows from a search in every graph."""
        assert self.graphs is not None
        hops = hop_pairs(
            self.graphs,
            self.num_hops,
            kernel=self.kernel,
            max_neighbors=self.max_neighbors,
            seed=seed,
            threads=torch.get_num_threads(),
        )
        return hops.indptr, hops.indices

    def _from_pairs(
        self, edges: Tensor, order: Tensor, pair_ptr: NDArray[np.int64]
    ) -> Rows:
        """Return the rows of pairs that are there already."""
        check_index("hop_edge_index", edges)
        check_index("hop_order", order)
        sizes, counts = np.diff(self.node_ptr), np.diff(pair_ptr)
        ends = edges.cpu().numpy()
        hop = order.cpu().numpy()
        limit = np.repeat(sizes, counts)
        if ends.size and (ends.min() < 0 or bool((ends >= limit).any())):
            raise GraphInputError("hop_edge_index holds nodes outside its graph.")
        if hop.size and hop.min() < 1:
            raise GraphInputError("hop_order counts from 1; see AddKHopEdges.")
        keep = hop <= self.num_hops
        total = int(self.node_ptr[-1])
        shift = np.repeat(self.node_ptr[:-1], counts)[keep]
        sender, receiver = ends[0][keep] + shift, ends[1][keep] + shift
        keys = (hop[keep] - 1) * total + receiver
        indptr = np.empty(self.num_hops * total + 1, dtype=np.int64)
        indices = np.empty(keys.size, dtype=np.int32)
        group(keys, sender, indptr, indices)
        return indptr, indices

    def _sampled(self, rows: Rows, limit: int, seed: int) -> Rows:
        """Return at most ``limit`` nodes of every row."""
        indptr = np.zeros_like(rows[0])
        np.cumsum(np.minimum(np.diff(rows[0]), limit), out=indptr[1:])
        indices = np.empty(indptr[-1], dtype=np.int32)
        key = np.uint64(seed)
        sample_rows(*rows, self.node_ptr, self.num_hops, limit, key, indptr, indices)
        return indptr, indices

    def _transposed(self, rows: Rows) -> Rows:
        """Return every hop transposed."""
        out = np.empty_like(rows[0]), np.empty_like(rows[1])
        transpose(*rows, max(int(self.node_ptr[-1]), 1), *out)
        return out


class HopBatcher:
    """Makes batches of a dataset by number; the collate step of :class:`HopLoader`.

    Args:
        graphs: The graph fields.
        hops: The K hops.
        encodings: Encodings of all nodes, ``[N, C, L]`` or ragged, if they are not
            among the fields: they may be mapped from a file, and only what is in a
            batch is read.
    """

    def __init__(
        self,
        graphs: GraphStore,
        hops: HopStore,
        encodings: Tensor | RaggedEncoding | None = None,
    ) -> None:
        """Keep all three."""
        self.graphs = graphs
        self.hops = hops
        self.encodings = encodings

    def draw(self, seed: int) -> None:
        """Make the hops of one epoch; ``seed`` matters only where they are sampled."""
        self.hops.draw(seed)

    def __call__(self, chosen: Sequence[int]) -> Any:
        """Return the batch of graphs ``chosen``, with one CSR per hop."""
        numbers = np.asarray(chosen, dtype=np.int64)
        batch = self.graphs.take(numbers)
        for name, tensor in zip(_CSR, self.hops.cut(numbers), strict=False):
            batch[name] = tensor
        batch[fields.NUM_HOPS] = self.hops.num_hops
        nodes, _ = positions(self.graphs.node_ptr, numbers)
        if isinstance(self.encodings, Tensor):
            batch[fields.SUB_ENC] = self.encodings[nodes]
        elif self.encodings is not None:
            for name, values in cut_ragged(self.encodings, nodes, numbers).items():
                batch[name] = values
        return batch


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


class SeededLoader(DataLoader[Any]):
    """Loads batches in an order, and with samples, that a seed and the epoch fix.

    Args:
        count: Things that batches are made of.
        batcher: Makes a batch of some of them; draws samples.
        batch_size: Things per batch.
        shuffle: Another order in every epoch.
        resample: Draw new samples in every epoch.
        seed: Of order and samples. Epoch e depends on (seed, e) alone.
        **kwargs: As for ``torch.utils.data.DataLoader``.

    Raises:
        ConfigError: If a parameter cannot work.
    """

    def __init__(
        self,
        count: int,
        batcher: Any,
        batch_size: int,
        shuffle: bool,
        resample: bool,
        seed: int,
        **kwargs: Any,
    ) -> None:
        """Draw the samples of the seed itself."""
        for name in ("collate_fn", "generator", "dataset"):
            if name in kwargs:
                raise ConfigError(
                    f"{type(self).__name__} sets {name} itself; leave it out."
                )
        if resample and kwargs.get("persistent_workers"):
            raise ConfigError(
                "persistent workers would keep the neighbours of the first epoch; "
                "use persistent_workers=False or resample=False."
            )
        self.seed = check_seed(seed)
        self.resample, self.epoch, self.batcher = resample, 0, batcher
        batcher.draw(self.seed)
        super().__init__(
            cast("Any", range(count)),
            batch_size,
            shuffle,
            collate_fn=batcher,
            generator=torch.Generator(),
            **kwargs,
        )

    def __iter__(self) -> Any:
        """Start the next epoch."""
        state = np.random.SeedSequence([self.seed, self.epoch])
        order, sample = state.generate_state(2, np.uint64).tolist()
        self.generator.manual_seed(order)
        if self.resample:
            self.batcher.draw(sample)
        self.epoch += 1
        batches: Iterator[Any] = super().__iter__()
        return batches

    def set_epoch(self, epoch: int) -> None:
        """Make ``epoch`` the next one, to continue or repeat a run."""
        self.epoch = check_positive("epoch", epoch, minimum=0)


class HopLoader(SeededLoader):
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
        """Join the dataset and find its hops."""
        graphs = GraphStore((dataset[i] for i in range(len(dataset))), skip=_PAIRS)
        hops = HopStore(graphs, num_hops, max_neighbors, kernel, undirected)
        super().__init__(
            graphs.num_graphs,
            HopBatcher(graphs, hops),
            batch_size,
            shuffle,
            resample and max_neighbors is not None,
            seed,
            **kwargs,
        )
