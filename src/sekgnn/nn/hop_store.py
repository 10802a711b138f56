"""The K hops of a whole dataset, sampled or not, from which batches are cut."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sekgnn.checks import check_positive
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs.packed import PackedGraphs
from sekgnn.hops import HopKernel, HopPairs, hop_pairs_packed
from sekgnn.nn.csr_kernels import (
    cut_indices,
    cut_indptr,
    group,
    sample_rows,
    transpose,
)

Rows = tuple[NDArray[np.int64], NDArray[np.int32]]
"""Row starts int64 ``[K N + 1]`` and nodes int32 ``[M]``, hop-major."""


class HopStore:
    """The hops of G graphs as one CSR, and its transpose where that differs.

    Args:
        node_ptr: First node of every graph, int64 ``[G + 1]``.
        num_hops: K.
        max_neighbors: Keep at most this many nodes of every hop of every node.
        kernel: What a hop is, where hops are computed here.
        graphs: The graphs, to compute hops from; or
        pairs: ``hop_edge_index`` (numbered within each graph) and ``hop_order``,
            joined over the dataset, to use as they are.
        pair_ptr: First pair of every graph, int64 ``[G + 1]``.

    Raises:
        ConfigError: If a parameter cannot work.
        GraphInputError: If the pairs name nodes that are not there.
    """

    def __init__(
        self,
        node_ptr: NDArray[np.int64],
        num_hops: int,
        max_neighbors: int | None = None,
        *,
        kernel: HopKernel = "shortest_path",
        graphs: PackedGraphs | None = None,
        pairs: tuple[Tensor, Tensor] | None = None,
        pair_ptr: NDArray[np.int64] | None = None,
    ) -> None:
        """Keep all hops, or what is needed to sample them."""
        self.node_ptr = node_ptr
        self.num_hops = check_positive("num_hops", num_hops)
        self.max_neighbors = (
            None
            if max_neighbors is None
            else check_positive("max_neighbors", max_neighbors)
        )
        self.kernel = kernel
        self.graphs = graphs
        self.stored: Rows | None = None
        if pairs is not None and pair_ptr is not None:
            self.stored = self._from_pairs(*pairs, pair_ptr)
        elif graphs is None:
            raise ConfigError("a HopStore needs graphs or pairs.")
        self.rows: Rows | None = None
        self.columns: Rows | None = None

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
        pairs: HopPairs = hop_pairs_packed(
            self.graphs,
            self.num_hops,
            kernel=self.kernel,
            max_neighbors=self.max_neighbors,
            seed=seed,
            threads=torch.get_num_threads(),
        )
        n = pairs.num_nodes
        sizes = np.bincount(
            (pairs.hop - 1) * n + pairs.row, minlength=self.num_hops * n
        )
        indptr = np.zeros(sizes.size + 1, dtype=np.int64)
        np.cumsum(sizes, out=indptr[1:])
        return indptr, pairs.col.astype(np.int32)

    def _from_pairs(
        self, edges: Tensor, order: Tensor, pair_ptr: NDArray[np.int64]
    ) -> Rows:
        """Return the rows of pairs that are there already."""
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
        """Return every hop turned round."""
        out = np.empty_like(rows[0]), np.empty_like(rows[1])
        transpose(*rows, max(int(self.node_ptr[-1]), 1), *out)
        return out
