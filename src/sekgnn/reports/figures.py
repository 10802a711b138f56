"""What all figures share: style, names as they are, a PNG at the end."""

from __future__ import annotations

import io
import textwrap
import warnings
from collections.abc import Callable
from typing import Any

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
