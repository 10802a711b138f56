"""KP-GIN: messages from K hops, with the edges among the nodes of a hop."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from sekgnn.checks import check_positive
from sekgnn.nn.choices import Activation, Combine, Norm
from sekgnn.nn.hop_matrices import EdgeFeatures, as_edges, edge_sum
from sekgnn.nn.mlp import MLP, reset_children
from sekgnn.nn.sek_conv import HopCombine
from sekgnn.nn.sparse_sum import Csr
from sekgnn.paper.ego_nets import expand, find


class KPGINConv(nn.Module):
    r"""A layer of KP-GIN, or with ``plus`` of KP-GIN+ (Feng et al., 2022).

    .. math:: m_v^k = \sum_{u \in N_k(v)} (h_u + s_{uv}) + p_v^k, \quad
              h'_v = \sum_k \theta_k\, \mathrm{MLP}_k\big((1 + \epsilon_k) h_v + m_v^k
              \big)

    With ``plus``, hop k of layer L reads :math:`h^{\max(L-k, 0)}`, and
    :math:`h^L_v = \mathrm{MLP}\big((1 + \epsilon_1) h^{L-1}_v + \sum_k \theta_k m_v^k
    \big)`. Counts c enter as logarithms: :math:`p_v^k = W_k \log(1 + c_v^k)` and, with
    ``shortest_paths``, :math:`s_{uv} = w_k \log(c_{uv})`. Edge features turn the
    messages of hop 1 into :math:`\mathrm{ReLU}(h_u + W e_{uv})`.

    Args:
        channels: Width of all layers.
        num_hops: K.
        length: Length of the peripheral encoding per hop.
        combine: ``"sum"`` or ``"geometric"``.
        edge_channels: Width of edge features; 0 for none.
        shortest_paths: Use the numbers of shortest paths.
        plus: KP-GIN+.
        norm: Normalisation inside the MLPs.
        activation: Inside the MLPs.

    Shapes:
        - **input:** L tensors :math:`(N, C)`, the hops, counts :math:`(N, K, D)`
        - **output:** :math:`(N, C)`
    """

    def __init__(
        self,
        channels: int,
        num_hops: int,
        length: int,
        *,
        combine: Combine = "geometric",
        edge_channels: int = 0,
        shortest_paths: bool = False,
        plus: bool = False,
        norm: Norm = "batch",
        activation: Activation = "relu",
    ) -> None:
        super().__init__()
        self.num_hops = check_positive("num_hops", num_hops)
        self.edge_channels, self.plus = edge_channels, plus
        self.eps = nn.Parameter(torch.empty(1 if plus else num_hops))
        self.lifts = nn.ModuleList(
            nn.Linear(length, channels, bias=False) for _ in range(num_hops)
        )
        self.edge_lift = nn.Linear(edge_channels, channels) if edge_channels else None
        self.paths: nn.Parameter | None = None
        if shortest_paths and num_hops > 1:  # an edge is the only path of one step
            self.paths = nn.Parameter(torch.empty(num_hops - 1, channels))
        self.mlps = nn.ModuleList(
            MLP(channels, channels, channels, norm, activation)
            for _ in range(1 if plus else num_hops)
        )
        self.combine = HopCombine(channels, num_hops, combine)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        reset_children(self)
        nn.init.zeros_(self.eps)
        if self.paths is not None:
            nn.init.normal_(self.paths, std=0.1)

    def forward(
        self,
        history: Sequence[Tensor],
        hops: Csr,
        peripheral: Tensor,
        edges: EdgeFeatures | None = None,
        paths: Sequence[Tensor] | None = None,
    ) -> Tensor:
        """Return ``[N, C]``.

        Args:
            history: All representations so far, :math:`h^0` first.
            hops: The batch.
            peripheral: Counts of :class:`~sekgnn.encoding.PeripheralEdges`.
            edges: With ``edge_channels``.
            paths: With ``shortest_paths``, from :func:`path_counts`.

        Raises:
            GraphInputError: If edge features are missing or do not fit.
        """
        edges = as_edges(None, edges, hops, self.edge_channels)
        counts = peripheral.log1p()  # [N, K, D]
        received = []
        for k in range(1, self.num_hops + 1):
            h = history[max(len(history) - k, 0) if self.plus else -1]
            if k == 1 and self.edge_lift is not None and edges is not None:
                total = edge_sum(h, self.edge_lift, edges)
            else:
                total = hops.sum(h, k)
            if k > 1 and self.paths is not None and paths is not None:
                logs = paths[k - 1].to(h.dtype)  # [N, 1]
                total = total + logs * self.paths[k - 2]
            received.append(total + self.lifts[k - 1](counts[:, k - 1]))
        h = history[-1]
        if self.plus:
            mixed = (1 + self.eps) * h + self.combine(received)
            out: Tensor = self.mlps[0](mixed)
            return out
        return self.combine(
            [
                mlp((1 + eps) * h + total)
                for mlp, eps, total in zip(self.mlps, self.eps, received, strict=True)
            ]
        )


def path_counts(hops: Csr) -> list[Tensor]:
    r"""Return :math:`\sum_{u \in N_k(v)} \log c_{uv}` for every hop, each ``[N, 1]``.

    :math:`c_{uv}` is the number of shortest paths between u and v: 1 on hop 1, else the
    sum over the neighbours of u that are one step closer to v.
    """
    n, near = hops.num_nodes, hops.hop(1)
    centre, node = hops.pairs(1)
    counts = torch.ones(len(node), dtype=torch.float64, device=node.device)
    out = [counts.new_zeros(n, 1)]
    for k in range(2, hops.num_hops + 1):
        position, step = expand(near.indptr, node)
        keys = centre[position] * n + near.indices[step].long()
        centre, node = hops.pairs(k)
        pair, in_hop = find(centre * n + node, keys)
        sums = counts.new_zeros(len(node))
        counts = sums.index_add(0, pair[in_hop], counts[position][in_hop])
        total = counts.new_zeros(n).index_add(0, centre, counts.clamp(min=1).log())
        out.append(total.unsqueeze(1))
    return out
