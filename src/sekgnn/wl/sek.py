"""Tests on the ego-nets of nodes: Subgraph 1-WL, SEK 1-WL and SEK 2-FWL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_choice, check_positive
from sekgnn.digest import (
    KEY_MEMBER,
    KEY_OWN,
    KEY_PART,
    Colours,
    absorb_all,
    check_colours,
    key_of,
    spread,
    spread_all,
)
from sekgnn.errors import ConfigError
from sekgnn.hops import HopKernel, HopTable, hop_pairs
from sekgnn.kernel import kernel
from sekgnn.parameters import parameter
from sekgnn.wl.encodings.base import Encoding, ExactEncoding, as_exact
from sekgnn.wl.encodings.ego_nets import ego_net_colours
from sekgnn.wl.encodings.walks import walk_family
from sekgnn.wl.fwl import PairColouring, TwoFWL
from sekgnn.wl.hop_wl import HopColouring
from sekgnn.wl.refinement import Batch, Colouring, Source, WLTest, register_test

KEY_CONTEXT = key_of("context of a node")
DEFAULT_ENCODINGS: tuple[Encoding, ...] = walk_family()


@register_test("subgraph")
@dataclass(frozen=True)
class SubgraphWL(WLTest):
    r"""Subgraph 1-WL (Definition 4, Eq. 3), the bound of GNN-AK and Nested GNN.

    .. math:: \chi^t(v) = \big(\chi^{t-1}(v), \gamma(G_v^h, \chi^{t-1})\big)

    where :math:`\gamma` is the multiset of stable colours of 1-WL on the ego-net
    :math:`G_v^h`, started from :math:`\chi^{t-1}`.

    Args:
        radius: h.
        marked: Let every node of an ego-net know its distance to the centre.
    """

    radius: int = parameter(3, "h, radius of the ego-nets")
    marked: bool = parameter(False, "let nodes know their distance to the centre")

    def __post_init__(self) -> None:
        check_positive("radius", self.radius)

    def start(self, batch: Batch, threads: int | None = None) -> Colouring:
        return SubgraphColouring(batch, self, threads)


class SubgraphColouring(HopColouring):
    """Nodes coloured by their refined ego-nets."""

    beyond_sources = "joined in different ways"

    def __init__(self, batch: Batch, test: SubgraphWL, threads: int | None) -> None:
        super().__init__(batch, hop_pairs(batch.packed, 1), threads=threads)
        self._test = test

    def step(self, colours: Colours) -> Colours:
        radius, marked = self._test.radius, self._test.marked
        inner = ego_net_colours(self.batch, colours, radius, marked, self._threads)
        out = np.empty_like(colours)
        spread_all(colours, KEY_OWN, out)
        absorb_all(out, inner, KEY_PART)
        return out

    def sources(self, item: int) -> list[Source]:
        radius = self._test.radius
        hops = hop_pairs(self.batch.packed, radius, threads=self._threads)
        shells = [hops.members(k, item)[:, None] for k in range(1, radius + 1)]
        if self._test.marked:
            return [
                Source(f"nodes of the ego-net at distance {k}", shell)
                for k, shell in enumerate(shells, start=1)
            ]
        members = np.concatenate([np.array([[item]]), *shells])
        return [Source("nodes of the ego-net", members)]


@register_test("sek")
@dataclass(frozen=True)
class SEK(WLTest):
    r"""SEK 1-WL (paper, Definition 5, Eq. 4).

    .. math:: \chi^t(v) = \big(\chi^{t-1}(v), f(G_v),
              \{\!\{f(G_u) : u \in S_v^K \setminus v\}\!\},
              \{\!\{\chi^{t-1}(u) : u \in N_k(v)\}\!\}_{k=1}^K\big)

    f and its context never change, so they are part of the first colour, and through
    it of every later one.

    Args:
        num_hops: K of the refinement, and of the context.
        encodings: The functions f, any number of them, side by side: exact ones, or
            any :class:`~sekgnn.encoding.SubstructureEncoding` that gives integers.
        context: Include the multiset of f over the K-hop neighbourhood. Without it,
            this is the paper's second form of Subgraph 1-WL (Eq. 5).
        kernel: ``"shortest_path"`` or ``"diffusion"``, as in
            :class:`~sekgnn.wl.hop_wl.KHopWL`.
    """

    num_hops: int = parameter(4, "K, number of hops of message passing")
    encodings: tuple[Encoding, ...] = parameter(
        DEFAULT_ENCODINGS, "substructure encodings f"
    )
    context: bool = parameter(True, "start also from the multiset of f within K hops")
    kernel: HopKernel = parameter(
        "shortest_path", "kernel that defines a hop: shortest_path or diffusion"
    )

    def __post_init__(self) -> None:
        check_positive("num_hops", self.num_hops)
        check_choice("kernel", self.kernel, get_args(HopKernel))
        object.__setattr__(self, "encodings", tuple(self.encodings))
        if not self.encodings:
            raise ConfigError("encodings must not be empty; khop is SEK without them.")
        _ = self.exact_encodings

    @property
    def exact_encodings(self) -> tuple[ExactEncoding, ...]:
        """The functions f as colours."""
        return tuple(as_exact(f) for f in self.encodings)

    def start(self, batch: Batch, threads: int | None = None) -> Colouring:
        hops = hop_pairs(
            batch.packed, self.num_hops, kernel=self.kernel, threads=threads
        )
        state = batch.label_colours.copy()
        values = [
            check_colours(f"what {f} gives", f.colours(batch, threads), len(state))
            for f in self.exact_encodings
        ]
        for colours in values:
            absorb_all(state, colours, KEY_PART)
        first = state
        if self.context:
            first = np.empty_like(state)
            members = np.empty_like(state)
            spread_all(state, KEY_MEMBER, members)
            add_context(hops.indptr, hops.indices, hops.num_hops, state, members, first)
        return SEKColouring(batch, hops, first, threads, self, values)

    def memory(self, sizes: Sequence[int]) -> int:
        largest = max(f.memory(sizes) for f in self.exact_encodings)
        return super().memory(sizes) + largest


@register_test("sek2fwl")
@dataclass(frozen=True)
class SEKTwoFWL(SEK):
    r"""2-FWL whose pairs start from their type and the SEK colours of both nodes.

    .. math:: \chi^0(u, v) = \big(\mathrm{type}(u, v), \chi_{SEK}(u),
              \chi_{SEK}(v)\big)

    with :math:`\chi_{SEK}` the first colours of :class:`SEK`: f and its context. Its
    rounds would add nothing to 2-FWL. The parameters are those of SEK, with K of the
    context.
    """

    objects = "pairs"

    def start(self, batch: Batch, threads: int | None = None) -> Colouring:
        return PairColouring(super().start(batch, threads), threads)

    def memory(self, sizes: Sequence[int]) -> int:
        return super().memory(sizes) + TwoFWL().memory(sizes)


@kernel
def add_context(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    num_hops: int,
    value: Colours,
    members: Colours,
    out: Colours,
) -> None:
    """Write each node's own value with the multiset of those within K hops."""
    for v in range(out.shape[0]):
        t0, t1 = np.uint64(0), np.uint64(0)
        for k in range(num_hops):
            row = k * out.shape[0] + v
            for e in range(indptr[row], indptr[row + 1]):
                t0 += members[indices[e], 0]
                t1 += members[indices[e], 1]
        s0, s1 = spread(value[v, 0], value[v, 1], KEY_CONTEXT)
        out[v, 0], out[v, 1] = spread(s0 + t0, s1 + t1, KEY_CONTEXT)


