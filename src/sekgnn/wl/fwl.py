r"""2-FWL and 3-FWL, the folklore tests on pairs and triples, equal to 3-WL and 4-WL.

The multiset of pairs of colours is digested as a matrix product: with X and Y two
different spreads of the colours, :math:`\sum_w X_{uw} Y_{wv}` modulo :math:`2^{64}` is
a bilinear form in pseudo-random words, equal for equal multisets and otherwise by
chance only, in each of the two lanes. A product costs one multiplication, hashing a
pair would cost twelve.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sekgnn.digest import (
    KEY_OWN,
    KEY_PART,
    Colours,
    key_of,
    number_colours,
    spread,
    spread_all,
)
from sekgnn.kernel import kernel
from sekgnn.parallel import even_chunks, run_chunks
from sekgnn.wl.hop_wl import OneWL
from sekgnn.wl.refinement import Batch, Colouring, Source, WLTest, register_test

KEY_LEFT = key_of("left factor")
KEY_RIGHT = key_of("right factor")
KEY_PAIR = key_of("pair of nodes")
KEYS = (key_of("first factor"), key_of("second factor"), key_of("third factor"))
KEY_TRIPLE = key_of("triple of nodes")
_SAME, _EDGE, _APART = np.uint64(1), np.uint64(2), np.uint64(3)


@register_test("2fwl")
@dataclass(frozen=True)
class TwoFWL(WLTest):
    r"""2-FWL (= 3-WL), the bound of PPGN and of many subgraph networks.

    .. math:: \chi^t(u, v) = \big(\chi^{t-1}(u, v),
              \{\!\{(\chi^{t-1}(u, w), \chi^{t-1}(w, v)) : w \in V\}\!\}\big)

    started from the pair's type: equal, adjacent (with the edge's label) or neither,
    and the labels of both nodes. Time O(n³) per round, memory O(n²).
    """

    objects = "pairs"

    def start(self, batch: Batch, threads: int | None = None) -> PairColouring:
        return PairColouring(OneWL().start(batch, threads), threads)

    def memory(self, sizes: Sequence[int]) -> int:
        return 16 * 8 * sum(n * n for n in sizes)


@kernel
def pair_types(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    edge_labels: NDArray[np.int64],
    node_colours: Colours,
    begin: int,
    n: int,
    out: Colours,
) -> None:
    """Write the isomorphism type of every ordered pair of nodes of one graph.

    The type holds the colours of both nodes, whether they are the same, adjacent or
    neither, and the edge's label. The graph has the nodes ``begin..begin + n - 1`` of a
    union.
    """
    kind = np.empty(n, dtype=np.uint64)
    label = np.zeros(n, dtype=np.uint64)
    for u in range(n):
        kind[:] = _APART
        label[:] = np.uint64(0)
        kind[u] = _SAME
        for e in range(indptr[begin + u], indptr[begin + u + 1]):
            kind[indices[e] - begin] = _EDGE
            if edge_labels.size:
                label[indices[e] - begin] = np.uint64(edge_labels[e])
        for v in range(n):
            s0, s1 = spread(kind[v], label[v], KEY_PAIR)
            for w in (begin + u, begin + v):
                s0, s1 = spread(
                    s0 + node_colours[w, 0], s1 + node_colours[w, 1], KEY_PAIR
                )
            out[u * n + v, 0], out[u * n + v, 1] = s0, s1


@kernel
def factors(colours: Colours, left: Colours, right: Colours) -> None:
    """Write the two spreads of every colour, lane by lane, ``[2, objects]``."""
    spread_all(colours, KEY_LEFT, left.T)
    spread_all(colours, KEY_RIGHT, right.T)


@kernel
def pair_step(
    colours: Colours,
    left: Colours,
    right: Colours,
    n: int,
    start: int,
    stop: int,
    out: Colours,
) -> None:
    """Write the refined colours of the pairs (u, ·) of one graph, u from ``start``.

    ``left`` and ``right`` are X and Y of the module's docstring, ``[2, n * n]``.
    """
    sums = np.empty((2, n), dtype=np.uint64)
    for u in range(start, stop):
        sums[:] = np.uint64(0)
        for lane in range(2):
            for w in range(n):
                x = left[lane, u * n + w]
                base = w * n
                for v in range(n):
                    sums[lane, v] += x * right[lane, base + v]
        for v in range(n):
            i = u * n + v
            s0, s1 = spread(colours[i, 0], colours[i, 1], KEY_OWN)
            s0, s1 = spread(s0 + sums[0, v], s1 + sums[1, v], KEY_PART)
            out[i, 0], out[i, 1] = s0, s1


class TupleColouring(Colouring):
    """Ordered tuples of nodes of the same graph, the last node running fastest."""

    arity: ClassVar[int]

    def __init__(self, batch: Batch, threads: int | None) -> None:
        """Allocate the first colours, to be written by the subclass."""
        self.batch, self._threads = batch, threads
        self.ptr = np.zeros(len(batch.graphs) + 1, dtype=np.int64)
        np.cumsum(np.array(batch.sizes, np.int64) ** self.arity, out=self.ptr[1:])
        self.first = np.empty((self.ptr[-1], 2), dtype=np.uint64)

    def part(self, colours: Colours, graph: int) -> Colours:
        """Return the colours of one graph's tuples."""
        return colours[self.ptr[graph] : self.ptr[graph + 1]]

    def step(self, colours: Colours) -> Colours:
        out = np.empty_like(colours)
        for g, n in enumerate(self.batch.sizes):
            self.step_graph(self.part(colours, g), n, self.part(out, g))
        return out

    @abstractmethod
    def step_graph(self, before: Colours, n: int, after: Colours) -> None:
        """Write the refined colours of the tuples of one graph of n nodes."""

    def locate(self, item: int) -> tuple[int, list[int]]:
        g = int(np.searchsorted(self.ptr, item, side="right")) - 1
        shape = (self.batch.sizes[g],) * self.arity
        return g, [int(i) for i in np.unravel_index(item - self.ptr[g], shape)]

    def union_nodes(self, item: int) -> list[int]:
        """Return the nodes of a tuple by their numbers in the union."""
        g, nodes = self.locate(item)
        return [int(self.batch.node_ptr[g]) + node for node in nodes]

    def node_items(self, graph: int) -> NDArray[np.int64]:
        n = self.batch.sizes[graph]
        step = sum(n**k for k in range(self.arity))
        return int(self.ptr[graph]) + np.arange(n) * step


