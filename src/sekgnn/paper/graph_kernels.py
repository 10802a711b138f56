"""Kernels between graphs: Weisfeiler-Lehman, transport, returns, tangents."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from sekgnn.checks import require
from sekgnn.digest import Colours, number_colours
from sekgnn.graphs.graph import Graph, LabelledGraph, as_labels
from sekgnn.graphs.packed import PackedGraphs, unpack
from sekgnn.paper.tangent_kernel import tangent_pairs
from sekgnn.parallel import even_chunks, run_chunks
from sekgnn.walks import return_probabilities
from sekgnn.wl.hop_wl import OneWL
from sekgnn.wl.refinement import Batch

Matrix = NDArray[np.float64]
_CELLS = 1 << 22  # entries of a block of node pairs: 32 MB
_SAMPLE = 1000  # sampled nodes for the median distance


@dataclass(frozen=True, eq=False)
class KernelGraphs:
    """Graphs as kernels read them.

    Attributes:
        packed: Their union, N nodes.
        x: Node features, float64 ``[N, F]``; ``[N, 0]`` where there are none.
    """

    packed: PackedGraphs
    x: Matrix

    def __len__(self) -> int:
        """Number of graphs."""
        return self.packed.num_graphs

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of nodes of every graph."""
        return self.packed.sizes

    def subset(self, chosen: Sequence[int] | NDArray[np.int64]) -> KernelGraphs:
        """Return some graphs, by number, in the order given."""
        packed, nodes, _ = self.packed.take(chosen)
        return KernelGraphs(packed, self.x[nodes])

    @staticmethod
    def join(groups: Sequence[KernelGraphs]) -> KernelGraphs:
        """Return the concatenation of at least one group."""
        packed = PackedGraphs.join([group.packed for group in groups])
        return KernelGraphs(packed, np.concatenate([group.x for group in groups]))

    def labels(self) -> NDArray[np.int64]:
        """Return a label per node; equal rows of features have equal labels."""
        if not self.x.shape[1]:
            return np.zeros(self.packed.num_nodes, dtype=np.int64)
        kinds, inverse = np.unique(self.x, axis=0, return_inverse=True)
        return as_labels("x", kinds)[inverse.reshape(-1)]

    def digests(self) -> list[bytes]:
        """Return a digest of every graph and its features."""
        out = []
        ptr, rows = self.packed.node_ptr, self.packed.indptr
        for begin, end in pairwise(ptr.tolist()):
            indptr = rows[begin : end + 1]
            indices = self.packed.indices[indptr[0] : indptr[-1]] - begin
            code = hashlib.blake2b(np.diff(indptr).tobytes(), digest_size=16)
            code.update(indices.tobytes())
            code.update(np.ascontiguousarray(self.x[begin:end]).tobytes())
            out.append(code.digest())
        return out


class KnownValues(NamedTuple):
    """Cached values of a kernel between some graphs.

    Attributes:
        position_of: Index of every graph, by digest.
        values: ``[Q, G, G]``.
    """

    position_of: dict[bytes, int]
    values: NDArray[np.float64]

    def find(
        self, rows: KernelGraphs, columns: KernelGraphs
    ) -> NDArray[np.float64] | None:
        """Return the values ``[Q, R, C]``, or ``None`` if a graph is not cached."""
        positions = [
            [self.position_of.get(digest, -1) for digest in side.digests()]
            for side in (rows, columns)
        ]
        if any(position < 0 for side in positions for position in side):
            return None
        return self.values[:, np.array(positions[0])[:, None], positions[1]]


class GraphKernel(ABC):
    """A kernel, or a distance for one, for every value of a parameter.

    Attributes:
        levels: The Q values of the parameter.
        is_distance: Whether values are distances d, with the kernel exp(-γ d).
    """

    levels: tuple[int, ...]
    is_distance: ClassVar[bool] = False

    def fitted(self, graphs: KernelGraphs, scale: float | None = None) -> GraphKernel:
        """Return the kernel scaled by training graphs, or by ``scale``."""
        return self

    @abstractmethod
    def between(
        self, rows: KernelGraphs, columns: KernelGraphs | None = None
    ) -> NDArray[np.float64]:
        """Return the values ``[Q, G, H]``; ``columns`` defaults to ``rows``."""


