"""Certificates: verdicts that can be checked without this library.

``check_certificate.py`` derives every signature from the edges, by its definition. A
certificate holds

* of separated graphs, the classes of every round up to the one in which they differ, a
  colour that one graph has more often, and its unfolding;
* of others, the stable partition of both, and the bijection between its classes.
"""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.digest import number_colours
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs.graph import Graph
from sekgnn.hops import hop_pairs
from sekgnn.wl.encodings.walks import Walks, ball_of, landing_powers, pair_groups
from sekgnn.wl.fwl import TwoFWL
from sekgnn.wl.hop_wl import HopColouring, KHopWL, OneWL
from sekgnn.wl.sek import SEK, SEKTwoFWL, SubgraphWL

if TYPE_CHECKING:
    from sekgnn.wl.verdict import Verdict

FORMAT = "sekgnn certificate 1"
MOST_NODES = {"nodes": 200, "pairs": 60}
"""Most nodes of a graph whose certificate is checked in about a minute, by the objects
that the test colours."""
MOST_LEVELS = 256
"""Most hops, shells, steps and radii for the checker."""


def certificate(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as plain JSON values that can be checked independently.

    Raises:
        ConfigError: If the test, or an encoding of it, has no certificates.
        GraphInputError: If the graphs are too large.
    """
    run = verdict.run
    _check(verdict)
    out: dict[str, Any] = {
        "format": FORMAT,
        "test": run.test.to_dict(),
        "graphs": [
            _graph(item, name)
            for item, name in zip(run.batch.graphs, verdict.names, strict=True)
        ],
        "separated": verdict.separated,
    }
    if verdict.round is None:
        by_graph = _by_graph(verdict, number_colours(run.history[-1])[1])
        first, second = numberings = list[dict[int, int]]([{}, {}])
        out["partition"] = [
            [numbering.setdefault(number, len(numbering)) for number in numbers]
            for numbering, numbers in zip(numberings, by_graph, strict=True)
        ]
        out["bijection"] = [[first[number], second[number]] for number in first]
        return out
    classes = verdict.words.classes[: verdict.round + 1]
    out["rounds"] = [_by_graph(verdict, numbers) for numbers in classes]
    out["colour"] = _colour(verdict, classes)
    return out


def _check(verdict: Verdict) -> None:
    """Refuse tests unknown to the checker, and graphs too large for it."""
    test = verdict.run.test
    if type(test) not in (OneWL, KHopWL, SubgraphWL, SEK, TwoFWL, SEKTwoFWL):
        raise ConfigError(
            f"there are no certificates of {test.name}; use 1wl, khop, subgraph, sek, "
            "2fwl or sek2fwl."
        )
    encodings = test.encodings if isinstance(test, SEK) else ()
    for f in encodings:
        if type(f) is not Walks:
            raise ConfigError(
                f"a certificate of {test.name} supports walks only, not the encoding "
                f"{f.name}; choose --encoding walks."
            )
    for parameters in (test, *encodings):
        for name, value in vars(parameters).items():
            if isinstance(value, int) and value > MOST_LEVELS:
                raise ConfigError(
                    f"{name} of a certificate is at most {MOST_LEVELS}, got {value}."
                )
    most = MOST_NODES[test.objects]
    largest = max(verdict.run.batch.sizes)
    if largest > most:
        raise GraphInputError(
            f"a graph of {largest} nodes is too large for a certificate of {test.name},"
            f" which is checked in exact fractions and takes up to {most}; use "
            f"{'smaller graphs' if most == 200 else 'a test on nodes, such as sek'}."
        )


def _graph(item: Graph, name: str) -> dict[str, Any]:
    """Return a graph: every edge once, with its label."""
    row, col = item.edge_index()
    once = row < col
    nodes, edges = item.node_labels, item.edge_labels
    return {
        "name": name,
        "num_nodes": item.num_nodes,
        "edges": np.stack([row[once], col[once]], axis=1).tolist(),
        "node_labels": None if nodes is None else nodes.tolist(),
        "edge_labels": None if edges is None else edges[once].tolist(),
    }


def _by_graph(verdict: Verdict, numbers: NDArray[np.int64]) -> list[list[int]]:
    ptr = verdict.run.colouring.ptr
    return [numbers[ptr[g] : ptr[g + 1]].tolist() for g in (0, 1)]


def _colour(verdict: Verdict, classes: list[NDArray[np.int64]]) -> dict[str, Any]:
    """Return the colour that differs, an object with it, and its unfolding."""
    run, item = verdict.run, verdict.witness
    assert item is not None and verdict.round is not None
    graph, nodes = run.colouring.locate(item)
    number = int(classes[-1][item])
    facts = [_facts(verdict, run.batch.graphs[graph], node) for node in nodes]
    return {
        "class": number,
        "counts": verdict.histogram(verdict.round)[number].tolist(),
        "graph": graph,
        "nodes": nodes,
        "facts": json.loads(json.dumps(facts, default=str)),
        "unfolding": [
            {"was": int(before[item]), "sees": _seen(verdict, item, before)}
            for before in classes[:-1]
        ],
    }


def _facts(verdict: Verdict, item: Graph, node: int) -> list[Any]:
    """Return the label of a node and its walks."""
    test = verdict.run.test
    label = 0 if item.node_labels is None else int(item.node_labels[node])
    fs = test.encodings if isinstance(test, SEK) else ()
    return [label, *(walk_vectors(item, node, f) for f in fs if isinstance(f, Walks))]


def walk_vectors(item: Graph, node: int, walks: Walks) -> dict[str, list[Any]]:
    """Return the value of a node in fractions, by group of pairs.

    The name of a group is its part of f and two distances to the centre, as in ``"f3: 1
    to 2"``, or ``"f3: 1 to 1, returns"`` for i = j. Each of its rows holds the steps of
    a pair, both labels and, last, its count; or only the steps, summed.
    """
    centred = walks.scope != "internal"
    nodes, bounds, near = ball_of(item, node, walks, centred)
    labels = [0] * item.num_nodes
    if item.node_labels is not None:
        labels = item.node_labels.tolist()
    powers = list(islice(landing_powers(near), walks.walk_length))
    out: dict[str, list[Any]] = {}
    for i, j, same in pair_groups(np.array(bounds), walks, centred).values():
        rows = [
            (*(Fraction(now[a, b], d) for now, d in powers),
             labels[nodes[a]], labels[nodes[b]])
            for a in i.tolist() for b in j.tolist() if same is None or same == (a == b)
        ]  # fmt: skip
        if not rows:
            continue
        ends = [int(np.searchsorted(bounds, k[0], side="right")) - 1 for k in (i, j)]
        part_of_f = f"f{1 + sum(end > 0 for end in ends)}"
        returns = ", returns" if same or not any(ends) else ""
        name = f"{part_of_f}: {ends[0]} to {ends[1]}{returns}"
        if walks.multisets:
            counts = sorted(Counter(rows).items())
            out[name] = [(*row, n) for row, n in counts]
        else:
            sums = tuple(map(sum, zip(*rows, strict=True)))[:-2]
            out |= {name: list(sums)} if any(sums) else {}
    return dict(sorted(out.items()))


def _seen(verdict: Verdict, item: int, classes: NDArray[np.int64]) -> list[Any]:
    """Return the multisets that a step reads: members and their counts."""
    test, colouring = verdict.run.test, verdict.run.colouring
    rows: list[list[tuple[Any, ...]]]
    if isinstance(test, SubgraphWL):
        hops = hop_pairs(verdict.run.batch.packed, test.radius)
        shells = [hops.members(k, item) for k in range(1, test.radius + 1)]
        near = enumerate([np.array([item]), *shells])
        rows = [[(k, c) for k, shell in near for c in classes[shell].tolist()]]
    else:
        rows = [
            [tuple(row) for row in classes[source.members].tolist()]
            for source in colouring.sources(item)
        ]
    if isinstance(colouring, HopColouring) and not isinstance(test, SubgraphWL):
        batch, (low, high) = verdict.run.batch, colouring.hops.indptr[item : item + 2]
        labels = [0] * int(high - low)
        if batch.has_edge_labels:
            labels = batch.edge_labels[low:high].tolist()
        rows[0] = [(e, *row) for e, row in zip(labels, rows[0], strict=True)]
    return [[[*m, n] for m, n in sorted(Counter(row).items())] for row in rows]
