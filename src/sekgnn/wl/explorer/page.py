"""A page about two graphs: the rounds of each test, weakest first, and walks.

Everything is written into one file: content, style and script.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from itertools import islice
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn._version import __version__
from sekgnn.digest import number_colours
from sekgnn.encoding.walk_encoding import Scope
from sekgnn.errors import GraphInputError
from sekgnn.graphs.graph import Graph
from sekgnn.graphs.molecules import BOND_NUMBERS
from sekgnn.wl.drawing import layout
from sekgnn.wl.encodings.walks import (
    Multisets,
    Power,
    Walks,
    landing_powers,
    multiset_text,
    step_multisets,
    sum_text,
)
from sekgnn.wl.ladder import BOARD, Rung, explored
from sekgnn.wl.refinement import Batch, refine
from sekgnn.wl.verdict import Verdict

LARGEST = 200
"""Most nodes of a graph on a page."""
STEPS = 8
"""Steps of a curve, unless fractions become too long."""
LENGTH = 250_000
"""Most characters of the fractions of one scope and radius."""
_WORK = 30_000_000  # products and fractions of one kind of walk
_SHELLS = 2
_KINDS: tuple[tuple[Scope, int | None], ...] = (
    ("graph", None), ("ego", 1), ("ego", 2), ("internal", 1), ("internal", 2),
    ("internal", 3),
)  # fmt: skip
_SHOWN_CLASSES = 48
_MOST_PAIRS = 64  # most nodes of a graph whose pairs are embedded, too
_LONGEST_LABEL = 60


def page_of(content: Any, about: str = "", home: str = "") -> str:
    """Return a page as HTML; ``about`` describes the pair, ``home`` is a link."""
    return filled(
        "explorer.html",
        " and ".join(content["names"]),
        script=packaged("explorer.js"),
        content=as_script_text({**content, "about": about, "home": home}),
    )


def page_content(verdict: Verdict) -> dict[str, Any]:
    """Return the content of a page as plain JSON values."""
    batch = verdict.run.batch
    check_sizes(batch.sizes)
    rungs, start = rungs_of(verdict)
    return {
        "names": list(verdict.names),
        "graphs": [_graph(item) for item in batch.graphs],
        "tests": rungs,
        "start": start,
        "walks": walk_curves(batch),
        "version": __version__,
    }


def check_sizes(sizes: Sequence[int]) -> None:
    """Refuse graphs of more than :data:`LARGEST` nodes, which a page cannot show."""
    if max(sizes) > LARGEST:
        raise GraphInputError(
            f"a page shows at most {LARGEST} nodes per graph, these have "
            f"{list(sizes)}; use explain() or to_json() ('sekgnn wl')."
        )


def _graph(item: Graph) -> dict[str, Any]:
    """Return the edges, labels and drawing of one graph."""
    row, col = item.edge_index()
    upper = row < col
    out: dict[str, Any] = {
        "n": item.num_nodes,
        "edges": np.stack([row[upper], col[upper]], axis=1).tolist(),
        "places": node_positions(item).round(4).tolist(),
    }
    if item.node_labels is not None:
        names = item.label_names
        out["labels"] = [names.get(n, str(n)) for n in item.node_labels.tolist()]
    if item.edge_labels is not None:
        kinds = item.edge_labels[upper].tolist()
        out["edgeLabels"] = [str(kind) for kind in kinds]
        if item.label_names and set(kinds) <= set(BOND_NUMBERS.values()):
            out["bonds"] = kinds
    return out


def node_positions(graph: Graph) -> NDArray[np.float64]:
    """Return coordinates in [-1, 1]² for every node, ``[n, 2]``."""
    points = layout(graph)
    if len(points):
        points -= (points.max(axis=0) + points.min(axis=0)) / 2
    return points / max(np.abs(points).max(initial=0), 1e-9)


def rungs_of(verdict: Verdict) -> tuple[list[dict[str, Any]], int]:
    """Return the rounds of each test, and the index of the verdict's test.

    A test that is too large for these graphs is listed with the reason.
    """
    asked, batch = verdict.run.test, verdict.run.batch
    rungs = [*explored()]
    if asked not in [rung.test for rung in rungs]:
        labels = {str(rung.test): rung.label for rung in BOARD if not rung.after}
        label = labels.get(str(asked), str(asked))
        if len(label) > _LONGEST_LABEL:
            label = f"{label[: _LONGEST_LABEL - 4]} ..."
        rungs.append(Rung("asked", label, asked, about="the test that was asked for"))
    out: list[dict[str, Any]] = []
    for rung in rungs:
        head = {"label": rung.label, "about": rung.about, "test": str(rung.test)}
        try:
            seen = verdict
            if rung.test != asked:
                seen = Verdict(refine(rung.test, batch), verdict.names)
            out.append({**head, **_seen(seen)})
        except GraphInputError as error:
            out.append({**head, "leftOut": str(error)})
    return out, [rung.test for rung in rungs].index(asked)


def _seen(verdict: Verdict) -> dict[str, Any]:
    """Return every round of one test as plain values."""
    run, classes = verdict.run, verdict.words.classes
    items = [run.colouring.node_items(g) for g in (0, 1)]
    shown = np.concatenate(items)
    pairs = run.test.objects == "pairs" and max(run.batch.sizes) <= _MOST_PAIRS
    rounds = range(verdict.rounds + 1)
    hues = _hues(classes[: len(rounds)], shown)

    def seen(r: int) -> dict[str, Any]:
        now, counts = classes[r], verdict.histogram(r)
        uneven = np.abs(counts[:, 0] - counts[:, 1])
        # show the classes that differ most, then the largest
        order = np.lexsort((-counts.sum(axis=1), -uneven))[:_SHOWN_CLASSES]
        nodes, drawn = np.unique(now[shown]), np.unique(now if pairs else now[shown])
        out = {
            "classes": [now[item].tolist() for item in items],
            "hues": {c: int(hues[r][c]) for c in nodes.tolist()},
            "uneven": drawn[uneven[drawn] > 0].tolist(),
            "bars": [
                [c, *counts[c].tolist(), int(hues[r][c])]
                for c in np.sort(order).tolist()
            ],
            "kinds": len(counts),
            "unevenKinds": int(np.count_nonzero(uneven)),
        }
        if pairs:  # (u, v), u first
            first, second = np.split(now, run.colouring.ptr[1:2])
            out["pairs"] = [first.tolist(), second.tolist()]
            out["pairHues"] = {c: int(hues[r][c]) for c in drawn.tolist()}
        return out

    sentence, *reasons = verdict.explain().split("\n")
    return {
        "objects": run.test.objects,
        "separated": verdict.separated,
        "round": verdict.round,
        "sentence": sentence,
        "reasons": reasons,
        "witness": _located_object(verdict, verdict.witness),
        "counterpart": _located_object(verdict, verdict.counterpart),
        "rounds": [seen(r) for r in rounds],
    }


def _located_object(verdict: Verdict, item: int | None) -> dict[str, Any] | None:
    """Return the graph and the nodes of an object, and its class when it separates."""
    if item is None or verdict.round is None:
        return None
    graph, nodes = verdict.run.colouring.locate(item)
    return {
        "graph": graph,
        "nodes": nodes,
        "class": int(verdict.words.classes[verdict.round][item]),
    }


def _hues(
    classes: list[NDArray[np.int64]], shown: NDArray[np.int64]
) -> list[NDArray[np.int64]]:
    """Return a hue for every class of every round.

    When a class splits, its largest piece keeps the hue, so that unchanged classes keep
    theirs. Classes of ``shown`` objects get the first hues.
    """
    out: list[NDArray[np.int64]] = []
    used = 0
    before = np.zeros_like(classes[0])  # one class of all
    for now in classes:
        count = int(now.max(initial=-1)) + 1
        sizes = np.bincount(now, minlength=count)
        seen = np.bincount(now[shown], minlength=count) > 0
        parent = np.zeros(count, dtype=np.int64)
        parent[now] = before
        hue = np.full(count, -1, dtype=np.int64)
        inherited: set[int] = set()
        for c in np.lexsort((np.arange(count), -sizes, ~seen)).tolist():
            if out and parent[c] not in inherited:
                inherited.add(int(parent[c]))
                hue[c] = out[-1][parent[c]]
        new = np.flatnonzero(hue < 0)
        new = new[np.argsort(~seen[new], kind="stable")]
        hue[new] = used + np.arange(new.size)
        used += new.size
        out.append(hue)
        before = now
    return out


def walk_curves(batch: Batch) -> list[dict[str, Any]]:
    """Return, for each scope and radius, the walks of every node of both graphs.

    Nodes of one class have the same walks in exact arithmetic, and a class has curves:
    by name, per step, the sum of the landing probabilities and, if there are several,
    their multiset. Curves have fewer than :data:`STEPS` steps if the work or the
    fractions would be too long, and none (``steps`` is 0) if even one step is.
    """
    plain = Batch.of(item.graph for item in batch.graphs)
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
    powers = [_powers(item, walks, affordable) for item in batch.graphs]
    walkers = [step_multisets(batch.graphs[g], v, walks, powers[g]) for g, v in chosen]
    curves: list[dict[str, list[list[str]]]] = [{} for _ in chosen]
    steps, length = 0, 0
    while steps < affordable:
        points = [_points(next(walk)) for walk in walkers]
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
    """Estimate the cost of one step of the walks around some nodes."""
    total = 0.0
    for g, graph in enumerate(batch.graphs):
        n = graph.num_nodes
        nodes = [v for h, v in chosen if h == g]
        near = graph.adjacency().astype(float) + np.eye(n)
        reach = np.linalg.matrix_power(near, walks.radius or _SHELLS)
        balls = np.count_nonzero(reach[nodes], axis=1)
        degree = 1 + graph.indices.size / max(1, n)
        products = (n**2 if walks.radius is None else (balls**2).sum()) * degree
        total += products + 40 * (balls**2).sum()  # fractions are dearer
    return int(total)


def _powers(graph: Graph, walks: Walks, steps: int) -> Iterable[Power] | None:
    """Return the walk on the whole graph, shared by all its nodes."""
    if walks.radius is not None:
        return None
    near = [[v, *graph.neighbors(v).tolist()] for v in range(graph.num_nodes)]
    return list(islice(landing_powers(near), steps))


def _points(step: Multisets) -> dict[str, list[str]]:
    """Return one step of the curves of a node: sums, and multisets if larger."""
    return {
        name: [sum_text(values).removeprefix("sum ")]
        + [multiset_text(values)] * (values.total() > 1)
        for name, values in step.items()
    }


def filled(template: str, title: str, **html: str) -> str:
    """Fill a template of this package; ``title`` is plain text.

    The policy of the page allows its ``script``, if there is one, and loads nothing.
    """
    html |= {"style": packaged("explorer.css"), "title": escape(title)}
    rules = ["default-src 'none'", "base-uri 'none'", "form-action 'none'"]
    for name in sorted({"style", "script"} & html.keys()):
        digest = base64.b64encode(hashlib.sha256(html[name].encode()).digest())
        rules.append(f"{name}-src 'sha256-{digest.decode()}'")
    policy = "; ".join(rules)
    return Template(packaged(template)).substitute(html, policy=policy)


def as_script_text(content: Any) -> str:
    r"""Return JSON that is safe inside a ``<script>`` element.

    Example:
        >>> print(as_script_text("</script>"))
        "\u003c/script>"
    """
    text = json.dumps(content, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("&", "\\u0026")


@cache
def packaged(name: str) -> str:
    """Return the text of a file in this folder."""
    return files(__package__).joinpath(name).read_text("utf-8")
