"""CapsGNN: capsules of nodes, graphs and classes, and its loss."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.utils import softmax

from sekgnn.errors import ConfigError
from sekgnn.models.graph_inputs import GraphInputs
from sekgnn.models.graph_model import GraphModel, register_model
from sekgnn.models.hop_encoder import NodeEmbedding
from sekgnn.nn.mlp import reset_children
from sekgnn.nn.sparse_sum import Csr, csr_sum
from sekgnn.paper.kinds import CapsOptions

ROUTING = 3
UPPER, LOWER, ABSENT = 0.9, 0.1, 0.5
RECONSTRUCTION = 0.1
_TINY = 1e-12


@register_model("capsgnn")
class CapsGNN(GraphModel):
    r"""Capsule graph neural network (Xinyi and Chen, 2019).

    GCN layers :math:`H' = \tanh(\tilde D^{-1/2} \tilde A \tilde D^{-1/2} H W)` give
    every node ``num_capsules`` capsules of ``hidden_channels`` numbers per layer,
    weighted by attention over the nodes. Three steps of dynamic routing turn these into
    ``num_capsules`` capsules of the graph, and those into one capsule per class:

    .. math:: s_j = \sum_i c_{ij} W_{ij} u_i, \quad v_j = \frac{|s_j|^2}{1 + |s_j|^2}
              \frac{s_j}{|s_j|}, \quad c_{ij} = \mathrm{softmax}_j \sum_{\text{steps}}
              v_j \cdot W_{ij} u_i

    The output for class j is :math:`\log |s_j|^2`, whose sigmoid is the length
    :math:`|v_j|`. Classes are learned by the margin loss
    :math:`T_j \max(0, .9 - |v_j|)^2 + .5 (1 - T_j) \max(0, |v_j| - .1)^2`, numbers by
    the loss of the task; both plus .1 of the squared error of a network that
    reconstructs the mean of x over the nodes from the capsules of the true classes,
    with equal weight for features that are present and absent.
    """

    def encoders(self, options: CapsOptions) -> list[nn.Module]:
        """Return the one branch.

        Raises:
            ConfigError: If outputs are per node, or there are graph features.
        """
        if self.graph_channels:
            raise ConfigError(
                "capsgnn cannot use features of graphs; leave features and "
                "descriptors out, or choose another model."
            )
        if self.level == "node":
            raise ConfigError(
                "capsgnn predicts targets of graphs, and these are targets of nodes; "
                "choose another model."
            )
        self.decoder: nn.Module | None = None
        if self.in_channels:
            width = self.out_channels * options.hidden_channels
            self.decoder = nn.Sequential(
                nn.Linear(width, 2 * width),
                nn.ReLU(),
                nn.Linear(2 * width, self.in_channels),
            )
        return [_NodeCapsules(self.in_channels, options)]

    def make_readout(self, channels: int, options: CapsOptions) -> nn.Module:
        """Return the routing from nodes to the graph."""
        size, count = options.hidden_channels, options.num_capsules
        return _GraphCapsules(channels // size, count, size)

    def make_head(self, channels: int) -> Any:
        """Return the routing from the graph to the classes."""
        size = self.hidden_channels
        return _ClassCapsules(channels // size, self.out_channels, size)

    def loss_sum(
        self,
        data: Any,
        y: Tensor,
        mask: Tensor,
        objective: Any,
        weight: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Return the margin loss, or the task's, plus the reconstruction loss."""
        inputs = self.prepare(data)
        capsules = self.head.route(self.represent(inputs))  # [G, T, d]
        out = log_square(capsules)
        true: Tensor | None = None
        if objective.kind in ("binary", "multiclass"):
            true = F.one_hot(y, self.out_channels).to(out)
        elif objective.kind == "multilabel":
            true = y.to(out)
        if true is None:
            total, count = objective.loss_sum(out, y, mask, weight)
        else:
            length = out.sigmoid()
            losses = true * (UPPER - length).clamp(min=0).square()
            absent = (length - LOWER).clamp(min=0).square()
            losses = losses + ABSENT * (1 - true) * absent
            if mask.size(1) < losses.size(1):  # one target, of several classes
                losses = losses.sum(1, keepdim=True)
            weights = objective.weights(y, weight)
            if weights is not None:
                losses = losses * weights.to(losses.dtype)
            total, count = losses[mask].sum(), mask.sum()
        if self.decoder is None or inputs.x is None:
            return total, count
        capsules = squash(capsules)
        if true is not None:
            capsules = capsules * true.unsqueeze(-1)
        reconstruction = self.decoder(capsules.flatten(start_dim=1))  # [G, F]
        sizes = inputs.graphs.row_sizes().clamp(min=1).unsqueeze(1)
        mean_x = csr_sum(inputs.x, inputs.graphs) / sizes
        error, present = (reconstruction - mean_x).square(), mean_x != 0
        errors = [
            (error * group).sum(1) / group.sum(1).clamp(min=1)
            for group in (present, ~present)
        ]
        rebuilt = (errors[0] + errors[1])[mask.any(1)].sum()
        return total + RECONSTRUCTION * rebuilt, count


