"""A figure of the pairs that 2K steps tell apart on random regular graphs."""

from __future__ import annotations

from typing import Any

from studies.theorem1.counts import Cell, Theorem1Record
from studies.theorem1.page import main_cell, predicted_log10, rate

from sekgnn.reports.figures import draw_png

_OWN, _CONTEXT, _CLAIM = "#0072B2", "#D55E00", "#555555"
_FLOOR = 1e-12  # lowest rate drawn


def theorem1_png(record: Theorem1Record) -> bytes:
    """Return a PNG of four panels: over t, over K, over ego-net size, and graphs."""

    def draw(figure: Any) -> None:
        axes = figure.subplots(2, 2)
        figure.subplots_adjust(
            left=0.075, right=0.975, top=0.86, bottom=0.07, hspace=0.34, wspace=0.22
        )
        figure.text(
            0.03, 0.975, "Theorem 1 on random regular graphs", size=17, weight="bold",
            va="top",
        )  # fmt: skip
        figure.text(
            0.03, 0.932,
            "Pairs of nodes of different graphs whose rooted K-hop ego-nets are not "
            "isomorphic. The theorem: 2K steps tell all of them apart.",
            size=10.5, va="top", color="#555555",
        )  # fmt: skip
        _over_steps(axes[0, 0], main_cell(record))
        _over_radii(axes[0, 1], record, main_cell(record).degree)
        _over_sizes(axes[1, 0], record)
        _graphs(axes[1, 1], record)
        for panel in axes.flat:
            panel.grid(color="#EEEEEE")
            panel.set_axisbelow(True)

    return draw_png((12, 9.6), draw, arrange=False)


def _shades(count: int) -> list[Any]:
    """Return colours from dark to light, one per line."""
    import matplotlib as mpl

    last = max(count - 1, 1)
    return [mpl.colormaps["viridis"](0.88 * i / last) for i in range(count)]


def _title(axes: Any, text: str) -> None:
    axes.set_title(text, loc="left", weight="bold", size=11.5)


def _over_steps(axes: Any, cell: Cell) -> None:
    """Draw the share told apart over t, with a mark at 2K, a line per K."""
    steps = range(1, len(cell.alike) + 1)
    for h, colour in zip(cell.radii, _shades(len(cell.radii)), strict=True):
        different = cell.different(h)
        if not different:
            continue
        share = [1 - rate(cell.collisions(h, t), different) for t in steps]
        axes.plot(steps, share, color=colour, linewidth=1.8, label=f"K = {h.radius}")
        axes.plot(
            2 * h.radius, share[2 * h.radius - 1], "o", color=colour, markersize=8,
            markeredgecolor="white", zorder=3,
        )  # fmt: skip
    axes.set(xlabel="steps t", ylabel="share told apart", ylim=(-0.03, 1.05))
    axes.set_xticks(range(2, len(cell.alike) + 1, 2))
    axes.legend(frameon=False, fontsize=9, loc="lower right", title="dot: t = 2K")
    _title(axes, f"What t returns tell apart, n = {cell.nodes}, r = {cell.degree}")


def _over_radii(axes: Any, record: Theorem1Record, degree: int) -> None:
    """Draw the collision rate after 2K steps over K, a line per n."""
    cells = [cell for cell in record.cells if cell.degree == degree]
    for cell, colour in zip(cells, _shades(len(cells)), strict=True):
        rates = [
            (h.radius, rate(cell.collisions(h, 2 * h.radius), cell.different(h)))
            for h in cell.radii
            if cell.different(h)
        ]
        shown = [(k, p) for k, p in rates if p > 0]
        axes.plot(
            *zip(*shown, strict=True), color=colour, marker="o", markersize=4,
            label=f"n = {cell.nodes}" + ("" if cell.in_range else ", out of range"),
        )  # fmt: skip
        bound = [(k, p) for k, p in shown if k == cell.radius_bound]
        if bound:
            axes.plot(*bound[0], "D", color=colour, markersize=9, fillstyle="none")
    axes.set_yscale("log")
    axes.set(xlabel="K", ylabel="share not told apart by 2K steps")
    axes.legend(
        frameon=False, fontsize=9, loc="lower left", title="diamond: the theorem's K"
    )
    _title(axes, f"Collisions after 2K steps, r = {degree} (theorem: none)")


def _over_sizes(axes: Any, record: Theorem1Record) -> None:
    """Draw collision rates over ego-net size: own returns, context, and p^size."""
    returns, context, bounds, claim = [], [], [], []
    for cell in record.cells:
        for h in cell.radii:
            different, size = cell.different(h), cell.ball_mean(h)
            p = rate(cell.collisions(h, 2 * h.radius), different)
            if p == 0:
                continue
            returns.append((size, p))
            c = rate(cell.context_collisions(h, 2 * h.radius), different)
            if c:
                context.append((size, c))
            else:
                bounds.append((size, 1 / different))
            low = predicted_log10(p, size)
            if low > -12:
                claim.append((size, 10**low))
    for points, marker, colour, label in (
        (returns, "o", _OWN, "p: own returns"),
        (context, "s", _CONTEXT, "with the multiset over the ego-net"),
        (bounds, "v", _CONTEXT, "no collision: at most 1 in N"),
        (claim, "_", _CLAIM, "the paper: p to the power of the size"),
    ):
        if points:
            fill = "none" if marker == "v" else colour
            line = colour if marker in "v_" else "none"
            x, y = zip(*points, strict=True)
            axes.scatter(
                x, y, marker=marker, facecolor=fill if marker != "_" else colour,
                edgecolor=line if marker != "_" else None, label=label,
                s=70 if marker == "_" else 26, linewidth=1.2,
            )  # fmt: skip
    axes.set(xscale="log", yscale="log", ylim=(_FLOOR, 3))
    axes.set(xlabel="mean nodes of an ego-net", ylabel="collision rate, t = 2K")
    axes.legend(frameon=False, fontsize=8.5, loc="lower right")
    _title(axes, "Context multisets collide less, but not as p^size")


def _graphs(axes: Any, record: Theorem1Record) -> None:
    """Draw the share of graph pairs told apart over t, a line per n and r."""
    styles = ("-", (0, (4, 2)), (0, (1, 1)), "-.")
    degrees = record.config.degrees
    shades = dict(zip(record.config.nodes, _shades(len(record.config.nodes)),
                      strict=True))  # fmt: skip
    for cell in record.cells:
        pairs = cell.graph_pairs - cell.graph_isomorphic
        if not pairs:
            continue
        share = [1 - rate(a - cell.graph_isomorphic, pairs) for a in cell.graph_alike]
        axes.plot(
            range(1, len(share) + 1), share, color=shades[cell.nodes],
            linestyle=styles[degrees.index(cell.degree) % len(styles)],
            label=f"n = {cell.nodes}, r = {cell.degree}",
        )  # fmt: skip
    axes.set(xlabel="steps t", ylabel="share told apart", xlim=(0.7, 8.3))
    axes.set(ylim=(-0.03, 1.05))
    axes.legend(frameon=False, fontsize=8, loc="lower right", ncols=2)
    _title(axes, "Pairs of graphs, by the multiset of all nodes' returns")
