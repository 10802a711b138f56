"""Substructure encoding functions f by their definition: slow, obvious, exact."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import partial
from itertools import combinations, permutations

from sekgnn.encoding.spec import WalkEncoding
from sekgnn.graphs.labelled import LabelledGraph
from sekgnn.testing.brute_force import brute_force_encoding, distances, landing
from sekgnn.testing.brute_force_colours import (
    Graphs,
    Numbers,
    Values,
    edges_of,
    node_label,
    node_labels,
    node_step,
    numbered,
    pair_first,
    pair_step,
    refined,
)
from sekgnn.wl.encodings.base import ExactEncoding
from sekgnn.wl.encodings.distances import DistanceProfile
from sekgnn.wl.encodings.inner_fwl import InnerFWL
from sekgnn.wl.encodings.inner_wl import InnerWL
from sekgnn.wl.encodings.patterns import PatternCounts
from sekgnn.wl.encodings.walks import Walks


def ego_nets(
    graphs: Graphs, colours: Numbers, radius: int, *, with_centre: bool, marked: bool
) -> list[LabelledGraph]:
    """Return the ego-net of every node, its nodes labelled by their colours.

    Args:
        graphs: The graphs.
        colours: Of their nodes.
        radius: h.
        with_centre: Keep the centre.
        marked: Let the labels tell the distance to the centre, too.
    """
    nets = []
    most = max((item.num_nodes for item in graphs), default=0)  # beyond any distance
    for item, of in zip(graphs, colours, strict=True):
        edges = edges_of(item)
        for reach in distances(item.graph):
            near = [u for u, d in reach.items() if int(not with_centre) <= d <= radius]
            labels = [of[u] * most + marked * reach[u] for u in near]
            kinds = {
                (i, j): edges[u, w]
                for i, u in enumerate(near)
                for j, w in enumerate(near)
                if (u, w) in edges
            }
            nets.append(LabelledGraph(item.graph.induced(near), labels, kinds))
    return nets


def by_graph(graphs: Graphs, values: Iterable[Iterable[int]]) -> Values:
    """Deal out one multiset of numbers to every node of every graph."""
    sets = (tuple(sorted(numbers)) for numbers in values)
    return [[next(sets) for _ in range(item.num_nodes)] for item in graphs]


def ego_net_values(
    graphs: Graphs, colours: Numbers, radius: int, *, with_centre: bool, marked: bool
) -> Values:
    """Return the multiset of stable 1-WL colours of every node's ego-net.

    All ego-nets of all graphs are refined together, with one table, until no new
    colour comes up in any of them.
    """
    nets = ego_nets(graphs, colours, radius, with_centre=with_centre, marked=marked)
    return by_graph(graphs, refined(node_labels(nets), partial(node_step, nets))[-1])


def inner_fwl_values(graphs: Graphs, f: InnerFWL) -> Values:
    """Return the multiset of stable 2-FWL colours of every node's marked ego-net.

    Where the neighbours are marked in turn, it is a multiset of these, one for each.
    """
    labels = numbered(node_labels(graphs))
    nets = ego_nets(graphs, labels, f.radius, with_centre=True, marked=True)
    size, owners = len(nets), list(range(len(nets)))
    if f.neighbours:
        most = max((net.num_nodes for net in nets), default=0)
        twice, owners = [], []
        for v, net in enumerate(nets):  # node 0 of an ego-net is its centre
            reach = distances(net.graph)
            for u in net.graph.neighbors(0).tolist():
                marks = [
                    node_label(net, w) * most + reach[u][w]
                    for w in range(net.num_nodes)
                ]
                twice.append(LabelledGraph(net.graph, marks, net.edge_labels))
                owners.append(v)
        nets = twice
    first = pair_first(nets, numbered(node_labels(nets)))
    stable = refined(first, partial(pair_step, nets))[-1]
    of_net = numbered([[tuple(sorted(colours)) for colours in stable]])[0]
    found: list[list[int]] = [[] for _ in range(size)]
    for owner, number in zip(owners, of_net, strict=True):
        found[owner].append(number)
    return by_graph(graphs, found)


def walk_value(item: LabelledGraph, v: int, f: Walks) -> Hashable:
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
    out: list[Hashable] = []
    if "f1" in f.parts and f.scope != "internal":
        out.append(multiset([(v, v)]))
    for a, shell in enumerate(shells):
        if "f2" in f.parts and f.scope != "internal":
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
    spec = WalkEncoding(
        num_shells=f.radius or f.num_shells,
        walk_length=f.walk_length,
        scope=f.scope,
        radius=f.radius,
        self_loops=f.self_loops,
    )
    table = brute_force_encoding(item.graph, spec)
    return [tuple(row.ravel().tolist()) for row in table]


def distance_value(item: LabelledGraph, v: int, f: DistanceProfile) -> Hashable:
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


def pattern_value(item: LabelledGraph, v: int, f: PatternCounts) -> tuple[int, ...]:
    """Return how many of each pattern contain a node, trying all arrangements."""
    edges = edges_of(item)
    others = [u for u in range(item.num_nodes) if u != v]
    found = []
    for pattern in f.patterns:
        if pattern == "clique4":
            fours = ((v, *three) for three in combinations(others, 3))
            found.append(
                sum(all(p in edges for p in combinations(four, 2)) for four in fours)
            )
            continue
        length = int(pattern.removeprefix("cycle"))
        rings = ((v, *rest, v) for rest in permutations(others, length - 1))
        both_ways = sum(
            all((r[i], r[i + 1]) in edges for i in range(length)) for r in rings
        )
        found.append(both_ways // 2)
    return tuple(found)


def brute_force_values(f: ExactEncoding, graphs: Graphs) -> Values:
    """Return f of every node of every graph; equal values for equal f.

    Args:
        f: One of the encodings of this library.
        graphs: Small ones: n! steps are not spared.

    Raises:
        TypeError: If f is not known here.
    """
    one: Callable[[LabelledGraph, int], Hashable]
    if isinstance(f, InnerWL):
        labels = numbered(node_labels(graphs))
        return ego_net_values(
            graphs, labels, f.radius, with_centre=not f.internal, marked=f.marked
        )
    if isinstance(f, InnerFWL):
        return inner_fwl_values(graphs, f)
    if isinstance(f, Walks):
        if not f.multisets:
            return [walk_sums(item, f) for item in graphs]
        walks = f
        one = lambda item, v: walk_value(item, v, walks)  # noqa: E731
    elif isinstance(f, DistanceProfile):
        profile = f
        one = lambda item, v: distance_value(item, v, profile)  # noqa: E731
    elif isinstance(f, PatternCounts):
        patterns = f
        one = lambda item, v: pattern_value(item, v, patterns)  # noqa: E731
    else:
        raise TypeError(f"there is no brute force for {type(f).__name__}.")
    return [[one(item, v) for v in range(item.num_nodes)] for item in graphs]
