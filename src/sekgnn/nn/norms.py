"""Normalisation of node and pair representations."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from sekgnn.checks import check_choice

Norm = Literal["batch", "layer", "none"]
NORMS: tuple[Norm, ...] = ("batch", "layer", "none")


class RowBatchNorm(nn.BatchNorm1d):
    """Batch normalisation that also trains on a batch of one row or none.

    PyTorch refuses a single row, which has no variance; here such a batch is normalised
    by the running statistics and leaves them as they are.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Normalise ``[N, C]`` over its rows."""
        if self.training and input.size(0) < 2:
            return torch.nn.functional.batch_norm(
                input,
                self.running_mean,
                self.running_var,
                self.weight,
                self.bias,
                training=False,
                eps=self.eps,
            )
        return super().forward(input)


def make_norm(norm: Norm, channels: int) -> nn.Module:
    """Return the layer of that name for ``[N, channels]``.

    Raises:
        ConfigError: If there is none.
    """
    check_choice("norm", norm, NORMS)
    if norm == "batch":
        return RowBatchNorm(channels)
    if norm == "layer":
        return nn.LayerNorm(channels)
    return nn.Identity()
