"""The encodings by their definition, in fractions: slow, obvious, and always right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.encoding.spec import Block, WalkEncoding
from sekgnn.graphs.graph import Graph

Steps = list[Fraction]
"""One number per walk length t = 1..l."""


def distances(graph: Graph) -> list[dict[int, int]]:
    """Return, for every node, the distance to each node that it can reach."""
    found = []
    for v in range(graph.num_nodes):
        seen = {v: 0}
        queue = [v]
        for u in queue:
            for w in graph.neighbors(u).tolist():
                if w not in seen:
                    seen[w] = seen[u] + 1
                    queue.append(w)
        found.append(seen)
    return found


def landing(
    graph: Graph, nodes: list[int], walk_length: int, self_loops: bool
) -> dict[tuple[int, int], Steps]:
    """Return H_ij for t = 1..l of the walk on the subgraph induced on ``nodes``."""
    near = {
        i: [j for j in graph.neighbors(i).tolist() if j in nodes] + [i] * self_loops
        for i in nodes
    }
    result: dict[tuple[int, int], Steps] = {(i, j): [] for i in nodes for j in nodes}
    row = {i: {i: Fraction(1)} for i in nodes}
    for _ in range(walk_length):
        for i in nodes:
            after: dict[int, Fraction] = {}
            for j, mass in row[i].items():
                for k in near[j]:
                    after[k] = after.get(k, Fraction(0)) + mass / len(near[j])
            row[i] = after
            for j in nodes:
                result[i, j].append(after.get(j, Fraction(0)))
    return result


def _total(values: list[Steps], length: int) -> Steps:
    return [sum((v[t] for v in values), Fraction(0)) for t in range(length)]


def _over(values: Steps, divisor: int) -> Steps:
    return [v / divisor if divisor else Fraction(0) for v in values]


def _block_channels(
    spec: WalkEncoding, block: Block, shells: list[list[int]], h: Any, v: int
) -> Iterator[Steps]:
    length = spec.walk_length
    inside = block.scope == "internal"
    pairs: dict[str, Callable[[int], list[Steps]]] = {
        "to_shell": lambda k: [h[v, i] for i in shells[k]],
        "diagonal": lambda k: [h[i, i] for i in shells[k]],
        "off": lambda k: [h[i, j] for i in shells[k] for j in shells[k] if i != j],
        "outward": lambda k: [h[i, j] for i in shells[k] for j in shells[k + 1]],
        "inward": lambda k: [h[j, i] for i in shells[k] for j in shells[k + 1]],
    }

    def starting_nodes(kind: str, k: int) -> int:
        if kind == "to_shell":
            return 1
        return len(shells[k + 1] if kind == "inward" else shells[k])

    def aggregate(kinds: tuple[str, ...], k: int) -> Steps:
        values = [x for kind in kinds for x in pairs[kind](k)]
        if spec.aggregate == "landing":
            parts = [
                _over(_total(pairs[kind](k), length), starting_nodes(kind, k))
                for kind in kinds
            ]
            return _total(parts, length)
        total = _total(values, length)
        return _over(total, len(values)) if spec.aggregate == "mean" else total

    s = block.num_shells
    names = ["diagonal", "off", "outward", "inward"] if inside else list(pairs)[:3]
    hops = {name: range(1, s if name.endswith("ward") else s + 1) for name in names}
    if spec.merge == "concat":
        if not inside:
            yield h[v, v]
        for name in names:
            for k in hops[name]:
                yield aggregate((name,), k)
        if spec.aggregate == "moments":
            for name in names:
                for k in hops[name]:
                    yield _total([[x * x for x in p] for p in pairs[name](k)], length)
        return
    groups: list[tuple[str, ...]] = [("diagonal", "off")]
    if inside and s > 1:
        groups.append(("outward", "inward"))
    if not inside:
        groups.insert(0, ("to_shell",))
    parts = [] if inside else [h[v, v]]
    for group in groups:
        over = [aggregate(group, k) for k in hops[group[0]]]
        parts.append(_over(_total(over, length), len(over)))
    if spec.merge == "mean":
        parts = [_over(_total(parts, length), len(parts))]
    yield from parts


def brute_force_encoding(graph: Graph, spec: WalkEncoding) -> NDArray[np.object_]:
    """Return f of every node by summing over every pair of nodes, as the paper says.

    Returns:
        Fractions, object array ``[n, spec.num_channels, spec.walk_length]``.
    """
    n = graph.num_nodes
    out = np.empty((n, spec.num_channels, spec.walk_length), dtype=object)
    reach = distances(graph)
    for v in range(n):
        channels: list[Steps] = []
        for block in spec.blocks:
            nodes = list(range(n))
            if block.scope != "graph":
                nodes = [u for u, d in reach[v].items() if d <= block.radius]
            if block.scope == "internal":
                nodes.remove(v)
            shells = [
                [u for u, d in reach[v].items() if d == k]
                for k in range(block.num_shells + 2)
            ]
            h = landing(graph, nodes, spec.walk_length, spec.self_loops)
            channels += _block_channels(spec, block, shells, h, v)
        for c, steps in enumerate(channels):
            out[v, c] = steps
    return out
