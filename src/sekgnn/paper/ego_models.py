"""Networks on the ego-nets of all nodes, or on orderings of their nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.nn import GraphConv

from sekgnn.errors import GraphInputError
from sekgnn.models.graph_inputs import GraphInputs
from sekgnn.models.graph_model import GraphModel, register_model
from sekgnn.models.hop_encoder import NodeEmbedding
from sekgnn.models.networks import gin_encoder
from sekgnn.nn import MLP, SEKConv
from sekgnn.nn.mlp import activate, make_norm, reset_children
from sekgnn.nn.pooling import pool_nodes
from sekgnn.nn.sparse_sum import csr_sum
from sekgnn.paper.ego_nets import EgoNets, ego_nets
from sekgnn.paper.kinds import GINAKOptions, LRPOptions, NestedOptions
from sekgnn.paper.layer_stack import LayerStack
from sekgnn.paper.node_sets import NodeSets, pairs_of, triples_of
from sekgnn.paper.orderings import MOST_ORDERINGS, Orderings, bfs_orderings


def _inside(inputs: GraphInputs, radius: int) -> GraphInputs:
    """Return the ego-nets as a batch; ``extra`` is their layout."""
    egos = ego_nets(inputs.hops, radius)
    edges = None if inputs.edges is None else egos.edges(inputs.edges)
    return GraphInputs(egos.hops, egos.members, edges=edges, extra=egos)


@register_model("gin-ak+")
class GINAKPlus(GraphModel):
    r"""GIN-AK+ (Zhao et al., 2022): a GIN on every ego-net, in every layer.

    With :math:`z_{u|v}` the output of ``inner_layers`` GIN layers at node u in the
    ego-net of v with radius ``num_hops``, from :math:`h_u` and the distance of u and v,

    .. math:: h'_v = h_v + \mathrm{MLP}\Big(\Big[z_{v|v} \,\Big\|\, \sum_{u \in S_v}
              \sigma(a_{d(u, v)}) \circ z_{u|v} \,\Big\|\, \sum_{u : v \in S_u}
              \sigma(b_{d(u, v)}) \circ z_{v|u}\Big]\Big)

    are the centroid, the subgraph and the context, the latter two gated by distance.
    Memory grows with the total size of the ego-nets.

    The authors' code has one inner layer, appends an embedding of the distance instead
    of adding it, also gates the centroid, and maps subgraph and context by separate
    layers before joining them.
    """

    def encoders(self, options: GINAKOptions) -> list[nn.Module]:

        def layer(width: int) -> nn.Module:
            return _EgoLayer(options, self.edge_channels)

        return [LayerStack(self.in_channels, options, layer, embed=True)]

    def extras(self, data: Any, inputs: GraphInputs) -> GraphInputs:
        """Return the ego-nets."""
        return _inside(inputs, self.num_hops)


class _EgoLayer(nn.Module):
    """A layer of GIN-AK+."""

    def __init__(self, options: GINAKOptions, edge_channels: int) -> None:
        super().__init__()
        channels, norm = options.hidden_channels, options.norm
        self.activation = options.activation
        self.distance = nn.Embedding(options.num_hops + 1, channels)
        self.convs = nn.ModuleList(
            SEKConv(
                channels,
                channels,
                1,
                message="gine" if edge_channels else "gin",
                combine="sum",
                edge_channels=edge_channels,
                norm=norm,
                activation=options.activation,
            )
            for _ in range(options.inner_layers)
        )
        self.norms = nn.ModuleList(make_norm(norm, channels) for _ in self.convs)
        self.subgraph_gate = nn.Embedding(options.num_hops + 1, channels)
        self.context_gate = nn.Embedding(options.num_hops + 1, channels)
        self.fuse = MLP(3 * channels, channels, channels, norm, options.activation)

    def reset_parameters(self) -> None:
        reset_children(self)

    def forward(self, history: Sequence[Tensor], inputs: GraphInputs) -> Tensor:
        """Return ``[N, C]``."""
        inside: GraphInputs = inputs.extra
        egos: EgoNets = inside.extra
        h = history[-1]
        z = h.index_select(0, egos.node) + self.distance(egos.distance)  # [P, C]
        for conv, norm in zip(self.convs, self.norms, strict=True):
            z = conv(z, inside.hops, edge_attr=inside.edges)
            z = z.clone() if isinstance(norm, nn.Identity) else norm(z)
            z = activate(z, self.activation)
        subgraph = z * self.subgraph_gate(egos.distance).sigmoid()
        context = z * self.context_gate(egos.distance).sigmoid()
        readouts = [
            z.index_select(0, egos.centres),
            csr_sum(subgraph, egos.members),
            csr_sum(context, egos.copies),
        ]
        out: Tensor = h + self.fuse(torch.cat(readouts, dim=1))
        return out


@register_model("nested-gnn")
class NestedGNN(GraphModel):
    r"""Nested GNN (Zhang and Li, 2021): a GNN on every ego-net, pooled.

    .. math:: h_v = \operatorname{mean}_{u \in S_v} \mathrm{GNN}\big(G_v^h\big)_u

    with h = ``num_hops``; nodes carry their distance to the centre. The
    GNN is a GIN of ``num_layers`` layers (``base="1"``), or a 1-2-3-GNN (Morris et al.,
    2019): above the GIN, two layers of PyG's ``GraphConv`` on all pairs of nodes of an
    ego-net, and two on its connected triples, where sets are neighbours if they differ
    in two adjacent nodes; a set starts from the mean of its nodes, or pairs, and its
    number of edges. The three pools are concatenated and mapped linearly.
    """

    options: NestedOptions

    def encoders(self, options: NestedOptions) -> list[nn.Module]:
        return [_Nested(self.in_channels, options, self.edge_channels)]

    def extras(self, data: Any, inputs: GraphInputs) -> Any:
        """Return the ego-nets, and for 1-2-3-GNNs their pairs and triples of nodes."""
        inside = _inside(inputs, self.num_hops)
        if self.options.base == "1":
            return inside, ()
        pairs = pairs_of(inside.hops, inside.graphs)
        return inside, (pairs, triples_of(inside.hops, pairs))


class _Nested(nn.Module):
    """The network on the ego-nets, and their pooling."""

    def __init__(
        self, in_channels: int, options: NestedOptions, edge_channels: int
    ) -> None:
        super().__init__()
        channels = options.hidden_channels
        self.embedding = NodeEmbedding(in_channels, channels)
        self.distance = nn.Embedding(options.num_hops + 1, channels)
        self.base = gin_encoder(channels, replace(options, num_hops=1), edge_channels)
        self.sets = nn.ModuleList()
        self.join: nn.Linear | None = None
        if options.base != "1":
            for types in (2, 4):  # possible numbers of edges of a pair, and a triple
                first = GraphConv(channels + types, channels)
                self.sets.append(nn.ModuleList([first, GraphConv(channels, channels)]))
            self.join = nn.Linear(3 * channels, channels)

    def reset_parameters(self) -> None:
        reset_children(self)

    def forward(self, inputs: GraphInputs) -> Tensor:
        """Return ``[N, C]``."""
        inside, sets = inputs.extra
        egos: EgoNets = inside.extra
        x = self.embedding(inputs.x, inputs.num_nodes).index_select(0, egos.node)
        z = self.base(inside._replace(x=x + self.distance(egos.distance)))  # [P, C]
        pools = [pool_nodes(z, egos.members, "mean")]
        level: NodeSets
        convs: Any
        for level, convs in zip(sets, self.sets, strict=True):
            z = z[level.components].mean(1)  # [S, C]
            num_types = level.nodes.size(1) ** 2 // 2
            types = nn.functional.one_hot(level.num_edges, num_types)
            z = torch.cat([z, types.to(z.dtype)], dim=1)
            for conv in convs:
                z = conv(z, level.edge_index).relu()
            pools.append(pool_nodes(z, level.members(egos, inputs.num_nodes), "mean"))
        if self.join is None:
            return pools[0]
        out: Tensor = self.join(torch.cat(pools, dim=1))
        return out


@register_model("deep-lrp")
class DeepLRP(GraphModel):
    r"""Deep local relational pooling (Chen et al., 2020).

    .. math:: h'_v = \mathrm{MLP}\Big(\operatorname{mean}_{\pi} \mathrm{ReLU}\big(
              \sum_a W_a h_{\pi_a} + \sum_{a < b} W_{ab} [A_{\pi_a \pi_b} \,\|\,
              e_{\pi_a \pi_b}] + b_\pi\big)\Big)

    over all orderings :math:`\pi` in which a breadth-first search from v can visit the
    nodes of its ego-net of radius ``num_hops``, cut after ``order_size`` nodes and
    padded with zeros; :math:`b_\pi` depends on the number of nodes. The number of
    orderings grows like the degree to the power ``order_size`` - 1.
    """

    options: LRPOptions

    def encoders(self, options: LRPOptions) -> list[nn.Module]:

        def layer(width: int) -> nn.Module:
            return _OrderingLayer(options, self.edge_channels)

        return [LayerStack(self.in_channels, options, layer, embed=True)]

    def check_graph(self, data: Any, place: str) -> None:
        """Refuse a graph with too many orderings."""
        num_nodes, size = int(data.num_nodes), self.options.order_size
        degrees = torch.bincount(data.edge_index[0], minlength=num_nodes).double()
        count = torch.ones_like(degrees)
        for step in range(size - 1):
            count = (count * (degrees - step).clamp(min=1)).clamp(max=1e300)
        total = float(count.sum())
        if total > MOST_ORDERINGS:
            raise GraphInputError(
                f"{place}: {num_nodes} nodes of up to {int(degrees.max())} neighbours "
                f"have {total:.2g} orderings of {size} nodes, and deep-lrp takes at "
                f"most {MOST_ORDERINGS:,} per graph; choose a smaller order_size, or "
                "another model."
            )

    def extras(self, data: Any, inputs: GraphInputs) -> Orderings:
        """Return the orderings of all nodes."""
        attr = None if inputs.edges is None else inputs.edges.attr
        size, kind = self.options.order_size, next(self.parameters()).dtype
        return bfs_orderings(inputs.hops, self.num_hops, size, attr, kind)


class _OrderingLayer(nn.Module):
    """A layer of Deep LRP."""

    def __init__(self, options: LRPOptions, edge_channels: int) -> None:
        super().__init__()
        channels, size = options.hidden_channels, options.order_size
        self.size = size
        self.places = nn.Linear(channels, size * channels, bias=False)
        width = size * (size - 1) // 2 * (1 + edge_channels) + size
        self.relations = nn.Linear(width, channels, bias=False)
        self.mlp = MLP(channels, channels, channels, options.norm, options.activation)

    def reset_parameters(self) -> None:
        reset_children(self)

    def forward(self, history: Sequence[Tensor], inputs: GraphInputs) -> Tensor:
        """Return ``[N, C]``."""
        orderings: Orderings = inputs.extra
        projected = self.places(history[-1]).chunk(self.size, dim=1)  # k of [N, C]
        total = self.relations(orderings.relations)  # [S, C]
        for a, h in enumerate(projected):
            read = h.index_select(0, orderings.nodes[:, a].clamp(min=0))
            total = total + read * (orderings.nodes[:, a] >= 0).unsqueeze(1)
        mean = pool_nodes(total.relu(), orderings.centres, "mean")
        out: Tensor = self.mlp(mean)
        return out
