"""Overlaps of the ego-nets of neighbours: the weights of GraphSNN."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from sekgnn.nn.hop_matrices import received
from sekgnn.nn.sparse_sum import Csr
from sekgnn.paper.overlap_kernel import overlap_sizes


class Overlaps(NamedTuple):
    r"""Weights of the edges and of the nodes themselves.

    Attributes:
        weights: :math:`1 + \tilde\omega_{vu}` of every pair of hop 1, ``[M_1, 1]``.
        self_weights: :math:`1 + \sum_u \tilde\omega_{vu}` of every node, ``[N, 1]``.
        sender: The node u of every pair, int64 ``[M_1]``.
        receivers: The matrix of nodes and the pairs that they receive, ``[N, M_1]``.
    """

    weights: Tensor
    self_weights: Tensor
    sender: Tensor
    receivers: Csr


def overlap_weights(hops: Csr, dtype: torch.dtype = torch.float64) -> Overlaps:
    r"""Return the structural coefficients of GraphSNN (Wijesinghe and Wang, 2022).

    .. math:: \omega_{vu} = \frac{|E_{vu}|}{|V_{vu}| (|V_{vu}| - 1)} |V_{vu}|^2

    of the subgraph induced by v, u and their common neighbours, divided by the sum over
    the neighbours u of v.

    Args:
        hops: The batch; hop 1 is its edges.
        dtype: Of the weights.

    Example:
        >>> from sekgnn.nn import hop_csr
        >>> triangle = torch.tensor([[0, 1, 2, 1, 2, 0], [1, 2, 0, 0, 1, 2]])
        >>> hops = hop_csr(triangle, torch.ones_like(triangle[0]), 3, 1)
        >>> overlap_weights(hops).weights.flatten().tolist()
        [1.5, 1.5, 1.5, 1.5, 1.5, 1.5]
    """
    rows = hops.hop(1)
    receiver, sender = hops.pairs(1)
    sizes = torch.zeros(len(sender), 2, dtype=torch.int64)
    overlap_sizes(rows.indptr.cpu().numpy(), rows.indices.cpu().numpy(), sizes.numpy())
    nodes, edges = sizes.to(sender.device).to(torch.float64).unbind(1)  # [M_1]
    omega = edges * nodes / (nodes - 1)
    total = omega.new_zeros(hops.num_nodes).index_add(0, receiver, omega)
    share = omega / total.index_select(0, receiver)
    weights = (1 + share).to(dtype).unsqueeze(1)
    self_weights = (1 + (total > 0).to(dtype)).unsqueeze(1)
    return Overlaps(weights, self_weights, sender, received(hops, 1))
