"""A figure of rook 4×4 and Shrikhande, and of the walks that tell them apart or not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.datasets import rook_shrikhande
from sekgnn.encoding.encoder import encode_many
from sekgnn.encoding.walk_encoding import WalkEncoding
from sekgnn.graphs import Graph
from sekgnn.reports.figures import INK, MARK, WATCHED, draw_png
from sekgnn.wl.drawing import draw_graph, neighbourhood_shape, ring_positions

NAMES = ("rook 4×4", "Shrikhande")
SHAPES = tuple(neighbourhood_shape(graph, 0) for graph in rook_shrikhande())
"""What the neighbours of a node form, without the node itself."""
ENCODING = WalkEncoding(
    num_shells=2, walk_length=12, scope=("graph", "internal"), radius=1
)
PLACES = {"graph": "on the whole graph", "internal1": "among a node's neighbours"}
_COLOURS = (WATCHED, MARK)
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


def step_values(scope: str) -> dict[str, NDArray[np.float64]]:
    """Return the channels of a scope by name, at any node of both graphs, ``[2, l]``.

    All nodes of either graph have the same encoding.
    """
    both = np.stack(
        [e[0] for e in encode_many(rook_shrikhande(), ENCODING)]
    )  # [2, C, l]
    return {
        name.removeprefix(f"{scope}/"): both[:, c]
        for c, name in enumerate(ENCODING.channels)
        if name.startswith(f"{scope}/")
    }


def comparison_png(apart: Mapping[str, bool]) -> bytes:
    """Return a PNG: both graphs around node 0, and their step curves in each scope.

    ``apart`` says which scopes, keys of :data:`PLACES`, tell the graphs apart.
    """

    def draw(figure: Any) -> None:
        figure.text(0.03, 0.975, _headline(apart), va="top", size=17, weight="bold")
        figure.text(0.03, 0.9, _SUBTITLE, va="top", size=10.5, color="#555555")
        grid = figure.add_gridspec(
            2, 2, height_ratios=(1.25, 1), left=0.06, right=0.97, top=0.81,
            bottom=0.065, hspace=0.2, wspace=0.2,
        )  # fmt: skip
        for i, graph in enumerate(rook_shrikhande()):
            _draw_graph(figure.add_subplot(grid[0, i]), graph, i)
        for i, (scope, differ) in enumerate(apart.items()):
            axes = figure.add_subplot(grid[1, i])
            _draw_curves(axes, scope)
            verb = "told apart" if differ else "not told apart"
            title = f"walks {PLACES[scope]}: {verb}"
            axes.set_title(title, loc="left", weight="bold", size=11.5)
        handles, labels = axes.get_legend_handles_labels()
        axes.legend(handles[:2], labels[:2], frameon=False, loc="upper left", ncols=2)

    return draw_png((11, 9.8), draw, arrange=False, dpi=150)


def _headline(apart: Mapping[str, bool]) -> str:
    """Say which walks tell the graphs apart, the others in a second line."""
    pair = " from ".join(NAMES)
    does, not_ = (
        " and ".join(PLACES[scope] for scope, differ in apart.items() if differ is told)
        for told in (True, False)
    )
    if not does:
        return f"No walk here tells {pair}"
    return f"Walks {does} tell {pair}" + (f",\nwalks {not_} do not" if not_ else "")


def _draw_graph(axes: Any, graph: Graph, which: int) -> None:
    """Draw rings around node 0 and bring out what its neighbours are joined to."""
    colour = _COLOURS[which]
    near = set(graph.neighbors(0).tolist())
    large = [v == 0 or v in near for v in range(graph.num_nodes)]
    draw_graph(
        axes,
        graph,
        ring_positions(graph),
        faces=[INK, *(colour if own else "#FFFFFF" for own in large[1:])],
        outlines=["white" if own else "#B0B0B0" for own in large],
        widths=[1.4] * graph.num_nodes,
        texts=["v"],
        sizes=[1.0 if own else 0.65 for own in large],
        centre=0,
        accent=colour,
    )
    axes.set_title(NAMES[which], color=colour, weight="bold", size=13, pad=15)
    text = f"neighbours of v form {SHAPES[which]}"
    axes.text(0.5, 1.0, text, transform=axes.transAxes, ha="center")


def _draw_curves(axes: Any, scope: str) -> None:
    """Draw a few channels of one scope over the steps, both graphs."""
    steps = np.arange(1, ENCODING.walk_length + 1)
    top, marked = 0.0, False
    values = step_values(scope)
    for kind in (kind for kind in _MEANING if kind in values):
        curves = values[kind]
        first: dict[str, Any] = {"linewidth": 5, "alpha": 0.55}
        second: dict[str, Any] = {
            "linewidth": 1.8,
            "linestyle": (0, (4, 2)),
            "marker": "o",
        }
        for i, style in enumerate((first, second)):
            axes.plot(
                steps, curves[i], color=_COLOURS[i], label=NAMES[i], markersize=4,
                **style,
            )  # fmt: skip
        top = max(top, curves.max())
        axes.annotate(
            _MEANING[kind], (steps[-1], curves[:, -1].max()), xytext=(0, 7), ha="right",
            textcoords="offset points", size=9,
        )  # fmt: skip
        differ = np.flatnonzero(~np.isclose(curves[0], curves[1], atol=1e-9))
        if differ.size and not marked:
            marked, at = True, differ[0]
            t, (a, b) = steps[at], curves[:, at]
            axes.annotate(
                f"first difference, t = {t}:\n{a:.4g} against {b:.4g}",
                (t, (a + b) / 2),
                xytext=(t + 1.2, 0.58 * (a + b) + 0.25 * top),
                arrowprops={"arrowstyle": "-", "color": INK, "linewidth": 0.9},
                size=9,
                va="center",
            )
    axes.set(
        xlabel="steps t",
        ylabel="probability, summed",
        ylim=(0, 1.3 * top),
        xlim=(steps[0] - 0.4, steps[-1] + 0.4),
        xticks=steps,
    )
    axes.grid(axis="y", color="#EEEEEE")
    axes.set_axisbelow(True)
