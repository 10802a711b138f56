"""All ordered pairs of nodes, and the block of provably powerful graph networks."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from sekgnn.checks import check_positive
from sekgnn.nn.choices import Activation, Norm
from sekgnn.nn.dense import mix_channels
from sekgnn.nn.mlp import (
    SINE_GAIN,
    RowBatchNorm,
    activate,
    make_norm,
    reset_children,
)
from sekgnn.nn.sparse_sum import Csr


class PairLayout(NamedTuple):
    r"""Where the :math:`n^2` pairs (v, u) of every graph stand.

    Pairs are columns, ``[C, P]`` with :math:`P = \sum_g n_g^2`: graphs by size, the
    smallest first, and row by row in each. So the graphs of one size are a tensor
    ``[C, G_n, n, n]`` as they stand, and nothing is padded.

    Attributes:
        sizes: Every n that occurs, with the number of graphs that have it.
        nodes: Place of every node of the batch among those of the sorted graphs,
            int64 ``[N]``.
        diagonal: Place of (v, v) among the pairs, int64 ``[N]``.
        adjacent: Place of the pairs of hop 1 in their order, int64 ``[M_1]``.
    """

    sizes: tuple[tuple[int, int], ...]
    nodes: Tensor
    diagonal: Tensor
    adjacent: Tensor

    @property
    def num_pairs(self) -> int:
        """P."""
        return sum(count * n * n for n, count in self.sizes)

    def split(self, x: Tensor) -> list[Tensor]:
        """Return ``[C, P]`` as one tensor ``[C, G_n, n, n]`` per size."""
        widths = [count * n * n for n, count in self.sizes]
        return [
            part.reshape(x.size(0), count, n, n)
            for (n, count), part in zip(
                self.sizes, torch.split(x, widths, dim=1), strict=True
            )
        ]

    def row_sums(self, x: Tensor) -> Tensor:
        r"""Return :math:`\sum_u x_{vu}` of all nodes v, ``[C, N]``."""
        sums = [part.sum(3).flatten(1) for part in self.split(x)]
        return torch.cat(sums, dim=1).index_select(1, self.nodes)


def pair_layout(ptr: Tensor, hops: Csr) -> PairLayout:
    """Return the layout of a batch.

    Args:
        ptr: First node of every graph, int64 ``[G + 1]``.
        hops: The batch; hop 1 is its edges.
    """
    sizes = ptr.diff()  # [G]
    by_size = torch.sort(sizes, stable=True)
    values, counts = torch.unique_consecutive(by_size.values, return_counts=True)
    # first node and first pair of every graph, in the order of the batch, [G]
    ends = torch.stack([by_size.values, by_size.values.square()]).cumsum(1)
    first = torch.empty_like(ends)
    first[:, by_size.indices] = ends
    first -= torch.stack([sizes, sizes.square()])
    owner = torch.repeat_interleave(sizes)  # graph of every node, [N]
    local = torch.arange(owner.numel(), device=ptr.device) - ptr[owner]  # [N]
    rows = first[1, owner] + local * sizes[owner]  # place of (v, 0), [N]
    receiver, sender = hops.pairs(1)
    return PairLayout(
        sizes=tuple(zip(values.tolist(), counts.tolist(), strict=True)),
        nodes=first[0, owner] + local,
        diagonal=rows + local,
        adjacent=rows[receiver] + local[sender],
    )


class PPGNBlock(nn.Module):
    r"""One block of PPGN (Maron et al., 2019), as powerful as a round of 2-FWL.

    .. math:: X'_{vu} = \sigma\Big(W_3 \big[X_{vu} \,\|\, \sum_{w}
              \sigma(W_1 X)_{vw} \odot \sigma(W_2 X)_{wu}\big]\Big)

    No map has a bias: the product of two constants, summed over all w, would swamp the
    rest, and training would first have to undo that, block by block. PyTorch's own
    start leaves products small at first, too; a larger one can diverge. With sines the
    sum is divided by :math:`\sqrt{n}` and the start has a gain of 16: near 0 a sine is
    linear, and differences between graphs that only high frequencies see would drown in
    rounding.

    Args:
        in_channels: Width of the input.
        out_channels: Width of the output.
        norm: Normalisation over all pairs before every :math:`\sigma`.
        activation: The :math:`\sigma`.

    Shapes:
        - **input:** :math:`(C_{in}, P)`, all pairs of all graphs, and their layout
        - **output:** :math:`(C_{out}, P)`
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        norm: Norm = "none",
        activation: Activation = "relu",
    ) -> None:
        super().__init__()
        self.in_channels = check_positive("in_channels", in_channels)
        self.out_channels = check_positive("out_channels", out_channels)
        self.factors = nn.Linear(in_channels, 2 * out_channels, bias=False)  # W_1, W_2
        self.merge = nn.Linear(in_channels + out_channels, out_channels, bias=False)
        self.norms = nn.ModuleList(
            make_norm(norm, layer.out_features) for layer in (self.factors, self.merge)
        )
        self.activation = activation
        self.reset_parameters()

    def reset_parameters(self) -> None:
        reset_children(self)
        if self.activation == "sine":
            for layer in (self.factors, self.merge):
                layer.weight.data *= SINE_GAIN

    def forward(self, x: Tensor, pairs: PairLayout) -> Tensor:
        """Return ``[C_out, P]``."""
        factors = self._activated(0, mix_channels(self.factors.weight, x))  # [2 C, P]
        left, right = torch.split(factors, self.out_channels)
        products = [
            self._product(*both).reshape(self.out_channels, -1)
            for both in zip(pairs.split(left), pairs.split(right), strict=True)
        ]
        product = torch.cat(products, dim=1).to(x.dtype)  # [C, P]
        widths = [self.in_channels, self.out_channels]
        old, new = torch.split(self.merge.weight, widths, dim=1)
        return self._activated(1, mix_channels(old, x) + mix_channels(new, product))

    def _activated(self, layer: int, x: Tensor) -> Tensor:
        norm = self.norms[layer]
        if isinstance(norm, RowBatchNorm):
            x = norm.columns(x)
        elif not isinstance(norm, nn.Identity):
            x = norm(x.t()).t()
        return activate(x, self.activation)

    def _product(self, left: Tensor, right: Tensor) -> Tensor:
        """Return the matrix products of graphs of one size, ``[C, G, n, n]``."""
        with torch.autocast(left.device.type, enabled=False):  # long sums: not in half
            product = _at_least_float(left) @ _at_least_float(right)
        if self.activation == "sine":
            product = product / left.size(-1) ** 0.5
        return product


def _at_least_float(x: Tensor) -> Tensor:
    """Return ``x`` in float32 if its type is shorter."""
    return x.float() if x.dtype.itemsize < 4 else x
