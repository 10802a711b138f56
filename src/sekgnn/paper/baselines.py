"""Message passing networks that SEK-GNN is compared with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch_geometric.nn import PNAConv, SAGEConv
from torch_geometric.nn.aggr import SortAggregation

from sekgnn.encoding.patterns import PeripheralEdges
from sekgnn.encoding.substructure import SubstructureEncoding
from sekgnn.errors import ConfigError
from sekgnn.models.graph_inputs import GraphInputs
from sekgnn.models.graph_model import GraphModel, register_model
from sekgnn.models.hop_encoder import NodeEmbedding
from sekgnn.models.options import ModelOptions
from sekgnn.nn import MLP
from sekgnn.nn.mlp import reset_children
from sekgnn.nn.sparse_sum import Csr, csr_sum
from sekgnn.paper.kinds import DGCNNOptions, KPGINOptions, PNAOptions
from sekgnn.paper.layer_stack import LayerStack
from sekgnn.paper.overlaps import Overlaps, overlap_weights
from sekgnn.paper.peripheral_conv import KPGINConv, path_counts


@register_model("graphsage")
class GraphSAGE(GraphModel):
    r"""GraphSAGE with means (Hamilton et al., 2017), built on PyG's ``SAGEConv``.

    .. math:: h'_v = W h_v + W' \operatorname{mean}_{u \in N(v)} h_u
    """

    takes_seeds: ClassVar[bool] = True

    def encoders(self, options: ModelOptions) -> list[nn.Module]:

        def layer(width: int) -> nn.Module:
            return _PygLayer(SAGEConv(width, options.hidden_channels))

        return [LayerStack(self.in_channels, options, layer)]


@register_model("pna")
class PNA(GraphModel):
    r"""Principal neighbourhood aggregation (Corso et al., 2020), on PyG's ``PNAConv``.

    .. math:: h'_v = U\Big(h_v, \big[1, \tfrac{\log(d_v + 1)}{\delta},
              \tfrac{\delta}{\log(d_v + 1)}\big] \otimes \big[\mathrm{mean}, \min, \max,
              \mathrm{std}\big]_{u \in N(v)} M(h_v, h_u, e_{uv})\Big)

    with :math:`\delta` the mean of :math:`\log(d + 1)` over the training graphs, fitted
    before training; 1 until then.
    """

    def encoders(self, options: PNAOptions) -> list[nn.Module]:
        """Return the one branch.

        Raises:
            ConfigError: If the width is no multiple of the number of towers.
        """
        channels, towers = options.hidden_channels, options.towers
        if channels % towers:
            raise ConfigError(
                f"{towers} towers cannot share hidden_channels={channels}; choose a "
                "multiple."
            )

        def layer(width: int) -> nn.Module:
            conv = PNAConv(
                width,
                channels,
                ["mean", "min", "max", "std"],
                ["identity", "amplification", "attenuation"],
                torch.tensor([0, 1], device="cpu"),  # read immediately
                edge_dim=self.edge_channels or None,
                towers=towers,
            )
            return _PygLayer(conv, reads_edges=self.edge_channels > 0)

        return [_PNAStack(self.in_channels, options, layer)]


class _PNAStack(LayerStack):
    """Layers that share the mean of log(d + 1)."""

    def __init__(
        self,
        in_channels: int,
        options: ModelOptions,
        make_layer: Callable[[int], nn.Module],
    ) -> None:
        super().__init__(in_channels, options, make_layer)
        self.set_mean(1.0)

    def set_mean(self, value: float) -> None:
        """Set the mean of log(d + 1) in all layers."""
        layer: Any
        for layer in self.layers:
            scaler = layer.conv.aggr_module
            scaler.init_avg_deg_log = value  # resetting parameters keeps it
            scaler.avg_deg_log.fill_(value)

    def fit_inputs(self, inputs: Callable[[], Iterator[GraphInputs]]) -> None:
        """Fit the mean of log(d + 1) to batches of graphs."""
        total, count = 0.0, 0
        for part in inputs():
            total += float(part.hops.sizes(1).double().log1p().sum())
            count += part.num_nodes
        if total > 0:
            self.set_mean(total / count)


class _PygLayer(nn.Module):
    """A PyG layer in a stack: reads the last representation and the edges."""

    def __init__(self, conv: Any, *, reads_edges: bool = False) -> None:
        super().__init__()
        self.conv = conv
        self.reads_edges = reads_edges

    def reset_parameters(self) -> None:
        self.conv.reset_parameters()

    def forward(self, history: Sequence[Tensor], inputs: GraphInputs) -> Tensor:
        """Return ``[N, C]``."""
        more = {}
        if self.reads_edges:
            assert inputs.edges is not None  # checked by graph_inputs
            more["edge_attr"] = inputs.edges.attr
        out: Tensor = self.conv(history[-1], inputs.edge_index(), **more)
        return out


@register_model("dgcnn")
class DGCNN(GraphModel):
    r"""Deep graph convolutional network with sorted nodes (Zhang et al., 2018).

    .. math:: H^{l+1} = \tanh(\tilde D^{-1} \tilde A H^l W_l)

    The last layer has one channel, which sorts the nodes of a graph (PyG's
    ``SortAggregation``); two 1-D convolutions read all layers, concatenated, of the
    first ``sort_nodes`` nodes. Smaller graphs are padded with zeros.

    The authors' code takes ``sort_nodes`` from a quantile of the sizes of the training
    graphs, and a dropout of 0.5 before the last layer; here both are options.
    """

    def encoders(self, options: DGCNNOptions) -> list[nn.Module]:
        return [_MeanLayers(self.in_channels, options)]

    def make_readout(self, channels: int, options: DGCNNOptions) -> nn.Module:
        """Return the sorting readout."""
        return SortReadout(channels, options.sort_nodes)


class _MeanLayers(nn.Module):
    """The layers of DGCNN, concatenated: equal widths, then one channel."""

    def __init__(self, in_channels: int, options: DGCNNOptions) -> None:
        super().__init__()
        channels, num_layers = options.hidden_channels, options.num_layers
        self.embedding = None if in_channels else NodeEmbedding(0, channels)
        widths = [in_channels or channels, *[channels] * (num_layers - 1), 1]
        self.lifts = nn.ModuleList(
            nn.Linear(widths[i], widths[i + 1]) for i in range(num_layers)
        )
        self.out_channels = sum(widths[1:])
        self.dropout = nn.Dropout(options.dropout)

    def reset_parameters(self) -> None:
        reset_children(self)

    def forward(self, inputs: GraphInputs) -> Tensor:
        """Return ``[N, (L - 1) C + 1]``."""
        h = inputs.x
        if self.embedding is not None:
            h = self.embedding(None, inputs.num_nodes)
        sizes = inputs.hops.sizes(1).unsqueeze(1) + 1
        layers = []
        for lift in self.lifts:
            z = lift(h)
            h = ((z + inputs.hops.sum(z, 1)) / sizes).tanh()
            layers.append(h)
            h = self.dropout(h)
        return torch.cat(layers, dim=1)


class SortReadout(nn.Module):
    """Sort the nodes of every graph by the last channel and convolve the first k.

    Args:
        channels: C.
        sort_nodes: k, at least 2.

    Attributes:
        out_channels: Width of the result.
    """

    def __init__(self, channels: int, sort_nodes: int) -> None:
        super().__init__()
        self.sort = SortAggregation(sort_nodes)
        pairs = sort_nodes // 2
        reach = min(5, pairs)
        self.first = nn.Conv1d(1, 16, channels, channels)
        self.pool = nn.MaxPool1d(2, 2)
        self.second = nn.Conv1d(16, 32, reach)
        self.out_channels = 32 * (pairs - reach + 1)

    def reset_parameters(self) -> None:
        reset_children(self)

    def forward(self, h: Tensor, graphs: Csr) -> Tensor:
        """Return ``[G, out_channels]``."""
        size = graphs.indptr.size(0) - 1
        rows = h.new_zeros(size, self.sort.k * h.size(1))
        if h.size(0):
            rows = self.sort(h, graphs.t_indices.long(), dim_size=size)
        z: Tensor = self.pool(self.first(rows.unsqueeze(1)).relu())  # [G, 16, k / 2]
        return self.second(z).relu().flatten(start_dim=1)


@register_model("graphsnn")
class GraphSNN(GraphModel):
    r"""GraphSNN (Wijesinghe and Wang, 2022): edges weighted by overlaps of ego-nets.

    .. math:: h'_v = \mathrm{MLP}\Big(\gamma \big(1 + \sum_u \tilde\omega_{vu}\big) h_v
              + \sum_{u \in N(v)} (1 + \tilde\omega_{vu}) h_u\Big), \quad
              \omega_{vu} = \frac{|E_{vu}|}{|V_{vu}| (|V_{vu}| - 1)} |V_{vu}|^2

    where :math:`(V_{vu}, E_{vu})` is the subgraph of the nodes that the closed
    neighbourhoods of v and u share, and :math:`\tilde\omega` is :math:`\omega` divided
    by its sum over u. :math:`\gamma` is learned from 0.1, as in the authors' code.
    """

    def encoders(self, options: ModelOptions) -> list[nn.Module]:

        def layer(width: int) -> nn.Module:
            return _OverlapLayer(width, options)

        return [LayerStack(self.in_channels, options, layer)]

    def extras(self, data: Any, inputs: GraphInputs) -> Overlaps:
        """Return the weights of the edges."""
        return overlap_weights(inputs.hops, next(self.parameters()).dtype)


class _OverlapLayer(nn.Module):
    """A layer of GraphSNN."""

    def __init__(self, width: int, options: ModelOptions) -> None:
        super().__init__()
        channels = options.hidden_channels
        more = options.norm, options.activation
        self.gamma = nn.Parameter(torch.empty(1))
        self.mlp = MLP(width, channels, channels, *more)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.constant_(self.gamma, 0.1)
        self.mlp.reset_parameters()

    def forward(self, history: Sequence[Tensor], inputs: GraphInputs) -> Tensor:
        """Return ``[N, C]``."""
        h, overlaps = history[-1], inputs.extra
        messages = overlaps.weights * h.index_select(0, overlaps.sender)  # [M_1, C]
        total = self.gamma * overlaps.self_weights * h + csr_sum(
            messages, overlaps.receivers
        )
        out: Tensor = self.mlp(total)
        return out


class _Peripheral(GraphModel):
    """Base of KP-GIN and KP-GIN+."""

    options: KPGINOptions
    plus = False

    def own_encoding(self, options: KPGINOptions) -> SubstructureEncoding:
        """Return the peripheral edges, one shell per hop."""
        return PeripheralEdges(num_shells=options.num_hops)

    def encoders(self, options: KPGINOptions) -> list[nn.Module]:
        assert self.encoding is not None

        def layer(width: int) -> nn.Module:
            return _PeripheralLayer(
                KPGINConv(
                    options.hidden_channels,
                    options.num_hops,
                    length,
                    combine=options.combine,
                    edge_channels=self.edge_channels,
                    shortest_paths=options.shortest_paths,
                    plus=self.plus,
                    norm=options.norm,
                    activation=options.activation,
                )
            )

        length = self.encoding.length
        return [LayerStack(self.in_channels, options, layer, embed=True)]

    def extras(self, data: Any, inputs: GraphInputs) -> list[Tensor] | None:
        """Return the numbers of shortest paths, if used."""
        return path_counts(inputs.hops) if self.options.shortest_paths else None


@register_model("kp-gin")
class KPGIN(_Peripheral):
    r"""KP-GIN (Feng et al., 2022): K hops with their peripheral edges.

    .. math:: h'_v = \sum_k \theta_k\, \mathrm{MLP}_k\Big((1 + \epsilon_k) h_v +
              \sum_{u \in N_k(v)} (h_u + s_{uv}) + p_v^k\Big)

    with :math:`p_v^k` learned from the numbers of
    :class:`~sekgnn.encoding.PeripheralEdges`: pairs of nodes at distance 1, 2, ...
    within :math:`N_k(v)`; and, with ``shortest_paths``, :math:`s_{uv}` from the number
    of shortest paths between u and v. Edge features enter on hop 1.

    The authors' code embeds each number of peripheral edges, up to a limit, where ours
    maps its logarithm linearly; uses the numbers of shortest paths by default; and on
    TU datasets uses a diffusion kernel and a dropout of 0.5.
    """


@register_model("kp-gin+")
class KPGINPlus(_Peripheral):
    r"""KP-GIN+ (Feng et al., 2022): KP-GIN whose hop k reads k layers back.

    .. math:: h^L_v = \mathrm{MLP}\Big((1 + \epsilon) h^{L-1}_v + \sum_k \theta_k \big(
              \sum_{u \in N_k(v)} (h_u^{\max(L-k, 0)} + s_{uv}) + p_v^k\big)\Big)
    """

    plus = True


class _PeripheralLayer(nn.Module):
    """A layer of KP-GIN in a stack."""

    def __init__(self, conv: KPGINConv) -> None:
        super().__init__()
        self.conv = conv

    def reset_parameters(self) -> None:
        self.conv.reset_parameters()

    def forward(self, history: Sequence[Tensor], inputs: GraphInputs) -> Tensor:
        """Return ``[N, C]``."""
        out: Tensor = self.conv(
            history, inputs.hops, inputs.encoding, inputs.edges, inputs.extra
        )
        return out
