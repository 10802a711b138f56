"""The Weisfeiler-Lehman tests by their definition, with colour tables for all graphs.

Nothing is hashed: a colour is the number that a dictionary gives to the signature.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from itertools import permutations, product

from sekgnn.graphs.labelled import LabelledGraph
from sekgnn.testing.brute_force import distances
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
from sekgnn.testing.brute_force_values import brute_force_values, ego_net_values
from sekgnn.wl.colouring import WLTest
from sekgnn.wl.fwl2 import TwoFWL
from sekgnn.wl.fwl3 import ThreeFWL
from sekgnn.wl.hop_wl import KHopWL, OneWL
from sekgnn.wl.isomorphism import Isomorphism
from sekgnn.wl.sek import SEK, SEKTwoFWL
from sekgnn.wl.subgraph import SubgraphWL


def hops_of(item: LabelledGraph, num_hops: int, kernel: str) -> list[list[list[int]]]:
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


def _hop_step(graphs: Graphs, num_hops: int, kernel: str, colours: Numbers) -> Values:
    """K-hop 1-WL; the label of an edge counts at hop 1."""
    out: Values = []
    for item, c in zip(graphs, colours, strict=True):
        edges, rows = edges_of(item), hops_of(item, num_hops, kernel)
        out.append(
            [
                (
                    c[v],
                    tuple(sorted((edges[v, u], c[u]) for u in rows[v][0])),
                    *(tuple(sorted(c[u] for u in shell)) for shell in rows[v][1:]),
                )
                for v in range(item.num_nodes)
            ]
        )
    return out


def _subgraph_step(graphs: Graphs, test: SubgraphWL, colours: Numbers) -> Values:
    inner = ego_net_values(
        graphs, colours, test.radius, with_centre=True, marked=test.marked
    )
    return [
        list(zip(own, nets, strict=True))
        for own, nets in zip(colours, inner, strict=True)
    ]


def _sek_first(graphs: Graphs, test: SEK) -> Values:
    """Label, f and, where wanted, the multiset of these over all hops."""
    parts = [
        node_labels(graphs),
        *(numbered(brute_force_values(f, graphs)) for f in test.encodings),
    ]
    values = numbered(
        [list(zip(*of_graph, strict=True)) for of_graph in zip(*parts, strict=True)]
    )
    if not test.context:
        return [list(graph) for graph in values]
    out: Values = []
    for item, value in zip(graphs, values, strict=True):
        rows = hops_of(item, test.num_hops, test.kernel)
        out.append(
            [
                (value[v], tuple(sorted(value[u] for shell in rows[v] for u in shell)))
                for v in range(item.num_nodes)
            ]
        )
    return out


def _triple_first(graphs: Graphs) -> Values:
    out: Values = []
    pairs = numbered(pair_first(graphs, numbered(node_labels(graphs))))
    for item, p in zip(graphs, pairs, strict=True):
        n = item.num_nodes
        out.append(
            [
                (p[u * n + v], p[v * n + w], p[u * n + w])
                for u, v, w in product(range(n), repeat=3)
            ]
        )
    return out


def _triple_step(graphs: Graphs, colours: Numbers) -> Values:
    out: Values = []
    for item, numbers in zip(graphs, colours, strict=True):
        triples = list(product(range(item.num_nodes), repeat=3))
        c = dict(zip(triples, numbers, strict=True))
        out.append(
            [
                (
                    c[u, v, w],
                    tuple(
                        sorted(
                            (c[x, v, w], c[u, x, w], c[u, v, x])
                            for x in range(item.num_nodes)
                        )
                    ),
                )
                for u, v, w in triples
            ]
        )
    return out


def _canonical(item: LabelledGraph) -> Hashable:
    """Return the smallest description of a graph under all names of its nodes."""
    n, edges = item.num_nodes, edges_of(item)
    return min(
        (
            tuple(node_label(item, v) for v in order),
            tuple(
                ((u, v) in edges, edges.get((u, v), 0))
                for u, v in product(order, repeat=2)
            ),
        )
        for order in permutations(range(n))
    )


def _parts(test: WLTest, graphs: Graphs) -> tuple[Values, Callable[[Numbers], Values]]:
    """Return the first values of a test and its step."""
    if isinstance(test, SEKTwoFWL):
        nodes = numbered(_sek_first(graphs, test))
        return pair_first(graphs, nodes), lambda c: pair_step(graphs, c)
    if isinstance(test, SEK):
        num_hops, kernel = test.num_hops, test.kernel
        return (
            _sek_first(graphs, test),
            lambda c: _hop_step(graphs, num_hops, kernel, c),
        )
    if isinstance(test, OneWL):
        return node_labels(graphs), lambda c: node_step(graphs, c)
    if isinstance(test, KHopWL):
        khop = test
        return (
            node_labels(graphs),
            lambda c: _hop_step(graphs, khop.num_hops, khop.kernel, c),
        )
    if isinstance(test, SubgraphWL):
        subgraph = test
        return node_labels(graphs), lambda c: _subgraph_step(graphs, subgraph, c)
    if isinstance(test, TwoFWL):
        nodes = numbered(node_labels(graphs))
        return pair_first(graphs, nodes), lambda c: pair_step(graphs, c)
    if isinstance(test, ThreeFWL):
        return _triple_first(graphs), lambda c: _triple_step(graphs, c)
    if isinstance(test, Isomorphism):
        return [[_canonical(g)] for g in graphs], lambda c: [list(x) for x in c]
    raise TypeError(f"there is no brute force for {type(test).__name__}.")


def brute_force_rounds(test: WLTest, graphs: Graphs) -> list[Numbers]:
    """Refine small graphs together until a round makes no new classes.

    Args:
        test: One of the tests of this library.
        graphs: The graphs; all with labels of a kind, or none.

    Returns:
        For each round, the last being the one that changes nothing, the class of every
        object of every graph, numbered from 0 in the order they are met: nodes, pairs
        (u, v) or triples (u, v, w), the last running fastest.

    Raises:
        TypeError: If the test is not known here.

    Example:
        >>> from sekgnn.graphs import path_graph
        >>> path = LabelledGraph(path_graph(3))
        >>> brute_force_rounds(OneWL(), [path])
        [[[0, 0, 0]], [[0, 1, 0]], [[0, 1, 0]]]
    """
    first, step = _parts(test, graphs)
    return refined(first, step)


def brute_force_step(test: WLTest, graphs: Graphs, colours: Numbers) -> Values:
    """Return what one step of a test makes of given colours, whatever they are.

    Args:
        test: One of the tests of this library.
        graphs: The graphs.
        colours: A number for every object, in the order of :func:`brute_force_rounds`.

    Raises:
        TypeError: If the test is not known here.
    """
    return _parts(test, graphs)[1](colours)
