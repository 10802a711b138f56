"""The scoreboard as a figure: separated pairs against time."""

from __future__ import annotations

import io

from sekgnn.brec.board import MEMORY_CLASSES
from sekgnn.brec.board_run import Board
from sekgnn.reports.brec_frontier import frontier

_COLOURS = {"n·ball": "#228833", "n²": "#4477aa", "n³": "#ee6677", "": "#777777"}


def brec_png(board: Board) -> bytes:
    """Return the figure as a PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 6), layout="constrained")
    FigureCanvasAgg(figure)
    axis = figure.subplots()
    for memory in (*MEMORY_CLASSES, ""):
        rows = [row for row in board.rows if row.memory == memory]
        axis.scatter(
            [max(row.score.seconds, 1e-3) for row in rows],
            [row.score.separated for row in rows],
            color=_COLOURS[memory],
            label=f"memory {memory}" if memory else "isomorphism",
            zorder=3,
        )
    for memory in MEMORY_CLASSES:
        best = frontier(board.rows, memory)
        axis.step(
            [max(row.score.seconds, 1e-3) for row in best],
            [row.score.separated for row in best],
            where="post",
            color=_COLOURS[memory],
            linewidth=1,
            alpha=0.6,
        )
    shown = {row.key: row for memory in MEMORY_CLASSES
             for row in frontier(board.rows, memory)}  # fmt: skip
    for i, row in enumerate(shown.values()):
        axis.annotate(
            row.key,
            (max(row.score.seconds, 1e-3), row.score.separated),
            textcoords="offset points",
            xytext=(6, -10) if i % 2 else (-6, 6),
            horizontalalignment="left" if i % 2 else "right",
            fontsize=7,
        ).set_in_layout(False)
    axis.set_xscale("log")
    axis.set_xlabel("seconds of processor time for all pairs")
    axis.set_ylabel(f"pairs separated, of {len(board.rows[0].score.pairs)}")
    axis.set_title("Exact tests on BREC, and the frontier of each class of memory")
    axis.grid(alpha=0.3)
    axis.legend(loc="lower right", fontsize=8)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=120)
    return buffer.getvalue()
