"""A figure of two graphs and of the walks that do or do not tell them apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.encoding.walk_encoding import SHELL_SIZES
from sekgnn.graphs import Graph
from sekgnn.reports.encoding_comparison import (
    Comparison,
    ScopeComparison,
    describe_neighbourhood,
    neighbour_components,
)
from sekgnn.reports.figures import INK, MARK, WATCHED, draw_png

FIRST, SECOND = WATCHED, MARK
_FAINT = "#D8D8D8"
_SHOWN = ("return", "across_diagonal/1", "across_off_diagonal/1")
_MEANING = {
    "return": "return to v",
    "across_diagonal/1": "neighbour back to itself",
    "across_off_diagonal/1": "neighbour to another neighbour",
}
_SUBTITLE = (
    "Above: each graph as its node v sees it; the neighbours of v and the edges among "
    "them in colour.\n"
    "Below: where walks are after t steps, summed over the neighbours of v."
)


def comparison_png(
    graphs: tuple[Graph, Graph], names: tuple[str, str], comparison: Comparison
) -> bytes:
    """Return a PNG: both graphs around node 0, and their step curves in each scope.

    Args:
        graphs: The two graphs.
        names: What to call them.
        comparison: From :func:`~sekgnn.reports.encoding_comparison.compare_graphs`.
    """

    def draw(figure: Any) -> None:
        walks = _walks(comparison)
        columns = 2 * max(2, len(walks))
        grid = figure.add_gridspec(
            2,
            columns,
            height_ratios=(1.25, 1),
            left=0.06,
            right=0.97,
            top=0.81,
            bottom=0.065,
            hspace=0.2,
            wspace=0.55,
        )
        headline = _headline(names, comparison)
        figure.text(0.03, 0.975, headline, va="top", size=17, weight="bold")
        figure.text(0.03, 0.9, _SUBTITLE, va="top", size=10.5, color="#555555")
        half = columns // 2
        for i, colour in enumerate((FIRST, SECOND)):
            axes = figure.add_subplot(grid[0, i * half : (i + 1) * half])
            _draw_graph(axes, graphs[i], names[i], colour)
        width = columns // len(walks)
        for i, verdict in enumerate(walks):
            axes = figure.add_subplot(grid[1, i * width : (i + 1) * width])
            _draw_curves(axes, verdict, names, comparison, legend=i == 0)

    return draw_png((11, 9.8), draw, arrange=False, dpi=150)


def _headline(names: tuple[str, str], comparison: Comparison) -> str:
    """Say in one sentence which scopes tell the graphs apart."""
    walks = _walks(comparison)
    apart = [_place(s.scope) for s in walks if s.separated]
    alike = [_place(s.scope) for s in walks if not s.separated]
    pair = f"{names[0]} from {names[1]}"
    if not apart:
        return f"No walk here tells {pair}"
    if not alike:
        return f"Walks {' and '.join(apart)} tell {pair}"
    return (
        f"Walks {' and '.join(apart)} tell {pair},\nwalks {' and '.join(alike)} do not"
    )


def _walks(comparison: Comparison) -> list[ScopeComparison]:
    return [s for s in comparison.scopes if s.scope != SHELL_SIZES]


def _place(scope: str) -> str:
    """Say where the walks of a scope live."""
    loops, slash, scope = scope.rpartition("/")
    if slash:
        return f"{_place(scope)} {'without' if 'no' in loops else 'with'} self-loops"
    if scope == "graph":
        return "on the whole graph"
    kind = scope.rstrip("0123456789")
    radius = scope.removeprefix(kind)
    if kind == "internal" and radius == "1":
        return "among a node's neighbours"
    without = " without it" if kind == "internal" else ""
    return f"within {radius} of a node{without}"


def _draw_graph(axes: Any, graph: Graph, name: str, colour: str) -> None:
    """Draw rings around node 0 and bring out what its neighbours are joined to."""
    place = ring_positions(graph, 0)
    rings = shells(graph, 0)
    near = set(rings[1]) if len(rings) > 1 else set()
    row, col = graph.edge_index()
    for u, v in zip(row.tolist(), col.tolist(), strict=True):
        if u > v:
            continue
        inside = u in near and v in near
        spoke = 0 in (u, v)
        axes.plot(
            *place[[u, v]].T,
            color=colour if inside else "#B8B8B8" if spoke else _FAINT,
            linewidth=3.2 if inside else 1.0,
            linestyle=(0, (2, 2)) if spoke else "-",
            zorder=2 if inside else 1,
            solid_capstyle="round",
        )
    for v in range(graph.num_nodes):
        fill = INK if v == 0 else colour if v in near else "white"
        axes.scatter(
            *place[v],
            s=210 if v == 0 or v in near else 90,
            color=fill,
            edgecolor="white" if v == 0 or v in near else "#B0B0B0",
            linewidth=1.4,
            zorder=3,
        )
    axes.text(*place[0], "v", color="white", ha="center", va="center", zorder=4)
    axes.set_title(name, color=colour, weight="bold", size=13, pad=15)
    axes.text(
        0.5,
        1.0,
        f"neighbours of v form {describe_neighbourhood(graph, 0)}",
        transform=axes.transAxes,
        ha="center",
    )
    reach = len(rings) - 1 + 0.12
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    axes.axis("off")


def _draw_curves(
    axes: Any,
    verdict: ScopeComparison,
    names: tuple[str, str],
    comparison: Comparison,
    *,
    legend: bool,
) -> None:
    """Draw a few channels of one scope over the steps, both graphs."""
    encoding = comparison.encoding
    steps = np.arange(encoding.first_step, encoding.walk_length + 1)
    top = 0.0
    for kind in _SHOWN:
        channel = f"{verdict.scope}/{kind}"
        if channel not in encoding.channels:
            continue
        c = encoding.channels.index(channel)
        curves = [values[:, c].mean(axis=0) for values in comparison.encodings]
        axes.plot(
            steps, curves[0], color=FIRST, linewidth=5, alpha=0.55, label=names[0]
        )
        axes.plot(
            steps,
            curves[1],
            color=SECOND,
            linewidth=1.8,
            linestyle=(0, (4, 2)),
            marker="o",
            markersize=4,
            label=names[1],
        )
        high = max(curve.max() for curve in curves)
        top = max(top, high)
        axes.annotate(
            _MEANING[kind],
            (steps[-1], max(curve[-1] for curve in curves)),
            xytext=(0, 7),
            textcoords="offset points",
            ha="right",
            size=9,
        )
    if legend:
        handles, labels = axes.get_legend_handles_labels()
        axes.legend(handles[:2], labels[:2], frameon=False, loc="upper left", ncols=2)
    verb = "told apart" if verdict.separated else "not told apart"
    axes.set_title(
        f"walks {_place(verdict.scope)}: {verb}", loc="left", weight="bold", size=11.5
    )
    axes.set(
        xlabel="steps t",
        ylim=(0, 1.3 * top or 1),
        xlim=(steps[0] - 0.4, steps[-1] + 0.4),
    )
    axes.set_xticks(steps[:: max(1, len(steps) // 12)])
    axes.set_ylabel("probability, summed")
    axes.grid(axis="y", color="#EEEEEE")
    axes.set_axisbelow(True)
    d = verdict.difference
    if d is not None and d.channel.removeprefix(f"{verdict.scope}/") in _SHOWN:
        axes.annotate(
            f"first difference, t = {d.step}:\n{d.first:.4g} against {d.second:.4g}",
            (d.step, (d.first + d.second) / 2),
            xytext=(d.step + 1.2, 1.16 * (d.first + d.second) / 2 + 0.12 * top),
            arrowprops={"arrowstyle": "-", "color": INK, "linewidth": 0.9},
            size=9,
            va="center",
        )


def shells(graph: Graph, centre: int) -> list[list[int]]:
    """Return the nodes at distance 0, 1, 2, ... of ``centre``; unreached ones last.

    The first shell is ordered by the connected parts that it has without the centre,
    so that what is joined stands together.
    """
    known = {centre}
    found = [[centre]]
    while True:
        reached = [int(u) for v in found[-1] for u in graph.neighbors(v)]
        shell = [u for u in dict.fromkeys(reached) if u not in known]
        if not shell:
            break
        known.update(shell)
        found.append(shell)
    if len(found) > 1:
        found[1] = [v for part in neighbour_components(graph, centre) for v in part]
    unreached = [v for v in range(graph.num_nodes) if v not in known]
    return found + ([unreached] if unreached else [])


def ring_positions(graph: Graph, centre: int = 0) -> NDArray[np.float64]:
    """Return a place for every node, ``[n, 2]``: the centre, and rings around it.

    Ring k holds the nodes at distance k; from the second on they are sorted by the mean
    direction of their neighbours one ring further in, to cross few edges.
    """
    place = np.zeros((graph.num_nodes, 2))
    rings = shells(graph, centre)
    for k in range(1, len(rings)):
        keys = [_direction(graph, place, rings[k - 1], v) for v in rings[k]]
        nodes = [v for _, v in sorted(zip(keys, rings[k], strict=True))]
        if k == 1:
            nodes = rings[k]
        # from the top, clockwise; later rings turned by half a place
        turn = (np.arange(len(nodes)) + (k > 1) / 2) / len(nodes)
        angle = np.pi / 2 - 2 * np.pi * turn
        place[nodes] = k * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return place


def _direction(
    graph: Graph, place: NDArray[np.float64], inner: list[int], node: int
) -> float:
    """Return where the neighbours in ``inner`` lie, clockwise from the top."""
    x, y = place[np.intersect1d(graph.neighbors(node), inner)].sum(axis=0)
    return float(np.arctan2(x, y) % (2 * np.pi))
