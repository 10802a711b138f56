"""The K-hop layers: that of SEK-GNN (message, update, combine), and GINE+."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import torch
from torch import Tensor, nn

from sekgnn.checks import check_choice, check_positive
from sekgnn.errors import GraphInputError
from sekgnn.nn.choices import Activation, Combine, Norm, Update
from sekgnn.nn.hop_matrices import (
    EdgeFeatures,
    as_edges,
    as_encoding,
    as_hops,
    edge_sum,
)
from sekgnn.nn.messages import make_message, reads_edges
from sekgnn.nn.mlp import MLP, Linear, reset_children
from sekgnn.nn.pooling import RowPool
from sekgnn.nn.sparse_sum import Csr, hop_mix


class SEKConv(nn.Module):
    r"""K-hop layer of SEK-GNN (SEK paper, Eq. 6).

    .. math::
        m_v^k &= \mathrm{MESSAGE}_k\big(h_v, f_v,
                 \{\!\{(h_u, f_u) : u \in N_k(v)\}\!\}\big), \\
        h_v^k &= \mathrm{UPDATE}_k(m_v^k), \qquad
        h'_v = \mathrm{COMBINE}\big(\{\!\{h_v^k : k \in [K]\}\!\}\big)

    The pair :math:`(h_u, f_u)` of the paper enters as :math:`z_u = h_u + W f_u`, which
    is what a linear layer makes of :math:`[h_u \,\|\, f_u]`. MESSAGE is one of
    :data:`~sekgnn.nn.MESSAGES`, whose classes say their equations; UPDATE is
    :math:`\mathrm{MLP}_k(m_v^k)` or :math:`\mathrm{ReLU}(W_k m_v^k + b_k)`, and COMBINE
    :math:`h'_v = \sum_k \theta_k h_v^k` (:class:`~sekgnn.nn.HopCombine`).

    Args:
        in_channels: Width of the input.
        out_channels: Width of the output.
        num_hops: K.
        message: ``"gin"``, ``"gine"``, ``"gcn"``, or one of your own, made known by
            :func:`~sekgnn.nn.register_message`.
        update: ``"mlp"`` or ``"relu"``.
        combine: ``"sum"`` or ``"geometric"``.
        share_hops: One :math:`\epsilon` and one update for all hops.
        encoding_channels: Width of f; 0 where f is not injected here.
        edge_channels: Width of edge features, for ``"gine"``; 0 for none.
        norm: Normalisation inside the MLPs.
        activation: Inside the MLPs.

    Shapes:
        - **input:** x :math:`(N, C_{in})`, pairs :math:`(2, M)`, their hops
          :math:`(M)`, f :math:`(N, F)`, edges :math:`(2, E)`, features :math:`(E, D)`
        - **output:** :math:`(N, C_{out})`

    Raises:
        ConfigError: If a parameter cannot work.

    Example:
        >>> import torch
        >>> pairs = torch.tensor([[0, 1, 1, 2, 0, 2], [1, 0, 2, 1, 2, 0]])
        >>> hop_order = torch.tensor([1, 1, 1, 1, 2, 2])
        >>> SEKConv(4, 8, num_hops=2)(torch.rand(3, 4), pairs, hop_order).shape
        torch.Size([3, 8])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        num_hops: int,
        *,
        message: str = "gin",
        update: Update = "mlp",
        combine: Combine = "geometric",
        share_hops: bool = False,
        encoding_channels: int = 0,
        edge_channels: int = 0,
        norm: Norm = "batch",
        activation: Activation = "relu",
    ) -> None:
        super().__init__()
        self.in_channels = check_positive("in_channels", in_channels)
        self.out_channels = check_positive("out_channels", out_channels)
        self.num_hops = check_positive("num_hops", num_hops)
        self.update = check_choice("update", update, get_args(Update))
        self.encoding_channels = check_positive(
            "encoding_channels", encoding_channels, 0
        )
        self.edge_channels = check_positive("edge_channels", edge_channels, 0)
        self.share_hops = share_hops
        parts = 1 if share_hops else num_hops
        self.updates = nn.ModuleList(
            MLP(in_channels, out_channels, out_channels, norm, activation)
            if update == "mlp"
            else nn.Linear(in_channels, out_channels)
            for _ in range(parts)
        )
        self.combine = HopCombine(out_channels, num_hops, combine)
        self.inject = (
            nn.Linear(encoding_channels, in_channels, bias=False)
            if encoding_channels
            else None
        )
        self.message = make_message(
            message,
            in_channels,
            num_hops,
            share_hops=share_hops,
            edge_channels=edge_channels,
        )
        self.reads_edges = reads_edges(message)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        reset_children(self)

    def forward(
        self,
        x: Tensor,
        hop_edge_index: Tensor | Csr,
        hop_order: Tensor | None = None,
        encoding: Tensor | None = None,
        edge_index: Tensor | None = None,
        edge_attr: Tensor | EdgeFeatures | None = None,
        pool: RowPool | None = None,
    ) -> Tensor:
        """Return ``[N, C_out]``, or with ``pool`` for every graph, ``[G, C_out]``.

        Args:
            x: ``[N, C_in]``.
            hop_edge_index: Pairs from u (row 0) to v (row 1), int64 ``[2, M]``, as
                ``AddKHopEdges`` and PyG's loader leave them. For several layers,
                ``hop_csr`` sorts the pairs once and gives the same numbers.
            hop_order: The hop of every pair, int64 ``[M]``; ``None`` for a ``Csr``.
            encoding: f, ``[N, F]`` or ``[N, C, L]``, if ``encoding_channels``.
            edge_index: ``[2, E]``, if ``edge_channels``.
            edge_attr: ``[E, D]``, if ``edge_channels``; or ``EdgeFeatures``, without
                ``edge_index``.
            pool: Sums over the nodes of graphs.

        Raises:
            GraphInputError: If pairs, f or edge features are missing or do not fit.
        """
        hops = as_hops(hop_edge_index, hop_order, x.size(0), self.num_hops)
        edges = as_edges(edge_index, edge_attr, hops, self.edge_channels)
        z = x
        if self.inject is not None:
            f = as_encoding(encoding, x.size(0), self.encoding_channels)
            z = z + self.inject(f)  # [N, C_in]
        out = []
        for k in range(1, self.num_hops + 1):
            part = 0 if self.share_hops else k - 1
            more = (edges,) if self.reads_edges else ()
            m = self.message(z, hops, k, *more)  # [N, C_in]
            if self.update == "mlp":
                out.append(self.updates[part](m, pool))  # [N, C_out]
                continue
            h: Tensor = self.updates[part](m).relu()
            out.append(h if pool is None else pool([h]))
        combined: Tensor = self.combine(out)
        return combined

    def extra_repr(self) -> str:
        return (
            f"{self.in_channels}, {self.out_channels}, num_hops={self.num_hops}, "
            f"update={self.update!r}, "
            f"share_hops={self.share_hops}"
        )


