"""COMBINE: from one representation per hop to one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import torch
from torch import Tensor, nn

from sekgnn.checks import check_choice, check_positive
from sekgnn.nn.choices import Combine


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
        """Check the parameters."""
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
        k = torch.arange(1, self.num_hops + 1, device=alpha.device).unsqueeze(1)
        return alpha * (1 - alpha).pow(k)  # [K, C]

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
