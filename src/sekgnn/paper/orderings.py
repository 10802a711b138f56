"""Orders in which breadth-first searches visit nodes, for Deep LRP."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from sekgnn.errors import GraphInputError
from sekgnn.nn.pooling import membership
from sekgnn.nn.sparse_sum import Csr
from sekgnn.paper.ego_nets import expand, find

MOST_ORDERINGS = 2_000_000


class Orderings(NamedTuple):
    """Orderings of the nodes around every node.

    Attributes:
        nodes: The first k nodes, the centre first; -1 where there are fewer, int64
            ``[S, k]``.
        relations: For every a < b whether the a-th and b-th nodes are adjacent, and
            their edge features, then for every a whether there is such a node, ``[S,
            k (k - 1) / 2 (1 + D) + k]``.
        centres: The matrix of nodes and their orderings, ``[N, S]``.
    """

    nodes: Tensor
    relations: Tensor
    centres: Csr


def bfs_orderings(
    hops: Csr,
    radius: int,
    size: int,
    edge_attr: Tensor | None = None,
    dtype: torch.dtype = torch.float32,
) -> Orderings:
    """Return all orders of breadth-first search, cut after ``size`` nodes.

    The next node of an ordering is any unvisited neighbour of the earliest node that
    has one and is less than ``radius`` steps from the centre.

    Args:
        hops: The batch; hop 1 is its edges.
        radius: Largest distance from the centre.
        size: k.
        edge_attr: Features of the pairs of hop 1, ``[M_1, D]``.
        dtype: Of the relations.

    Raises:
        GraphInputError: If there are too many.

    Example:
        >>> from sekgnn.nn import hop_csr
        >>> path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        >>> hops = hop_csr(path, torch.ones(4).long(), 3, 1)
        >>> bfs_orderings(hops, 1, 3).nodes.tolist()
        [[0, 1, -1], [1, 0, 2], [1, 2, 0], [2, 1, -1]]
    """
    n, near = hops.num_nodes, hops.hop(1)
    nodes = torch.full((n, size), -1, device=hops.indptr.device)
    nodes[:, 0] = torch.arange(n, device=nodes.device)
    depth = torch.zeros_like(nodes)
    for step in range(1, size):
        nodes, depth = _extended(near, nodes, depth, radius, step)
        if len(nodes) > MOST_ORDERINGS:
            raise GraphInputError(
                f"there are more than {MOST_ORDERINGS:,} orderings of {size} nodes in "
                "one batch; choose a smaller order_size or batch_size."
            )
    order = nodes[:, 0].argsort(stable=True)
    nodes = nodes[order]
    receiver, sender = hops.pairs(1)
    keys, columns = receiver * n + sender, []
    for a in range(size):
        for b in range(a + 1, size):
            exists = nodes[:, b] >= 0
            pair, adjacent = find(keys, nodes[:, a].clamp(min=0) * n + nodes[:, b])
            joined = (adjacent & exists).to(dtype).unsqueeze(1)
            columns.append(joined)
            if edge_attr is not None and len(edge_attr):
                columns.append(edge_attr[pair].to(dtype) * joined)
            elif edge_attr is not None:
                columns.append(joined.expand(-1, edge_attr.size(1)))
    relations = torch.cat([*columns, (nodes >= 0).to(dtype)], dim=1)
    sizes = torch.bincount(nodes[:, 0], minlength=n)
    ptr = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])
    return Orderings(nodes, relations, membership(ptr))


def _extended(
    near: Csr, nodes: Tensor, depth: Tensor, radius: int, step: int
) -> tuple[Tensor, Tensor]:
    """Return the orderings extended by one node where possible."""
    waiting = torch.arange(len(nodes), device=nodes.device)
    out, depths = [], []
    for a in range(step):
        parent = nodes[waiting, a]
        open_ = waiting[(parent >= 0) & (depth[waiting, a] < radius)]
        position, entry = expand(near.indptr, nodes[open_, a])
        row, new = open_[position], near.indices[entry].long()
        fresh = (nodes[row] != new.unsqueeze(1)).all(1)
        row, new = row[fresh], new[fresh]
        longer, deeper = nodes[row], depth[row]
        longer[:, step] = new
        deeper[:, step] = depth[row, a] + 1
        out.append(longer)
        depths.append(deeper)
        grown = torch.zeros(len(nodes), dtype=torch.bool, device=nodes.device)
        grown[row] = True
        waiting = waiting[~grown[waiting]]
    return (
        torch.cat([*out, nodes[waiting]]),
        torch.cat([*depths, depth[waiting]]),
    )
