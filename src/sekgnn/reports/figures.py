"""What all figures share: style, names as they are, a PNG at the end."""

from __future__ import annotations

import io
import textwrap
import warnings
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

INK, GREY = "#222222", "#8A8A8A"
# Okabe and Ito's palette, which colour-blind readers tell apart
TRAIN, WATCHED, MARK = "#8A8A8A", "#0072B2", "#D55E00"
CARD = (5.4, 4.4)
"""Inches of a figure that stands beside others, or alone on a phone."""
_LONGEST = 48
_STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "text.color": INK,
    "text.usetex": False,
    "xtick.color": GREY,
    "ytick.color": GREY,
}


def draw_png(
    size: tuple[float, float],
    draw: Callable[[Any], None],
    *,
    arrange: bool = True,
    dpi: int = 110,
) -> bytes:
    """Return what ``draw`` puts on a new figure, of some inches, as a PNG.

    ``arrange`` makes room for labels, unless ``draw`` places everything itself.
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        # letters that the font does not have become boxes; that is no news to a user
        warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)
        figure = Figure(figsize=size, layout="constrained" if arrange else None)
        FigureCanvasAgg(figure)
        draw(figure)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=dpi, facecolor="white")
    return buffer.getvalue()


def as_text(name: object, longest: int = _LONGEST) -> str:
    """Return a name as one short line that matplotlib does not read as mathematics."""
    text = "".join(c if c.isprintable() else " " for c in str(name))
    text = " ".join(text.split())
    if len(text) > longest:
        text = text[: longest - 1] + "…"
    return text.replace("$", r"\$")


def say(axes: Any, text: str) -> None:
    """Write a sentence where there is nothing to draw."""
    axes.text(
        0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=GREY
    )


def heading(figure: Any, name: str, text: str = "") -> None:
    """Write the title of a figure, in as many lines as its width takes."""
    room = max(int(9.5 * figure.get_figwidth()), 20)  # letters of a line
    lines = [as_text(name, room), *textwrap.wrap(text, room)]
    figure.suptitle("\n".join(lines), x=0.01, ha="left", weight="bold", size=11)


def name_points(
    axes: Any,
    points: Sequence[tuple[float, float]],
    names: Sequence[str],
    colours: Sequence[str],
) -> None:
    """Write a name beside every point, where it covers no point, line or other name.

    The nearest free place is taken, the first names first; a thin line leads to names
    that are not next to their points. Call it when all else is drawn.
    """
    figure = axes.figure
    figure.draw_without_rendering()  # so that places in pixels are known
    axes.autoscale(False)
    pixel = figure.dpi / 72
    frame, legend = axes.get_window_extent(), axes.get_legend()
    at = axes.transData.transform(points)  # [P, 2], in pixels
    drawn = np.concatenate([at, *(_along(line, pixel) for line in axes.lines)])
    boxes = []
    if legend is not None:
        extent = legend.get_window_extent()
        boxes.append(np.stack([extent.min, extent.max]))
    turns = np.arange(0, 2 * np.pi, np.pi / 12)
    leads = np.zeros((0, 2))

    def cost(r: float, lead: Any, box: Any) -> float:
        """Return how bad a place is; infinite where something would be covered."""
        hidden = any((box[0] < b[1]).all() and (b[0] < box[1]).all() for b in boxes)
        outside = (box[0] < frame.min).any() or (box[1] > frame.max).any()
        if hidden or outside or _within(drawn, box) or _within(leads, box):
            return np.inf
        crossed = sum(_within(lead, b) for b in boxes)
        gaps = np.linalg.norm(lead[:, None] - at, axis=2).min(axis=1, initial=np.inf)
        met = (gaps[4:] < 6 * pixel).any()  # another point, behind the own
        ways = np.linalg.norm(lead[:, None] - leads, axis=2).min(initial=np.inf)
        return r / pixel + 500 * crossed + 100 * met + 100 * (ways < 4 * pixel)

    for (x, y), place, name, colour in zip(at, points, names, colours, strict=True):
        words = as_text(name, 160).replace(" = ", "\u00a0=\u00a0")
        text = axes.annotate(
            textwrap.fill(words, 46), place, xytext=(0, 0), fontsize=8.5,
            textcoords="offset points", ha="center", va="center", color=colour,
        )  # fmt: skip
        text.set_in_layout(False)
        extent = text.get_window_extent()
        half = np.array([extent.width, extent.height]) / 2 + 2 * pixel
        best, least = None, np.inf
        for r in np.array((6, *range(14, 300, 9))) * pixel:
            if least <= r / pixel:
                break
            for turn in turns:
                way = np.array([np.cos(turn), np.sin(turn)])
                middle = (x, y) + way * (half + r)
                box = np.stack([middle - half, middle + half])
                near = np.clip((x, y), *box)  # of the box to the point
                lead = np.linspace((x, y), near, 25 if r > 8 * pixel else 0)
                badness = cost(r, lead, box)
                if best is None or badness < least:
                    best, least = (middle, box, lead), badness
        assert best is not None
        middle, box, lead = best
        boxes.append(box)
        leads = np.concatenate([leads, lead])
        text.xyann = (middle - (x, y)) / pixel
        if len(lead):
            ends = axes.transData.inverted().transform(lead[[0, -1]])
            axes.plot(*ends.T, color=colour, linewidth=0.6, zorder=1)


def _within(dots: NDArray[np.float64], box: NDArray[np.float64]) -> bool:
    """Tell whether any of some dots, ``[D, 2]``, is in a box, ``[2, 2]``."""
    return bool(((box[0] <= dots) & (dots <= box[1])).all(axis=1).any())


def _along(line: Any, pixel: float) -> NDArray[np.float64]:
    """Return dots along a drawn line, in pixels, close enough to leave no gap."""
    corners = line.get_transform().transform_path(line.get_path()).vertices
    if len(corners) < 2:
        return corners
    return np.concatenate(
        [
            np.linspace(a, b, 2 + int(np.linalg.norm(b - a) / (6 * pixel)))
            for a, b in pairwise(corners)
        ]
    )
