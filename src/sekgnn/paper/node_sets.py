"""Pairs and triples of nodes as nodes of a graph of their own, for k-GNNs."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from sekgnn.nn.pooling import membership
from sekgnn.nn.sparse_sum import Csr
from sekgnn.paper.ego_nets import EgoNets, expand, find


class NodeSets(NamedTuple):
    """Sets of two or three nodes of the same graph, graph by graph.

    Attributes:
        nodes: The members, in rising order, int64 ``[S, k]``.
        parts: What a set is made of: its nodes, or of a triple its three pairs.
        num_edges: How many edges a set has, int64 ``[S]``.
        edge_index: Neighbours: two sets that differ in two adjacent nodes, int64 ``[2,
            E]``.
    """

    nodes: Tensor
    parts: Tensor
    num_edges: Tensor
    edge_index: Tensor

    def members(self, egos: EgoNets, num_nodes: int) -> Csr:
        """Return the matrix of ego-nets and the sets in them, ``[N, S]``."""
        owner = egos.centre[self.nodes[:, 0]]
        sizes = torch.bincount(owner, minlength=num_nodes)
        return membership(torch.cat([sizes.new_zeros(1), sizes.cumsum(0)]))


def pairs_of(hops: Csr, graphs: Csr) -> NodeSets:
    """Return all pairs of nodes of every graph.

    Args:
        hops: The edges, as one hop of a batch.
        graphs: The matrix of graphs and their nodes, ``[G, N]``.

    Example:
        >>> from sekgnn.nn import hop_csr
        >>> path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        >>> hops = hop_csr(path, torch.ones(4).long(), 3, 1)
        >>> pairs = pairs_of(hops, membership(torch.tensor([0, 3])))
        >>> pairs.nodes.tolist(), pairs.num_edges.tolist()
        ([[0, 1], [0, 2], [1, 2]], [1, 0, 1])
    """
    n = hops.num_nodes
    ends = graphs.indptr[1:].long()[graphs.t_indices.long()]  # of every node's graph
    first = torch.arange(n, device=ends.device)
    a = torch.repeat_interleave(ends - first - 1)
    start = (ends - first - 1).cumsum(0) - (ends - first - 1)
    b = torch.arange(len(a), device=a.device) - start[a] + a + 1
    nodes = torch.stack([a, b], dim=1)
    receiver, sender = hops.pairs(1)
    _, joined = find(receiver * n + sender, a * n + b)
    near, edges = hops.hop(1), []
    for kept, left in ((a, b), (b, a)):
        place, entry = expand(near.indptr, left)
        new = near.indices[entry].long()
        other = new != kept[place]
        place, new = place[other], new[other]
        low, high = torch.minimum(kept[place], new), torch.maximum(kept[place], new)
        at, _ = find(a * n + b, low * n + high)
        edges.append(torch.stack([at, place]))
    return NodeSets(nodes, nodes, joined.long(), torch.cat(edges, dim=1))


def triples_of(hops: Csr, pairs: NodeSets) -> NodeSets:
    """Return the connected triples of nodes; their parts are places among ``pairs``.

    Args:
        hops: The edges, as one hop of a batch.
        pairs: All pairs, of :func:`pairs_of`.

    Example:
        >>> from sekgnn.nn import hop_csr
        >>> path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        >>> hops = hop_csr(path, torch.ones(4).long(), 3, 1)
        >>> triples = triples_of(hops, pairs_of(hops, membership(torch.tensor([0, 3]))))
        >>> triples.nodes.tolist(), triples.parts.tolist(), triples.num_edges.tolist()
        ([[0, 1, 2]], [[0, 1, 2]], [2])
    """
    n, near = hops.num_nodes, hops.hop(1)
    centre, one = hops.pairs(1)
    place, entry = expand(near.indptr, centre)
    other = near.indices[entry].long()
    rows = torch.stack([centre[place], one[place], other], dim=1)[one[place] < other]
    pair_keys = pairs.nodes[:, 0] * n + pairs.nodes[:, 1]

    def keys_of(rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return the triples in rising order, and a number for each."""
        rows = rows.sort(1).values
        at, _ = find(pair_keys, rows[:, 0] * n + rows[:, 1])
        return rows, at * n + rows[:, 2]

    rows, keys = keys_of(rows)
    keys, order = keys.sort(stable=True)
    new = torch.ones_like(keys, dtype=torch.bool)
    new[1:] = keys[1:] != keys[:-1]
    nodes, keys = rows[order][new], keys[new]  # pairs, and so triples, graph by graph
    parts = torch.stack(
        [
            find(pair_keys, nodes[:, i] * n + nodes[:, j])[0]
            for i, j in ((0, 1), (0, 2), (1, 2))
        ],
        dim=1,
    )
    edges = []
    for i in range(3):
        place, entry = expand(near.indptr, nodes[:, i])
        changed = nodes[place]
        fresh = (changed != near.indices[entry].long().unsqueeze(1)).all(1)
        changed[:, i] = near.indices[entry].long()
        place, changed = place[fresh], changed[fresh]
        _, wanted = keys_of(changed)
        at, found = find(keys, wanted)
        edges.append(torch.stack([at[found], place[found]]))
    count = pairs.num_edges[parts].sum(1)
    return NodeSets(nodes, parts, count, torch.cat(edges, dim=1))