class SEKColouring(HopColouring):
    """Nodes coloured through their hops, from substructure in context."""

    def __init__(
        self,
        batch: Batch,
        hops: HopTable,
        first: Colours,
        threads: int | None,
        test: SEK,
        values: list[Colours],
    ) -> None:
        super().__init__(batch, hops, first, threads=threads)
        self._test, self._values = test, values

    def first_words(self, item: int) -> list[str]:
        words = self.label_words(item)
        words += [f.words(self.batch, item) for f in self._test.exact_encodings]
        return words + ([self._context_words(item)] if self._test.context else [])

    def first_difference(self, item: int, other: int) -> list[str]:
        mine, theirs = self.label_words(item), self.label_words(other)
        out = [f"{a} against {b}" for a, b in zip(mine, theirs, strict=True) if a != b]
        for f, values in zip(self._test.exact_encodings, self._values, strict=True):
            if (values[item] != values[other]).any():
                out.append(f.difference(self.batch, item, other))
        if self._test.context and not out:
            a, b = self._context_words(item), self._context_words(other)
            if a == b:
                return [f"{a} in both, but not the same values"]
            return [f"{a} against {b}"]
        return out

    def _context_words(self, item: int) -> str:
        """Describe the kinds of substructure within K hops."""
        around = np.concatenate(
            [self.hops.members(k, item) for k in range(1, self._test.num_hops + 1)]
        )
        facts = [self.batch.label_colours, *self._values]
        kinds = np.concatenate([values[around] for values in facts], axis=1)
        sizes = Counter(row.tobytes() for row in kinds).values()
        text = " + ".join(str(n) for n in sorted(sizes, reverse=True)) or "none"
        again = ", as often as met," if self._test.kernel == "diffusion" else ","
        reach = f"within {self._test.num_hops} hops{again}"
        return f"{around.size} nodes {reach} by value {text}"
