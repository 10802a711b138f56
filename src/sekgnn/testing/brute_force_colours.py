"""Colours without hashing: one dictionary of signatures for all graphs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import product

from sekgnn.graphs.labelled import LabelledGraph

Graphs = Sequence[LabelledGraph]
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


def node_label(item: LabelledGraph, node: int) -> int:
    """Return a node's label, 0 if there are none."""
    return 0 if item.node_labels is None else int(item.node_labels[node])


def edges_of(item: LabelledGraph) -> dict[tuple[int, int], int]:
    """Return both directions of every edge with its label, 0 if there are none."""
    pairs = item.graph.edge_index().T.tolist()
    labels = [0] * len(pairs)
    if item.edge_labels is not None:
        labels = item.edge_labels.tolist()
    return {(u, v): label for (u, v), label in zip(pairs, labels, strict=True)}


def refined(first: Values, step: Callable[[Numbers], Values]) -> list[Numbers]:
    """Number values and refine them until a step makes no new classes."""
    rounds = [numbered(first)]
    while len(rounds) < 2 or count(rounds[-1]) > count(rounds[-2]):
        rounds.append(numbered(step(rounds[-1])))
    return rounds


def node_labels(graphs: Graphs) -> Values:
    """Return the label of every node."""
    return [[node_label(item, v) for v in range(item.num_nodes)] for item in graphs]


def node_step(graphs: Graphs, colours: Numbers) -> Values:
    """Return the nodes' colours with those of their neighbours: 1-WL."""
    out: Values = []
    for item, c in zip(graphs, colours, strict=True):
        edges = edges_of(item)
        near: list[list[tuple[int, int]]] = [[] for _ in c]
        for (u, v), label in edges.items():
            near[u].append((label, c[v]))
        out.append([(c[v], tuple(sorted(near[v]))) for v in range(item.num_nodes)])
    return out


def pair_first(graphs: Graphs, nodes: Numbers) -> Values:
    """Return the type of every pair: equal or adjacent, labels and both nodes."""
    out: Values = []
    for item, c in zip(graphs, nodes, strict=True):
        edges = edges_of(item)
        out.append(
            [
                (u == v, (u, v) in edges, edges.get((u, v)), c[u], c[v])
                for u, v in product(range(item.num_nodes), repeat=2)
            ]
        )
    return out


def pair_step(graphs: Graphs, colours: Numbers) -> Values:
    """Return the pairs' colours with those of the ways through every node: 2-FWL."""
    out: Values = []
    for item, c in zip(graphs, colours, strict=True):
        n = item.num_nodes
        out.append(
            [
                (
                    c[u * n + v],
                    tuple(sorted((c[u * n + w], c[w * n + v]) for w in range(n))),
                )
                for u, v in product(range(n), repeat=2)
            ]
        )
    return out
