"""Edge features in the order of the pairs of hop 1."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from sekgnn.errors import GraphInputError
from sekgnn.nn.hop_matrices import HopCSR
from sekgnn.nn.sparse_sum import Csr, csr_sum


class EdgeFeatures(NamedTuple):
    """Features of the pairs of hop 1, and which node sends and receives each.

    Attributes:
        attr: ``[M_1, D]``.
        sender: The node u of every pair, int64 ``[M_1]``.
        receivers: The matrix of nodes and the pairs that they receive, ``[N, M_1]``.
    """

    attr: Tensor
    sender: Tensor
    receivers: Csr


def edge_features(edge_index: Tensor, edge_attr: Tensor, hops: HopCSR) -> EdgeFeatures:
    """Bring the features of ``edge_index`` to the order of hop 1.

    Args:
        edge_index: From u (row 0) to v (row 1), int64 ``[2, E]``, in any order. Edges
            that hop 1 does not hold (not sampled, self-loops) are left out.
        edge_attr: ``[E]`` or ``[E, D]``.
        hops: The batch.

    Raises:
        GraphInputError: If a pair of hop 1 has no edge, or has two.
    """
    if edge_attr.size(0) != edge_index.size(1):
        raise GraphInputError(
            f"edge_attr has {edge_attr.size(0)} rows for {edge_index.size(1)} edges."
        )
    receiver, sender = hops.pairs(1)  # each [M_1]
    n = hops.num_nodes
    keys, order = (edge_index[1] * n + edge_index[0]).sort(stable=True)  # [E]
    wanted = receiver * n + sender
    left = torch.searchsorted(keys, wanted)
    found = torch.searchsorted(keys, wanted, right=True) - left
    if bool((found != 1).any()):
        at = int((found != 1).nonzero()[0])
        u, v = int(sender[at]), int(receiver[at])
        raise GraphInputError(
            f"the pair {u} -> {v} of hop 1 has {int(found[at])} edges in edge_index; "
            "with edge features it must have one. Give both directions of every edge "
            "and join multiple ones (torch_geometric.utils.to_undirected)."
        )
    attr = edge_attr.view(-1, 1) if edge_attr.dim() == 1 else edge_attr
    size = receiver.numel()
    steps = torch.arange(size + 1, dtype=torch.int32, device=receiver.device)
    receivers = Csr(hops.hop(1).indptr, steps[:-1], steps, receiver.int())
    return EdgeFeatures(attr[order[left]], sender, receivers)


def edge_sum(x: Tensor, lift: nn.Module, edges: EdgeFeatures | None) -> Tensor:
    r"""Return :math:`\sum_{u \in N_1(v)} \mathrm{ReLU}(x_u + \mathrm{lift}(e_{uv}))`.

    Args:
        x: ``[N, C]``.
        lift: Brings features to ``[M_1, C]``.
        edges: The features.

    Raises:
        GraphInputError: If there are none.
    """
    if edges is None:
        raise GraphInputError(
            "this layer was made with edge_channels: the batch needs edge_attr."
        )
    message = (x.index_select(0, edges.sender) + lift(edges.attr)).relu()  # [M_1, C]
    return csr_sum(message, edges.receivers)