class _Colours(GraphKernel):
    """Base of kernels on refined colours."""

    def colours(
        self, rows: KernelGraphs, columns: KernelGraphs | None
    ) -> list[tuple[Colours, Colours]]:
        """Return the colours of all nodes of both sides, per round."""
        sides = [rows] if columns is None else [rows, columns]
        refined = []
        for side in sides:
            labels, ptr = side.labels(), side.packed.node_ptr
            graphs = [
                LabelledGraph(graph, labels[begin:end])
                for graph, (begin, end) in zip(
                    unpack(side.packed), pairwise(ptr.tolist()), strict=True
                )
            ]
            colouring = OneWL().start(Batch.of(graphs), torch.get_num_threads())
            history = [colouring.first]
            for _ in range(max(self.levels)):
                history.append(colouring.step(history[-1]))
            refined.append(history)
        return list(zip(refined[0], refined[-1], strict=True))

    def counts(
        self, rows: KernelGraphs, columns: KernelGraphs | None
    ) -> list[tuple[sp.csr_array, sp.csr_array]]:
        """Return how often each graph has each colour, ``[G, C]`` and ``[H, C]``."""
        other = rows if columns is None else columns
        out = []
        for left, right in self.colours(rows, columns):
            both = left if columns is None else np.concatenate([left, right])
            colours, classes = number_colours(both)
            codes_of_sides = classes[: len(left)], classes[len(both) - len(right) :]
            tables = []
            for side, codes in zip((rows, other), codes_of_sides, strict=True):
                graph = np.repeat(np.arange(len(side)), side.sizes)
                ones = np.ones(graph.size)
                shape = (len(side), len(colours))
                tables.append(sp.coo_array((ones, (graph, codes)), shape).tocsr())
            out.append((tables[0], tables[1]))
        return out


@dataclass(frozen=True)
class SubtreeKernel(_Colours):
    r"""Weisfeiler-Lehman subtree kernel (Shervashidze et al., 2011), normalised.

    .. math:: k_R(G, H) = \sum_{r=0}^{R} \sum_c n_{r,c}(G)\, n_{r,c}(H)

    where :math:`n_{r,c}` counts the nodes of colour c after r rounds, divided by
    :math:`\sqrt{k(G, G)\, k(H, H)}`. Positive semidefinite.

    Args:
        levels: Numbers of rounds R.
    """

    levels: tuple[int, ...]

    def between(
        self, rows: KernelGraphs, columns: KernelGraphs | None = None
    ) -> NDArray[np.float64]:
        """Return the kernel for every R."""
        total: Any = 0.0
        norms: list[Any] = [0.0, 0.0]
        out = {}
        for round, (left, right) in enumerate(self.counts(rows, columns)):
            total = total + (left @ right.T).toarray()
            norms = [
                norm + side.multiply(side).sum(axis=1)
                for norm, side in zip(norms, (left, right), strict=True)
            ]
            if round in self.levels:
                out[round] = _cosine(total, *norms)
        return np.stack([out[level] for level in self.levels])


