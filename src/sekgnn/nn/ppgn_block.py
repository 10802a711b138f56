"""The block of provably powerful graph networks."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sekgnn.checks import check_positive
from sekgnn.nn.mlp import MLP, reset_children
from sekgnn.nn.node_pairs import PairLayout
from sekgnn.nn.norms import Norm


class PPGNBlock(nn.Module):
    r"""One block of PPGN (Maron et al., 2019), as powerful as a round of 2-FWL.

    .. math:: X'_{vu} = \mathrm{MLP}_3\Big(\big[X_{vu} \,\|\,
              \sum_{w} \mathrm{MLP}_1(X)_{vw} \odot \mathrm{MLP}_2(X)_{wu}\big]\Big)

    The sum is one matrix product per channel on graphs padded with zeros, which add
    nothing to it; the MLPs see only real pairs. So the result does not depend on the
    padding.

    Args:
        in_channels: Width of the input.
        out_channels: Width of the output.
        norm: Normalisation inside the MLPs, over the real pairs.

    Shapes:
        - **input:** :math:`(P, C_{in})`, all pairs of all graphs, and their layout
        - **output:** :math:`(P, C_{out})`
    """

    def __init__(
        self, in_channels: int, out_channels: int, norm: Norm = "batch"
    ) -> None:
        """Check the parameters and make the layers."""
        super().__init__()
        self.in_channels = check_positive("in_channels", in_channels)
        self.out_channels = check_positive("out_channels", out_channels)
        self.left = MLP(in_channels, out_channels, out_channels, norm)
        self.right = MLP(in_channels, out_channels, out_channels, norm)
        width = in_channels + out_channels
        self.merge = MLP(width, out_channels, out_channels, norm)

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        reset_children(self)

    def forward(self, x: Tensor, pairs: PairLayout) -> Tensor:
        """Return ``[P, C_out]``."""
        left = pairs.pad(self.left(x))  # [G, C, n, n]
        right = pairs.pad(self.right(x))
        with torch.autocast(x.device.type, enabled=False):  # long sums: never in half
            product = pairs.unpad(_at_least_float(left) @ _at_least_float(right))
        out: Tensor = self.merge(torch.cat([x, product], dim=1))
        return out


def _at_least_float(x: Tensor) -> Tensor:
    """Return ``x`` in float32 if its type is shorter."""
    return x.float() if x.dtype.itemsize < 4 else x
