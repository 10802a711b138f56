"""The K hops of a batch as compressed sparse rows, built once per batch."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from sekgnn.checks import check_positive
from sekgnn.errors import GraphInputError
from sekgnn.nn.csr_kernels import group
from sekgnn.nn.sparse_sum import Csr

_MOST = 2**31 - 1


class HopCSR(NamedTuple):
    r"""The 0/1 matrices :math:`B_k`, ``B_k[v, u] = 1`` iff :math:`u \in N_k(v)`.

    All hops stand one after the other in the same tensors, hop-major: row v of hop k is
    row ``(k - 1) N + v``. Hop k alone is a view (:meth:`hop`). The transpose is stored
    the same way, and is the same tensors where every :math:`B_k` is symmetric.

    Attributes:
        indptr: Row starts, int32 ``[K N + 1]``.
        indices: Nodes u, int32 ``[M]``.
        t_indptr: Row starts of the transposes, int32 ``[K N + 1]``.
        t_indices: Nodes v of the transposes, int32 ``[M]``.
        num_hops: K.
    """

    indptr: Tensor
    indices: Tensor
    t_indptr: Tensor
    t_indices: Tensor
    num_hops: int

    @property
    def num_nodes(self) -> int:
        """Number of nodes N."""
        return (self.indptr.size(0) - 1) // self.num_hops

    def hop(self, k: int) -> Csr:
        """Return :math:`B_k`, k in 1..K, without a copy."""
        n = self.num_nodes
        start = (k - 1) * n
        return Csr(
            self.indptr.narrow(0, start, n + 1),
            self.indices,
            self.t_indptr.narrow(0, start, n + 1),
            self.t_indices,
        )

    def pairs(self, k: int) -> tuple[Tensor, Tensor]:
        """Return hop k as ``(row, col)``, each int64 ``[M_k]``, row by row."""
        n = self.num_nodes
        indptr = self.indptr[(k - 1) * n : k * n + 1].long()
        nodes = torch.arange(n, device=indptr.device)
        row = torch.repeat_interleave(nodes, indptr.diff())
        return row, self.indices[int(indptr[0]) : int(indptr[-1])].long()


def hop_csr(
    hop_edge_index: Tensor, hop_order: Tensor, num_nodes: int, num_hops: int
) -> HopCSR:
    """Return the hops 1..K of a graph or batch; pairs of higher hops are left out.

    Args:
        hop_edge_index: Row 0 the node u that sends, row 1 the node v that receives,
            int64 ``[2, M]``, in any order.
        hop_order: The hop of every pair, at least 1, int64 ``[M]``.
        num_nodes: N.
        num_hops: K.

    Raises:
        GraphInputError: If the pairs do not fit together or name other nodes.

    Example:
        >>> pairs = torch.tensor([[1, 0], [0, 1]])
        >>> hops = hop_csr(pairs, torch.tensor([1, 1]), num_nodes=3, num_hops=2)
        >>> hops.indptr.tolist(), hops.indices.tolist()
        ([0, 1, 2, 2, 2, 2, 2], [1, 0])
    """
    check_positive("num_hops", num_hops)
    _check_pairs(hop_edge_index, hop_order, num_nodes, num_hops)
    keep = hop_order <= num_hops
    if not bool(keep.all()):
        hop_edge_index, hop_order = hop_edge_index[:, keep], hop_order[keep]
    base = (hop_order - 1) * num_nodes
    sender, receiver = hop_edge_index
    rows = num_hops * num_nodes
    return HopCSR(
        *_grouped(base + receiver, sender, rows),
        *_grouped(base + sender, receiver, rows),
        num_hops,
    )


def _check_pairs(edges: Tensor, order: Tensor, num_nodes: int, num_hops: int) -> None:
    if edges.dim() != 2 or edges.size(0) != 2 or order.shape != edges.shape[1:]:
        raise GraphInputError(
            "hop_edge_index must have shape [2, M] and hop_order [M], got "
            f"{list(edges.shape)} and {list(order.shape)}."
        )
    if max(num_hops * num_nodes, edges.size(1)) > _MOST:
        raise GraphInputError(
            f"{edges.size(1)} pairs on {num_hops} x {num_nodes} rows do not fit 32-bit "
            "numbers; use fewer hops or sample them (max_neighbors)."
        )
    if edges.numel() == 0:
        return
    low, high = int(edges.min()), int(edges.max())
    if low < 0 or high >= num_nodes:
        raise GraphInputError(
            f"hop_edge_index holds nodes {low}..{high}, but there are {num_nodes}."
        )
    if int(order.min()) < 1:
        raise GraphInputError(
            f"hop_order counts from 1, got {int(order.min())}; see AddKHopEdges."
        )


def _grouped(keys: Tensor, values: Tensor, rows: int) -> tuple[Tensor, Tensor]:
    """Return row starts and the values sorted by row, both int32."""
    if keys.is_cpu:
        indptr = keys.new_empty(rows + 1, dtype=torch.int32)
        grouped = keys.new_empty(keys.shape, dtype=torch.int32)
        group(
            keys.contiguous().numpy(),
            values.contiguous().numpy(),
            indptr.numpy(),
            grouped.numpy(),
        )
        return indptr, grouped
    indptr = keys.new_zeros(rows + 1, dtype=torch.int32)
    indptr[1:] = torch.bincount(keys, minlength=rows).cumsum(0)
    return indptr, values[keys.argsort(stable=True)].int()