class _NodeCapsules(nn.Module):
    """Concatenated GCN layers, and attention of every capsule over the nodes."""

    def __init__(self, in_channels: int, options: CapsOptions) -> None:
        super().__init__()
        size, count = options.hidden_channels, options.num_capsules
        width, depth = size * count, options.num_layers
        self.size = size
        self.out_channels = width * depth
        self.embedding = None if in_channels else NodeEmbedding(0, width)
        widths = [in_channels or width, *[width] * depth]
        self.lifts = nn.ModuleList(
            nn.Linear(widths[i], width, bias=False) for i in range(depth)
        )
        self.attention = nn.Sequential(
            nn.Linear(self.out_channels, width),
            nn.Tanh(),
            nn.Linear(width, count * depth, bias=False),
        )
        self.dropout = nn.Dropout(options.dropout)

    def reset_parameters(self) -> None:
        reset_children(self)

    def forward(self, inputs: GraphInputs) -> Tensor:
        """Return ``[N, L P d]``, capsule by capsule."""
        h = inputs.x
        if self.embedding is not None:
            h = self.embedding(None, inputs.num_nodes)
        scale = (inputs.hops.sizes(1).unsqueeze(1) + 1.0).rsqrt()  # [N, 1]
        layers = []
        for lift in self.lifts:
            z = lift(h)
            scale = scale.to(z.dtype)
            z = scale * z
            h = (scale * (z + inputs.hops.sum(z, 1))).tanh()
            layers.append(h)
            h = self.dropout(h)
        capsules = torch.cat(layers, dim=1)  # [N, L P d]
        owner = inputs.graphs.t_indices.long()
        graphs = inputs.graphs.indptr.size(0) - 1
        share = softmax(self.attention(capsules), owner, num_nodes=graphs)  # [N, L P]
        return capsules * share.repeat_interleave(self.size, dim=1)


class _Routing(nn.Module):
    """From I capsules to J by dynamic routing (Sabour et al., 2017)."""

    def __init__(self, inputs: int, outputs: int, size: int) -> None:
        super().__init__()
        self.size = size
        self.out_channels = outputs * size
        self.weight = nn.Parameter(torch.empty(inputs, outputs, size, size))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.normal_(self.weight, std=self.size**-0.5)

    def votes(self, capsules: Tensor) -> Tensor:
        """Return the vote of every capsule for every new one, ``[R, I, J, d]``."""
        num_inputs = capsules.size(1) // self.size
        rows = capsules.view(capsules.size(0), num_inputs, self.size)  # [R, I, d]
        return torch.einsum("rid,ijde->rije", rows, self.weight)


class _GraphCapsules(_Routing):
    """Routing from the capsules of all nodes of a graph."""

    def forward(self, capsules: Tensor, graphs: Csr) -> Tensor:
        """Return ``[G, J d]``."""
        votes = self.votes(capsules)
        owner = graphs.t_indices.long()
        logits = votes.new_zeros(votes.shape[:3])
        out = votes.new_zeros(0)
        for step in range(ROUTING):
            share = logits.softmax(2).unsqueeze(3)
            total = csr_sum((share * votes).sum(1).flatten(start_dim=1), graphs)
            out = squash(total.view(-1, votes.size(2), self.size))  # [G, J, d]
            if step + 1 < ROUTING:
                logits = logits + (votes * out[owner].unsqueeze(1)).sum(3)
        return out.flatten(start_dim=1)


class _ClassCapsules(_Routing):
    """Routing from the capsules of a graph to those of the classes."""

    def route(self, capsules: Tensor) -> Tensor:
        """Return the capsules of the classes before squashing, ``[G, J, d]``."""
        votes = self.votes(capsules)
        logits = votes.new_zeros(votes.shape[:3])
        out = votes.new_zeros(0)
        for _ in range(ROUTING):
            out = (logits.softmax(2).unsqueeze(3) * votes).sum(1)  # [G, J, d]
            logits = logits + (votes * squash(out).unsqueeze(1)).sum(3)
        return out

    def forward(self, capsules: Tensor) -> Tensor:
        """Return ``[G, J]``."""
        return log_square(self.route(capsules))


def squash(s: Tensor) -> Tensor:
    """Shorten vectors ``[..., d]`` to lengths below 1, keeping directions."""
    square = s.square().sum(-1, keepdim=True)
    return s * (square + _TINY).sqrt() / (1 + square)


def log_square(s: Tensor) -> Tensor:
    """Return the log of squared lengths, ``[...]``; finite at 0."""
    return (s.square().sum(-1) + _TINY).log()
