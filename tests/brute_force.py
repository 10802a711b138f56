"""Encodings by their definition, in fractions: slow, obvious, and always right."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from fractions import Fraction
from itertools import combinations, pairwise, permutations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.encoding.walk_encoding import Block, WalkEncoding
from sekgnn.graphs.graph import Graph
from sekgnn.graphs.labelled import LabelledGraph
from sekgnn.wl import DistanceProfile, PatternCounts, Walks

Steps = list[Fraction]
"""One number per walk length t = 1..l, or t = 0..l."""


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
    graph: Graph,
    nodes: list[int],
    walk_length: int,
    self_loops: bool,
    first_step: int = 1,
) -> dict[tuple[int, int], Steps]:
    """Return H_ij for t = first_step..l of the walk on what ``nodes`` induce."""
    near = {
        i: [j for j in graph.neighbors(i).tolist() if j in nodes] + [i] * self_loops
        for i in nodes
    }
    result: dict[tuple[int, int], Steps] = {
        (i, j): [Fraction(i == j)] * (1 - first_step) for i in nodes for j in nodes
    }
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
    encoding: WalkEncoding, block: Block, shells: list[list[int]], h: Any, v: int
) -> Iterator[Steps]:
    length = encoding.length
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
        if encoding.aggregate == "landing":
            parts = [
                _over(_total(pairs[kind](k), length), starting_nodes(kind, k))
                for kind in kinds
            ]
            return _total(parts, length)
        total = _total(values, length)
        return _over(total, len(values)) if encoding.aggregate == "mean" else total

    s = block.num_shells
    names = ["diagonal", "off", "outward", "inward"] if inside else list(pairs)[:3]
    hops = {name: range(1, s if name.endswith("ward") else s + 1) for name in names}
    if encoding.merge == "concat":
        if not inside:
            yield h[v, v]
        for name in names:
            for k in hops[name]:
                yield aggregate((name,), k)
        if encoding.aggregate == "moments":
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
    if encoding.merge == "mean":
        parts = [_over(_total(parts, length), len(parts))]
    yield from parts


def brute_force_encoding(graph: Graph, encoding: WalkEncoding) -> NDArray[np.object_]:
    """Return f of every node by summing over every pair of nodes, as the paper says.

    Returns:
        Fractions, object array ``[n, encoding.num_channels, encoding.length]``.
    """
    n = graph.num_nodes
    out = np.full(
        (n, encoding.num_channels, encoding.length), Fraction(0), dtype=object
    )
    reach = distances(graph)
    loops = (
        encoding.self_loops
        if isinstance(encoding.self_loops, tuple)
        else [encoding.self_loops]
    )
    for v in range(n):
        channels: list[Steps] = []
        for self_loops, block in product(loops, encoding.blocks):
            nodes = list(range(n))
            if block.scope != "graph":
                nodes = [u for u, d in reach[v].items() if d <= block.radius]
            if block.scope == "internal":
                nodes.remove(v)
            shells = [
                [u for u, d in reach[v].items() if d == k]
                for k in range(block.num_shells + 2)
            ]
            h = landing(
                graph, nodes, encoding.walk_length, self_loops, encoding.first_step
            )
            channels += _block_channels(encoding, block, shells, h, v)
        for c, steps in enumerate(channels):
            out[v, c] = steps
        for k in range(encoding.shell_sizes):
            c, place = divmod(k, encoding.length)
            size = [*reach[v].values()].count(k + 1)
            out[v, len(channels) + c, place] = Fraction(size)
    return out


def node_label(item: LabelledGraph, node: int) -> int:
    """Return a node's label, 0 if there are none."""
    return 0 if item.node_labels is None else int(item.node_labels[node])


def edges_of(item: LabelledGraph) -> dict[tuple[int, int], int]:
    """Return both directions of every edge with its label, 0 if there are none."""
    pairs = item.graph.edge_index().T.tolist()
    labels = [0] * len(pairs) if item.edge_labels is None else item.edge_labels.tolist()
    return dict(zip(map(tuple, pairs), labels, strict=True))


def walk_value(f: Walks, item: LabelledGraph, v: int) -> Hashable:
    """Return f1, f2 and f3 of one node as nested tuples of fractions."""
    reach = distances(item.graph)[v]
    nodes = list(range(item.num_nodes))
    if f.scope != "graph":
        assert f.radius is not None
        nodes = [u for u, d in reach.items() if d <= f.radius]
    if f.scope == "internal":
        nodes.remove(v)
    h = landing(item.graph, nodes, f.walk_length, f.self_loops)

    def multiset(pairs: list[tuple[int, int]]) -> Hashable:
        labelled = ((i, j, node_label(item, i), node_label(item, j)) for i, j in pairs)
        return tuple(sorted((*h[i, j], a, b) for i, j, a, b in labelled))

    shells = [
        [u for u, d in reach.items() if d == k]
        for k in range(1, (f.radius or f.num_shells) + 1)
    ]
    centred = f.scope != "internal"
    out: list[Hashable] = []
    if "f1" in f.parts and centred:
        out.append(multiset([(v, v)]))
    for a, shell in enumerate(shells):
        if "f2" in f.parts and centred:
            out.append(multiset([(v, i) for i in shell]))
        if "f3" not in f.parts:
            continue
        out.append(multiset([(i, i) for i in shell]))
        for b, other in enumerate(shells):
            if a == b or f.pairs == "all":
                pairs = [(i, j) for i in shell for j in other if i != j]
                out.append(multiset(pairs))
    return tuple(out)


def walk_sums(item: LabelledGraph, f: Walks) -> list[Hashable]:
    """Return the sums over the shells of every node, as fractions."""
    table = brute_force_encoding(item.graph, f.sums())
    return [tuple(row.ravel().tolist()) for row in table]


def distance_value(f: DistanceProfile, item: LabelledGraph, v: int) -> Hashable:
    """Return each shell's edges inwards, within and outwards, up to the last shell."""
    reach, edges = distances(item.graph)[v], edges_of(item)
    near = [u for u, d in reach.items() if d <= f.num_shells]

    def kind(u: int) -> tuple[int, ...]:
        sides = [reach[w] - reach[u] for w in near if (u, w) in edges]
        return (node_label(item, u), *(sides.count(side) for side in (-1, 0, 1)))

    return tuple(
        tuple(sorted(kind(u) for u in near if reach[u] == k))
        for k in range(1, f.num_shells + 1)
    )


def pattern_value(f: PatternCounts, item: LabelledGraph, v: int) -> tuple[int, ...]:
    """Return how many of each pattern contain a node, trying all arrangements."""
    edges = edges_of(item)
    others = [u for u in range(item.num_nodes) if u != v]
    found = []
    for pattern in f.patterns:
        size = int(pattern[-1])
        if pattern.startswith("clique"):
            sets = ((v, *rest) for rest in combinations(others, size - 1))
            cliques = (all(p in edges for p in combinations(one, 2)) for one in sets)
            found.append(sum(cliques))
        else:
            rings = ((v, *rest, v) for rest in permutations(others, size - 1))
            both_ways = sum(all(p in edges for p in pairwise(ring)) for ring in rings)
            found.append(both_ways // 2)
    return tuple(found)
