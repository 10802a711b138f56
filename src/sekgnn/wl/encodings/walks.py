r"""f from random walks: multisets of step vectors over shells, or their sums.

A test may see the multisets, a network with sum pooling sees the sums.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import nsmallest
from itertools import count, islice, pairwise
from math import lcm
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_choice, check_positive
from sekgnn.digest import Colours, key_of, spread
from sekgnn.encoding.walk_encoding import SCOPES, Scope, WalkEncoding
from sekgnn.errors import ConfigError
from sekgnn.graphs.graph import CsrGraph, Graph
from sekgnn.kernel import kernel
from sekgnn.parameters import parameter
from sekgnn.walks.ball import WalkScope, walk_graph
from sekgnn.walks.modular import MAX_STEPS, walk_digests
from sekgnn.wl.encodings.base import (
    ExactEncoding,
    ExactValues,
    against,
    node_colours,
    register_exact_encoding,
)
from sekgnn.wl.refinement import Batch

Part = Literal["f1", "f2", "f3"]
Pairs = Literal["same", "all"]
PARTS: tuple[Part, ...] = get_args(Part)
Multisets = dict[str, Counter[Fraction]]
Group = tuple[NDArray[np.int64], NDArray[np.int64], bool | None]
Power = tuple[NDArray[np.object_], int]
KEY_PAIRS = key_of("pairs of shells")
KEY_WALKS = key_of("walk value")
_SHOWN_STEPS, _SHOWN_VALUES = 4, 5


@kernel
def spread_pairs(digests: Colours, labels: Colours, nodes: NDArray[np.int32]) -> None:
    """Spread the digests of all pairs, with their labels, in place, to be summed.

    ``labels`` are colours of all nodes, ``[N, 2]``, or empty; ``nodes`` is the node of
    each row.
    """
    s = digests.shape[1]
    for i in range(s):
        for j in range(s):
            d0, d1 = digests[0, i, j], digests[1, i, j]
            if labels.size:
                a, b = nodes[i], nodes[j]
                d0, d1 = spread(d0 + labels[a, 0], d1 + labels[a, 1], KEY_PAIRS)
                d0, d1 = spread(d0 + labels[b, 0], d1 + labels[b, 1], KEY_PAIRS)
            d0, d1 = spread(d0, d1, KEY_PAIRS)
            digests[0, i, j], digests[1, i, j] = d0, d1


class WalkParts(NamedTuple):
    """The contents of a value."""

    scope: WalkScope  # where the walks live
    walk_length: int  # l
    parts: NDArray[np.bool_]  # whether f1, f2, f3 are part of it, [3]
    all_shells: bool  # f3 between all shells, not only within each


@kernel
def shell_sum(
    pairs: Colours,
    members: NDArray[np.int32],
    bounds: NDArray[np.int64],
    a: int,
    b: int,
) -> tuple[np.uint64, np.uint64]:
    """Return the sum over the pairs from shell ``a`` to shell ``b``."""
    t0, t1 = np.uint64(0), np.uint64(0)
    for x in range(bounds[a], bounds[a + 1]):
        for y in range(bounds[b], bounds[b + 1]):
            t0 += pairs[0, members[x], members[y]]
            t1 += pairs[1, members[x], members[y]]
    return t0, t1


@kernel
def centre_value(
    pairs: Colours,
    members: NDArray[np.int32],
    bounds: NDArray[np.int64],
    walks: WalkParts,
) -> tuple[np.uint64, np.uint64]:
    """Return the digest of one centre's f1, f2 and f3.

    Trailing empty shells are not part of it, so that a value does not depend on their
    number. ``pairs``, ``[2, s, s]``, are from
    :func:`spread_pairs`, ``members`` and ``bounds`` from
    :func:`~sekgnn.walks.ball.walk_graph`.
    """
    f1, f2, f3 = walks.parts
    centred = walks.scope.with_centre
    s0, s1 = KEY_WALKS, np.uint64(0)
    if f1 and centred:
        t0, t1 = shell_sum(pairs, members, bounds, 0, 0)
        s0, s1 = spread(s0 + t0, s1 + t1, KEY_WALKS)
    shells = bounds.size - 2
    while shells > 0 and bounds[shells] == bounds[shells + 1]:
        shells -= 1
    for a in range(1, shells + 1):
        if f2 and centred:
            t0, t1 = shell_sum(pairs, members, bounds, 0, a)
            s0, s1 = spread(s0 + t0, s1 + t1, KEY_WALKS)
        if not f3:
            continue
        d0, d1 = np.uint64(0), np.uint64(0)  # of i = j
        for i in members[bounds[a] : bounds[a + 1]]:
            d0 += pairs[0, i, i]
            d1 += pairs[1, i, i]
        s0, s1 = spread(s0 + d0, s1 + d1, KEY_WALKS)
        for b in range(1, shells + 1):
            if b != a and not walks.all_shells:
                continue
            t0, t1 = shell_sum(pairs, members, bounds, a, b)
            if b == a:
                t0 -= d0
                t1 -= d1
            s0, s1 = spread(s0 + t0, s1 + t1, KEY_WALKS)
    return s0, s1


@kernel
def walk_values(
    graph: CsrGraph,
    start: int,
    stop: int,
    walks: WalkParts,
    labels: Colours,
    position: NDArray[np.int32],
    out: Colours,
) -> None:
    """Write the values of nodes ``start..stop - 1``, all or some of one graph.

    The arguments are those of :func:`~sekgnn.walks.ball.walk_graph` and
    :func:`spread_pairs`.
    """
    pairs = np.empty((2, 0, 0), dtype=np.uint64)
    scratch = np.empty((2, 2, 0, 0), dtype=np.uint64)
    for v in range(start, stop):
        members, bounds, nodes, rows, columns = walk_graph(
            graph, start, stop, v, walks.scope, position
        )
        s = nodes.size
        if s:
            if s != pairs.shape[1]:
                pairs = np.empty((2, s, s), dtype=np.uint64)
                scratch = np.empty((2, 2, s, s), dtype=np.uint64)
            walk_digests(rows, columns, walks.walk_length, scratch, pairs)
            spread_pairs(pairs, labels, nodes)
        out[v, 0], out[v, 1] = centre_value(pairs, members, bounds, walks)


@register_exact_encoding("walks")
@dataclass(frozen=True)
class Walks(ExactEncoding):
    r"""Random-walk encoding f1, f2, f3 of the paper, in exact arithmetic.

    For a node v and the walk H of its scope, the value holds the step vectors
    :math:`(H_{ij}^{(t)})_{t=1}^l` of

    * f1: (v, v);
    * f2: (v, i), one multiset per shell :math:`i \in N_k(v)`;
    * f3: (i, j), one multiset per pair of shells, i = j apart from the rest.

    In scope ``"internal"`` there is no v, and only f3. Labels of nodes are part of the
    pairs' values.

    Args:
        scope: ``"graph"``, ``"ego"`` or ``"internal"``; where the walk lives.
        radius: h of the scopes ``"ego"`` and ``"internal"``; must not be given for
            ``"graph"``.
        num_shells: K, shells of scope ``"graph"``; ego-nets have ``radius`` shells.
        walk_length: l.
        parts: Which of f1, f2, f3.
        pairs: f3 within each shell (``"same"``, the paper), or between any two shells
            (``"all"``).
        multisets: Keep multisets; or sum over each shell, as
            :func:`~sekgnn.encoding.exact.encode_exact` does.
        self_loops: Walk on A + I (the paper) or on A.
    """

    scope: Scope = parameter(
        "graph", "where the walks live: graph, ego or internal", several=True
    )
    radius: int | None = parameter(None, "h, radius of the ego-nets", several=True)
    num_shells: int = parameter(4, "number of shells that an encoding summarises")
    walk_length: int = parameter(16, "l, number of steps of a walk")
    parts: tuple[Part, ...] = parameter(
        PARTS, "parts of the encoding to use: f1, f2 or f3"
    )
    pairs: Pairs = parameter("same", "shells that f3 pairs: same or all")
    multisets: bool = parameter(
        True, "keep multisets over shells, or else sum them, as a network does"
    )
    self_loops: bool = parameter(True, "walk on A + I, or else on A")

    def __post_init__(self) -> None:
        check_choice("scope", self.scope, SCOPES)
        check_choice("pairs", self.pairs, get_args(Pairs))
        check_positive("num_shells", self.num_shells)
        if check_positive("walk_length", self.walk_length) > MAX_STEPS:
            raise ConfigError(
                f"walk_length must be at most {MAX_STEPS}, got {self.walk_length}."
            )
        if self.scope == "graph" and self.radius is not None:
            raise ConfigError('radius has no meaning in scope "graph"; leave it out.')
        if self.scope != "graph":
            check_positive("radius", 0 if self.radius is None else self.radius)
        for part in self.parts:
            check_choice("parts", part, PARTS)
        present = set(self.parts) & ({"f3"} if self.scope == "internal" else set(PARTS))
        if not present:
            raise ConfigError(
                'parts leaves nothing: scope "internal" has no centre, only f3.'
                if self.parts
                else "parts must not be empty."
            )
        summed = set(self.parts) == set(PARTS) and self.pairs == "same"
        if not (self.multisets or summed):
            raise ConfigError("sums keep every part and the pairs of each shell.")

    def sums(self) -> WalkEncoding:
        """Return the encoding that sums over each shell."""
        return WalkEncoding(
            num_shells=self.radius or self.num_shells,
            walk_length=self.walk_length,
            scope=self.scope,
            radius=self.radius,
            self_loops=self.self_loops,
        )

    def colours(self, batch: Batch, threads: int | None = None) -> Colours:
        if not self.multisets:
            values = ExactValues(self.sums(), "sums of step vectors")
            return values.colours(batch, threads)
        whole, centred = self.scope == "graph", self.scope != "internal"
        parts = np.array([part in self.parts for part in PARTS], dtype=np.bool_)
        reach = self.radius or self.num_shells
        scope = WalkScope(whole, reach, centred, int(self.self_loops))
        walks = WalkParts(scope, self.walk_length, parts, self.pairs == "all")
        labels = batch.label_colours[: None if batch.has_node_labels else 0]
        return node_colours(
            batch,
            lambda start, stop, position, out: walk_values(
                batch.packed.csr, start, stop, walks, labels, position, out
            ),
            threads,
            None if whole else 256,
        )

    def words(self, batch: Batch, node: int) -> str:
        g, v = batch.locate(node)
        graph = batch.graphs[g]
        steps = list(islice(step_multisets(graph, v, self), _SHOWN_STEPS))
        if not steps[0]:
            return f"{self.place()}: there are no other nodes"
        name = next(iter(steps[0]))
        text = multiset_text if self.multisets else sum_text
        shown = [f"t={t}: {text(step[name])}" for t, step in enumerate(steps, start=1)]
        return f"{self.place()}: {name}, {'; '.join(shown)}"

    def difference(self, batch: Batch, node: int, other: int) -> str:
        (g, v), (h, w) = batch.locate(node), batch.locate(other)
        mine, theirs = batch.graphs[g], batch.graphs[h]
        step = first_differing_step(mine, v, theirs, w, self)
        return f"{self.place()}: {step}"

    def place(self) -> str:
        """Describe the scope of the walk."""
        if self.scope == "graph":
            return "walks on the whole graph"
        centre = "" if self.scope == "ego" else " without its centre"
        return f"walks in the ego-net of radius {self.radius}{centre}"

    def memory(self, sizes: Sequence[int]) -> int:
        # residues and digests of all pairs of one graph
        return 48 * max(sizes, default=0) ** 2 if self.scope == "graph" else 0

    def __str__(self) -> str:
        where = self.scope if self.radius is None else f"{self.scope}[h={self.radius}]"
        parts = "" if set(self.parts) == set(PARTS) else ":" + ",".join(self.parts)
        pairs = ",all pairs" if self.pairs == "all" else ""
        kind = "" if self.multisets else ",sums"
        loops = "" if self.self_loops else ",no loops"
        return f"{where}{parts}(l={self.walk_length}{pairs}{kind}{loops})"


def walk_family(
    scope: Sequence[Scope] = ("graph", "internal"),
    radius: Sequence[int] = (1, 2, 3),
    pairs: Pairs | None = None,
    **same: Any,
) -> tuple[Walks, ...]:
    """Return the walks of several scopes and radii, side by side.

    Radii apply to all scopes but ``"graph"``. By default ``pairs`` are all inside
    ego-nets, if multisets are kept; ``same`` are further parameters of all.
    """
    inside: Pairs = "all" if same.get("multisets", True) else "same"
    return tuple(
        Walks(kind, h, pairs=pairs or ("same" if h is None else inside), **same)
        for kind in scope
        for h in ((None,) if kind == "graph" else radius)
    )


def step_multisets(
    graph: Graph, node: int, walks: Walks, powers: Iterable[Power] | None = None
) -> Iterator[Multisets]:
    """Yield, step by step, the multisets of landing probabilities around a node.

    ``powers`` are those of :func:`landing_powers` on the whole graph, if they were
    computed for all nodes of scope ``"graph"`` together.
    """
    centred = walks.scope != "internal"
    order, bounds, near = ball_of(graph, node, walks, centred)
    groups = pair_groups(np.array(bounds), walks, centred)
    rows = np.array(order)
    if powers is None:
        powers, rows = landing_powers(near), np.arange(len(near))
    for now, denominator in islice(powers, walks.walk_length):
        yield {
            name: _values(now[np.ix_(rows[i], rows[j])], same, denominator)
            for name, (i, j, same) in groups.items()
        }


def landing_powers(near: list[list[int]]) -> Iterator[Power]:
    """Yield :math:`L^t H^{(t)}` and :math:`L^t` for t = 1, 2, ...

    With L the least common multiple of the degrees, the former is a matrix of integers
    of any size. ``near`` lists the nodes to which the walk may step from each node.
    """
    common = lcm(*(len(rows) for rows in near if rows))
    now = np.zeros((len(near), len(near)), dtype=object)
    now[np.diag_indices(len(near))] = 1
    for t in count(1):
        after = np.zeros_like(now)
        for i, rows in enumerate(near):
            if rows:
                after[i] = now[rows].sum(axis=0) * (common // len(rows))
        now = after
        yield now, common**t


def ball_of(
    graph: Graph, node: int, walks: Walks, centred: bool
) -> tuple[list[int], list[int], list[list[int]]]:
    """Return the nodes around one, the bounds of shells, and the steps of walks."""
    around = [row.tolist() for row in np.split(graph.indices, graph.indptr[1:-1])]
    index, bounds = {node: 0}, [0, 1]
    for _ in range(graph.num_nodes if walks.radius is None else walks.radius):
        for v in list(index)[bounds[-2] :]:
            for u in around[v]:
                index.setdefault(u, len(index))
        bounds.append(len(index))
    near = [
        [i] * walks.self_loops
        + [index[u] for u in around[v] if u in index and (centred or i * index[u])]
        for v, i in index.items()
    ]
    return list(index), bounds, near


def pair_groups(
    bounds: NDArray[np.int64], walks: Walks, centred: bool
) -> dict[str, Group]:
    """Return groups of pairs: (from, to, only i = j / only i ≠ j / all).

    Sums inside ego-nets without their centres also hold the pairs between a shell and
    the next.
    """
    if walks.pairs == "all":
        farthest = len(bounds)
    else:
        farthest = 0 if walks.multisets or centred else 1
    shells = [np.arange(a, b) for a, b in pairwise(bounds[1:])]
    if walks.radius is None:
        shells = shells[: walks.num_shells]
    centre = np.zeros(1, dtype=np.int64)
    out: dict[str, Group] = {}
    if centred and "f1" in walks.parts:
        out["returns to the centre"] = centre, centre, None
    for k, shell in enumerate(shells, start=1):
        if not shell.size:
            break
        if centred and "f2" in walks.parts:
            out[f"walks from the centre to distance {k}"] = centre, shell, None
        if "f3" not in walks.parts:
            continue
        out[f"returns to the nodes at distance {k}"] = shell, shell, True
        out[f"walks between nodes at distance {k}"] = shell, shell, False
        for b, other in enumerate(shells, start=1):
            if b != k and abs(b - k) <= farthest and other.size:
                out[f"walks from distance {k} to {b}"] = shell, other, None
    return out


def _values(
    block: NDArray[np.object_], same: bool | None, denominator: int
) -> Counter[Fraction]:
    if same is None:
        chosen = block.ravel()
    else:
        diagonal = np.eye(len(block), dtype=np.bool_)
        chosen = block[diagonal if same else ~diagonal]
    counts = Counter(chosen.tolist())
    return Counter({Fraction(k, denominator): n for k, n in counts.items()})


def first_differing_step(
    graph: Graph, node: int, other_graph: Graph, other: int, walks: Walks
) -> str:
    """Describe the first step, and the pairs, where walks around two nodes differ."""
    ours = step_multisets(graph, node, walks)
    theirs = step_multisets(other_graph, other, walks)
    for t, (mine, yours) in enumerate(zip(ours, theirs, strict=True), start=1):
        for name in dict.fromkeys([*mine, *yours]):
            a, b = mine.get(name, Counter()), yours.get(name, Counter())
            after = f"{name} have after {t} step{'' if t == 1 else 's'}"
            if walks.multisets and a != b:
                return f"{after} the probabilities {against(a, b, multiset_text)}"
            my_sum, your_sum = sum_text(a), sum_text(b)
            if not walks.multisets and my_sum != your_sum:
                return f"{after} the probabilities of {my_sum} against {your_sum}"
    return (
        "each step by itself has the same probabilities, but the pairs' vectors of all "
        "steps (or the labels at their ends) differ"
    )


def sum_text(values: Counter[Fraction]) -> str:
    """Return the sum of a multiset as text.

    Example:
        >>> sum_text(Counter({Fraction(1, 3): 4, Fraction(0): 2}))
        'sum 4/3'
    """
    common = lcm(*(value.denominator for value in values))
    total = sum(
        n * value.numerator * (common // value.denominator)
        for value, n in values.items()
    )
    return f"sum {Fraction(total, common)}"


def multiset_text(values: Counter[Fraction]) -> str:
    """Return a multiset of fractions as text, the smallest first.

    Example:
        >>> multiset_text(Counter({Fraction(1, 3): 4, Fraction(0): 2}))
        '{2 × 0, 4 × 1/3}'
    """
    shown = [f"{values[v]} × {v}" for v in nsmallest(_SHOWN_VALUES, values)]
    more = len(values) - _SHOWN_VALUES
    if more > 0:
        shown.append(f"{more} more")
    return "{" + ", ".join(shown) + "}"
