"""Walks and encodings by their definition, in fractions: slow and always right."""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction
from itertools import combinations, pairwise, permutations

from sekgnn.encoding.reference import reference_encoding
from sekgnn.graphs.graph import Graph
from sekgnn.wl import DistanceProfile, PatternCounts, Walks

Steps = list[Fraction]
"""One number per walk length t = 1..l, or t = 0..l."""


def distances(graph: Graph) -> list[dict[int, int]]:
    """Return, for every node, the distance to each node that it can reach."""
    out = []
    for v in range(graph.num_nodes):
        seen = {v: 0}
        queue = [v]
        for u in queue:
            for w in graph.neighbors(u).tolist():
                if w not in seen:
                    seen[w] = seen[u] + 1
                    queue.append(w)
        out.append(seen)
    return out


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


def node_label(item: Graph, node: int) -> int:
    """Return a node's label, 0 if there are none."""
    return 0 if item.node_labels is None else int(item.node_labels[node])


def edges_of(item: Graph) -> dict[tuple[int, int], int]:
    """Return both directions of every edge with its label, 0 if there are none."""
    pairs = item.graph.edge_index().T.tolist()
    labels = [0] * len(pairs) if item.edge_labels is None else item.edge_labels.tolist()
    return dict(zip(map(tuple, pairs), labels, strict=True))


def walk_groups(
    f: Walks, graph: Graph, v: int
) -> tuple[dict[tuple[int, int], Steps], dict[str, list[tuple[int, int]]]]:
    """Return H of the walks around a node, and the pairs of each multiset by name."""
    reach = distances(graph)[v]
    nodes = list(range(graph.num_nodes))
    if f.radius is not None:
        nodes = [u for u, d in reach.items() if d <= f.radius]
    centred = f.scope != "internal"
    if not centred:
        nodes.remove(v)
    shells = {
        k: [u for u, d in reach.items() if d == k]
        for k in range(1, (f.radius or f.num_shells) + 1)
    }
    shells = {k: shell for k, shell in shells.items() if shell}
    pairs: dict[str, list[tuple[int, int]]] = {}
    if "f1" in f.parts and centred:
        pairs["returns to the centre"] = [(v, v)]
    for k, mine in shells.items():
        if "f2" in f.parts and centred:
            pairs[f"walks from the centre to distance {k}"] = [(v, i) for i in mine]
        if "f3" not in f.parts:
            continue
        pairs[f"returns to the nodes at distance {k}"] = [(i, i) for i in mine]
        pairs[f"walks between nodes at distance {k}"] = [
            (i, j) for i in mine for j in mine if i != j
        ]
        for b, theirs in shells.items():
            summed = not centred and not f.multisets and abs(b - k) == 1
            if b != k and (f.pairs == "all" or summed):
                pairs[f"walks from distance {k} to {b}"] = [
                    (i, j) for i in mine for j in theirs
                ]
    return landing(graph, nodes, f.walk_length, f.self_loops), pairs


def walk_value(f: Walks, item: Graph, v: int) -> Hashable:
    """Return f1, f2 and f3 of one node as nested tuples of fractions."""
    h, groups = walk_groups(f, item.graph, v)
    labels = [node_label(item, u) for u in range(item.num_nodes)]
    return tuple(
        (name, *sorted((*h[i, j], labels[i], labels[j]) for i, j in pairs))
        for name, pairs in groups.items()
    )


def walk_sums(item: Graph, f: Walks) -> list[Hashable]:
    """Return the sums over the shells of every node, as fractions."""
    table = reference_encoding(item.graph, f.sums(), Fraction(1))
    return [tuple(row.ravel().tolist()) for row in table]


def distance_value(f: DistanceProfile, item: Graph, v: int) -> Hashable:
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


def pattern_value(f: PatternCounts, item: Graph, v: int) -> tuple[int, ...]:
    """Return how many of each pattern contain a node, trying all arrangements."""
    edges = edges_of(item)
    others = [u for u in range(item.num_nodes) if u != v]
    out = []
    for pattern in f.patterns:
        size = int(pattern[-1])
        if pattern.startswith("clique"):
            sets = ((v, *rest) for rest in combinations(others, size - 1))
            cliques = (
                all(p in edges for p in combinations(nodes, 2)) for nodes in sets
            )
            out.append(sum(cliques))
        else:
            rings = ((v, *rest, v) for rest in permutations(others, size - 1))
            both_ways = sum(all(p in edges for p in pairwise(ring)) for ring in rings)
            out.append(both_ways // 2)
    return tuple(out)
