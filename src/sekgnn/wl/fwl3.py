r"""3-FWL, the folklore test on triples of nodes, equal in power to 4-WL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sekgnn.digest import KEY_OWN, KEY_PART, Colours, key_of, spread, spread_all
from sekgnn.kernel import kernel
from sekgnn.parallel import even_chunks, run_chunks
from sekgnn.wl.batch import Batch
from sekgnn.wl.colouring import Colouring, Source, WLTest
from sekgnn.wl.fwl2 import TupleColouring, TwoFWL

KEYS = (key_of("first factor"), key_of("second factor"), key_of("third factor"))
KEY_TRIPLE = key_of("triple of nodes")


@dataclass(frozen=True)
class ThreeFWL(WLTest):
    r"""3-FWL (= 4-WL), for small graphs: time O(n⁴) per round, memory O(n³).

    .. math:: \chi^t(u, v, w) = \big(\chi^{t-1}(u, v, w), \{\!\{
              (\chi^{t-1}(x, v, w), \chi^{t-1}(u, x, w), \chi^{t-1}(u, v, x))
              : x \in V\}\!\}\big)

    started from the types of the three pairs. The multiset is digested as a trilinear
    form, as :mod:`~sekgnn.wl.fwl2` does with a bilinear one.
    """

    name = "3fwl"
    objects = "triples"

    def start(self, batch: Batch, threads: int | None = None) -> Colouring:
        """Start from the types of triples."""
        return TripleColouring(TwoFWL().start(batch, threads), threads)

    def memory(self, sizes: Sequence[int]) -> int:
        """Return the bytes of old and new colours, factors and colour table."""
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
        """Write the triples' types."""
        super().__init__(pairs.batch, threads)
        self._pairs = pairs
        for g, n in enumerate(pairs.batch.sizes):
            triple_types(pairs.part(pairs.first, g), n, self.part(self.first, g))

    def step_graph(self, before: Colours, n: int, after: Colours) -> None:
        """Write the refined colours of the triples of one graph."""
        first, second, third = np.empty((3, 2, n**3), dtype=np.uint64)
        for key, part in zip(KEYS, (first, second, third), strict=True):
            spread_all(before, key, part.T)

        def work(start: int, stop: int) -> None:
            triple_step(before, first, second, third, n, start, stop, after)

        run_chunks(work, even_chunks(n, 8), self._threads)

    def sources(self, item: int) -> list[Source]:
        """Return the triples with one node replaced by every node x."""
        g, (u, v, w) = self.locate(item)
        n, x = self.batch.sizes[g], np.arange(self.batch.sizes[g])
        replaced = [(x * n + v) * n + w, (u * n + x) * n + w, (u * n + v) * n + x]
        members = int(self.ptr[g]) + np.stack(replaced, axis=1)
        return [Source("replacements (x, v, w), (u, x, w), (u, v, x)", members)]

    def first_words(self, item: int) -> list[str]:
        """Say how the three pairs of nodes lie to each other."""
        g, (u, v, w) = self.locate(item)
        n, base = self.batch.sizes[g], int(self._pairs.ptr[g])
        pairs = {"first and second": (u, v), "second and third": (v, w)}
        pairs["first and third"] = (u, w)
        return [
            f"{which}: {'; '.join(self._pairs.first_words(base + a * n + b))}"
            for which, (a, b) in pairs.items()
        ]
