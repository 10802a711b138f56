"""Batches of seed nodes of one huge graph, with sampled K-hop neighbourhoods."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from sekgnn import fields
from sekgnn.checks import check_positive, check_seed
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs import Graph, as_graph
from sekgnn.nn.batch_loader import BatchLoader, BatchSource
from sekgnn.nn.hop_loader import Ints, positions, starts
from sekgnn.nn.hop_matrices import transposed
from sekgnn.nn.kernels import sample_neighborhood
from sekgnn.nn.sparse_sum import Csr
from sekgnn.walks.between import walks_between


class Rows(Protocol):
    """Rows by node number: an array, mapped or not, or ``EncodedNodes``."""

    def __getitem__(self, nodes: Any) -> NDArray[Any]:
        """Return the rows of some nodes."""


class SeedSource(BatchSource):
    """Seeds of one graph: nodes, or pairs of nodes; see :class:`HopNeighborLoader`.

    Layer by layer, every node that is needed gets at most c nodes of each of its hops,
    so a batch holds O(B (K c)^L) nodes, whatever the size of the graph. The sample of a
    hop is that of :func:`~sekgnn.hops.hop_pairs`, a function of seed, node and hop
    alone. Batches of pairs also hold what walks between the two say, ``pair_walks``.
    ``rows`` are fields of nodes, and ``item_fields`` those of seeds, such as ``y``.
    """

    def __init__(
        self,
        graph: Graph,
        items: NDArray[np.int64],
        num_hops: int,
        num_layers: int,
        max_neighbors: int | None,
        rows: dict[str, Rows],
        item_fields: dict[str, torch.Tensor] | None = None,
        seed: int = 0,
    ) -> None:
        self.graph, self.items = graph, np.asarray(items, dtype=np.int64)
        self.num_hops = check_positive("num_hops", num_hops)
        self.num_layers = check_positive("num_layers", num_layers)
        if max_neighbors is not None:
            check_positive("max_neighbors", max_neighbors)
        self.max_neighbors = max_neighbors
        self.rows, self.item_fields = rows, item_fields or {}
        self.seed = check_seed(seed)
        n = graph.num_nodes
        if self.items.size and not 0 <= self.items.min() <= self.items.max() < n:
            raise GraphInputError(f"seeds must lie in [0, {n}).")

    @property
    def num_items(self) -> int:
        """Number of seeds, or of pairs."""
        return len(self.items)

    def draw(self, seed: int) -> SeedSource:
        """Return the same with the samples of ``seed``."""
        drawn = copy.copy(self)
        drawn.seed = seed
        return drawn

    def batch(self, numbers: Sequence[int]) -> Any:
        """Return the batch of the items at some positions."""
        chosen = np.array(numbers, dtype=np.int64)
        seeds, where = np.unique(self.items[chosen], return_inverse=True)
        nodes, sizes, flat = sample_neighborhood(
            self.graph.csr,
            seeds,
            self.num_hops,
            -1 if self.max_neighbors is None else self.max_neighbors,
            self.num_layers,
            np.uint64(self.seed),
        )
        if max(self.num_hops * nodes.size + 1, flat.size) >= 2**31:
            raise ConfigError("a batch is too large; use a smaller batch_size.")
        indptr, indices = _hop_major(sizes, flat, nodes.size, self.num_hops)
        t_indptr, t_indices = transposed(indptr, indices, nodes.size)
        batch = Data(num_nodes=nodes.size)
        batch[fields.SEEDS] = torch.from_numpy(where.reshape(self.items[chosen].shape))
        batch[fields.GRAPH_NUMBER] = torch.from_numpy(chosen)
        if self.items.ndim == 2:
            walks = walks_between(self.graph, self.items[chosen])
            batch[fields.PAIR_WALKS] = torch.from_numpy(walks.astype(np.float32))
        batch[fields.HOPS] = Csr(
            torch.from_numpy(indptr).int(),
            torch.from_numpy(indices),
            torch.from_numpy(t_indptr).int(),
            torch.from_numpy(t_indices),
            self.num_hops,
        )
        batch[fields.NODE_NUMBER] = torch.from_numpy(nodes.astype(np.int64))
        for name, rows in self.rows.items():
            batch[name] = torch.from_numpy(np.ascontiguousarray(rows[nodes]))
        for name, values in self.item_fields.items():
            batch[name] = values[torch.from_numpy(chosen)]
        return batch


def _hop_major(
    sizes: Ints, flat: NDArray[np.int32], num_nodes: int, num_hops: int
) -> tuple[Ints, NDArray[np.int32]]:
    """Return the rows of :func:`sample_neighborhood`, hop after hop.

    Nodes after the first R, which have no hops there, have empty rows.
    """
    rows = np.zeros((num_hops, num_nodes), dtype=np.int64)
    by_node = sizes.reshape(-1, num_hops)  # [R, K]
    rows[:, : len(by_node)] = by_node.T
    order = np.arange(sizes.size).reshape(by_node.shape).T.ravel()
    places, _ = positions(starts(sizes), order)
    return starts(rows.ravel()), flat[places.numpy()]


class HopNeighborLoader(BatchLoader):
    r"""Load seed nodes (or pairs) of one huge graph with sampled K-hop neighbourhoods.

    A batch holds what the models read: seeds, the nodes that they reach in L layers,
    at most c per hop and layer, and the compressed rows of their hops. Models give one
    output per seed; with c at least the size of every hop it is that of the whole
    graph.

    Args:
        graph: As for :func:`~sekgnn.graphs.as_graph`, such as that of a graph file.
        items: Seed nodes, int ``[I]``, or pairs ``[I, 2]``; all nodes by default.
        batch_size: Seeds per batch.
        shuffle: Another order in every epoch.
        num_hops: K.
        num_layers: L of the model.
        max_neighbors: c, or ``None`` for all.
        x: Features by node, ``[n, F]``, which may be mapped from a file.
        encoding: Encodings by node, ``[n, C, L]``, or
            :class:`~sekgnn.encoding.node_ranges.EncodedNodes`.
        y: Targets of the items.
        resample: Draw new neighbours in every epoch.
        seed: Seed of order and samples. Epoch e depends on (seed, e) alone.
        **kwargs: As for ``torch.utils.data.DataLoader``: ``num_workers``, ...

    Raises:
        ConfigError: If a parameter cannot work.
        GraphInputError: If a seed is not a node.

    Example:
        >>> from sekgnn.graphs import cycle_graph
        >>> graph = cycle_graph(1000)
        >>> loader = HopNeighborLoader(
        ...     graph, [3, 500], batch_size=2, num_hops=2, num_layers=1, max_neighbors=2
        ... )
        >>> next(iter(loader)).num_nodes
        10
    """

    def __init__(
        self,
        graph: Any,
        items: Any = None,
        batch_size: int = 1,
        shuffle: bool = False,
        *,
        num_hops: int,
        num_layers: int,
        max_neighbors: int | None = None,
        x: Rows | None = None,
        encoding: Rows | None = None,
        y: torch.Tensor | None = None,
        resample: bool = True,
        seed: int = 0,
        **kwargs: Any,
    ) -> None:
        known = as_graph(graph)
        rows = {"x": x, fields.SUB_ENC: encoding}
        source = SeedSource(
            known,
            np.arange(known.num_nodes) if items is None else np.asarray(items),
            num_hops,
            num_layers,
            max_neighbors,
            {name: values for name, values in rows.items() if values is not None},
            {} if y is None else {"y": y},
            seed,
        )
        drawn = resample and max_neighbors is not None
        kwargs |= {"batch_size": batch_size, "shuffle": shuffle}
        super().__init__(source, seed, drawn, **kwargs)
