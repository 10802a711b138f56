"""A verdict as a picture: both graphs, round by round, coloured by class."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import require
from sekgnn.errors import GraphInputError
from sekgnn.files import write_atomically
from sekgnn.graphs.graph import Graph
from sekgnn.graphs.molecules import depict

if TYPE_CHECKING:
    from sekgnn.wl.verdict import Verdict

LARGEST = 400
"""Most nodes of a graph that are legible in a picture."""
_ROUNDS = 6
_INCHES = 4.0  # of one graph
_GAP = 0.16  # between the lines of a bond, which is 1.5 long
_CROWD = 200  # edges above which lines get thinner
_LETTERS = 46  # in a line above one graph
_PALETTE = (
    "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb",
    "#ee8866", "#44bb99", "#999933", "#882255", "#99ddff", "#ffaabb", "#000000",
)  # fmt: skip
_COUNTS = ("no", "one", "two", "three", "four", "five", "six")

Positions = NDArray[np.float64]


def draw_verdict(verdict: Verdict, path: str | Path | None = None) -> Any:
    """Draw the figure of :meth:`sekgnn.wl.Verdict.plot`."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    run = verdict.run
    if max(run.batch.sizes, default=0) > LARGEST:
        raise GraphInputError(
            f"a picture shows at most {LARGEST} nodes per graph, these have "
            f"{run.batch.sizes}; use explain() or to_json()."
        )
    last = verdict.rounds if verdict.round is None else verdict.round
    rounds = range(last + 1)[-_ROUNDS:]  # up to the one that decides
    figure = Figure(
        figsize=(2 * _INCHES, (_INCHES + 0.5) * len(rounds) + 0.6), layout="constrained"
    )
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(rounds), 2, squeeze=False)
    drawings = _drawings(verdict)
    for row, round in zip(axes, rounds, strict=True):
        counts = verdict.histogram(round)
        for g, axis in enumerate(row):
            classes = verdict.words.classes[round][run.colouring.node_items(g)]
            uneven = counts[classes, 0] != counts[classes, 1]
            draw_graph(
                axis,
                run.batch.graphs[g],
                faces=[_PALETTE[k % len(_PALETTE)] for k in classes],
                outlines=["black" if u else "white" for u in uneven],
                widths=[1.6 if u else 0.5 for u in uneven],
                **drawings[g],
            )
            kinds = np.flatnonzero(counts[:, g]).size
            colours = "colour" if kinds == 1 else "colours"
            about = [verdict.names[g], f"round {round}: {kinds} {colours}"]
            if len(", ".join(about)) <= _LETTERS:
                about = [", ".join(about)]
            centre = drawings[g].get("centre")
            if centre is not None:
                shape = neighbourhood_shape(run.batch.graphs[g], centre)
                about.append(f"neighbours of node {centre}: {shape}")
            axis.set_title(_wrapped(about, _LETTERS), fontsize=10, parse_math=False)
    text = _wrapped([verdict.sentence()], 2 * _LETTERS)
    figure.suptitle(text, fontsize=10, parse_math=False)
    if path is not None:
        kind = Path(path).suffix.lstrip(".") or "png"
        save = partial(figure.savefig, format=kind, dpi=120)
        write_atomically(Path(path), save)
    return figure


def _wrapped(texts: Sequence[str], letters: int) -> str:
    """Join texts with line breaks, in lines of at most ``letters``."""
    return "\n".join(line for text in texts for line in textwrap.wrap(text, letters))


def _drawings(verdict: Verdict) -> list[dict[str, Any]]:
    """Return positions, texts and a node in the centre, the same in every round.

    Molecules are drawn as such. A strongly regular graph is a tangle in any layout: it
    is drawn around one node, the one that tells the graphs apart.
    """
    graphs = verdict.run.batch.graphs
    molecules = [m for m in map(depict, graphs) if m is not None]
    if len(molecules) == len(graphs):
        return [{"texts": m[0], "pos": m[1], "bonds": True} for m in molecules]
    out: list[dict[str, Any]] = []
    tangled = all(map(_is_tangled, graphs))
    for graph, centre in zip(graphs, _centres(verdict), strict=True):
        texts = [str(v) for v in range(graph.num_nodes)]
        if tangled:
            pos = ring_positions(graph, centre)
            out.append({"texts": texts, "pos": pos, "centre": centre})
        else:
            out.append({"texts": texts, "pos": layout(graph)})
    return out


