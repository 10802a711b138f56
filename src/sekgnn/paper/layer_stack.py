"""A stack of message passing layers."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from sekgnn.models.graph_inputs import GraphInputs
from sekgnn.models.hop_encoder import NodeEmbedding
from sekgnn.models.options import ModelOptions
from sekgnn.nn import JumpingKnowledge
from sekgnn.nn.mlp import activate, make_norm, reset_children


class LayerStack(nn.Module):
    r"""L layers, each followed by normalisation, activation and dropout.

    With ``jump="last"`` the last one is followed by dropout alone.

    Args:
        in_channels: Width of x; 0 gives all nodes one learned vector.
        options: Width, depth, normalisation, dropout, jumping knowledge.
        make_layer: Returns a layer for an input width; the layer is called with all
            representations so far, the latest last, and the inputs.
        embed: Map x to the hidden width first.
    """

    def __init__(
        self,
        in_channels: int,
        options: ModelOptions,
        make_layer: Callable[[int], nn.Module],
        *,
        embed: bool = False,
    ) -> None:
        super().__init__()
        channels = options.hidden_channels
        plain = in_channels > 0 and not embed
        self.embedding = None if plain else NodeEmbedding(in_channels, channels)
        self.layers = nn.ModuleList(
            make_layer(in_channels if plain and step == 0 else channels)
            for step in range(options.num_layers)
        )
        between = options.num_layers - (options.jump == "last")
        self.norms = nn.ModuleList(
            make_norm(options.norm, channels) for _ in range(between)
        )
        self.activation = options.activation
        self.dropout = nn.Dropout(options.dropout)
        self.jump = JumpingKnowledge(channels, options.num_layers, options.jump)

    def reset_parameters(self) -> None:
        reset_children(self)

    def forward(self, inputs: GraphInputs) -> Tensor:
        """Return ``[N, C]``."""
        first = inputs.x
        if self.embedding is not None:
            first = self.embedding(inputs.x, inputs.num_nodes)
        assert first is not None  # as graph_inputs has seen to it
        history = [first]
        for step, layer in enumerate(self.layers):
            h: Tensor = layer(history, inputs)
            if step < len(self.norms):
                norm = self.norms[step]
                h = h.clone() if isinstance(norm, nn.Identity) else norm(h)
                h = activate(h, self.activation)
            history.append(self.dropout(h))
        out: Tensor = self.jump(history[1:])
        return out
