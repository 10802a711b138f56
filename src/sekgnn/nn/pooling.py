"""Pooling: one representation from those of all layers, one vector from all nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import get_args

import torch
from torch import Tensor, nn
from torch_geometric.nn.aggr import Set2Set
from torch_geometric.utils import softmax

from sekgnn.checks import check_choice, check_positive
from sekgnn.errors import ConfigError
from sekgnn.nn.choices import READOUTS, Jump
from sekgnn.nn.mlp import reset_children
from sekgnn.nn.sparse_sum import Csr, csr_sum

RowPool = Callable[..., Tensor]
"""What pools rows before a linear layer: :func:`pool_rows` of some graphs."""


def pool_rows(
    graphs: Csr,
    mean: bool,
    parts: Sequence[Tensor],
    last: nn.Linear | None = None,
) -> Tensor:
    r"""Return the sum or mean over the nodes of every graph of a linear layer's output.

    .. math:: \sum_v (W h_v + b) = W \sum_v h_v + n b

    so that the layer reads one row per graph instead of one per node.

    Args:
        graphs: The :func:`membership` of G graphs.
        mean: Divide by n; a graph without nodes gives zeros.
        parts: The input of the layer, side by side, each ``[N, C_i]``.
        last: The layer; ``None`` for the identity.

    Returns:
        ``[G, C]``.
    """
    sums = [csr_sum(part, graphs) for part in parts]
    total = sums[0] if len(sums) == 1 else torch.cat(sums, dim=1)
    sizes = graphs.row_sizes().unsqueeze(1)
    if last is not None:
        total = nn.functional.linear(total, last.weight)
        if last.bias is not None:
            total = total + sizes * last.bias
    return total / sizes.clamp(min=1) if mean else total


class JumpingKnowledge(nn.Module):
    r"""Pool the layers of a network, node by node (Xu et al., 2018).

    * ``"last"``: :math:`h^L`;
    * ``"sum"``: :math:`\sum_l h^l`;
    * ``"concat"``: :math:`W [h^1 \,\|\, \dots \,\|\, h^L] + b`;
    * ``"attention"``: :math:`\sum_l a^l h^l`,
      :math:`a = \mathrm{softmax}_l(w^\top h^l)`.

    Args:
        channels: C, the width of every layer and of the result.
        num_layers: L.
        jump: One of the four.

    Shapes:
        - **input:** L tensors :math:`(N, C)`
        - **output:** :math:`(N, C)`
    """

    def __init__(
        self, channels: int, num_layers: int, jump: Jump = "attention"
    ) -> None:
        super().__init__()
        self.channels = check_positive("channels", channels)
        self.num_layers = check_positive("num_layers", num_layers)
        self.jump = check_choice("jump", jump, get_args(Jump))
        self.merge: nn.Module | None = None
        if jump == "concat":
            self.merge = nn.Linear(channels * num_layers, channels)
        elif jump == "attention" and num_layers > 1:  # one layer needs no weights
            # a bias would shift all scores of a node alike and change nothing
            self.merge = nn.Linear(channels, 1, bias=False)

    def reset_parameters(self) -> None:
        reset_children(self)

    def forward(self, layers: Sequence[Tensor], pool: RowPool | None = None) -> Tensor:
        """Return ``[N, C]``, or its sums over the nodes of graphs, ``[G, C]``."""
        if pool is not None:
            if isinstance(self.merge, nn.Linear) and self.jump == "concat":
                return pool(layers, self.merge)
            return pool([self(layers)])
        if self.jump == "concat" and self.merge is not None:
            out: Tensor = self.merge(torch.cat(list(layers), dim=1))
            return out
        if self.jump == "last" or len(layers) == 1:
            return layers[-1]
        if self.merge is None:
            out = layers[0]
            for layer in layers[1:]:
                out = out + layer
            return out
        stacked = torch.stack(list(layers))  # [L, N, C]
        scores: Tensor = self.merge(stacked)  # [L, N, 1]
        return (scores.softmax(0) * stacked).sum(0)

    def extra_repr(self) -> str:
        return f"{self.channels}, num_layers={self.num_layers}, jump={self.jump!r}"


def membership(ptr: Tensor) -> Csr:
    """Return the matrix of graphs and their nodes, ``[G, N]``.

    Args:
        ptr: First node of every graph, int64 ``[G + 1]``; nodes stand graph by graph.

    Example:
        >>> nodes = membership(torch.tensor([0, 2, 3]))
        >>> csr_sum(torch.tensor([[1.0], [2.0], [4.0]]), nodes).flatten().tolist()
        [3.0, 4.0]
    """
    sizes = ptr.diff()
    graphs = torch.arange(sizes.numel(), dtype=torch.int32, device=ptr.device)
    owner = torch.repeat_interleave(graphs, sizes)
    steps = torch.arange(owner.numel() + 1, dtype=torch.int32, device=ptr.device)
    return Csr(ptr.int(), steps[:-1], steps, owner)


def pool_nodes(h: Tensor, graphs: Csr, pool: str) -> Tensor:
    """Return sum, mean, std (over n), max or min of every graph's nodes, ``[G, C]``.

    A graph without nodes gives zeros.
    """
    if pool in ("sum", "mean", "std"):
        total = csr_sum(h, graphs)
        if pool == "sum":
            return total
        sizes = graphs.row_sizes().clamp(min=1).unsqueeze(1)
        mean = total / sizes
        if pool == "mean":
            return mean
        centred = h - mean.index_select(0, graphs.t_indices)
        return (csr_sum(centred.square(), graphs) / sizes).sqrt()
    if pool == "min":
        return -pool_nodes(-h, graphs, "max")
    owner = graphs.t_indices.long().unsqueeze(1).expand_as(h)  # [N, C]
    zeros = h.new_zeros(graphs.indptr.size(0) - 1, h.size(1))
    return zeros.scatter_reduce(0, owner, h, "amax", include_self=False)


def pool_names(name: str, value: str, known: Sequence[str]) -> tuple[str, ...]:
    """Return the parts of ``"sum+mean"``.

    Raises:
        ConfigError: If one is unknown, or twice there.
    """
    parts = tuple(str(value).split("+"))
    if len(set(parts)) < len(parts):
        raise ConfigError(f"{name} must not repeat a part, got {value!r}.")
    return tuple(check_choice(name, part, tuple(known)) for part in parts)


class GraphReadout(nn.Module):
    r"""Pool the nodes of every graph.

    * ``"sum"``: :math:`\sum_v h_v`;
    * ``"mean"``: :math:`\frac{1}{n} \sum_v h_v`;
    * ``"max"``: :math:`\max_v h_v`, channel by channel;
    * ``"attention"``: :math:`\sum_v a_v h_v`,
      :math:`a = \mathrm{softmax}_v(w^\top h_v)` over the nodes of the graph;
    * ``"set2set"``: PyG's ``Set2Set`` (Vinyals et al., 2016), three steps of attention
      whose query an LSTM updates; 2 C numbers.

    Several joined by ``+``, such as ``"sum+mean+max"``, are concatenated. A graph
    without nodes gives zeros.

    Args:
        channels: C.
        readout: One of the five, or several.

    Attributes:
        out_channels: R C, for R parts, of which ``"set2set"`` counts twice.

    Shapes:
        - **input:** :math:`(N, C)` and the :func:`membership` of G graphs
        - **output:** :math:`(G, R C)`
    """

    def __init__(self, channels: int, readout: str = "sum") -> None:
        super().__init__()
        self.channels = check_positive("channels", channels)
        self.readout = readout
        self.parts = pool_names("readout", readout, READOUTS)
        self.out_channels = channels * (len(self.parts) + ("set2set" in self.parts))
        self.steps: nn.Module | None = None
        if "set2set" in self.parts:
            self.steps = Set2Set(channels, processing_steps=3)
        # a bias would shift all scores of a graph alike and change nothing
        self.score: nn.Module | None = (
            nn.Linear(channels, 1, bias=False) if "attention" in self.parts else None
        )

    def reset_parameters(self) -> None:
        reset_children(self)

    def row_pool(self, graphs: Csr) -> RowPool | None:
        """Return the same as a function of a linear layer's input, where it is one."""
        linear = self.readout in ("sum", "mean")
        return partial(pool_rows, graphs, self.readout == "mean") if linear else None

    def forward(self, h: Tensor, graphs: Csr) -> Tensor:
        """Return ``[G, R C]``."""
        pooled = []
        for part in self.parts:
            if part == "attention":
                pooled.append(self._attention(h, graphs))
            elif part == "set2set":
                assert self.steps is not None
                owner = graphs.t_indices.long()
                pooled.append(self.steps(h, owner, dim_size=graphs.indptr.size(0) - 1))
            else:
                pooled.append(pool_nodes(h, graphs, part))
        return pooled[0] if len(pooled) == 1 else torch.cat(pooled, dim=1)

    def _attention(self, h: Tensor, graphs: Csr) -> Tensor:
        """Return the weighted sum, ``[G, C]``."""
        assert self.score is not None
        scores: Tensor = self.score(h)
        scores = scores.float() if h.dtype.itemsize < 4 else scores  # [N, 1]
        size = graphs.indptr.size(0) - 1
        share = softmax(scores, graphs.t_indices.long(), num_nodes=size)
        return csr_sum(share * h, graphs)

    def extra_repr(self) -> str:
        return f"{self.channels}, readout={self.readout!r}"