def _centres(verdict: Verdict) -> list[int]:
    """Return a node of each graph: the witness and its counterpart, or the first."""
    out = [0, 0]
    for item in (verdict.witness, verdict.counterpart):
        if item is not None:
            graph, nodes = verdict.run.colouring.locate(item)
            out[graph] = nodes[0] if nodes else 0  # an empty graph may be an object
    return out


def _is_tangled(graph: Graph) -> bool:
    """Return whether a graph is strongly regular with edges among the neighbours."""
    nx = require("networkx", None)
    whole = graph.to_networkx()
    if not len(whole) or not nx.is_strongly_regular(whole):
        return False
    return bool(nx.triangles(whole, 0))


def draw_graph(
    axis: Any,
    graph: Graph,
    pos: Positions,
    faces: Sequence[str],
    *,
    outlines: Sequence[str],
    widths: Sequence[float],
    texts: Sequence[str] = (),
    sizes: Sequence[float] = (),
    bonds: bool = False,
    centre: int | None = None,
    accent: str = "#333333",
) -> None:
    """Draw one graph within the axes, its nodes at ``pos``, ``[n, 2]``.

    Nodes have faces and rings (``outlines``, ``widths`` in points) and ``sizes``,
    relative to the usual one; ``texts`` are written into them if there is room.
    ``bonds`` are drawn as in chemistry, by the labels of edges. Edges among the
    neighbours of a ``centre`` are drawn in the colour ``accent``.
    """
    from matplotlib.collections import LineCollection
    from scipy.spatial.distance import pdist

    edges = graph.edge_index().T
    edges = edges[edges[:, 0] < edges[:, 1]]
    corners = pos if len(pos) else np.zeros((1, 2))
    low, high = corners.min(axis=0), corners.max(axis=0)
    extent = max(float((high - low).max()), 1e-9)
    room = float(pdist(pos).min()) if len(pos) > 1 else extent
    unit = 72 * 0.8 * _INCHES / extent  # points per unit of pos
    points = float(np.clip(0.7 * room * unit, 4, 22))  # diameter of a node
    if bonds:
        lines, styles = _bond_lines(graph, pos)
        options: dict[str, Any] = {"colors": "#333333", "linestyles": styles}
        options["linewidths"] = 1.2
    else:
        kinds = np.zeros(len(edges), dtype=np.int64)
        if centre is not None:  # edges to the centre, and those among its neighbours
            near = graph.neighbors(centre)
            kinds[(edges == centre).any(axis=1)] = 1
            kinds[np.isin(edges, near).all(axis=1)] = 2
        edges = edges[np.argsort(kinds, kind="stable")]
        kinds = np.sort(kinds)
        lines = [pos[edge] for edge in edges]
        if centre is None and len(edges) < _CROWD:
            lines = [_line(pos, u, v, points / unit / 2) for u, v in edges]
        crowd = 0.8 if len(edges) < _CROWD else 0.4
        bold = 2.8 if (kinds == 2).sum() < 20 else 1.2
        looks: tuple[tuple[str, float, Any], ...] = (
            ("#dddddd", crowd, "-"),
            ("#aaaaaa", 1.0, (0, (2, 2))),
            (accent, bold, "-"),
        )
        if centre is None:
            looks = (("#aaaaaa", 1.5 * crowd, "-"),)
        options = {
            name: [looks[k][i] for k in kinds]
            for i, name in enumerate(("colors", "linewidths", "linestyles"))
        }
    axis.add_collection(LineCollection(lines, capstyle="round", **options))
    shares = np.asarray(sizes) if len(sizes) else np.ones(len(pos))
    axis.scatter(
        pos[:, 0],
        pos[:, 1],
        s=(points * shares) ** 2,
        c=list(faces),
        edgecolors=list(outlines),
        linewidths=[width * min(1.0, points / 10) for width in widths],
        zorder=2,
    )
    heights = points * shares / 2.2  # of letters
    if all(size > 2 + 1.8 * len(t) for size, t in zip(heights, texts, strict=False)):
        for xy, text, face, size in zip(pos, texts, faces, heights, strict=False):
            axis.text(
                *xy, text, color=_readable(face), fontsize=size, ha="center",
                va="center", zorder=3, parse_math=False,
            )  # fmt: skip
    margin = 0.8 * points / unit
    middle, half = (low + high) / 2, extent / 2 + margin
    axis.set(
        xlim=(middle[0] - half, middle[0] + half),
        ylim=(middle[1] - half, middle[1] + half),
        aspect="equal",
    )
    axis.axis("off")


