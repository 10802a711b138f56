"""Learned sums over the multisets of vectors around every node."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from sekgnn.checks import check_positive
from sekgnn.errors import ConfigError
from sekgnn.nn.choices import Activation, Norm, Standardize
from sekgnn.nn.dense import linear, matmul, matmul_rows
from sekgnn.nn.mlp import MLP, SINE_GAIN, activate, reset_children, slope
from sekgnn.nn.sparse_sum import Csr, csr_sum, returned, sum_rows

Ints = NDArray[np.int32]

_BLOCK = 8192
"""Vectors that are lifted and summed at a time, while they are in the cache."""


class Block(NamedTuple):
    """Multisets of one channel that share no vector with others.

    Attributes:
        channel: Their channel.
        multisets: First, and the one after the last.
        members: First entry of their rows, and the one after the last.
        vectors: First, and the one after the last.
    """

    channel: int
    multisets: tuple[int, int]
    members: tuple[int, int]
    vectors: tuple[int, int]


class Multisets(NamedTuple):
    """The multisets of the nodes of a batch; equal ones are kept once.

    Attributes:
        vectors: Those of all multisets, channel by channel, ``[T, L]``.
        splits: How many of them each channel has, C numbers.
        members: The matrix of multisets and their vectors, with counts, ``[U, T]``.
        rows: The multiset of every node and channel, int64 ``[N, C]``.
        kinds: How many multisets each channel has; they too lie channel by channel.
        nodes: The matrix of nodes and their multisets, ``[N, U]``.
        totals: How many vectors each multiset has, ``[U, 1]``.
        blocks: The multisets in pieces, in order.
    """

    vectors: Tensor
    splits: list[int]
    members: Csr
    rows: Tensor
    kinds: list[int]
    nodes: Csr
    totals: Tensor
    blocks: list[Block]


def join_multisets(
    rows: Tensor,
    sizes: Tensor,
    members: Tensor,
    counts: Tensor,
    vectors: Tensor,
    tables: Tensor,
    num_nodes: Tensor,
) -> Multisets:
    """Return the multisets of a batch from the fields of its graphs.

    Multisets are compared by hashes of their floats, channel by channel: those of
    different graphs become one where they agree bit for bit. Vectors that different
    multisets of different graphs share stay apart: in a batch of PROTEINS they are 4 %,
    and to find them takes longer than to compute them twice (float32, ReLU).

    Args:
        rows: As in :class:`~sekgnn.encoding.RaggedEncoding`, ``[N, C]``.
        sizes: Likewise, ``[U]``.
        members: Likewise, ``[M]``.
        counts: Likewise, ``[M]``.
        vectors: Likewise, ``[T, L]``.
        tables: Likewise, ``[G, 2, C]``.
        num_nodes: Nodes of every graph, int64 ``[G]``.
    """
    from sekgnn.nn.kernels import merge_multisets

    device, dtype = vectors.device, vectors.dtype
    words = vectors.detach().cpu().contiguous().numpy().view(np.int32)
    merged = merge_multisets(
        _array(rows, np.int32),
        _array(sizes, np.int32),
        _array(members, np.int32),
        _array(counts, np.int32),
        words,
        _array(tables, np.int64),
        _array(num_nodes, np.int64),
        _BLOCK,
    )
    used = torch.from_numpy(merged.vectors).to(device)
    ones = torch.ones(used.numel(), 1, dtype=dtype, device=device)
    members_of = _matrix(
        merged.indptr, merged.members, merged.counts, used.numel(), ones
    )
    starts = np.arange(len(merged.rows) + 1, dtype=np.int32) * merged.rows.shape[1]
    each = merged.rows.reshape(-1)
    nodes = _matrix(starts, each, each[:0], merged.indptr.size - 1, ones)
    kinds, splits = merged.splits.tolist()
    channels, start = merged.cuts[:, 0].tolist(), [0, 0, 0]
    ends = merged.cuts[:, 1:].tolist()
    return Multisets(
        vectors.index_select(0, used),
        splits,
        members_of,
        torch.from_numpy(merged.rows).to(device, torch.int64),
        kinds,
        nodes._replace(weights=None, t_weights=None),
        csr_sum(ones, members_of),
        [
            Block(channel, *zip(before, after, strict=True))
            for channel, before, after in zip(
                channels, [start, *ends], ends, strict=False
            )
        ],
    )


def _array(x: Tensor, dtype: Any) -> NDArray[Any]:
    return np.ascontiguousarray(x.cpu().numpy(), dtype=dtype)


def _matrix(
    indptr: Ints, indices: Ints, counts: Ints, columns: int, like: Tensor
) -> Csr:
    """Return a matrix whose entries are counts, as ``like`` is."""
    from sekgnn.nn.kernels import transposed_rows

    t_indptr, t_indices, t_counts = transposed_rows(indptr, indices, counts, columns)

    def tensor(array: Ints) -> Tensor:
        return torch.from_numpy(array).to(like.device)

    return Csr(
        tensor(indptr),
        tensor(indices),
        tensor(t_indptr),
        tensor(t_indices),
        weights=tensor(counts).to(like.dtype),
        t_weights=tensor(t_counts).to(like.dtype),
    )


def shell_sums(
    weight: Tensor,
    multisets: Multisets,
    shift: Tensor,
    scale: Tensor,
    activation: Activation,
) -> Tensor:
    r"""Return the sum over every multiset of what a layer makes of its vectors.

    .. math:: s_M = \sum_{(h, n) \in M} n\,
              \sigma\big(W_c^\top (h - \mu_c) / \sigma_c + b_c\big)

    Half precision is treated as by :func:`~sekgnn.nn.csr_sum`. There is a first
    gradient only.

    Args:
        weight: W and b of every channel, ``[C, L + 1, C_out]``.
        multisets: The multisets M.
        shift: :math:`\mu`, in two parts whose sum it is, ``[2, C, L]``.
        scale: :math:`\sigma`, ``[C, L]``.
        activation: The function outside.

    Returns:
        ``[U, C_out]``.
    """
    kind = weight.dtype if weight.dtype.itemsize >= 4 else torch.float32
    with torch.autocast(weight.device.type, enabled=False):
        sums: Tensor = _ShellSums.apply(  # type: ignore[no-untyped-call]
            weight.to(kind), multisets.vectors, multisets, shift, scale, activation
        )
    return returned(sums, weight)


class _ShellSums(torch.autograd.Function):
    """The sums, block by block.

    What the layer makes of the vectors has far more numbers than the vectors or the
    sums. A block of it does not leave the cache: it is summed, forgotten, and computed
    again for the gradient.
    """

    @staticmethod
    def forward(
        ctx: Any,
        weight: Tensor,
        vectors: Tensor,
        multisets: Multisets,
        shift: Tensor,
        scale: Tensor,
        activation: Activation,
    ) -> Tensor:
        inputs = []
        indptr, indices, *_ = members = multisets.members
        assert members.weights is not None
        sums = weight.new_empty(members.num_nodes, weight.size(2))
        for c, (u, u_end), (m, m_end), (t, t_end) in multisets.blocks:
            z = vectors[t:t_end] - shift[0, c] - shift[1, c]
            z = (z / scale[c]).to(weight.dtype)
            inputs.append(z)
            lifted = matmul(z, weight[c, :-1]).add_(weight[c, -1])
            sums[u:u_end] = sum_rows(
                activate(lifted, activation),
                indptr[u : u_end + 1] - m,
                indices[m:m_end] - t,
                members.weights[m:m_end],
            )
        ctx.save_for_backward(weight, scale, *inputs)
        ctx.rest = multisets, activation
        return sums

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> Any:
        weight, scale, *inputs = ctx.saved_tensors
        multisets, activation = ctx.rest
        members, vectors = multisets.members, multisets.vectors
        grad_weight = torch.zeros_like(weight)
        grad_vectors = torch.empty_like(vectors) if ctx.needs_input_grad[1] else None
        for z, (c, _, _, (t, t_end)) in zip(inputs, multisets.blocks, strict=True):
            lifted = matmul(z, weight[c, :-1]).add_(weight[c, -1])
            grad = sum_rows(
                grads[0],
                members.t_indptr[t : t_end + 1],
                members.t_indices,
                members.t_weights,
            )
            grad = slope(grad, lifted, activation)  # [T_b, C_out]
            grad_weight[c, :-1] += matmul_rows(z, grad)
            grad_weight[c, -1] += grad.sum(0)
            if grad_vectors is not None:
                grad_vectors[t:t_end] = (grad @ weight[c, :-1].t()) / scale[c]
        return grad_weight, grad_vectors, None, None, None, None


class MultisetFusion(nn.Module):
    r"""Learn the sum over a shell (AGG of the SEK paper), then fuse the channels.

    With :math:`M_c(v)` the multiset of node v in channel c, of vectors h with counts n,

    .. math:: f_v = \rho\big(\big\Vert_{c=1}^{C} \tfrac{1}{m_c}
              \sum_{(h, n) \in M_c(v)} n\, \phi_c((h - \mu_c) / \sigma_c)\big)

    where :math:`\phi_c` and :math:`\rho` are two linear layers each. :math:`\mu_c`,
    :math:`\sigma_c` and :math:`m_c`, the mean number of vectors in a multiset, are
    those that :meth:`fit` found in the training graphs. With sines the first layers of
    :math:`\phi_c` and :math:`\rho` begin with a gain of 16: step vectors of different
    graphs may agree in all but their last steps, and by little there.

    Args:
        num_channels: C.
        length: L, the numbers in a vector.
        out_channels: Width of the result, and of every :math:`\phi_c`.
        norm: Normalisation inside :math:`\rho`.
        activation: Inside :math:`\phi_c` and :math:`\rho`.
        standardize: ``"scale"``, or ``"none"`` for :math:`\mu = 0` and
            :math:`\sigma = m = 1`.

    Raises:
        ConfigError: If ``standardize`` is ``"rotate"``, or a value cannot work.

    Shapes:
        - **input:** :class:`Multisets`
        - **output:** :math:`(N, C_{out})`
    """

    shift: Tensor
    scale: Tensor
    share: Tensor

    def __init__(
        self,
        num_channels: int,
        length: int,
        out_channels: int,
        norm: Norm = "batch",
        activation: Activation = "relu",
        standardize: Standardize = "scale",
    ) -> None:
        super().__init__()
        if standardize == "rotate":
            raise ConfigError(
                'standardize="rotate" is for encodings that are arrays; multisets '
                'have "scale" and "none".'
            )
        self.standardize, self.activation = standardize, activation
        self.num_channels = check_positive("num_channels", num_channels)
        self.length = check_positive("length", length)
        shape, width = (num_channels, length), check_positive("width", out_channels)
        # float32 and what it rounds off: vectors may differ by less than its precision
        self.register_buffer("shift", torch.zeros(2, *shape))
        self.register_buffer("scale", torch.ones(shape))
        self.register_buffer("share", torch.ones(num_channels))
        self.first = nn.Parameter(torch.empty(num_channels, length + 1, width))
        self.second = nn.Parameter(torch.empty(num_channels, width + 1, width))
        self.lift = MLP(num_channels * width, width, width, norm, activation)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reset the layers; each begins as a linear layer of PyTorch, bias last."""
        reset_children(self)
        for weight in (self.first, self.second):
            bound = (weight.size(1) - 1) ** -0.5
            nn.init.uniform_(weight, -bound, bound)
        if self.activation == "sine":
            with torch.no_grad():
                self.first[:, :-1] *= SINE_GAIN
                self.lift.first.weight *= SINE_GAIN

    @torch.no_grad()
    def fit(self, batches: Callable[[], Iterable[Multisets]]) -> None:
        """Fit shift and scale of every step, and the sizes of multisets, in float64.

        Args:
            batches: Gives the training graphs in pieces, every time it is called.
        """
        if self.standardize == "none":
            return
        nodes, precision = 0, 0.0
        total = torch.zeros(self.num_channels, 1, dtype=torch.float64)
        sums = torch.zeros(self.num_channels, self.length, dtype=torch.float64)
        squares = torch.zeros_like(sums)
        for part in batches():
            nodes += len(part.rows)
            precision = max(precision, torch.finfo(part.vectors.dtype).eps)
            for c, weights, x in _weighted(part):
                total[c] += weights.sum()
                sums[c] += weights @ x
        mean = sums / total.clamp(min=1)
        for part in batches():
            for c, weights, x in _weighted(part):
                squares[c] += weights @ (x - mean[c]).square()
        spread = (squares / total.clamp(min=1)).sqrt()
        # what varies by no more than rounding is a constant
        varies = spread > 8 * precision * mean.abs()
        self.shift[0] = mean
        self.shift[1] = mean - self.shift[0].double().cpu()
        self.scale.copy_(torch.where(varies, spread, 1.0))
        self.share.copy_(torch.where(total > 0, nodes / total, 1.0).squeeze(1))

    def forward(self, multisets: Multisets) -> Tensor:
        """Return ``[N, C_out]``.

        What is linear comes after the sums, where there are fewer rows: the second
        layers of phi, whose bias is added once for every vector, and the first of rho
        are one matrix.
        """
        sums = shell_sums(
            self.first, multisets, self.shift, self.scale, self.activation
        )  # [U, C_out]
        weight = self.lift.first.weight  # [C_out, C C_out]
        weight = weight.view(len(weight), self.num_channels, -1).permute(1, 2, 0)
        weight = (self.second * self.share.view(-1, 1, 1)) @ weight
        totals = multisets.totals.to(sums.dtype)
        parts = zip(
            torch.split(sums, multisets.kinds),
            torch.split(totals, multisets.kinds),
            weight,  # [C, C_out + 1, C_out]
            strict=True,
        )
        lifted = [linear(x, w[:-1].t()) + n * w[-1] for x, n, w in parts]
        h = csr_sum(torch.cat(lifted), multisets.nodes)  # [N, C_out]
        bias = self.lift.first.bias
        h = self.lift.between(h if bias is None else h + bias)
        out: Tensor = self.lift.second(h)
        return out

    def extra_repr(self) -> str:
        return f"{self.num_channels}, {self.length}"


def _weighted(part: Multisets) -> Iterable[tuple[int, Tensor, Tensor]]:
    """Yield channel, weights and vectors in float64; a vector weighs its pairs."""
    often = torch.bincount(part.rows.flatten(), minlength=len(part.members.indptr) - 1)
    back = part.members
    transpose = Csr(back.t_indptr, back.t_indices, back.indptr, back.indices, 1,
                    back.t_weights, back.weights)  # fmt: skip
    weights = csr_sum(often.double().unsqueeze(1), transpose).squeeze(1).cpu()
    vectors = torch.split(part.vectors.double().cpu(), part.splits)
    for c, weight in enumerate(torch.split(weights, part.splits)):
        yield c, weight, vectors[c]
