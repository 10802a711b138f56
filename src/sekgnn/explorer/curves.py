"""The walks around every node as exact curves, step by step."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

import numpy as np

from sekgnn.digest import number_colours
from sekgnn.graphs.graph import Graph
from sekgnn.graphs.labelled import LabelledGraph
from sekgnn.wl.batch import Batch
from sekgnn.wl.encodings.walks import (
    Power,
    Walks,
    landing_powers,
    multiset_text,
    step_multisets,
    sum_text,
)

STEPS = 8
"""Steps of a curve, if fractions do not become too long."""
_WORK = 30_000_000  # products of one kind of walk
_LENGTH = 250_000  # characters of one kind of walk
_KINDS = (
    ("graph", None), ("ego", 1), ("ego", 2), ("internal", 1), ("internal", 2),
    ("internal", 3),
)  # fmt: skip


def walk_curves(batch: Batch) -> list[dict[str, Any]]:
    """Return, for each scope and radius, the walks of every node of both graphs.

    A node has a class, shared with all nodes whose walks are the same in exact
    arithmetic, and a class has its curves: by name, per step, the sum of the landing
    probabilities and, where there are several, their multiset. Curves have fewer than
    :data:`STEPS` steps where the work or the fractions would be too long, and none
    (``steps`` is 0) where not even one step is affordable.
    """
    plain = Batch.of(LabelledGraph(item.graph) for item in batch.graphs)
    return [
        _kind(plain, Walks(scope, radius, num_shells=2, walk_length=STEPS))
        for scope, radius in _KINDS
    ]


def _kind(batch: Batch, walks: Walks) -> dict[str, Any]:
    """Return one kind of walks."""
    head = {"scope": walks.scope, "radius": walks.radius, "place": walks.place()}
    steps = min(STEPS, _WORK // max(1, _products(batch, walks)))
    if not steps:
        return {**head, "steps": 0, "classes": [[], []], "curves": []}
    _, numbers = number_colours(walks.colours(batch))
    _, first = np.unique(numbers, return_index=True)
    powers = [_powers(item.graph, walks, steps) for item in batch.graphs]
    curves = []
    for node in first.tolist():
        g, v = batch.locate(node)
        found = step_multisets(batch.graphs[g].graph, v, walks, powers[g])
        curves.append(_texts(list(islice(found, steps))))
    longest = np.array([_lengths(curve, steps) for curve in curves]).reshape(-1, steps)
    steps = int(np.count_nonzero(np.cumsum(longest.sum(axis=0)) <= _LENGTH))
    split = batch.node_ptr[1]
    return {
        **head,
        "steps": steps,
        "classes": [numbers[:split].tolist(), numbers[split:].tolist()],
        "curves": [
            {name: points[:steps] for name, points in curve.items()} for curve in curves
        ],
    }


def _products(batch: Batch, walks: Walks) -> int:
    """Return roughly how many products a step of all nodes takes."""
    total = 0
    for item in batch.graphs:
        graph = item.graph
        density = 1 + graph.indices.size / max(1, graph.num_nodes)
        if walks.radius is None:
            total += int(graph.num_nodes**2 * density)
            continue
        near = graph.adjacency() + np.eye(graph.num_nodes, dtype=np.int64)
        ball = np.linalg.matrix_power(near.astype(float), walks.radius) > 0
        total += int((ball.sum(axis=1) ** 2 * density).sum())
    return total


def _powers(graph: Graph, walks: Walks, steps: int) -> Iterable[Power] | None:
    """Return the walk on the whole graph, once for all its nodes."""
    if walks.radius is not None:
        return None
    near = [[v, *graph.neighbors(v).tolist()] for v in range(graph.num_nodes)]
    return list(islice(landing_powers(near), steps))


def _texts(steps: list[Any]) -> dict[str, list[list[str]]]:
    """Return the curves of one node: per step the sum, and the multiset if larger."""
    return {
        name: [
            [sum_text(step[name]).removeprefix("sum ")]
            + [multiset_text(step[name])] * (step[name].total() > 1)
            for step in steps
        ]
        for name in steps[0]
    }


def _lengths(curve: dict[str, list[list[str]]], steps: int) -> list[int]:
    """Return the characters of each step."""
    return [
        sum(len(text) + 4 for points in curve.values() for text in points[t])
        for t in range(steps)
    ]