def _line(pos: Positions, u: int, v: int, radius: float) -> Positions:
    """Return the line of an edge, straight unless it would pass behind a node.

    Then it is bent (a quadratic Bézier curve) towards the middle of the graph.
    """
    ends = pos[[u, v]]
    step = ends[1] - ends[0]
    others = np.delete(pos, [u, v], axis=0)
    share = np.clip((others - ends[0]) @ step / max(step @ step, 1e-9), 0, 1)
    away = np.linalg.norm(others - ends[0] - share[:, None] * step, axis=1)
    if away.min(initial=np.inf) >= radius:
        return ends
    side = pos.mean(axis=0) - ends.mean(axis=0)
    if np.hypot(*side) < radius:
        side = np.array([-step[1], step[0]])
    bend = 4 * radius * side / np.hypot(*side)
    t = np.linspace(0, 1, 13)[:, None]
    return ends[0] + t * step + 2 * t * (1 - t) * bend


def _bond_lines(graph: Graph, pos: Positions) -> tuple[list[Positions], list[Any]]:
    """Return the lines of all bonds, and their styles.

    The second line of a bond is inside its smallest ring, else on the side of other
    neighbours of its atoms; dashed where the bond is aromatic.
    """
    assert graph.edge_labels is not None
    nx = require("networkx", None)
    whole = graph.to_networkx()
    lines, styles = [], []
    pairs = zip(graph.edge_index().T.tolist(), graph.edge_labels, strict=True)
    for (u, v), kind in pairs:
        if u > v:
            continue
        ends = pos[[u, v]]
        step = ends[1] - ends[0]
        across = np.array([-step[1], step[0]]) * (_GAP / max(np.hypot(*step), 1e-9))
        others = {*whole[u], *whole[v]} - {u, v}
        rest = nx.restricted_view(whole, [], [(u, v)])
        if kind != 1 and nx.has_path(rest, u, v):
            others = {*nx.shortest_path(rest, u, v)} - {u, v}
        side = 0.0
        if others:
            side = np.sign((pos[[*others]].mean(0) - ends.mean(0)) @ across)
        shifts = {2: (-0.5, 0.5), 3: (-1.0, 0.0, 1.0), 12: (0.0, 1.4)}.get(kind, (0.0,))
        if kind in (2, 12) and side:
            shifts = (0.0, 1.4 * side)
        for i, shift in enumerate(shifts):
            short = 0.12 * step if i and kind in (2, 12) and side else 0 * step
            lines.append(ends + shift * across + np.array([short, -short]))
            styles.append((0, (2, 2)) if i and kind == 12 else "-")
    return lines, styles


def _readable(face: str) -> str:
    """Return black or white, whichever is legible on a colour."""
    red, green, blue = (int(face[i : i + 2], 16) for i in (1, 3, 5))
    return "black" if 0.3 * red + 0.59 * green + 0.11 * blue > 150 else "white"


