"""1-WL and K-hop 1-WL: nodes are distinguished by the colours at each distance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_choice, check_positive
from sekgnn.digest import (
    KEY_EDGE,
    KEY_MEMBER,
    KEY_OWN,
    KEY_PART,
    Colours,
    check_colours,
    spread,
    spread_all,
)
from sekgnn.hops import HopKernel, HopTable, hop_pairs
from sekgnn.kernel import kernel
from sekgnn.parallel import even_chunks, run_chunks
from sekgnn.parameters import parameter
from sekgnn.wl.refinement import Batch, Colouring, Source, WLTest, register_test

_CHUNK = 65_536


@register_test("1wl")
@dataclass(frozen=True)
class OneWL(WLTest):
    r"""1-WL (paper, Algorithm 1), the bound of message-passing networks.

    .. math:: \chi^t(v) = \big(\chi^{t-1}(v),
              \{\!\{\chi^{t-1}(u) : u \in N_1(v)\}\!\}\big)

    An edge's label is part of what its neighbour contributes. Time O(m) per round,
    memory O(n + m).
    """

    def start(self, batch: Batch, threads: int | None = None) -> Colouring:
        return HopColouring(batch, hop_pairs(batch.packed, 1), threads=threads)


@register_test("khop")
@dataclass(frozen=True)
class KHopWL(WLTest):
    r"""K-hop 1-WL (paper, Definition 3, Eq. 2), the bound of K-hop message passing.

    .. math:: \chi^t(v) = \big(\chi^{t-1}(v),
              \{\!\{\chi^{t-1}(u) : u \in N_k(v)\}\!\}_{k=1}^K\big)

    Args:
        num_hops: K.
        kernel: ``"shortest_path"`` or ``"diffusion"``; see
            :func:`sekgnn.hops.hop_pairs`. Labels of edges count at hop 1, where a pair
            is an edge.
    """

    num_hops: int = parameter(4, "K, number of hops of message passing")
    kernel: HopKernel = parameter(
        "shortest_path", "kernel that defines a hop: shortest_path or diffusion"
    )

    def __post_init__(self) -> None:
        check_positive("num_hops", self.num_hops)
        check_choice("kernel", self.kernel, get_args(HopKernel))

    def start(self, batch: Batch, threads: int | None = None) -> Colouring:
        hops = hop_pairs(
            batch.packed, self.num_hops, kernel=self.kernel, threads=threads
        )
        return HopColouring(batch, hops, threads=threads)


@kernel
def hop_step(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    num_hops: int,
    edge_labels: NDArray[np.int64],
    colours: Colours,
    members: Colours,
    start: int,
    stop: int,
    out: Colours,
) -> None:
    """Write the refined colours of nodes ``start..stop - 1``.

    ``indptr`` and ``indices`` are those of a :class:`~sekgnn.hops.HopTable`,
    ``edge_labels`` those of hop 1, or empty, and ``members`` are ``colours``, spread so
    that sums digest multisets.
    """
    for v in range(start, stop):
        s0, s1 = spread(colours[v, 0], colours[v, 1], KEY_OWN)
        for k in range(num_hops):
            row = k * colours.shape[0] + v
            t0, t1 = np.uint64(0), np.uint64(0)
            if k == 0 and edge_labels.size:
                for e in range(indptr[row], indptr[row + 1]):
                    m0, m1 = members[indices[e], 0], members[indices[e], 1]
                    m0, m1 = spread(m0 + np.uint64(edge_labels[e]), m1, KEY_EDGE)
                    t0 += m0
                    t1 += m1
            else:
                for e in range(indptr[row], indptr[row + 1]):
                    t0 += members[indices[e], 0]
                    t1 += members[indices[e], 1]
            s0, s1 = spread(s0 + t0, s1 + t1, KEY_PART)
        out[v, 0], out[v, 1] = s0, s1


class HopColouring(Colouring):
    """Nodes coloured through their hops, from their labels or other ``first`` colours.

    ``words`` describes a node's first colour, one fact per entry.
    """

    def __init__(
        self,
        batch: Batch,
        hops: HopTable,
        first: Colours | None = None,
        words: Callable[[int], list[str]] | None = None,
        threads: int | None = None,
    ) -> None:
        self.batch, self.ptr = batch, batch.node_ptr
        colours = batch.label_colours if first is None else first
        self.first = check_colours("first", colours, batch.packed.num_nodes)
        self.hops, self._threads, self._words = hops, threads, words
        self._labels_only = first is None

    def step(self, colours: Colours) -> Colours:
        members, out = np.empty_like(colours), np.empty_like(colours)

        def scatter(start: int, stop: int) -> None:
            spread_all(colours[start:stop], KEY_MEMBER, members[start:stop])

        def gather(start: int, stop: int) -> None:
            hop_step(
                self.hops.indptr, self.hops.indices, self.hops.num_hops,
                self.batch.edge_labels, colours, members, start, stop, out,
            )  # fmt: skip

        for work in (scatter, gather):
            run_chunks(work, even_chunks(len(out), _CHUNK), self._threads)
        return out

    def locate(self, item: int) -> tuple[int, list[int]]:
        graph, node = self.batch.locate(item)
        return graph, [node]

    def sources(self, item: int) -> list[Source]:
        out = []
        for k in range(1, self.hops.num_hops + 1):
            marks: Sequence[str] = ()
            if k == 1 and self.batch.has_edge_labels:
                low, high = self.hops.indptr[item : item + 2]
                marks = [f"edge {n}: " for n in self.batch.edge_labels[low:high]]
            phrase = "neighbours" if k == 1 else f"nodes at hop {k}"
            out.append(Source(phrase, self.hops.members(k, item)[:, None], marks))
        return out

    def first_words(self, item: int) -> list[str]:
        if self._words is not None:
            return self._words(item)
        return self.label_words(item) if self._labels_only else []

    def label_words(self, item: int) -> list[str]:
        """Return a node's label in words, if there are labels."""
        if not self.batch.has_node_labels:
            return []
        label = int(self.batch.node_labels[item])
        graph = self.batch.graphs[self.batch.locate(item)[0]]
        return [f"label {graph.label_names.get(label, label)}"]

    def node_items(self, graph: int) -> NDArray[np.int64]:
        return np.arange(self.ptr[graph], self.ptr[graph + 1])
