"""Features of whole graphs, such as descriptors, as a network can use them."""

from __future__ import annotations

import torch
from torch import Tensor

from sekgnn.nn.standardizer import Rows, Standardizer

LIMIT = 10.0
"""Standard deviations beyond which a feature of a new graph is cut off."""


class GraphScale(Standardizer):
    r"""Standardise D features of graphs; what is missing is the mean.

    :math:`z = \operatorname{clip}((x - \mu) / \sigma, \pm 10)`, and 0 where x is not
    finite; :math:`\mu` and :math:`\sigma` are those of the finite values that
    :meth:`fit` was given.

    Args:
        num_features: D.

    Shapes:
        - **input, output:** :math:`(G, D)`
    """

    def __init__(self, num_features: int) -> None:
        super().__init__(num_features, "scale")

    def fit(self, rows: Rows) -> None:
        """Fit to the rows of a matrix, in three passes.

        Raises:
            GraphInputError: If there are none.
        """
        total = torch.zeros(self.num_features, dtype=torch.float64)
        count = torch.zeros_like(total)
        for part in rows():
            here = part.isfinite()
            total += torch.where(here, part.double(), 0.0).sum(0).cpu()
            count += here.sum(0).cpu()
        mean = total / count.clamp(min=1)

        def filled(part: Tensor) -> Tensor:
            return torch.where(part.isfinite(), part.double(), mean.to(part.device))

        super().fit(lambda: (filled(part) for part in rows()))

    def forward(self, x: Tensor) -> Tensor:
        """Return ``[G, D]``."""
        assert self.shift is not None
        z = super().forward(torch.where(x.isfinite(), x, self.shift))
        return z.clamp(-LIMIT, LIMIT)
