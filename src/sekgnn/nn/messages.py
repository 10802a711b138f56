"""MESSAGE of SEK-GNN: what a node makes of the nodes of one hop, open to your own."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import torch
from torch import Tensor, nn

from sekgnn.errors import ConfigError
from sekgnn.nn.hop_matrices import EdgeFeatures, edge_sum
from sekgnn.nn.mlp import Linear, reset_children
from sekgnn.nn.sparse_sum import Csr, hop_mix
from sekgnn.parameters import Registry

T = TypeVar("T", bound=Callable[..., Any])


class Message(nn.Module):
    r"""The message :math:`m_v^k` of every hop k, from :math:`z` of all nodes.

    Args:
        channels: C.
        num_hops: K.
        share_hops: The same parameters for all hops.
        edge_channels: Width of edge features, where ``reads_edges``; 0 for none.

    Shapes:
        - **input:** z :math:`(N, C)`, the hops, k, edge features of hop 1
        - **output:** :math:`(N, C)`
    """

    name: ClassVar[str]
    reads_edges: ClassVar[bool] = False
    eps: nn.Parameter | None

    def __init__(
        self,
        channels: int,
        num_hops: int,
        *,
        share_hops: bool = False,
        edge_channels: int = 0,
    ) -> None:
        super().__init__()
        self.channels, self.share_hops = channels, share_hops
        self.parts = 1 if share_hops else num_hops

    def reset_parameters(self) -> None:
        reset_children(self)

    def part(self, k: int) -> int:
        """Return where the parameters of hop k are."""
        return 0 if self.share_hops else k - 1

    def forward(
        self, z: Tensor, hops: Csr, k: int, edges: EdgeFeatures | None = None
    ) -> Tensor:
        """Return the message of hop k, ``[N, C]``."""
        raise NotImplementedError


class _Messages(Registry[Any]):
    """Messages by name: classes of modules, and functions."""

    def takes(self, cls: object) -> bool:
        return inspect.isroutine(cls) or super().takes(cls)


MESSAGES = _Messages("message", nn.Module)
"""Every message by name."""


def register_message(name: str) -> Callable[[T], T]:
    """Make a message of your own known, for ``SEKConv(message=name)`` and models.

    It is a function of ``(z, hops, k)``, with z ``[N, C]``, :class:`Csr` and the hop
    k, that returns ``[N, C]``; or a module class, made with ``(channels, num_hops)``
    for every layer, whose ``forward`` is such a function. See :class:`Message` for
    one that shares parameters among hops or reads edge features.

    Args:
        name: How to call it.

    Raises:
        ConfigError: If the name is taken, or something else is decorated.

    Example:
        >>> @register_message("mean")
        ... def mean(z, hops, k):
        ...     return hops.sum(z, k) / hops.sizes(k).clamp(min=1).unsqueeze(1)
        >>> "mean" in MESSAGES
        True
        >>> MESSAGES.forget("mean")
    """
    return MESSAGES.register(name)


def make_message(
    name: str, channels: int, num_hops: int, **options: Any
) -> Callable[..., Tensor]:
    """Return the message of that name; options that it does not take are left out.

    Raises:
        ConfigError: If there is none, or it does not read edge features.
    """
    message = MESSAGES.known(name)
    if options.get("edge_channels") and not reads_edges(name):
        reading = [other for other in MESSAGES if reads_edges(other)]
        raise ConfigError(
            f"message={name!r} does not read edge features; use one of {reading}, or "
            "edge_channels=0."
        )
    if inspect.isroutine(message):
        return message
    known = inspect.signature(message).parameters
    if not any(p.kind is p.VAR_KEYWORD for p in known.values()):
        options = {key: value for key, value in options.items() if key in known}
    made: nn.Module = message(channels, num_hops, **options)
    return made


def reads_edges(name: str) -> bool:
    """Return whether a message reads edge features."""
    return bool(getattr(MESSAGES.known(name), "reads_edges", False))


@register_message("gin")
class GINMessage(Message):
    r""":math:`m_v^k = (1 + \epsilon_k) z_v + \sum_{u \in N_k(v)} z_u`."""

    eps: nn.Parameter

    def __init__(self, channels: int, num_hops: int, **options: Any) -> None:
        super().__init__(channels, num_hops, **options)
        self.eps = nn.Parameter(torch.zeros(self.parts))

    def reset_parameters(self) -> None:
        super().reset_parameters()
        nn.init.zeros_(self.eps)

    def forward(
        self, z: Tensor, hops: Csr, k: int, edges: EdgeFeatures | None = None
    ) -> Tensor:
        part = self.part(k)
        own = 1 + self.eps[part : part + 1]
        if not z.requires_grad:  # the first layer: nothing to send back
            return torch.addcmul(hops.sum(z, k), own, z)
        weights = nn.functional.pad(own, (0, 1), value=1.0).unsqueeze(1)  # [2, 1]
        return hop_mix([z], [0, 0], weights, hops, first_hop=k, rectify=False)


@register_message("gine")
class GINEMessage(GINMessage):
    r"""As GIN, with :math:`\mathrm{ReLU}(z_u + e)` under the sum.

    e is the embedded feature of the edge on hop 1 and a learned vector of the hop
    elsewhere (on hop 1 too, if there are no edge features).
    """

    reads_edges = True
    hop_embedding: nn.Parameter | None

    def __init__(
        self, channels: int, num_hops: int, *, edge_channels: int = 0, **options: Any
    ) -> None:
        super().__init__(channels, num_hops, **options)
        self.edge_lift = Linear(edge_channels, channels) if edge_channels else None
        rows = num_hops - bool(edge_channels)
        self.register_parameter(
            "hop_embedding", nn.Parameter(torch.empty(rows, channels)) if rows else None
        )

    def reset_parameters(self) -> None:
        super().reset_parameters()
        if self.hop_embedding is not None:
            nn.init.normal_(self.hop_embedding, std=0.1)

    def forward(
        self, z: Tensor, hops: Csr, k: int, edges: EdgeFeatures | None = None
    ) -> Tensor:
        own = 1 + self.eps[self.part(k)]
        if k == 1 and self.edge_lift is not None:
            assert edges is not None
            return edge_sum(z, self.edge_lift, edges) + own * z
        assert self.hop_embedding is not None
        sent = z + self.hop_embedding[k - 1 - (self.edge_lift is not None)]
        return torch.addcmul(hops.sum(sent.relu(), k), own, z)


@register_message("gcn")
class GCNMessage(Message):
    r""":math:`m_v^k = \sum_{u \in N_k(v) \cup \{v\}} z_u / \sqrt{d_v^k d_u^k}`.

    With :math:`d_v^k = |N_k(v)| + 1`.
    """

    def forward(
        self, z: Tensor, hops: Csr, k: int, edges: EdgeFeatures | None = None
    ) -> Tensor:
        scale = (hops.sizes(k) + 1).to(z.dtype).rsqrt().unsqueeze(1)  # [N, 1]
        scaled = scale * z
        return scale * (hops.sum(scaled, k) + scaled)