class PairColouring(TupleColouring):
    """Ordered pairs of nodes, started from their types and colours of both nodes.

    Args:
        nodes: The colouring of nodes whose first colours are part of a pair's type.
        threads: Threads.
    """

    arity = 2

    def __init__(self, nodes: Colouring, threads: int | None = None) -> None:
        super().__init__(nodes.batch, threads)
        self._nodes, batch = nodes, nodes.batch
        for g, n in enumerate(batch.sizes):
            pair_types(
                batch.packed.indptr, batch.packed.indices, batch.edge_labels,
                nodes.first, int(batch.node_ptr[g]), n, self.part(self.first, g),
            )  # fmt: skip

    def step_graph(self, before: Colours, n: int, after: Colours) -> None:
        left, right = np.empty((2, 2, n * n), dtype=np.uint64)
        factors(before, left, right)

        def work(start: int, stop: int) -> None:
            pair_step(before, left, right, n, start, stop, after)

        rows = max(16, 2_000_000 // max(1, n * n))
        run_chunks(work, even_chunks(n, rows), self._threads)

    def sources(self, item: int) -> list[Source]:
        g, (u, v) = self.locate(item)
        n, base = self.batch.sizes[g], int(self.ptr[g])
        w = np.arange(n)
        members = np.stack([base + u * n + w, base + w * n + v], axis=1)
        return [Source("ways (u, w), (w, v)", members)]

    def first_words(self, item: int) -> list[str]:
        u, v = self.union_nodes(item)
        if u == v:
            kind = "a node paired with itself"
        else:
            packed = self.batch.packed
            low, high = packed.indptr[u : u + 2]
            where = np.flatnonzero(packed.indices[low:high] == v)
            kind = "two adjacent nodes" if where.size else "two nodes not adjacent"
            if where.size and self.batch.has_edge_labels:
                kind += f" (edge {self.batch.edge_labels[low + where[0]]})"
        words = [kind]
        for side, node in (("first", u), ("second", v)):
            words += [f"{side}: {text}" for text in self._node_words(node)]
        return words

    def _node_words(self, node: int) -> list[str]:
        """Describe a node, at least by the number of its colour."""
        count, numbers = self._numbers
        unknown = [f"node colour {numbers[node] + 1} of {count}"] if count > 1 else []
        return self._nodes.first_words(node) or unknown

    @cached_property
    def _numbers(self) -> tuple[int, NDArray[np.int64]]:
        """The number of first colours of nodes, and the index of each node's."""
        distinct, numbers = number_colours(self._nodes.first)
        return len(distinct), numbers

    def first_difference(self, item: int, other: int) -> list[str]:
        mine, theirs = self.first_words(item)[0], self.first_words(other)[0]
        out = [] if mine == theirs else [f"{mine} against {theirs}"]
        pairs = zip(self.union_nodes(item), self.union_nodes(other), strict=True)
        for side, (a, b) in zip(("first", "second"), pairs, strict=True):
            if (self._nodes.first[a] != self._nodes.first[b]).any():
                texts = self._nodes.first_difference(a, b)
                out += [f"{side}: {text}" for text in texts]
        return out


@register_test("3fwl")
@dataclass(frozen=True)
class ThreeFWL(WLTest):
    r"""3-FWL (= 4-WL), for small graphs: time O(n⁴) per round, memory O(n³).

    .. math:: \chi^t(u, v, w) = \big(\chi^{t-1}(u, v, w), \{\!\{
              (\chi^{t-1}(x, v, w), \chi^{t-1}(u, x, w), \chi^{t-1}(u, v, x))
              : x \in V\}\!\}\big)

    started from the types of the three pairs. The multiset is digested as a trilinear
    form, as that of 2-FWL is as a bilinear one.
    """

    objects = "triples"

    def start(self, batch: Batch, threads: int | None = None) -> Colouring:
        return TripleColouring(TwoFWL().start(batch, threads), threads)

    def memory(self, sizes: Sequence[int]) -> int:
        # old and new colours, factors and colour table
        return 48 * (sum(n**3 for n in sizes) + max(sizes, default=0) ** 3)


@kernel
def triple_types(pairs: Colours, n: int, out: Colours) -> None:
    """Write the type of every triple of one graph from those of its pairs."""
    for u in range(n):
        for v in range(n):
            for w in range(n):
                s0, s1 = np.uint64(0), np.uint64(0)
                for i in (u * n + v, v * n + w, u * n + w):
                    s0, s1 = spread(s0 + pairs[i, 0], s1 + pairs[i, 1], KEY_TRIPLE)
                i = (u * n + v) * n + w
                out[i, 0], out[i, 1] = s0, s1


@kernel
def triple_step(
    colours: Colours,
    first: Colours,
    second: Colours,
    third: Colours,
    n: int,
    start: int,
    stop: int,
    out: Colours,
) -> None:
    """Write the refined colours of the triples (·, v, ·), v from ``start``.

    The factors, ``[2, n³]``, are those of (x, v, w), (u, x, w) and (u, v, x).
    """
    sums = np.empty((2, n), dtype=np.uint64)
    slab = np.empty((n, n), dtype=np.uint64)  # first[lane, (x, v, w)] for one v
    partial = np.empty((n, n), dtype=np.uint64)
    for v in range(start, stop):
        for lane in range(2):
            for x in range(n):
                for w in range(n):
                    slab[x, w] = first[lane, (x * n + v) * n + w]
            for u in range(n):
                sums[lane] = np.uint64(0)
                for x in range(n):
                    z = third[lane, (u * n + v) * n + x]
                    base = (u * n + x) * n
                    for w in range(n):
                        sums[lane, w] += z * (slab[x, w] * second[lane, base + w])
                if lane == 0:
                    partial[u] = sums[0]
                    continue
                for w in range(n):
                    i = (u * n + v) * n + w
                    s0, s1 = spread(colours[i, 0], colours[i, 1], KEY_OWN)
                    s0, s1 = spread(s0 + partial[u, w], s1 + sums[1, w], KEY_PART)
                    out[i, 0], out[i, 1] = s0, s1


class TripleColouring(TupleColouring):
    """Ordered triples of nodes, started from the types of their pairs."""

    arity = 3

    def __init__(self, pairs: TupleColouring, threads: int | None = None) -> None:
        super().__init__(pairs.batch, threads)
        self._pairs = pairs
        for g, n in enumerate(pairs.batch.sizes):
            triple_types(pairs.part(pairs.first, g), n, self.part(self.first, g))

    def step_graph(self, before: Colours, n: int, after: Colours) -> None:
        first, second, third = np.empty((3, 2, n**3), dtype=np.uint64)
        for key, factor in zip(KEYS, (first, second, third), strict=True):
            spread_all(before, key, factor.T)

        def work(start: int, stop: int) -> None:
            triple_step(before, first, second, third, n, start, stop, after)

        run_chunks(work, even_chunks(n, 8), self._threads)

    def sources(self, item: int) -> list[Source]:
        g, (u, v, w) = self.locate(item)
        n, x = self.batch.sizes[g], np.arange(self.batch.sizes[g])
        replaced = [(x * n + v) * n + w, (u * n + x) * n + w, (u * n + v) * n + x]
        members = int(self.ptr[g]) + np.stack(replaced, axis=1)
        return [Source("replacements (x, v, w), (u, x, w), (u, v, x)", members)]

    def first_words(self, item: int) -> list[str]:
        g, (u, v, w) = self.locate(item)
        n, base = self.batch.sizes[g], int(self._pairs.ptr[g])
        pairs = {"first and second": (u, v), "second and third": (v, w)}
        pairs["first and third"] = (u, w)
        return [
            f"{which}: {'; '.join(self._pairs.first_words(base + a * n + b))}"
            for which, (a, b) in pairs.items()
        ]
