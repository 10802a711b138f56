"""The walks around every node as exact curves, step by step."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

import numpy as np

from sekgnn.digest import number_colours
from sekgnn.encoding.walk_encoding import Scope
from sekgnn.graphs.graph import Graph
from sekgnn.graphs.labelled import LabelledGraph
from sekgnn.wl.batch import Batch
from sekgnn.wl.encodings.walks import (
    Multisets,
    Power,
    Walks,
    landing_powers,
    multiset_text,
    step_multisets,
    sum_text,
)

STEPS = 8
"""Steps of a curve, if fractions do not become too long."""
LENGTH = 250_000
"""Characters of the fractions of one scope and radius, at most."""
_WORK = 30_000_000  # products and fractions of one kind of walk
_SHELLS = 2
_KINDS: tuple[tuple[Scope, int | None], ...] = (
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
        _kind(plain, Walks(scope, radius, num_shells=_SHELLS, walk_length=STEPS))
        for scope, radius in _KINDS
    ]


def _kind(batch: Batch, walks: Walks) -> dict[str, Any]:
    """Return one kind of walks."""
    _, numbers = number_colours(walks.colours(batch))
    _, first = np.unique(numbers, return_index=True)
    chosen = [batch.locate(node) for node in first.tolist()]
    affordable = min(STEPS, _WORK // max(1, _work(batch, walks, chosen)))
    powers = [_powers(item.graph, walks, affordable) for item in batch.graphs]
    walking = [
        step_multisets(batch.graphs[g].graph, v, walks, powers[g]) for g, v in chosen
    ]
    curves: list[dict[str, list[list[str]]]] = [{} for _ in chosen]
    steps, length = 0, 0
    while steps < affordable:
        points = [_points(next(one)) for one in walking]
        length += sum(
            len(text) + 4 for new in points for p in new.values() for text in p
        )
        if length > LENGTH:
            break
        for curve, new in zip(curves, points, strict=True):
            for name, point in new.items():
                curve.setdefault(name, []).append(point)
        steps += 1
    split = batch.node_ptr[1]
    return {
        "scope": walks.scope,
        "radius": walks.radius,
        "place": walks.place(),
        "steps": steps,
        "classes": [numbers[:split].tolist(), numbers[split:].tolist()],
        "curves": curves,
    }


def _work(batch: Batch, walks: Walks, chosen: list[tuple[int, int]]) -> int:
    """Return roughly what a step of the walks around some nodes costs."""
    total = 0.0
    for g, item in enumerate(batch.graphs):
        n, graph = item.num_nodes, item.graph
        nodes = [v for h, v in chosen if h == g]
        near = graph.adjacency().astype(float) + np.eye(n)
        reach = np.linalg.matrix_power(near, walks.radius or _SHELLS)
        balls = np.count_nonzero(reach[nodes], axis=1)
        degree = 1 + graph.indices.size / max(1, n)
        products = (n**2 if walks.radius is None else (balls**2).sum()) * degree
        total += products + 40 * (balls**2).sum()  # fractions are dearer
    return int(total)


def _powers(graph: Graph, walks: Walks, steps: int) -> Iterable[Power] | None:
    """Return the walk on the whole graph, once for all its nodes."""
    if walks.radius is not None:
        return None
    near = [[v, *graph.neighbors(v).tolist()] for v in range(graph.num_nodes)]
    return list(islice(landing_powers(near), steps))


def _points(step: Multisets) -> dict[str, list[str]]:
    """Return one step of the curves of a node: the sum, and the multiset if larger."""
    return {
        name: [sum_text(values).removeprefix("sum ")]
        + [multiset_text(values)] * (values.total() > 1)
        for name, values in step.items()
    }
