"""The Weisfeiler-Lehman tests by their definition, with colour tables for all graphs.

Nothing is hashed: a colour is the number that a dictionary gives to the signature.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from itertools import permutations, product
from typing import Any

from tests.brute_force import (
    distance_value,
    distances,
    edges_of,
    node_label,
    pattern_value,
    walk_sums,
    walk_value,
)

from sekgnn import wl
from sekgnn.graphs.graph import Graph, LabelledGraph
from sekgnn.wl.encodings.base import Encoding

Graphs = Sequence[Graph]
Values = list[list[Hashable]]
"""Something comparable for every object of every graph."""
Numbers = list[list[int]]
"""A class for every object of every graph, from 0 in the order they are met."""


def numbered(values: Values) -> Numbers:
    """Replace values by numbers, equal for equal ones, with one table for all."""
    table: dict[Hashable, int] = {}
    return [[table.setdefault(v, len(table)) for v in graph] for graph in values]


def count(numbers: Numbers) -> int:
    """Return how many different numbers there are."""
    return len({n for graph in numbers for n in graph})


def refined(first: Values, step: Callable[[Numbers], Values]) -> list[Numbers]:
    """Number values and refine them until a step makes no new classes."""
    rounds = [numbered(first)]
    while len(rounds) < 2 or count(rounds[-1]) > count(rounds[-2]):
        rounds.append(numbered(step(rounds[-1])))
    return rounds


def node_labels(graphs: Graphs) -> Values:
    """Return the label of every node."""
    return [[node_label(item, v) for v in range(item.num_nodes)] for item in graphs]


def hop_lists(item: Graph, num_hops: int, kernel: str) -> list[list[list[int]]]:
    """Return the nodes at hop k = 1..K of every node v, as ``[v][k - 1]``."""
    if kernel == "shortest_path":
        return [
            [[u for u, d in reach.items() if d == k] for k in range(1, num_hops + 1)]
            for reach in distances(item.graph)
        ]
    out = []
    for v in range(item.num_nodes):
        reached, levels = {v}, []
        for _ in range(num_hops):
            reached = {w for u in reached for w in item.graph.neighbors(u).tolist()}
            levels.append(sorted(reached))
        out.append(levels)
    return out


def hop_step(
    graphs: Graphs, num_hops: int = 1, kernel: str = "shortest_path"
) -> Callable[[Numbers], Values]:
    """Return the step of K-hop 1-WL; the label of an edge counts at hop 1."""
    hops = [hop_lists(item, num_hops, kernel) for item in graphs]
    labels = [edges_of(item) for item in graphs]

    def step(colours: Numbers) -> Values:
        out: Values = []
        for rows, edges, c in zip(hops, labels, colours, strict=True):
            values: list[Hashable] = []
            for v, (near, *shells) in enumerate(rows):
                first = tuple(sorted((edges[v, u], c[u]) for u in near))
                others = (tuple(sorted(c[u] for u in shell)) for shell in shells)
                values.append((c[v], first, *others))
            out.append(values)
        return out

    return step


def pair_first(graphs: Graphs, nodes: Numbers) -> Values:
    """Return the type of every pair: equal or adjacent, labels and both nodes."""
    out: Values = []
    for item, c in zip(graphs, nodes, strict=True):
        edges, pairs = edges_of(item), product(range(item.num_nodes), repeat=2)
        out.append([(u == v, edges.get((u, v)), c[u], c[v]) for u, v in pairs])
    return out


def tuple_step(graphs: Graphs, arity: int, colours: Numbers) -> Values:
    """Return the tuples' colours with those of all replacements of a node: k-FWL."""
    out: Values = []
    for item, numbers in zip(graphs, colours, strict=True):
        nodes = range(item.num_nodes)
        c = dict(zip(product(nodes, repeat=arity), numbers, strict=True))
        values: list[Hashable] = []
        for t, colour in c.items():
            ways = [[c[(*t[:i], x, *t[i + 1 :])] for i in range(arity)] for x in nodes]
            values.append((colour, tuple(sorted(map(tuple, ways)))))
        out.append(values)
    return out


