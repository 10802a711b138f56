"""K-hop message passing in layers: one representation per node."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from sekgnn.encoding.substructure import SubstructureEncoding
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.models.graph_inputs import GraphInputs
from sekgnn.models.options import ModelOptions
from sekgnn.nn import (
    EncodingFusion,
    GINEPlusConv,
    JumpingKnowledge,
    MultisetFusion,
    SEKConv,
)
from sekgnn.nn.dense import linear
from sekgnn.nn.mlp import Linear, make_norm, normalised, reset_children
from sekgnn.nn.pooling import RowPool

GINE_PLUS = "gine_plus"


class HopEncoder(nn.Module):
    r"""L layers of K-hop message passing with the substructure encoding f.

    :math:`h^0` is the embedded x plus f, fused to the hidden width. In front of every
    further layer f is added through a linear layer (``inject="every"``) or not again
    (``"input"``). Without f the layers other than GINE+ read x as it is.
    Every layer is followed by normalisation, activation and dropout; with
    ``jump="last"``, as in PyG, the last one by dropout alone. Jumping knowledge pools
    the L results.

    Args:
        in_channels: Width of x; 0 for none.
        options: Width, depth, hops and layers; ``message="gine_plus"`` means
            :class:`~sekgnn.nn.GINEPlusConv`, any other :class:`~sekgnn.nn.SEKConv`.
        encoding: What f is; ``None`` for K-hop message passing without it.
        edge_channels: Width of edge features; 0 for none.

    Attributes:
        pools: It can sum over the nodes of graphs before its last linear layer.

    Raises:
        ConfigError: If options cannot work together.
    """

    pools: ClassVar[bool] = True

    def __init__(
        self,
        in_channels: int,
        options: ModelOptions,
        encoding: SubstructureEncoding | None = None,
        edge_channels: int = 0,
    ) -> None:
        super().__init__()
        o, channels = options, options.hidden_channels
        plus = o.message == GINE_PLUS
        if plus and (o.update != "mlp" or o.share_hops):
            raise ConfigError(
                'message="gine_plus" has one MLP for all hops; leave update and '
                "share_hops as they are."
            )
        plain = encoding is None and in_channels > 0 and not plus
        self.embedding = None if plain else NodeEmbedding(in_channels, channels)
        self.fusion: EncodingFusion | MultisetFusion | None = None
        injections = 0
        if encoding is not None:
            self.fusion = _fusion(encoding, o)
            injections = o.num_layers - 1 if o.inject == "every" else 0
        self.injections = nn.ParameterList(
            torch.empty(channels, channels) for _ in range(injections)
        )
        more: dict[str, Any] = {
            "combine": o.combine,
            "edge_channels": edge_channels,
            "norm": o.norm,
            "activation": o.activation,
        }
        self.activation = o.activation
        self.convs = nn.ModuleList()
        for step in range(o.num_layers):
            if plus:
                self.convs.append(GINEPlusConv(channels, o.num_hops, **more))
                continue
            width = in_channels if plain and step == 0 else channels
            self.convs.append(
                SEKConv(
                    width,
                    channels,
                    o.num_hops,
                    message=o.message,
                    update=o.update,
                    share_hops=o.share_hops,
                    **more,
                )
            )
        # nothing follows the last layer if it alone is the result
        between = o.num_layers - (o.jump == "last")
        self.norms = nn.ModuleList(make_norm(o.norm, channels) for _ in range(between))
        self.dropout = nn.Dropout(o.dropout)
        self.jump = JumpingKnowledge(channels, o.num_layers, o.jump)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        reset_children(self)
        for weight in self.injections:
            nn.init.kaiming_uniform_(weight, a=5**0.5)  # as a linear layer

    def fit_inputs(self, inputs: Callable[[], Iterator[GraphInputs]]) -> None:
        """Fit the scale of the encoding to graphs, given in pieces."""
        fusion = self.fusion
        if isinstance(fusion, MultisetFusion):
            fusion.fit(
                lambda: (p.multisets for p in inputs() if p.multisets is not None)
            )
        elif fusion is not None:
            fusion.fit(lambda: (p.encoding for p in inputs() if p.encoding is not None))

    def forward(self, inputs: GraphInputs, pool: RowPool | None = None) -> Tensor:
        """Return ``[N, C]``, or with ``pool`` for every graph, ``[G, C]``."""
        hops = inputs.hops
        dropped = self.dropout.p > 0 and self.training
        z = self._first(inputs)  # [N, C]
        f = self._fused(inputs)  # [N, C]
        z = z if f is None else z + f
        history: list[Tensor] = []
        layers: list[Tensor] = []
        for step, conv in enumerate(self.convs):
            if f is not None and 0 < step <= len(self.injections):
                z = z + linear(f, self.injections[step - 1])
            history.append(z)
            read = history if isinstance(conv, GINEPlusConv) else z
            alone = self.jump.jump == "last" and step == len(self.convs) - 1
            if pool is not None and alone and not dropped:
                last: Tensor = conv(read, hops, edge_attr=inputs.edges, pool=pool)
                return last
            h = conv(read, hops, edge_attr=inputs.edges)
            if step < len(self.norms):
                norm = self.norms[step]
                if isinstance(norm, nn.Identity) and self.activation == "relu":
                    h = h.relu()  # not in place: others may hold what a layer returned
                else:
                    h = normalised(h, norm, self.activation)
            z = self.dropout(h)
            layers.append(z)
        out: Tensor = self.jump(layers, pool)
        return out

    def _fused(self, inputs: GraphInputs) -> Tensor | None:
        """Return f at the hidden width, if there is one."""
        if self.fusion is None:
            return None
        learned = isinstance(self.fusion, MultisetFusion)
        out: Tensor = self.fusion(inputs.multisets if learned else inputs.encoding)
        return out

    def _first(self, inputs: GraphInputs) -> Tensor:
        """Return the embedded x, or x itself where the layers take it so."""
        if self.embedding is not None:
            out: Tensor = self.embedding(inputs.x, inputs.hops.num_nodes)
            return out
        if inputs.x is None:
            raise GraphInputError(
                "this encoder was made with in_channels: x is needed."
            )
        return inputs.x


def _fusion(
    encoding: SubstructureEncoding, o: ModelOptions
) -> EncodingFusion | MultisetFusion:
    """Return the layer from the encoding to the hidden width."""
    shape = encoding.num_channels, encoding.length, o.hidden_channels
    if not encoding.ragged:
        return EncodingFusion(*shape, o.fusion, o.norm, o.activation, o.standardize)
    if o.fusion != "concat":
        raise ConfigError(
            f"encoding {encoding.name!r} gives multisets, whose channels are fused by "
            f'concatenation; use fusion="concat", got {o.fusion!r}.'
        )
    return MultisetFusion(*shape, o.norm, o.activation, o.standardize)


class NodeEmbedding(nn.Module):
    """Bring node features to a width; without features, one learned vector for all.

    Args:
        in_channels: Width of x, or 0.
        channels: Width of the result.
    """

    constant: nn.Parameter | None

    def __init__(self, in_channels: int, channels: int) -> None:
        super().__init__()
        self.lift = Linear(in_channels, channels) if in_channels else None
        self.register_parameter(
            "constant", None if in_channels else nn.Parameter(torch.empty(channels))
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        reset_children(self)
        if self.constant is not None:
            nn.init.normal_(self.constant)

    def forward(self, x: Tensor | None, num_nodes: int) -> Tensor:
        """Return ``[N, C]``."""
        if self.constant is not None:
            return self.constant.expand(num_nodes, -1)
        assert self.lift is not None
        out: Tensor = self.lift(x)
        return out