@dataclass(frozen=True)
class WassersteinDistance(_Colours):
    r"""Wasserstein distance of refined colours (WWL, Togninalli et al., 2019).

    Nodes are as far apart as the share of the rounds 0..R in which their colours
    differ, and each of n nodes has the mass 1/n. Colours only ever split, so this is a
    metric of a tree, on which the transport has a closed form:

    .. math:: W_R(G, H) = \frac{1}{2(R+1)} \sum_{r=0}^{R} \sum_c
              \big\lvert p_{r,c}(G) - p_{r,c}(H) \big\rvert

    where :math:`p_{r,c}` is the share of nodes of colour c. The kernel
    :math:`e^{-\gamma W}` is positive semidefinite.

    Args:
        levels: Numbers of rounds R.
    """

    levels: tuple[int, ...]
    is_distance: ClassVar[bool] = True

    def between(
        self, rows: KernelGraphs, columns: KernelGraphs | None = None
    ) -> NDArray[np.float64]:
        """Return the distance for every R."""
        mass = [(side.sizes > 0).astype(float) for side in (rows, columns or rows)]
        total = np.zeros((mass[0].size, mass[1].size))
        most = np.add.outer(*mass) / 2
        out = {}
        for round, tables in enumerate(self.counts(rows, columns)):
            left, right = (
                sp.csc_array(sp.diags_array(1 / np.maximum(side.sizes, 1)) @ table)
                for side, table in zip((rows, columns or rows), tables, strict=True)
            )
            shared = np.zeros_like(total)
            for c in range(left.shape[1]):
                at_left = slice(left.indptr[c], left.indptr[c + 1])
                at_right = slice(right.indptr[c], right.indptr[c + 1])
                both = np.minimum.outer(left.data[at_left], right.data[at_right])
                shared[np.ix_(left.indices[at_left], right.indices[at_right])] += both
            total = total + (most - shared)
            if round in self.levels:
                out[round] = np.maximum(total / (round + 1), 0.0)
        return np.stack([out[level] for level in self.levels])


@dataclass(frozen=True)
class FusedDistance(_Colours):
    r"""Fused Gromov-Wasserstein distance (Vayer et al., 2019), computed by POT.

    .. math:: \min_\pi \sum_{u, w, v, z} \big((1 - \alpha)\, m_{uw} + \alpha\,
              (d_{uv} - d_{wz})^2\big) \pi_{uw} \pi_{vz}

    over couplings π of uniform masses, where d are lengths of shortest paths (the
    number of nodes where there is none) and m the share of rounds in which colours
    differ. The search ends in a local minimum: neither a metric, nor is
    :math:`e^{-\gamma d}` positive semidefinite. **The minimum depends on the order of
    the nodes**, by which POT breaks ties: distances between graphs of MUTAG change by
    5% on average when nodes are shuffled.

    Args:
        levels: Numbers of rounds R.
        alpha: Weight of structure.
    """

    levels: tuple[int, ...]
    alpha: float = 0.5
    is_distance: ClassVar[bool] = True

    def between(
        self, rows: KernelGraphs, columns: KernelGraphs | None = None
    ) -> NDArray[np.float64]:
        """Return the distance for every R."""
        other = rows if columns is None else columns
        rounds = self.colours(rows, columns)
        lengths = [[_distances(g) for g in unpack(s.packed)] for s in (rows, other)]
        names = rows.digests(), other.digests()
        out = np.zeros((len(self.levels), len(rows), len(other)))
        cuts = [pairwise(side.packed.node_ptr.tolist()) for side in (rows, other)]
        slices = [[slice(*pair) for pair in cut] for cut in cuts]
        for q, level in enumerate(self.levels):
            for i, first in enumerate(slices[0]):
                for j, second in enumerate(slices[1]):
                    if columns is None and j < i:
                        out[q, i, j] = out[q, j, i]
                        continue
                    cost = np.mean(
                        [
                            (left[first, None] != right[None, second]).any(axis=2)
                            for left, right in rounds[: level + 1]
                        ],
                        axis=0,
                    )  # [n, m]
                    sides = lengths[0][i], lengths[1][j]
                    if names[1][j] < names[0][i]:  # the minimum depends on which
                        cost, sides = cost.T, sides[::-1]  # graph comes first
                    out[q, i, j] = self._one(np.ascontiguousarray(cost), *sides)
        return out

    def _one(self, cost: Matrix, left: Matrix, right: Matrix) -> float:
        if not cost.size:  # nothing can be matched
            return 0.0 if len(left) == len(right) else 1.0 - self.alpha
        ot = require("ot", "kernels")
        weights = [np.full(len(side), 1 / len(side)) for side in (left, right)]
        distance = ot.gromov.fused_gromov_wasserstein2(
            cost, left, right, *weights, loss_fun="square_loss", alpha=self.alpha
        )
        return max(float(distance), 0.0)


