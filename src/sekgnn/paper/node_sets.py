"""Pairs and triples of nodes as the nodes of a graph, for k-GNNs."""

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
        nodes: The nodes of a set, ascending, int64 ``[S, k]``.
        components: The nodes of a pair, or the three pairs of a triple.
        num_edges: Edges within a set, int64 ``[S]``.
        edge_index: Pairs of sets that differ in two adjacent nodes, int64 ``[2, E]``.
    """

    nodes: Tensor
    components: Tensor
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
    for fixed, replaced in ((a, b), (b, a)):
        pair, entry = expand(near.indptr, replaced)
        new = near.indices[entry].long()
        other = new != fixed[pair]
        pair, new = pair[other], new[other]
        low, high = torch.minimum(fixed[pair], new), torch.maximum(fixed[pair], new)
        at, _ = find(a * n + b, low * n + high)
        edges.append(torch.stack([at, pair]))
    return NodeSets(nodes, nodes, joined.long(), torch.cat(edges, dim=1))


def triples_of(hops: Csr, pairs: NodeSets) -> NodeSets:
    """Return the connected triples of nodes; components are indices into ``pairs``.

    Args:
        hops: The edges, as one hop of a batch.
        pairs: All pairs, from :func:`pairs_of`.

    Example:
        >>> from sekgnn.nn import hop_csr
        >>> path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        >>> hops = hop_csr(path, torch.ones(4).long(), 3, 1)
        >>> triples = triples_of(hops, pairs_of(hops, membership(torch.tensor([0, 3]))))
        >>> triples.nodes.tolist(), triples.num_edges.tolist()
        ([[0, 1, 2]], [2])
        >>> triples.components.tolist()
        [[0, 1, 2]]
    """
    n, near = hops.num_nodes, hops.hop(1)
    centre, neighbour = hops.pairs(1)
    position, entry = expand(near.indptr, centre)
    other = near.indices[entry].long()
    centre, neighbour = centre[position], neighbour[position]
    rows = torch.stack([centre, neighbour, other], dim=1)[neighbour < other]
    pair_keys = pairs.nodes[:, 0] * n + pairs.nodes[:, 1]

    def keys_of(rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return the triples with ascending nodes, and a key for each."""
        rows = rows.sort(1).values
        pair, _ = find(pair_keys, rows[:, 0] * n + rows[:, 1])
        return rows, pair * n + rows[:, 2]

    rows, keys = keys_of(rows)
    keys, order = keys.sort(stable=True)
    new = torch.ones_like(keys, dtype=torch.bool)
    new[1:] = keys[1:] != keys[:-1]
    nodes, keys = rows[order][new], keys[new]  # pairs, and so triples, graph by graph
    components = torch.stack(
        [
            find(pair_keys, nodes[:, i] * n + nodes[:, j])[0]
            for i, j in ((0, 1), (0, 2), (1, 2))
        ],
        dim=1,
    )
    edges = []
    for i in range(3):
        position, entry = expand(near.indptr, nodes[:, i])
        changed = nodes[position]
        is_new = (changed != near.indices[entry].long().unsqueeze(1)).all(1)
        changed[:, i] = near.indices[entry].long()
        position, changed = position[is_new], changed[is_new]
        _, changed_keys = keys_of(changed)
        triple, connected = find(keys, changed_keys)
        edges.append(torch.stack([triple[connected], position[connected]]))
    count = pairs.num_edges[components].sum(1)
    return NodeSets(nodes, components, count, torch.cat(edges, dim=1))
