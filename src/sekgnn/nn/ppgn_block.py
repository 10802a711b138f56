"""All ordered pairs of nodes, and the block of provably powerful graph networks."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from sekgnn.checks import check_positive
from sekgnn.errors import GraphInputError
from sekgnn.nn.choices import Activation, Norm
from sekgnn.nn.hop_matrices import HopCSR
from sekgnn.nn.mlp import MLP, SINE_GAIN, reset_children
from sekgnn.nn.pooling import membership
from sekgnn.nn.sparse_sum import Csr


class PairLayout(NamedTuple):
    r"""Where the :math:`n^2` pairs (v, u) of every graph stand.

    Flat, the pairs stand graph by graph and row by row, ``[P, C]`` with
    :math:`P = \sum_g n_g^2`: nothing but real pairs, so that whatever is computed row
    by row, normalisation included, cannot see any padding. For the matrix product alone
    they are turned, ``[C, P]``, and padded, ``[C, G, n, n]`` with zeros elsewhere.

    Attributes:
        slots: Place of every pair in ``[G * n * n]``, int64 ``[P]``.
        diagonal: Place of (v, v) among the pairs, int64 ``[N]``.
        rows: The matrix of nodes v and pairs (v, u), ``[N, P]``.
        adjacent: Place of the pairs of hop 1 in their order, int64 ``[M_1]``.
        num_graphs: G.
        max_nodes: n.
    """

    slots: Tensor
    diagonal: Tensor
    rows: Csr
    adjacent: Tensor
    num_graphs: int
    max_nodes: int

    def pad(self, x: Tensor) -> Tensor:
        """Return ``[C, P]`` as ``[C, G, n, n]``, zero outside the graphs."""
        width, size = x.size(0), self.num_graphs * self.max_nodes**2
        if x.size(1) != size:  # not all graphs have n nodes
            x = x.new_zeros(width, size).index_copy(1, self.slots, x)
        return x.view(width, self.num_graphs, self.max_nodes, self.max_nodes)

    def unpad(self, x: Tensor) -> Tensor:
        """Return ``[C, G, n, n]`` as ``[C, P]``."""
        flat = x.reshape(x.size(0), -1)  # [C, G * n * n]
        if flat.size(1) == self.slots.size(0):
            return flat
        return flat.index_select(1, self.slots)


def pair_layout(
    ptr: Tensor, hops: HopCSR, *, max_nodes: int | None = None
) -> PairLayout:
    """Return the layout of a batch.

    Args:
        ptr: First node of every graph, int64 ``[G + 1]``.
        hops: The batch; hop 1 is its edges.
        max_nodes: Pad to this many nodes; to the largest graph if left out.

    Raises:
        GraphInputError: If ``max_nodes`` is below the largest graph.
    """
    sizes = ptr.diff()  # [G]
    largest = int(sizes.max()) if sizes.numel() else 0
    n = largest if max_nodes is None else max_nodes
    if n < largest:
        raise GraphInputError(f"max_nodes={n} is below the largest graph, {largest}.")
    owner = torch.repeat_interleave(sizes)  # graph of every node, [N]
    local = torch.arange(owner.numel(), device=ptr.device) - ptr[owner]  # [N]
    width = sizes[owner]  # pairs (v, .) of every node, [N]
    row_ptr = torch.cat([width.new_zeros(1), width.cumsum(0)])  # [N + 1]
    node = torch.repeat_interleave(width)  # v of every pair, [P]
    column = torch.arange(node.numel(), device=ptr.device) - row_ptr[node]  # local u
    slots = (owner[node] * n + local[node]) * n + column
    receiver, sender = hops.pairs(1)
    return PairLayout(
        slots=slots,
        diagonal=row_ptr[:-1] + local,
        rows=membership(row_ptr),
        adjacent=row_ptr[receiver] + local[sender],
        num_graphs=sizes.numel(),
        max_nodes=n,
    )


class PPGNBlock(nn.Module):
    r"""One block of PPGN (Maron et al., 2019), as powerful as a round of 2-FWL.

    .. math:: X'_{vu} = \mathrm{MLP}_3\Big(\big[X_{vu} \,\|\,
              \sum_{w} \mathrm{MLP}_1(X)_{vw} \odot \mathrm{MLP}_2(X)_{wu}\big]\Big)

    The sum is one matrix product per channel on graphs padded with zeros, which add
    nothing to it; the MLPs see only real pairs. So the result does not depend on the
    padding. With sines the sum is divided by :math:`\sqrt{n}` and the first layers of
    the MLPs begin with a gain of 16: near 0 a sine is linear, and differences between
    graphs that only high frequencies see would drown in rounding.

    Args:
        in_channels: Width of the input.
        out_channels: Width of the output.
        norm: Normalisation inside the MLPs, over the real pairs.
        activation: Inside the MLPs.

    Shapes:
        - **input:** :math:`(P, C_{in})`, all pairs of all graphs, and their layout
        - **output:** :math:`(P, C_{out})`
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        norm: Norm = "batch",
        activation: Activation = "relu",
    ) -> None:
        super().__init__()
        self.in_channels = check_positive("in_channels", in_channels)
        self.out_channels = check_positive("out_channels", out_channels)
        more = norm, activation
        self.left = MLP(in_channels, out_channels, out_channels, *more)
        self.right = MLP(in_channels, out_channels, out_channels, *more)
        width = in_channels + out_channels
        self.merge = MLP(width, out_channels, out_channels, *more)
        self.sine = activation == "sine"
        self.reset_parameters()

    def reset_parameters(self) -> None:
        reset_children(self)
        if self.sine:
            with torch.no_grad():
                for part in (self.left, self.right, self.merge):
                    part.first.weight *= SINE_GAIN

    def forward(self, x: Tensor, pairs: PairLayout) -> Tensor:
        """Return ``[P, C_out]``."""
        left = pairs.pad(_turned(self.left, x))  # [C, G, n, n]
        right = pairs.pad(_turned(self.right, x))
        with torch.autocast(x.device.type, enabled=False):  # long sums: never in half
            product = pairs.unpad(_at_least_float(left) @ _at_least_float(right))
        if self.sine:
            sizes = pairs.rows.row_sizes()  # n of the graph of every node, [N]
            product = product / sizes.repeat_interleave(sizes).sqrt()  # [C, P]
        first = self.merge.first  # of [X || product], without putting them together
        own, new = first.weight[:, : x.size(1)], first.weight[:, x.size(1) :]
        merged = functional.linear(x, own, first.bias)
        merged = merged + product.t().to(merged.dtype) @ new.t()
        out: Tensor = self.merge.second(self.merge.between(merged))
        return out


def _turned(mlp: MLP, x: Tensor) -> Tensor:
    """Return the result for ``[P, C_in]`` as ``[C_out, P]``, which nothing copies."""
    out = mlp.second
    return torch.addmm(out.bias.unsqueeze(1), out.weight, mlp.between(mlp.first(x)).t())


def _at_least_float(x: Tensor) -> Tensor:
    """Return ``x`` in float32 if its type is shorter."""
    return x.float() if x.dtype.itemsize < 4 else x
