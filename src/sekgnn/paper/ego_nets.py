"""The ego-nets of all nodes of a batch, as one graph on copies of nodes."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from sekgnn.nn.hop_matrices import EdgeFeatures, grouped, received
from sekgnn.nn.pooling import membership
from sekgnn.nn.sparse_sum import Csr


class EgoNets(NamedTuple):
    r"""The subgraphs :math:`G_v^h` induced on the nodes within h steps of every node v.

    Every ego-net has copies of its nodes, P in all, centre by centre, in order of their
    distance from the centre.

    Attributes:
        hops: The edges among copies, as one hop of a batch of P nodes.
        node: Node of every copy, int64 ``[P]``.
        centre: Centre of its ego-net, int64 ``[P]``.
        distance: Distance from the centre, int64 ``[P]``.
        centres: Index of every centre among the copies, int64 ``[N]``.
        members: The matrix of ego-nets and their copies, ``[N, P]``.
        copies: The matrix of nodes and their copies, ``[N, P]``.
        edge: Pair of hop 1 that every edge copies, int64 ``[Q]``.
    """

    hops: Csr
    node: Tensor
    centre: Tensor
    distance: Tensor
    centres: Tensor
    members: Csr
    copies: Csr
    edge: Tensor

    def edges(self, edges: EdgeFeatures) -> EdgeFeatures:
        """Return the features of the edges among copies."""
        _, sender = self.hops.pairs(1)
        return EdgeFeatures(edges.attr[self.edge], sender, received(self.hops, 1))


def expand(indptr: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    """Return all entries of some rows, as (index into ``rows``, index of the entry).

    Args:
        indptr: Row starts, int32 ``[R + 1]``.
        rows: Rows, perhaps repeated, int64 ``[S]``.

    Example:
        >>> expand(torch.tensor([0, 2, 3]), torch.tensor([1, 0]))
        (tensor([0, 1, 1]), tensor([2, 0, 1]))
    """
    starts = indptr.long()
    sizes = starts.diff()[rows]
    position = torch.repeat_interleave(sizes)
    first = starts[:-1][rows] - (sizes.cumsum(0) - sizes)
    return position, torch.arange(len(position), device=rows.device) + first[position]


def find(keys: Tensor, queries: Tensor) -> tuple[Tensor, Tensor]:
    """Return the index of every query among distinct ``keys``, and whether it exists.

    Example:
        >>> find(torch.tensor([7, 3]), torch.tensor([3, 5]))
        (tensor([1, 0]), tensor([ True, False]))
    """
    if not keys.numel():
        zeros = torch.zeros_like(queries)
        return zeros, zeros.bool()
    ordered, order = keys.sort()
    at = torch.searchsorted(ordered, queries).clamp(max=len(ordered) - 1)
    return order[at], ordered[at] == queries


def ego_nets(hops: Csr, radius: int) -> EgoNets:
    """Return the ego-nets of all nodes of a batch.

    Args:
        hops: At least ``radius`` hops; sampled hops give sampled ego-nets.
        radius: h.

    Example:
        >>> from sekgnn.nn import hop_csr
        >>> path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        >>> egos = ego_nets(hop_csr(path, torch.ones(4).long(), 3, 1), 1)
        >>> egos.centre.tolist(), egos.node.tolist()
        ([0, 0, 1, 1, 1, 2, 2], [0, 1, 1, 0, 2, 2, 1])
        >>> egos.hops.sizes(1).tolist()
        [1, 1, 2, 1, 1, 1, 1]
    """
    n = hops.num_nodes
    nodes = torch.arange(n, device=hops.indptr.device)
    shells = [(nodes, nodes), *(hops.pairs(k) for k in range(1, radius + 1))]
    centre = torch.cat([rows for rows, _ in shells])
    node = torch.cat([columns for _, columns in shells])
    distance = torch.repeat_interleave(
        torch.arange(radius + 1, device=nodes.device),
        torch.tensor([len(rows) for rows, _ in shells], device=nodes.device),
    )
    order = centre.argsort(stable=True)
    centre, node, distance = centre[order], node[order], distance[order]
    near = hops.hop(1)
    copy, step = expand(near.indptr, node)  # neighbours of every copy's node
    keys = centre[copy] * n + near.indices[step].long()
    position, inside = find(centre * n + node, keys)
    row, column = copy[inside], position[inside]
    size = len(node)
    rows = grouped(row, column, size)
    symmetric = hops.indices is hops.t_indices
    columns = rows if symmetric else grouped(column, row, size)
    sizes = torch.bincount(centre, minlength=n)
    ptr = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])
    copies = torch.arange(size, device=nodes.device)
    steps = torch.arange(size + 1, dtype=torch.int32, device=nodes.device)
    return EgoNets(
        Csr(*rows, *columns, 1),
        node,
        centre,
        distance,
        ptr[:-1],
        membership(ptr),
        Csr(*grouped(node, copies, n), steps, node.int()),
        step[inside],
    )