def layout(graph: Graph) -> Positions:
    """Return the position of every node, ``[n, 2]``.

    Distances in the picture follow those in the graph (Kamada and Kawai, 1989);
    components stand side by side, the largest first. A graph with the symmetry of its
    cycle 0, 1, 2, ... is drawn on a ring.
    """
    nx = require("networkx", None)
    whole = graph.to_networkx()
    pos = np.zeros((graph.num_nodes, 2))
    edges = {*whole.edges, *((v, u) for u, v in whole.edges)}
    n = graph.num_nodes
    if (0, 1) in edges and {((u + 1) % n, (v + 1) % n) for u, v in edges} == edges:
        _on_ring(pos, [*range(n)], n / (2 * np.pi), 0)
        return pos
    components = sorted(
        map(sorted, nx.connected_components(whole)), key=lambda p: (-len(p), p)
    )
    across = max(1, math.ceil(math.sqrt(graph.num_nodes)))
    left = bottom = tall = 0.0
    for component in components:
        layout_of = nx.kamada_kawai_layout(whole.subgraph(component))
        local = np.array([layout_of[v] for v in component]).reshape(-1, 2)
        if len(component) > 1:
            edge = np.array([local[component.index(u)] - local[component.index(v)]
                             for u, v in whole.subgraph(component).edges])  # fmt: skip
            local = local / np.median(np.linalg.norm(edge, axis=1))
        _, strength, turn = np.linalg.svd(
            local - local.mean(axis=0), full_matrices=False
        )
        if len(component) > 1 and strength[1] < 0.8 * strength[0]:  # lay it down
            local = local @ turn.T
        local = local - local.min(axis=0)
        wide, high = np.ptp(local, axis=0)
        if left and left + wide > across:
            left, bottom, tall = 0.0, bottom - tall - 1, 0.0
        pos[component] = local + np.array([left, bottom - high])
        left, tall = left + wide + 1, max(tall, high)
    return pos


def ring_positions(graph: Graph, centre: int = 0) -> Positions:
    """Return the position of every node, ``[n, 2]``, on two rings around ``centre``.

    The inner ring follows the edges among the neighbours of the centre; the outer one
    is sorted by the mean direction of a node's neighbours on the inner ring, so that
    few edges cross.
    """
    pos = np.zeros((graph.num_nodes, 2))
    inner: list[int] = []
    first = graph.neighbors(centre).tolist()
    near, stack = set(first), first[::-1]
    while stack:  # depth first
        v = stack.pop()
        if v not in inner:
            inner.append(v)
            stack += [u for u in graph.neighbors(v).tolist()[::-1] if u in near]
    _on_ring(pos, inner, 1, 0)

    def direction(node: int) -> float:
        x, y = pos[graph.neighbors(node)].sum(axis=0)  # the outer ring is still at 0
        return float(np.arctan2(x, y) % (2 * np.pi))  # clockwise from the top

    outer = [v for v in range(graph.num_nodes) if v not in near and v != centre]
    _on_ring(pos, sorted(outer, key=direction), 2, 0.5)
    return pos


def _on_ring(pos: Positions, nodes: list[int], radius: float, turn: float) -> None:
    """Place nodes on a ring clockwise from the top, turned by ``turn`` of a step."""
    angle = np.pi / 2 - 2 * np.pi * (np.arange(len(nodes)) + turn) / max(len(nodes), 1)
    pos[nodes] = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def neighbourhood_shape(graph: Graph, node: int) -> str:
    """Describe the graph on the neighbours of a node, without the node itself.

    Example:
        >>> from sekgnn.graphs import rook_graph, shrikhande_graph
        >>> (
        ...     neighbourhood_shape(rook_graph(4), 0),
        ...     neighbourhood_shape(shrikhande_graph(), 0),
        ... )
        ('two triangles', 'one 6-cycle')
    """
    nx = require("networkx", None)
    around = graph.to_networkx().subgraph(graph.neighbors(node).tolist())
    shapes = Counter(
        _shape_names(around.subgraph(component))
        for component in nx.connected_components(around)
    )
    words = []
    for (singular, plural), count in sorted(shapes.items()):
        number = _COUNTS[count] if count < len(_COUNTS) else str(count)
        words.append(f"{number} {singular if count == 1 else plural}")
    return " and ".join(words) or "none"


def _shape_names(component: Any) -> tuple[str, str]:
    """Return the name of a connected graph, singular and plural."""
    n, m = component.number_of_nodes(), component.number_of_edges()
    degrees = {degree for _, degree in component.degree}
    if n == 1:
        name = "single node"
    elif n == 3 == m:
        name = "triangle"
    elif m == n * (n - 1) // 2:
        name = f"K{n}"
    elif degrees == {2}:
        name = f"{n}-cycle"
    else:
        nx = require("networkx", None)
        triangles = sum(nx.triangles(component).values()) // 3
        more = f"{n} nodes, {m} edges, {triangles} triangles"
        return f"part ({more})", f"parts ({more} each)"
    return name, f"{name}s"