class HopCombine(nn.Module):
    r"""COMBINE of :class:`~sekgnn.nn.SEKConv`: a weighted sum over the hops.

    .. math:: h_v = \sum_{k=1}^{K} \theta_k \odot h_v^k

    with :math:`\theta_k = 1` (``"sum"``) or :math:`\theta_k = \alpha (1 - \alpha)^k`
    (``"geometric"``), where :math:`\alpha = \sigma(a)` is learned per channel and
    starts at 1/2.

    Args:
        channels: C.
        num_hops: K.
        combine: ``"sum"`` or ``"geometric"``.

    Shapes:
        - **input:** K tensors :math:`(N, C)`
        - **output:** :math:`(N, C)`

    Example:
        >>> HopCombine(1, 2, "geometric").weights().flatten().tolist()
        [0.25, 0.125]
    """

    def __init__(
        self, channels: int, num_hops: int, combine: Combine = "geometric"
    ) -> None:
        super().__init__()
        self.channels = check_positive("channels", channels)
        self.num_hops = check_positive("num_hops", num_hops)
        self.combine = check_choice("combine", combine, get_args(Combine))
        if combine == "geometric":
            self.logit = nn.Parameter(torch.zeros(channels))
        else:
            self.register_parameter("logit", None)

    def reset_parameters(self) -> None:
        """Set every α to 1/2."""
        if self.logit is not None:
            nn.init.zeros_(self.logit)

    def weights(self) -> Tensor | None:
        r"""Return :math:`\theta`, ``[K, C]``, or ``None`` where all are 1."""
        if self.logit is None:
            return None
        alpha = self.logit.sigmoid()  # [C]
        rest, weights = 1 - alpha, [alpha]
        for _ in range(self.num_hops):
            weights.append(weights[-1] * rest)
        return torch.stack(weights[1:])  # [K, C]

    def forward(self, hops: Sequence[Tensor]) -> Tensor:
        """Return the weighted sum, ``[N, C]``."""
        weights = self.weights()
        if weights is None:
            out = hops[0]
            for hop in hops[1:]:
                out = out + hop
            return out
        out = weights[0] * hops[0]
        for weight, hop in zip(weights[1:], hops[1:], strict=True):
            out = torch.addcmul(out, weight, hop)
        return out

    def extra_repr(self) -> str:
        return f"{self.channels}, num_hops={self.num_hops}, combine={self.combine!r}"


