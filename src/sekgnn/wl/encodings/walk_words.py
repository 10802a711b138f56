"""What a walk value says, as fractions, for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import islice, pairwise
from math import lcm
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sekgnn.graphs.graph import Graph
from sekgnn.walks.ball import local_ball
from sekgnn.wl.words import against

if TYPE_CHECKING:
    from sekgnn.wl.encodings.walks import Walks

Multisets = dict[str, Counter[Fraction]]
Group = tuple[NDArray[np.int64], NDArray[np.int64], bool | None]
_SHOWN_STEPS, _SHOWN_VALUES = 4, 5


def step_multisets(graph: Graph, node: int, walks: Walks) -> Iterator[Multisets]:
    r"""Yield, step by step, the multisets of landing probabilities around a node.

    With L the least common multiple of the degrees, :math:`L^t H^{(t)}` is an integer
    matrix, so that whole numbers of any size do.
    """
    centred = walks.scope != "internal"
    place = np.full(graph.num_nodes, -1, dtype=np.int32)
    radius = graph.num_nodes if walks.radius is None else walks.radius
    nodes, bounds, rows, columns = local_ball(
        graph.indptr, graph.indices, node, radius, centred, int(walks.self_loops), place
    )
    groups = _groups(bounds, walks, centred)
    degrees = np.diff(rows)
    common = lcm(*(int(d) for d in degrees if d))
    now = np.zeros((nodes.size, nodes.size), dtype=object)
    now[np.diag_indices(nodes.size)] = 1
    for t in range(1, walks.walk_length + 1):
        after = np.zeros_like(now)
        for i, degree in enumerate(degrees.tolist()):
            if degree:
                total = now[columns[rows[i] : rows[i + 1]]].sum(axis=0)
                after[i] = total * (common // degree)
        now = after
        yield {
            name: _values(now[np.ix_(i, j)], same, common**t)
            for name, (i, j, same) in groups.items()
        }


def _groups(bounds: NDArray[np.int64], walks: Walks, centred: bool) -> dict[str, Group]:
    """Return which pairs belong together: (from, to, only i = j / only i ≠ j / all).

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


def return_words(graph: Graph, node: int, walks: Walks) -> str:
    """Say the first group's values over the first steps."""
    steps = list(islice(step_multisets(graph, node, walks), _SHOWN_STEPS))
    if not steps[0]:
        return "there are no other nodes"
    name = next(iter(steps[0]))
    text = multiset_text if walks.multisets else sum_text
    shown = "; ".join(
        f"t={t}: {text(step[name])}" for t, step in enumerate(steps, start=1)
    )
    return f"{name}, {shown}"


def first_differing_step(
    graph: Graph, node: int, other_graph: Graph, other: int, walks: Walks
) -> str:
    """Say after how many steps, and where, the walks around two nodes first differ."""
    ours = step_multisets(graph, node, walks)
    theirs = step_multisets(other_graph, other, walks)
    for t, (mine, yours) in enumerate(zip(ours, theirs, strict=True), start=1):
        for name in dict.fromkeys([*mine, *yours]):
            a, b = mine.get(name, Counter()), yours.get(name, Counter())
            after = f"{name} have after {t} step{'' if t == 1 else 's'}"
            if walks.multisets and a != b:
                return f"{after} the probabilities {against(a, b, multiset_text)}"
            if not walks.multisets and total(a) != total(b):
                return (
                    f"{after} the probabilities of {sum_text(a)} against {sum_text(b)}"
                )
    return (
        "each step by itself has the same probabilities, but the pairs' vectors of all "
        "steps (or the labels at their ends) differ"
    )


def total(values: Counter[Fraction]) -> Fraction:
    """Return the sum of a multiset."""
    return sum((value * n for value, n in values.items()), Fraction(0))


def sum_text(values: Counter[Fraction]) -> str:
    """Return the sum of a multiset as text.

    Example:
        >>> sum_text(Counter({Fraction(1, 3): 4, Fraction(0): 2}))
        'sum 4/3'
    """
    return f"sum {total(values)}"


def multiset_text(values: Counter[Fraction]) -> str:
    """Return a multiset of fractions as text, the smallest first.

    Example:
        >>> multiset_text(Counter({Fraction(1, 3): 4, Fraction(0): 2}))
        '{2 × 0, 4 × 1/3}'
    """
    items = sorted(values.items())
    shown = [f"{n} × {value}" for value, n in items[:_SHOWN_VALUES]]
    more = len(items) - _SHOWN_VALUES
    if more > 0:
        shown.append(f"{more} more")
    return "{" + ", ".join(shown) + "}"
