"""A data loader whose batches carry their K hops, ready for the layers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader

from sekgnn import fields
from sekgnn.checks import check_positive
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs.cleaning import Undirected
from sekgnn.graphs.packed import PackedGraphs, pack_edge_indices
from sekgnn.hops import HopKernel
from sekgnn.nn.graph_store import GraphStore, positions
from sekgnn.nn.hop_store import HopStore

_PAIRS = (fields.HOP_EDGE_INDEX, fields.HOP_ORDER)
_CSR = (
    fields.HOP_INDPTR,
    fields.HOP_INDICES,
    fields.HOP_T_INDPTR,
    fields.HOP_T_INDICES,
)


class HopBatcher:
    """Makes batches of a dataset by number; the collate step of :class:`HopLoader`.

    Args:
        graphs: The graph fields.
        hops: The K hops.
        encodings: Encodings of all nodes, ``[N, C, L]``, if they are not among the
            fields: they may be mapped from a file, and only the rows of a batch are
            read.
    """

    def __init__(
        self, graphs: GraphStore, hops: HopStore, encodings: Tensor | None = None
    ) -> None:
        """Keep all three."""
        self.graphs = graphs
        self.hops = hops
        self.encodings = encodings

    def __call__(self, chosen: Sequence[int]) -> Any:
        """Return the batch of graphs ``chosen``, with one CSR per hop."""
        numbers = np.asarray(chosen, dtype=np.int64)
        batch = self.graphs.take(numbers)
        for name, tensor in zip(_CSR, self.hops.cut(numbers), strict=False):
            batch[name] = tensor
        batch[fields.NUM_HOPS] = self.hops.num_hops
        if self.encodings is not None:
            rows, _ = positions(self.graphs.node_ptr, numbers)
            batch[fields.SUB_ENC] = self.encodings[rows]
        return batch


class HopLoader(DataLoader[Any]):
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
        for name in ("collate_fn", "generator", "dataset"):
            if name in kwargs:
                raise ConfigError(f"HopLoader sets {name} itself; leave it out.")
        self.seed = check_positive("seed", seed, minimum=0)
        self.resample = resample and max_neighbors is not None
        if self.resample and kwargs.get("persistent_workers"):
            raise ConfigError(
                "workers that live on would keep the neighbours of the first epoch; "
                "use persistent_workers=False or resample=False."
            )
        self.epoch = 0
        graphs = GraphStore((dataset[i] for i in range(len(dataset))), skip=_PAIRS)
        hops = hops_of_store(graphs, num_hops, max_neighbors, kernel, undirected)
        hops.draw(self.seed)
        self.batcher = HopBatcher(graphs, hops)
        super().__init__(
            cast("Any", range(graphs.num_graphs)),
            batch_size,
            shuffle,
            collate_fn=self.batcher,
            generator=torch.Generator(),
            **kwargs,
        )

    def __iter__(self) -> Any:
        """Start the next epoch."""
        state = np.random.SeedSequence([self.seed, self.epoch])
        order, sample = state.generate_state(2, np.uint64).tolist()
        self.generator.manual_seed(order)
        if self.resample:
            self.batcher.hops.draw(sample)
        self.epoch += 1
        batches: Iterator[Any] = super().__iter__()
        return batches

    def set_epoch(self, epoch: int) -> None:
        """Make ``epoch`` the next one, to continue or repeat a run."""
        self.epoch = check_positive("epoch", epoch, minimum=0)


def hops_of_store(
    graphs: GraphStore,
    num_hops: int,
    max_neighbors: int | None = None,
    kernel: HopKernel = "shortest_path",
    undirected: Undirected = "error",
) -> HopStore:
    """Return the hops of joined graphs: their own pairs, or else computed from edges.

    Raises:
        ConfigError: If a parameter cannot work.
        GraphInputError: If the graphs have neither edges nor pairs, or wrong ones.
    """
    if all(name in graphs.joined for name in _PAIRS):
        return HopStore(
            graphs.node_ptr,
            num_hops,
            max_neighbors,
            pairs=(graphs.joined[_PAIRS[0]], graphs.joined[_PAIRS[1]]),
            pair_ptr=graphs.joined_ptr(_PAIRS[1]),
        )
    return HopStore(
        graphs.node_ptr,
        num_hops,
        max_neighbors,
        kernel=kernel,
        graphs=_packed(graphs, undirected),
    )


def _packed(graphs: GraphStore, undirected: Undirected) -> PackedGraphs:
    """Return the graphs for the hop kernels."""
    edges = graphs.joined.get("edge_index")
    if edges is None:
        raise GraphInputError(
            "the graphs have neither edge_index nor hop_edge_index; one is needed."
        )
    return pack_edge_indices(
        edges.cpu().numpy(),
        graphs.node_ptr,
        graphs.ptrs["edge_index"],
        undirected=undirected,
        loops="drop",
    )
