"""GINE+: every hop reads the layer that many steps back."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from sekgnn.checks import check_positive
from sekgnn.errors import GraphInputError
from sekgnn.nn.choices import Activation, Combine, Norm
from sekgnn.nn.fused_hops import hop_mix
from sekgnn.nn.hop_matrices import (
    EdgeFeatures,
    HopCSR,
    as_edges,
    as_encoding,
    as_hops,
    edge_sum,
)
from sekgnn.nn.mlp import MLP, Linear, reset_children
from sekgnn.nn.pooling import RowPool
from sekgnn.nn.sek_conv import HopCombine


class GINEPlusConv(nn.Module):
    r"""GINE+ layer (Brossard et al., 2020), the encoder of SEK-GIN.

    Layer L, with :math:`h^0, \dots, h^{L-1}` the representations before it and
    :math:`z^l = h^l + W f` where f is injected, else :math:`z^l = h^l`, gives

    .. math:: h_v^L = \mathrm{MLP}\Big((1 + \epsilon_0)\, z_v^{L-1} + \sum_{k=1}^{K}
              w_k \odot \sum_{u \in N_k(v)}
              \mathrm{ReLU}\big(z_u^{\max(L-k, 0)} + [k = 1]\, e_{uv}\big)\Big)

    with :math:`w_k = 1 + \epsilon_k` per channel (``"sum"``, as Brossard et al.) or
    :math:`w_k = \theta_k = \alpha (1 - \alpha)^k` (``"geometric"``, SEK paper). A hop
    that reaches back beyond layer 0 reads layer 0; none is dropped.

    Args:
        channels: Width of all layers.
        num_hops: K.
        combine: ``"sum"`` or ``"geometric"``.
        encoding_channels: Width of f; 0 where f is not injected here.
        edge_channels: Width of edge features on hop 1; 0 for none.
        norm: Normalisation inside the MLP.
        activation: Inside the MLP.

    Shapes:
        - **input:** L tensors :math:`(N, C)`, pairs :math:`(2, M)`, their hops
          :math:`(M)`, f :math:`(N, F)`, edges :math:`(2, E)`, features :math:`(E, D)`
        - **output:** :math:`(N, C)`

    Raises:
        ConfigError: If a parameter cannot work.
    """

    def __init__(
        self,
        channels: int,
        num_hops: int,
        *,
        combine: Combine = "geometric",
        encoding_channels: int = 0,
        edge_channels: int = 0,
        norm: Norm = "batch",
        activation: Activation = "relu",
    ) -> None:
        super().__init__()
        self.channels = check_positive("channels", channels)
        self.num_hops = check_positive("num_hops", num_hops)
        self.encoding_channels = check_positive(
            "encoding_channels", encoding_channels, 0
        )
        self.edge_channels = check_positive("edge_channels", edge_channels, 0)
        self.mlp = MLP(channels, channels, channels, norm, activation)
        self.combine = HopCombine(channels, num_hops, combine)
        own = 1 if combine == "geometric" else num_hops + 1
        self.eps = nn.Parameter(torch.zeros(own, channels))
        self.edge_lift = Linear(edge_channels, channels) if edge_channels else None
        self.inject = (
            nn.Linear(encoding_channels, channels, bias=False)
            if encoding_channels
            else None
        )

    def reset_parameters(self) -> None:
        reset_children(self)
        nn.init.zeros_(self.eps)

    def forward(
        self,
        history: Sequence[Tensor],
        hop_edge_index: Tensor | HopCSR,
        hop_order: Tensor | None = None,
        encoding: Tensor | None = None,
        edge_index: Tensor | None = None,
        edge_attr: Tensor | EdgeFeatures | None = None,
        pool: RowPool | None = None,
    ) -> Tensor:
        """Return :math:`h^L`, ``[N, C]``, or with ``pool`` for every graph, ``[G, C]``.

        Args:
            history: :math:`h^0, ..., h^{L-1}`, each ``[N, C]``.
            hop_edge_index: As for :class:`~sekgnn.nn.SEKConv`, and so are the others.
            hop_order: The hop of every pair.
            encoding: If ``encoding_channels``.
            edge_index: If ``edge_channels``.
            edge_attr: If ``edge_channels``.
            pool: Sums over the nodes of graphs.

        Raises:
            GraphInputError: If there is no history, or pairs, f or edge features are
                missing or do not fit.
        """
        if not history:
            raise GraphInputError(
                "history must hold at least h^0: pass the list of all layers so far."
            )
        hops = as_hops(hop_edge_index, hop_order, history[0].size(0), self.num_hops)
        edges = as_edges(edge_index, edge_attr, hops, self.edge_channels)
        last = len(history) - 1
        # hop k reads layer L - k: only the layers that are read are passed on
        reads = [max(last + 1 - k, 0) for k in range(1, self.num_hops + 1)]
        layers = sorted(set(reads))
        z = {layer: history[layer] for layer in layers}
        if self.inject is not None:
            f = as_encoding(encoding, hops.num_nodes, self.encoding_channels)
            injected = self.inject(f)  # [N, C]
            z = {layer: h + injected for layer, h in z.items()}
        weights = self._weights()  # [1 + K, C]
        if self.edge_lift is None or edges is None:
            first, reads = 1, [last, *reads]
        else:  # hop 1 with its edge features apart
            first, reads = 2, [last, *reads[1:]]
            received = edge_sum(z[last], self.edge_lift, edges)  # [N, C]
            apart = weights[1] * received
            weights = torch.cat([weights[:1], weights[2:]])
        total = hop_mix(
            [z[layer] for layer in layers],
            [layers.index(layer) for layer in reads],
            weights,
            hops,
            first_hop=first,
            rectify=True,
        )  # [N, C]
        if self.edge_lift is not None:
            total = total + apart
        out: Tensor = self.mlp(total) if pool is None else self.mlp(total, pool)
        return out

    def _weights(self) -> Tensor:
        """Return the weights of the node itself and of every hop, ``[1 + K, C]``."""
        own = 1 + self.eps
        weights = self.combine.weights()
        return own if weights is None else torch.cat([own, weights])

    def extra_repr(self) -> str:
        return f"{self.channels}, num_hops={self.num_hops}"