@dataclass(frozen=True)
class ReturnDistance(GraphKernel):
    r"""Distance of mean maps of return probabilities (RetGK, Zhang et al., 2018).

    .. math:: \kappa(G, H) = \frac{1}{n m} \sum_{u \in G, w \in H} [x_u = x_w]\,
              e^{-\lVert r_u - r_w \rVert^2 / 2 \sigma^2}, \quad
              d^2 = \kappa(G, G) + \kappa(H, H) - 2 \kappa(G, H)

    where :math:`r_u` are the probabilities that a walk without self-loops is back at u
    after 1..l steps. The kernel :math:`e^{-\gamma d}` is positive semidefinite.

    Args:
        levels: Walk lengths l.
        scale: σ; the median distance of nodes of the training graphs, as a power of
            two, if left out.
    """

    levels: tuple[int, ...]
    scale: float | None = None
    is_distance: ClassVar[bool] = True

    def fitted(self, graphs: KernelGraphs, scale: float | None = None) -> GraphKernel:
        """Return the kernel with σ from some graphs."""
        if scale is None:
            returns = self._returns(graphs)
            step = max(1, len(returns) // _SAMPLE)
            some = returns[::step]
            far = _squares(some, some)[np.triu_indices(len(some), 1)]
            middle = float(np.sqrt(np.median(far[far > 0]))) if (far > 0).any() else 1.0
            scale = 2.0 ** round(np.log2(middle))  # folds mostly agree on it
        return replace(self, scale=scale)

    def _returns(self, graphs: KernelGraphs) -> Matrix:
        union = Graph.over(graphs.packed.indptr, graphs.packed.indices)
        threads = torch.get_num_threads()
        (length,) = self.levels
        return return_probabilities(union, length, self_loops=False, threads=threads)

    def between(
        self, rows: KernelGraphs, columns: KernelGraphs | None = None
    ) -> NDArray[np.float64]:
        """Return the distance."""
        other = rows if columns is None else columns
        cross = self._means(rows, other)
        if columns is None:
            cross = (cross + cross.T) / 2  # to the last digit
            norms = [np.diag(cross)] * 2
        else:
            norms = [
                np.array(
                    [
                        self._means(graph, graph)[0, 0]
                        for graph in (side.subset([g]) for g in range(len(side)))
                    ]
                )
                for side in (rows, other)
            ]
        gap = np.maximum(np.add.outer(*norms) - 2 * cross, 0.0)
        if columns is None:
            np.fill_diagonal(gap, 0.0)
        return np.sqrt(gap)[None]

    def _means(self, rows: KernelGraphs, columns: KernelGraphs) -> Matrix:
        """Return κ, ``[G, H]``."""
        sides = [(g, self._returns(g), g.labels()) for g in (rows, columns)]
        scale = 2 * float(self.scale or 1.0) ** 2
        out = np.zeros((len(rows), len(columns)))
        for label in np.intersect1d(sides[0][2], sides[1][2]):
            matching = []
            for graphs, returns, labels in sides:
                nodes = np.flatnonzero(labels == label)
                owner = np.repeat(np.arange(len(graphs)), graphs.sizes)[nodes]
                weight = 1 / graphs.sizes[owner]
                shape = (len(graphs), nodes.size)
                share = sp.csr_array((weight, (owner, np.arange(nodes.size))), shape)
                matching.append((returns[nodes], share))
            (left, left_share), (right, right_share) = matching
            step = max(1, _CELLS // max(1, len(right)))
            for start in range(0, len(left), step):
                near = np.exp(_squares(left[start : start + step], right) / -scale)
                share = left_share[:, start : start + step]
                summed: Any = share @ (right_share @ near.T).T
                out += summed
        return out


@dataclass(frozen=True)
class TangentKernel(GraphKernel):
    r"""Graph neural tangent kernel (Du et al., 2019).

    A block adds up neighbours, :math:`\Sigma(u, w) \gets c_u c_w \sum_{v, z}
    \Sigma(v, z)` over :math:`v \in N(u) \cup u` and :math:`z \in N(w) \cup w`, and Θ
    likewise; then follow R layers, with :math:`s = \Sigma(u, w) /
    \sqrt{\Sigma(u, u)\, \Sigma(w, w)}`:

    .. math:: \Sigma \gets \frac{s (\pi - \arccos s) + \sqrt{1 - s^2}}{\pi}
              \sqrt{\Sigma(u, u)\, \Sigma(w, w)}, \qquad
              \Theta \gets \Theta\, \frac{\pi - \arccos s}{\pi} + \Sigma

    starting with :math:`\Sigma = \Theta = x_u \cdot x_w` (of degrees, 1 if equal and
    else 0, without features, as the authors do). The
    value of two graphs is the sum of Θ over all u and w after the last block, or of all
    blocks. Positive semidefinite.

    Args:
        levels: Numbers of blocks.
        mlp_layers: R.
        degree_scale: Whether c is 1 / (degree + 1), or else 1.
        all_blocks: Whether to add up the blocks.
    """

    levels: tuple[int, ...]
    mlp_layers: int = 2
    degree_scale: bool = True
    all_blocks: bool = True

    def between(
        self, rows: KernelGraphs, columns: KernelGraphs | None = None
    ) -> NDArray[np.float64]:
        """Return the kernel for every number of blocks."""
        alone = columns is None
        both = rows if columns is None else KernelGraphs.join([rows, columns])
        packed, count, blocks = both.packed, len(both), max(self.levels)
        degrees = np.diff(packed.indptr)
        scale = 1 / (degrees + 1) if self.degree_scale else np.ones(degrees.size)
        x = both.x
        if not x.shape[1]:
            x = np.eye(int(degrees.max(initial=0)) + 1)[degrees]
        spread = np.zeros((blocks * self.mlp_layers, packed.num_nodes))
        graphs = packed.csr, scale, np.array(x, order="C"), packed.node_ptr

        def values(first: NDArray[np.int64], second: NDArray[np.int64]) -> Matrix:
            pairs = np.stack([first, second], axis=1).astype(np.int64)
            out = np.zeros((len(pairs), blocks + 1))

            def work(start: int, stop: int) -> None:
                tangent_pairs(*graphs, self.mlp_layers, spread, pairs, start, stop, out)

            chunks = even_chunks(len(pairs), max(1, len(pairs) // 64))
            run_chunks(work, chunks, torch.get_num_threads())
            return np.cumsum(out, axis=1) if self.all_blocks else out

        numbers = np.arange(count)
        diagonal = values(numbers, numbers)  # first: fills spread, which pairs read
        if alone:
            first, second = np.triu_indices(count, 1)
            table = np.zeros((count, count, blocks + 1))
            table[first, second] = table[second, first] = values(first, second)
            table[numbers, numbers] = diagonal
        else:
            width = count - len(rows)
            first, second = np.divmod(np.arange(len(rows) * width), width)
            table = values(first, second + len(rows))
            table = table.reshape(len(rows), width, blocks + 1)
        return np.moveaxis(table[..., list(self.levels)], 2, 0)


def _cosine(values: Matrix, rows: Matrix, columns: Matrix) -> Matrix:
    """Return k(G, H) / sqrt(k(G, G) k(H, H)), or 0 where the root is 0."""
    size = np.sqrt(np.multiply.outer(rows, columns))
    out: Matrix = np.divide(values, size, out=np.zeros(size.shape), where=size > 0)
    return out


def _squares(left: Matrix, right: Matrix) -> Matrix:
    """Return squared Euclidean distances of rows."""
    norms = [np.einsum("ij,ij->i", side, side) for side in (left, right)]
    out: Matrix = np.add.outer(*norms) - 2 * (left @ right.T)
    return np.maximum(out, 0.0)


def _distances(graph: Graph) -> Matrix:
    """Return lengths of shortest paths, n where there is none, ``[n, n]``."""
    if not graph.num_nodes:
        return np.zeros((0, 0))
    lengths: Matrix = sp.csgraph.shortest_path(graph.to_scipy(), unweighted=True)
    return np.where(np.isfinite(lengths), lengths, graph.num_nodes)
