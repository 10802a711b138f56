"""PPGN in blocks: one representation per node, from all pairs of nodes."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sekgnn.errors import GraphInputError
from sekgnn.models.graph_inputs import GraphInputs
from sekgnn.models.options import ModelOptions
from sekgnn.nn import PPGNBlock
from sekgnn.nn.mlp import reset_children


class PairEncoder(nn.Module):
    r"""PPGN on all pairs of nodes, read out per node (Maron et al., 2019).

    A pair starts as :math:`[\,[v = u] \cdot (1 \,\|\, x_v) \,\|\, A_{vu} \,\|\,
    e_{uv}]` and runs through L blocks (:class:`~sekgnn.nn.PPGNBlock`). After each block
    a node takes :math:`W [X_{vv} \,\|\, \sum_{u \ne v} X_{vu}] + b`, and the L results
    are added: summed over the nodes, that reads the diagonal and the rest of a graph.

    Args:
        in_channels: Width of x; 0 for none.
        options: Width and number of the blocks, normalisation, dropout of the result.
        edge_channels: Width of edge features; 0 for none.
    """

    def __init__(
        self, in_channels: int, options: ModelOptions, edge_channels: int = 0
    ) -> None:
        super().__init__()
        channels, num_layers = options.hidden_channels, options.num_layers
        self.edge_channels = edge_channels
        width = 2 + in_channels + edge_channels
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
        reset_children(self)

    def forward(self, inputs: GraphInputs) -> Tensor:
        """Return ``[N, C]``."""
        if inputs.pairs is None:
            raise GraphInputError("PPGN needs the pairs of nodes in its inputs.")
        pairs = inputs.pairs
        x = self._first(inputs)  # [C_0, P]
        out: Tensor | None = None
        for block, lift in zip(self.blocks, self.outs, strict=True):
            x = block(x, pairs)  # [C, P]
            diagonal = x.index_select(1, pairs.diagonal)  # [C, N]
            others = pairs.row_sums(x) - diagonal  # [C, N]
            h = lift(torch.cat([diagonal, others]).t())  # [N, C]
            out = h if out is None else out + h
        dropped: Tensor = self.dropout(out)
        return dropped

    def _first(self, inputs: GraphInputs) -> Tensor:
        """Return the pairs before the first block, ``[C_0, P]``."""
        assert inputs.pairs is not None
        pairs, x = inputs.pairs, inputs.x
        weight = next(self.parameters())
        same = weight.new_ones(1, inputs.num_nodes)
        if x is not None:
            same = torch.cat([same, x.t()])  # [1 + F, N]
        near = weight.new_ones(1, pairs.adjacent.size(0))
        if self.edge_channels:
            if inputs.edges is None:
                raise GraphInputError("the batch needs edge_attr for edge_channels.")
            near = torch.cat([near, inputs.edges.attr.t()])  # [1 + D, M_1]
        parts = ((same, pairs.diagonal), (near, pairs.adjacent))
        return torch.cat([
            values.new_zeros(len(values), pairs.num_pairs).index_copy(1, place, values)
            for values, place in parts
        ])  # fmt: skip
