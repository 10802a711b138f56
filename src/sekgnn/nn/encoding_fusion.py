"""From the substructure encoding to one vector per node, numbers or multisets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, get_args

import torch
from torch import Tensor, nn

from sekgnn.checks import check_choice, check_positive
from sekgnn.errors import ConfigError
from sekgnn.nn.choices import Activation, Fusion, Norm, Standardize
from sekgnn.nn.hop_matrices import grouped
from sekgnn.nn.mlp import MLP, SINE_GAIN, activate, reset_children
from sekgnn.nn.sparse_sum import Csr, csr_sum
from sekgnn.nn.standardizer import Rows, Standardizer


class EncodingFusion(nn.Module):
    r"""Fuse the parts of f (COMBINE of the SEK paper) and bring them to a width.

    * ``"concat"``: :math:`\mathrm{MLP}([f_1 \,\|\, f_2 \,\|\, \dots])`, nothing lost;
    * ``"mean"``: :math:`W\, \frac{1}{C} \sum_c f_c`;
    * ``"weighted"``: :math:`W \sum_c w_c f_c` with :math:`w = \mathrm{softmax}(a)`
      learned, equal at the start.

    With ``WalkEncoding(merge="parts")`` the channels are the f1, f2, f3 of the paper;
    with ``merge="concat"`` there is one for every hop and kind.

    Args:
        num_channels: C, the parts.
        length: L, the numbers in each.
        out_channels: Width of the result.
        fusion: ``"concat"``, ``"mean"`` or ``"weighted"``.
        norm: Normalisation inside the MLP of ``"concat"``.
        activation: Inside that MLP.
        standardize: How the numbers are brought to a common scale before, see
            :class:`~sekgnn.nn.Standardizer`; ``"rotate"`` needs ``"concat"``.

    Shapes:
        - **input:** :math:`(N, C, L)`
        - **output:** :math:`(N, C_{out})`
    """

    def __init__(
        self,
        num_channels: int,
        length: int,
        out_channels: int,
        fusion: Fusion = "concat",
        norm: Norm = "batch",
        activation: Activation = "relu",
        standardize: Standardize = "none",
    ) -> None:
        super().__init__()
        self.num_channels = check_positive("num_channels", num_channels)
        self.length = check_positive("length", length)
        self.fusion = check_choice("fusion", fusion, get_args(Fusion))
        self.register_parameter("logits", None)
        self.lift: MLP | nn.Linear
        width = num_channels * length
        if standardize == "rotate" and fusion != "concat":
            raise ConfigError(
                f'standardize="rotate" mixes the channels that fusion={fusion!r} '
                'weighs; use fusion="concat", or standardize="scale".'
            )
        self.standardizer = Standardizer(width, standardize)
        if fusion == "concat":
            self.lift = MLP(width, out_channels, out_channels, norm, activation)
            return
        self.lift = nn.Linear(length, out_channels)
        if fusion == "weighted":
            self.logits = nn.Parameter(torch.zeros(num_channels))

    def reset_parameters(self) -> None:
        """Reset the layers, and make the weights equal."""
        reset_children(self)
        if self.logits is not None:
            nn.init.zeros_(self.logits)

    def weights(self) -> Tensor:
        """Return the weight of every channel in the average, ``[C]``."""
        if self.logits is not None:
            return self.logits.softmax(0)
        weight = next(self.lift.parameters())
        return weight.new_full((self.num_channels,), 1 / self.num_channels)

    def fit(self, encodings: Rows) -> None:
        """Fit the common scale to encodings ``[N, C, L]``, given in pieces."""
        self.standardizer.fit(
            lambda: (part.flatten(start_dim=1) for part in encodings())
        )

    def forward(self, encoding: Tensor) -> Tensor:
        """Return ``[N, C_out]``."""
        flat = self.standardizer(encoding.flatten(start_dim=1))  # [N, C * L]
        if isinstance(self.lift, MLP):
            out: Tensor = self.lift(flat)
            return out
        parts = flat.view(-1, self.num_channels, self.length).unbind(1)
        weights = self.weights()
        average = parts[0] * weights[0]  # [N, L]
        for part, weight in zip(parts[1:], weights[1:], strict=True):
            average = torch.addcmul(average, part, weight)
        out = self.lift(average)
        return out

    def extra_repr(self) -> str:
        return f"{self.num_channels}, {self.length}, fusion={self.fusion!r}"


class Multisets(NamedTuple):
    """The multisets of the nodes of a batch; equal ones are kept once.

    Attributes:
        vectors: Those of all multisets, channel by channel, ``[T, L]``.
        splits: How many of them each channel has, C numbers.
        members: The matrix of multisets and their vectors, with counts, ``[U, T]``.
        rows: The multiset of every node and channel, int64 ``[N, C]``.
    """

    vectors: Tensor
    splits: list[int]
    members: Csr
    rows: Tensor


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

    Multisets are compared by 64-bit hashes of their floats, channel by channel: those
    of different graphs become one where they agree bit for bit. Vectors that different
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
    repeat = torch.repeat_interleave
    graphs, _, width = tables.shape
    first = tables.sum(2).cumsum(0) - tables.sum(2)  # [G, 2]
    sizes, counts = sizes.long(), counts.long()
    owner = repeat(sizes)  # [M]
    shift = repeat(first[:, 1], tables[:, 0].sum(1))  # [U]
    members = members + shift[owner]
    rows = rows + repeat(first[:, 0], num_nodes).unsqueeze(1)
    steps = torch.arange(width, device=tables.device).repeat(graphs)
    channels = repeat(steps, tables[:, 1].flatten())  # [T]
    keys = _hash(vectors, channels).index_select(0, members) * counts  # [M]
    keys = torch.zeros_like(sizes).index_add_(0, owner, keys)
    chosen, number = _distinct(keys)
    rows = number.index_select(0, rows.flatten()).view_as(rows)
    # the members of the chosen multisets, one after the other
    starts, kept = (sizes.cumsum(0) - sizes)[chosen], sizes[chosen]
    ends = kept.cumsum(0)
    flat = repeat(starts - ends + kept, kept)
    flat += torch.arange(flat.numel(), device=flat.device)
    members, counts = members.index_select(0, flat), counts.index_select(0, flat)
    owner = repeat(kept)
    # their vectors, channel by channel
    used = torch.zeros_like(channels, dtype=torch.bool).index_fill_(0, members, True)
    place = used.nonzero().squeeze(1)
    starts, order = grouped(channels.index_select(0, place), place, width)
    position = channels.index_copy(0, order.long(), torch.arange(len(order)).to(place))
    members = position.index_select(0, members)
    t_indptr, by_vector = grouped(members, torch.arange(len(members)).to(members),
                                  len(order))  # fmt: skip
    matrix = Csr(
        torch.cat([ends.new_zeros(1), ends]).int(),
        members.int(),
        t_indptr,
        owner.index_select(0, by_vector).int(),
        weights=counts.to(vectors.dtype),
        t_weights=counts.index_select(0, by_vector).to(vectors.dtype),
    )
    vectors = vectors.index_select(0, order)
    return Multisets(vectors, starts.diff().tolist(), matrix, rows)


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
        parts = torch.split(multisets.vectors, multisets.splits)
        lifted = torch.cat([self._lifted(c, part) for c, part in enumerate(parts)])
        sums = csr_sum(lifted, multisets.members)  # [U, C_out]
        sizes = csr_sum(sums.new_ones(len(lifted), 1), multisets.members)
        sums = torch.cat([sums, sizes], dim=1)  # [U, C_out + 1]
        joined = sums.index_select(0, multisets.rows.flatten())
        weight = self.lift.first.weight  # [C_out, C C_out]
        weight = weight.view(len(weight), self.num_channels, -1).permute(1, 2, 0)
        weight = (self.second * self.share.view(-1, 1, 1)) @ weight
        weight = weight.flatten(end_dim=1)  # [C (C_out + 1), C_out]
        h = joined.view(-1, len(weight)) @ weight
        bias = self.lift.first.bias
        h = self.lift.between(h if bias is None else h + bias)
        out: Tensor = self.lift.second(h)
        return out

    def _lifted(self, c: int, x: Tensor) -> Tensor:
        """Return the vectors of one channel after the activation, ``[T_c, C_out]``."""
        first = self.first[c]
        z = (x - self.shift[0, c] - self.shift[1, c]) / self.scale[c]
        z = z.to(first.dtype)
        return activate(torch.addmm(first[-1], z, first[:-1]), self.activation)

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


def _hash(vectors: Tensor, channels: Tensor) -> Tensor:
    """Return a 64-bit hash of every vector and its channel, int64 ``[T]``."""
    if not len(vectors):  # torch cannot view nothing as another type
        return channels.new_zeros(0)
    words = vectors.contiguous().view(torch.int32)  # [T, L or 2 L]
    steps = torch.arange(1, words.size(1) + 1, device=words.device)
    return _mixed((words * (_mixed(steps) | 1)).sum(1) + _mixed(-1 - channels))


def _mixed(x: Tensor) -> Tensor:
    """Return a bijective scramble of 64-bit integers."""
    x = (x ^ (x >> 30)) * -0x40A7B892E31B1A47
    x = (x ^ (x >> 27)) * -0x6B2FB644ECCEEE15
    return x ^ (x >> 31)


def _distinct(keys: Tensor) -> tuple[Tensor, Tensor]:
    """Return the place of one of each different key, and which one every key is."""
    found, number = torch.unique(keys, return_inverse=True)
    place = torch.empty_like(found)
    place[number] = torch.arange(len(keys), device=keys.device)
    return place, number
