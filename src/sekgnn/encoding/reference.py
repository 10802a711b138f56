r"""The substructure encoding as the paper defines it (Eq. 1), in plain numpy.

For a node v, its shells :math:`N_k(v) = \{i : \mathrm{dis}(v, i) = k\}` and the landing
probabilities :math:`H^{(t)} = P^t` of a walk,

.. math::
    f_1 &= H_{vv}^{(t)}, \\
    f_2 &= \mathrm{AGG}_k \{\!\{ H_{vi}^{(t)} : i \in N_k(v) \}\!\}, \\
    f_3 &= \mathrm{AGG}_k \{\!\{ H_{ij}^{(t)} : i, j \in N_k(v) \}\!\}, \\
    f   &= \mathrm{COMBINE}(f_1, f_2, f_3), \qquad t = 1, \dots, l .

:class:`~sekgnn.encoding.WalkEncoding` defines AGG, COMBINE and the scope of the walk.
This file is slow and meant to be read; everything fast is tested against it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.encoding.walk_encoding import Block, WalkEncoding
from sekgnn.graphs.graph import Graph

Array = NDArray[Any]
Pairs = tuple[Array, Array]
"""Masks of the starting nodes, bool ``[n]``, and of pairs (i, j), bool ``[n, n]``."""


def reference_encoding(graph: Graph, encoding: WalkEncoding, one: Any = 1.0) -> Array:
    """Return f of every node, ``[n, C, L]``; not for ``aggregate="learned"``.

    With ``one=Fraction(1)`` everything is computed, and returned, in fractions.

    Example:
        >>> from fractions import Fraction
        >>> from sekgnn.graphs import path_graph
        >>> f1_of_both_ends = WalkEncoding(num_shells=1, walk_length=2)
        >>> reference_encoding(path_graph(2), f1_of_both_ends, Fraction(1))[0, 0]
        array([Fraction(1, 2), Fraction(1, 2)], dtype=object)
    """
    adjacency = graph.adjacency() * one
    apart = distances(adjacency > 0)
    loops = encoding.self_loops
    kinds = loops if isinstance(loops, tuple) else (loops,)
    shape = graph.num_nodes, encoding.num_channels, encoding.length
    out = np.zeros(shape, dtype=np.int64) * one
    for v in range(graph.num_nodes):
        channels: list[Array] = []
        for self_loops, block in product(kinds, encoding.blocks):
            scope, radius, _ = block
            near = apart[v] <= (np.inf if scope == "graph" else radius)
            if scope == "internal":
                near[v] = False
            walked = adjacency * np.outer(near, near)
            h = landing(walked, encoding.walk_length, self_loops)
            channels += _channels(
                encoding, block, apart[v], h[encoding.first_step :], v
            )
        sizes = [(apart[v] == k + 1).sum() * one for k in range(encoding.shell_sizes)]
        numbers = np.append(channels, sizes)
        out[v].flat[: numbers.size] = numbers
    return out


def distances(adjacency: Array) -> Array:
    """Return the distance of any two nodes, inf where there is no path, ``[n, n]``."""
    reached = np.eye(len(adjacency), dtype=np.bool_)
    apart = np.where(reached, 0, np.inf)
    for k in range(1, len(adjacency)):
        wider = reached | (reached @ adjacency)
        apart[wider & ~reached] = k
        reached = wider
    return apart


def landing(adjacency: Array, walk_length: int, self_loops: bool) -> Array:
    """Return H for t = 0..l, ``[l + 1, n, n]``: powers of P = D⁻¹ A, or with A + I."""
    identity = np.eye(len(adjacency), dtype=np.int64)
    weights = adjacency + identity * self_loops
    degrees = weights.sum(axis=1, keepdims=True)
    p = weights / np.where(degrees == 0, 1, degrees)  # zero without edges
    powers = [identity + 0 * p]
    for _ in range(walk_length):
        powers.append(powers[-1] @ p)
    return np.stack(powers)


def _channels(
    encoding: WalkEncoding, block: Block, apart: Array, h: Array, v: int
) -> Iterator[Array]:
    """Yield the channels of f of node v, ``[L]`` each; ``apart`` is dis(v, .)."""
    scope, _, num_shells = block
    shell = [apart == k for k in range(num_shells + 1)]
    same = np.eye(len(apart), dtype=np.bool_)  # shell 0 is v itself

    def pairs(first: int, second: int, mask: Any = True) -> list[Pairs]:
        return [(shell[first], np.outer(shell[first], shell[second]) & mask)]

    hops = range(1, num_shells + 1)
    f1 = [h[:, v, v]]
    f2 = [pairs(0, k) for k in hops]
    on, off = [pairs(k, k, same) for k in hops], [pairs(k, k, ~same) for k in hops]
    families, f3 = [f2, on, off], [[a + b for a, b in zip(on, off, strict=True)]]
    joined = [f2, *f3]
    if scope == "internal":  # no v, but also from one shell to the next
        outwards = [pairs(k, k + 1) for k in hops[:-1]]
        back = [pairs(k + 1, k) for k in hops[:-1]]
        f1, families = [], [on, off, outwards, back]
        across = [a + b for a, b in zip(outwards, back, strict=True)]
        joined = [*f3, across] if across else f3
    if encoding.merge == "concat":
        powers = [h, h * h] if encoding.aggregate == "moments" else [h]
        yield from f1
        for power, shells in product(powers, families):
            yield from (agg(encoding, power, family) for family in shells)
        return
    parts = f1 + [
        np.mean([agg(encoding, h, family) for family in shells], axis=0)
        for shells in joined
    ]
    yield from parts if encoding.merge == "parts" else [np.mean(parts, axis=0)]


def agg(encoding: WalkEncoding, h: Array, family: list[Pairs]) -> Array:
    """Return AGG of the probabilities of some pairs, ``[L]``."""
    sums = [np.where(pairs, h, 0 * h).sum(axis=(1, 2)) for _, pairs in family]
    count = 1
    if encoding.aggregate == "landing":  # mean over starts, sum over landing nodes
        starts = [max(int(start.sum()), 1) for start, _ in family]
        sums = [total / number for total, number in zip(sums, starts, strict=True)]
    elif encoding.aggregate == "mean":
        count = max(sum(int(pairs.sum()) for _, pairs in family), 1)
    total: Array = np.sum(sums, axis=0) / count
    return total