def ego_nets(
    graphs: Graphs, colours: Numbers, radius: int, marked: bool
) -> list[Graph]:
    """Return every node's ego-net, labelled by colours and, if marked, distances."""
    nets: list[Graph] = []
    most = max((item.num_nodes for item in graphs), default=0)  # beyond any distance
    for item, of in zip(graphs, colours, strict=True):
        edges = edges_of(item)
        for reach in distances(item.graph):
            near = [u for u, d in reach.items() if d <= radius]
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
    graphs: Graphs, colours: Numbers, radius: int, marked: bool
) -> Values:
    """Return the multiset of stable 1-WL colours of every node's ego-net.

    All ego-nets of all graphs are refined together, with one table, until no new
    colour comes up in any of them.
    """
    nets = ego_nets(graphs, colours, radius, marked)
    return by_graph(graphs, refined(node_labels(nets), hop_step(nets))[-1])


def inner_fwl_values(graphs: Graphs, f: wl.InnerFWL) -> Values:
    """Return the multiset of stable 2-FWL colours of every node's marked ego-net.

    Where the neighbours are marked in turn, it is a multiset of these, one for each.
    """
    labels = numbered(node_labels(graphs))
    nets = ego_nets(graphs, labels, f.radius, True)
    size, owners = len(nets), list(range(len(nets)))
    if f.neighbours:
        most = max((net.num_nodes for net in nets), default=0)
        twice: list[Graph] = []
        owners = []
        for v, net in enumerate(nets):  # node 0 of an ego-net is its centre
            reach = distances(net.graph)
            for u in net.graph.neighbors(0).tolist():
                nodes = range(net.num_nodes)
                marks = [node_label(net, w) * most + reach[u][w] for w in nodes]
                twice.append(LabelledGraph(net.graph, marks, net.edge_labels))
                owners.append(v)
        nets = twice
    first = pair_first(nets, numbered(node_labels(nets)))
    stable = refined(first, partial(tuple_step, nets, 2))[-1]
    of_net = numbered([[tuple(sorted(colours)) for colours in stable]])[0]
    colours: list[list[int]] = [[] for _ in range(size)]
    for owner, number in zip(owners, of_net, strict=True):
        colours[owner].append(number)
    return by_graph(graphs, colours)


def brute_force_values(f: Encoding, graphs: Graphs) -> Values:
    """Return one of the library's f for every node of every graph; equal for equal f.

    For small graphs: n! steps are not spared.

    Raises:
        TypeError: If f is not known here.
    """
    if isinstance(f, wl.InnerWL):
        labels = numbered(node_labels(graphs))
        return ego_net_values(graphs, labels, f.radius, f.marked)
    if isinstance(f, wl.InnerFWL):
        return inner_fwl_values(graphs, f)
    if isinstance(f, wl.Walks) and not f.multisets:
        return [walk_sums(item, f) for item in graphs]
    value: Callable[[Graph, int], Hashable]
    if isinstance(f, wl.Walks):
        value = partial(walk_value, f)
    elif isinstance(f, wl.DistanceProfile):
        value = partial(distance_value, f)
    elif isinstance(f, wl.PatternCounts):
        value = partial(pattern_value, f)
    else:
        raise TypeError(f"there is no brute force for {type(f).__name__}.")
    return [[value(item, v) for v in range(item.num_nodes)] for item in graphs]


def _subgraph_step(graphs: Graphs, test: wl.SubgraphWL, colours: Numbers) -> Values:
    inner = ego_net_values(graphs, colours, test.radius, test.marked)
    both = zip(colours, inner, strict=True)
    return [list(zip(numbers, nets, strict=True)) for numbers, nets in both]


