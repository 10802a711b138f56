"""Features brought to a common scale, or to their principal axes, before they are used.

Encodings differ by orders of magnitude and are strongly correlated; gradient descent
sees little but the largest of them. What is fitted here is fixed before training, part
of the model's file, and not learned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import get_args

import torch
from torch import Tensor, nn

from sekgnn.checks import check_choice, check_positive
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.nn.choices import Standardize

Rows = Callable[[], Iterable[Tensor]]
"""Gives all rows of a matrix in pieces ``[B, F]``, every time it is called."""

MAX_ROTATED = 8192
_NOISE = 1e-13  # share of the largest variance below which an axis is rounding
_LEAST_SPREAD = 1e-3
"""Share of its mean that a feature is divided by at least.

What varies by less in training would be amplified without bound in other graphs. In
ordinary data spreads are some hundredths of the mean and more.
"""
_ROUNDING = 1e-12, 1e-15
"""A float64 feature that varies by less is constant: of its own and the largest size.

Sums over walks differ by so much between relabelled copies of a graph, also those that
are exactly 0.
"""

MOST_SPREADS = 10.0
"""Standard deviations beyond which a feature of a new graph is cut off."""


class Standardizer(nn.Module):
    r"""Shift, scale and perhaps rotate F features.

    * ``"scale"``: :math:`z = (x - \mu) / \sigma`, feature by feature;
    * ``"rotate"``: :math:`z = U^\top (x - \mu) / \sigma` with the columns of U the
      principal axes of the scaled features, the largest variance first. Axes along
      which the fitted rows do not vary are set to zero;
    * ``"none"``: :math:`z = x`.

    :math:`\mu`, :math:`\sigma` and U are those of the rows that :meth:`fit` was given,
    computed in float64; before that nothing is changed. Features that do not vary there
    become 0 everywhere, and :math:`\sigma` is at least a thousandth of :math:`\mu` by
    ``"scale"``.

    Args:
        num_features: F.
        kind: One of the three.

    Shapes:
        - **input, output:** :math:`(N, F)`
    """

    shift: Tensor | None
    scale: Tensor | None
    axes: Tensor | None
    variances: Tensor | None

    def __init__(self, num_features: int, kind: Standardize = "scale") -> None:
        super().__init__()
        self.num_features = check_positive("num_features", num_features, 0)
        self.kind = check_choice("kind", kind, get_args(Standardize))
        if kind == "rotate" and num_features > MAX_ROTATED:
            raise ConfigError(
                f'standardize="rotate" needs a matrix of {num_features} x '
                f'{num_features} numbers; use "scale", or an encoding of fewer numbers.'
            )
        used, rotated = kind != "none", kind == "rotate"
        for name, value in (
            ("shift", torch.zeros(num_features) if used else None),
            ("scale", torch.ones(num_features) if used else None),
            ("axes", torch.eye(num_features) if rotated else None),
            ("variances", torch.ones(num_features) if rotated else None),
        ):
            self.register_buffer(name, value)

    def fit(self, rows: Rows) -> None:
        """Fit to the rows of a matrix, in two passes.

        Args:
            rows: Gives the rows.

        Raises:
            GraphInputError: If there are none.
        """
        if self.shift is None or self.scale is None:
            return
        count, total = 0, torch.zeros(self.num_features, dtype=torch.float64)
        largest = torch.zeros_like(total)
        precision = torch.finfo(torch.float64).eps
        for part in rows():
            precision = max(precision, torch.finfo(part.dtype).eps)
            count += len(part)
            total += part.double().sum(0).cpu()
            if len(part):
                largest = torch.maximum(largest, part.abs().amax(0).double().cpu())
        if not count:
            raise GraphInputError("there are no rows to fit shift and scale to.")
        mean, square = total / count, torch.zeros_like(total)
        for part in rows():
            square += (part.double().cpu() - mean).square().sum(0)
        spread = (square / count).sqrt()
        own, whole = max(8 * precision, _ROUNDING[0]), _ROUNDING[1]
        smallest = whole * max(largest.tolist(), default=0.0)
        rounding = (own * largest).clamp(min=smallest)
        varies, constant = spread > rounding, 1.0
        if self.kind == "scale":  # a rotation takes constants out itself
            constant, spread = torch.inf, spread.clamp(min=_LEAST_SPREAD * mean.abs())
        spread = torch.where(varies, spread, constant)
        self.shift.copy_(mean)
        self.scale.copy_(spread)
        if self.axes is None or self.variances is None:
            return
        covariance = torch.zeros(self.num_features, self.num_features).double()
        for part in rows():
            centred = (part.double().cpu() - mean) / spread
            covariance += centred.t() @ centred
        variances, axes = torch.linalg.eigh(covariance / count)
        variances, axes = variances.flip(0), axes.flip(1)
        # an axis is defined up to its sign: let the largest entry be positive
        top = axes.gather(0, axes.abs().argmax(0, keepdim=True))
        axes = axes * torch.where(top < 0, -1.0, 1.0)
        kept = variances > _NOISE * variances[:1].clamp(min=1)  # if any varies
        self.axes.copy_(axes * kept)
        self.variances.copy_(variances * kept)

    def forward(self, x: Tensor) -> Tensor:
        """Return ``[N, F]``."""
        if self.shift is None or self.scale is None:
            return x
        z = (x - self.shift).div_(self.scale)
        return z if self.axes is None else z @ self.axes

    def whitening(self) -> Tensor:
        r"""Return :math:`1 / \sqrt{w}` of every axis' variance w, 0 for those left out.

        With :math:`10^{-12}` of the largest variance added, so that the smallest do not
        drown in rounding.
        """
        assert self.variances is not None  # only rotated features have variances
        w = self.variances.double()
        gain = (w + 1e-12 * w[:1]).rsqrt()
        return torch.where(w > 0, gain, 0.0).to(self.variances.dtype)

    def extra_repr(self) -> str:
        return f"{self.num_features}, kind={self.kind!r}"


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
        return z.clamp(-MOST_SPREADS, MOST_SPREADS)
