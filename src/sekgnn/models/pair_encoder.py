"""PPGN in blocks: one representation per node, from all pairs of nodes."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sekgnn.errors import GraphInputError
from sekgnn.models.graph_inputs import GraphInputs
from sekgnn.models.options import ModelOptions
from sekgnn.nn import PPGNBlock, csr_sum
from sekgnn.nn.mlp import activate, reset_children


class PairEncoder(nn.Module):
    r"""PPGN on all pairs of nodes, read out per node (Maron et al., 2019).

    A pair starts as :math:`[\,[v = u] \cdot x_v \,\|\, A_{vu} \,\|\, e_{uv}]` (with 1
    for :math:`x_v` where there are no features) and runs through L blocks
    (:class:`~sekgnn.nn.PPGNBlock`). After each block a node takes
    :math:`\sigma(W [X_{vv} \,\|\, \sum_u X_{vu}] + b)`, and the L results are
    added.

    Args:
        in_channels: Width of x; 0 for none.
        options: Width and number of the blocks, normalisation, dropout of the result.
        edge_channels: Width of edge features; 0 for none.
    """

    def __init__(
        self, in_channels: int, options: ModelOptions, edge_channels: int = 0
    ) -> None:
        """Make the layers."""
        super().__init__()
        channels, num_layers = options.hidden_channels, options.num_layers
        self.edge_channels = edge_channels
        width = max(in_channels, 1) + 1 + edge_channels
        self.activation = options.activation
        more = options.norm, options.activation
        self.blocks = nn.ModuleList(
            PPGNBlock(width if step == 0 else channels, channels, *more)
            for step in range(num_layers)
        )
        self.outs = nn.ModuleList(
            nn.Linear(2 * channels, channels) for _ in range(num_layers)
        )
        self.dropout = nn.Dropout(options.dropout)

    def reset_parameters(self) -> None:
        """Reset all parameters."""
        reset_children(self)

    def forward(self, inputs: GraphInputs) -> Tensor:
        """Return ``[N, C]``."""
        if inputs.pairs is None:
            raise GraphInputError("PPGN needs the pairs of nodes in its inputs.")
        pairs = inputs.pairs
        x = self._first(inputs)  # [P, C_0]
        out: Tensor | None = None
        for block, lift in zip(self.blocks, self.outs, strict=True):
            x = block(x, pairs)  # [P, C]
            diagonal = x.index_select(0, pairs.diagonal)  # [N, C]
            rows = csr_sum(x, pairs.rows)  # [N, C]
            h = lift(torch.cat([diagonal, rows], dim=1))  # [N, C]
            h = activate(h, self.activation)
            out = h if out is None else out + h
        dropped: Tensor = self.dropout(out)
        return dropped

    def _first(self, inputs: GraphInputs) -> Tensor:
        """Return the pairs before the first block, ``[P, C_0]``."""
        assert inputs.pairs is not None
        pairs, x = inputs.pairs, inputs.x
        weight = next(self.parameters())
        size = pairs.slots.size(0)
        if x is None:
            x = weight.new_ones(pairs.diagonal.size(0), 1)
        diagonal = x.new_zeros(size, x.size(1)).index_copy(0, pairs.diagonal, x)
        near = x.new_ones(pairs.adjacent.size(0), 1)
        if self.edge_channels:
            if inputs.edges is None:
                raise GraphInputError("the batch needs edge_attr for edge_channels.")
            near = torch.cat([near, inputs.edges.attr], dim=1)  # [M_1, 1 + D]
        between = x.new_zeros(size, near.size(1)).index_copy(0, pairs.adjacent, near)
        return torch.cat([diagonal, between], dim=1)