def _sek_first(graphs: Graphs, test: wl.SEK) -> Values:
    """Label, f and, where wanted, the multiset of these over all hops."""
    columns = [node_labels(graphs)]
    columns += [brute_force_values(f, graphs) for f in test.encodings]
    joined = zip(*columns, strict=True)
    values = numbered([list(zip(*of_graph, strict=True)) for of_graph in joined])
    if not test.context:
        return [list(graph) for graph in values]
    out: Values = []
    for item, value in zip(graphs, values, strict=True):
        rows = hop_lists(item, test.num_hops, test.kernel)
        around = [sorted(value[u] for shell in row for u in shell) for row in rows]
        out.append(list(zip(value, map(tuple, around), strict=True)))
    return out


def _triple_first(graphs: Graphs) -> Values:
    out: Values = []
    pairs = numbered(pair_first(graphs, numbered(node_labels(graphs))))
    for item, p in zip(graphs, pairs, strict=True):
        n = item.num_nodes
        triples = product(range(n), repeat=3)
        out.append([(p[u * n + v], p[v * n + w], p[u * n + w]) for u, v, w in triples])
    return out


def _canonical(item: Graph) -> Hashable:
    """Return the smallest description of a graph under all names of its nodes."""
    edges = edges_of(item)

    def described(order: tuple[int, ...]) -> tuple[tuple[Any, ...], ...]:
        pairs = product(order, repeat=2)
        kinds = (((u, v) in edges, edges.get((u, v), 0)) for u, v in pairs)
        return tuple(node_label(item, v) for v in order), tuple(kinds)

    return min(map(described, permutations(range(item.num_nodes))))


def _parts(
    test: wl.WLTest, graphs: Graphs
) -> tuple[Values, Callable[[Numbers], Values]]:
    """Return the first values of a test and its step."""
    labels = node_labels(graphs)
    if isinstance(test, wl.SEK | wl.TwoFWL):
        first = _sek_first(graphs, test) if isinstance(test, wl.SEK) else labels
        if isinstance(test, wl.SEK) and not isinstance(test, wl.SEKTwoFWL):
            return first, hop_step(graphs, test.num_hops, test.kernel)
        return pair_first(graphs, numbered(first)), partial(tuple_step, graphs, 2)
    if isinstance(test, wl.OneWL):
        return labels, hop_step(graphs)
    if isinstance(test, wl.KHopWL):
        return labels, hop_step(graphs, test.num_hops, test.kernel)
    if isinstance(test, wl.SubgraphWL):
        return labels, partial(_subgraph_step, graphs, test)
    if isinstance(test, wl.ThreeFWL):
        return _triple_first(graphs), partial(tuple_step, graphs, 3)
    if isinstance(test, wl.Isomorphism):
        return [[_canonical(g)] for g in graphs], lambda c: [list(x) for x in c]
    raise TypeError(f"there is no brute force for {type(test).__name__}.")


def brute_force_rounds(test: wl.WLTest, graphs: Graphs) -> list[Numbers]:
    """Refine small graphs together by a test of this library until nothing changes.

    Returns:
        For each round, the last being the one that changes nothing, the class of every
        object of every graph, numbered from 0 in the order they are met: nodes, pairs
        (u, v) or triples (u, v, w), the last running fastest.

    Raises:
        TypeError: If the test is not known here.

    Example:
        >>> from sekgnn.graphs import path_graph
        >>> path = path_graph(3)
        >>> brute_force_rounds(wl.OneWL(), [path])
        [[[0, 0, 0]], [[0, 1, 0]], [[0, 1, 0]]]
    """
    first, step = _parts(test, graphs)
    return refined(first, step)


def brute_force_step(test: wl.WLTest, graphs: Graphs, colours: Numbers) -> Values:
    """Return what one step makes of any colours, as :func:`brute_force_rounds`."""
    return _parts(test, graphs)[1](colours)