class GINEPlusConv(nn.Module):
    r"""GINE+ layer (Brossard et al., 2020), the encoder of SEK-GIN.

    Layer L, with :math:`h^0, \dots, h^{L-1}` the representations before it, to which
    SEK-GIN has added f, gives

    .. math:: h_v^L = \mathrm{MLP}\Big((1 + \epsilon_0)\, h_v^{L-1} + \sum_{k=1}^{K}
              w_k \odot \sum_{u \in N_k(v)}
              \mathrm{ReLU}\big(h_u^{\max(L-k, 0)} + [k = 1]\, e_{uv}\big)\Big)

    with :math:`w_k = 1 + \epsilon_k` per channel (``"sum"``, as Brossard et al.) or
    :math:`w_k = \theta_k = \alpha (1 - \alpha)^k` (``"geometric"``, SEK paper). A hop
    that reaches back beyond layer 0 reads layer 0; none is dropped.

    Args:
        channels: Width of all layers.
        num_hops: K.
        combine: ``"sum"`` or ``"geometric"``.
        edge_channels: Width of edge features on hop 1; 0 for none.
        norm: Normalisation inside the MLP.
        activation: Inside the MLP.

    Shapes:
        - **input:** L tensors :math:`(N, C)`, pairs :math:`(2, M)`, their hops
          :math:`(M)`, edges :math:`(2, E)`, features :math:`(E, D)`
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
        edge_channels: int = 0,
        norm: Norm = "batch",
        activation: Activation = "relu",
    ) -> None:
        super().__init__()
        self.channels = check_positive("channels", channels)
        self.num_hops = check_positive("num_hops", num_hops)
        self.edge_channels = check_positive("edge_channels", edge_channels, 0)
        self.mlp = MLP(channels, channels, channels, norm, activation)
        self.combine = HopCombine(channels, num_hops, combine)
        own = 1 if combine == "geometric" else num_hops + 1
        self.eps = nn.Parameter(torch.zeros(own, channels))
        self.edge_lift = Linear(edge_channels, channels) if edge_channels else None

    def reset_parameters(self) -> None:
        reset_children(self)
        nn.init.zeros_(self.eps)

    def forward(
        self,
        history: Sequence[Tensor],
        hop_edge_index: Tensor | Csr,
        hop_order: Tensor | None = None,
        edge_index: Tensor | None = None,
        edge_attr: Tensor | EdgeFeatures | None = None,
        pool: RowPool | None = None,
    ) -> Tensor:
        """Return :math:`h^L`, ``[N, C]``, or with ``pool`` for every graph, ``[G, C]``.

        Args:
            history: :math:`h^0, ..., h^{L-1}`, each ``[N, C]``.
            hop_edge_index: As for :class:`~sekgnn.nn.SEKConv`, and so are the others.
            hop_order: The hop of every pair.
            edge_index: If ``edge_channels``.
            edge_attr: If ``edge_channels``.
            pool: Sums over the nodes of graphs.

        Raises:
            GraphInputError: If there is no history, or pairs or edge features are
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
        weights = self._weights()  # [1 + K, C]
        if self.edge_lift is None or edges is None:
            first, reads = 1, [last, *reads]
        else:  # hop 1 with its edge features apart
            first, reads = 2, [last, *reads[1:]]
            received = edge_sum(history[last], self.edge_lift, edges)  # [N, C]
            apart = weights[1] * received
            weights = torch.cat([weights[:1], weights[2:]])
        total = hop_mix(
            [history[layer] for layer in layers],
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
