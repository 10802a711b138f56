"""The paper's ablation: errors and accuracies against the length of walks.

Made from rows of the table that belong to runs with the ablation's fixed settings; see
:func:`~sekgnn.paper.paper_numbers.ablation_steps`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sekgnn.paper.paper_numbers import PAPER_NUMBERS, PaperNumber, ablation_steps
from sekgnn.reports.figures import MARK, WATCHED, as_text, draw_png
from sekgnn.reports.finished_runs import Run
from sekgnn.reports.run_table import (
    NOTHING,
    TableRow,
    dataset_name,
    markdown_table,
    show_result,
)

STEPS_FILE, STEPS_FIGURE = "steps.md", "steps.png"
_PER_ROW = 4  # panels of the figure
_OURS, _PAPER = "ours", "paper"
_PAPER_EPOCHS = {"exp:ab_study1": 400, "exp:ab_study2": 350}
_ABOUT = (
    "SEK-GIN with the fixed settings of the paper's ablation; steps are the length of "
    "walks, 0 is without f. `test_accuracy` is by `wijesinghe2022`, which chooses "
    "every epoch by the test folds; ± is over folds or, of several runs that differ in "
    f"the seed, over seeds. {NOTHING} is missing."
)


@dataclass(frozen=True)
class StepCurve:
    """One metric of one target against steps: rows of ours, numbers of the paper."""

    data: str
    target: str
    metric: str
    ours: Mapping[int, TableRow]
    paper: Mapping[int, PaperNumber]

    @property
    def name(self) -> str:
        """What was learned."""
        return self.target or self.data

    @property
    def lines(self) -> dict[str, Mapping[int, TableRow | PaperNumber]]:
        """Ours and the paper's."""
        return {_OURS: self.ours, _PAPER: self.paper}


def step_curves(
    runs: Sequence[Run], rows: Sequence[TableRow], tables: Collection[str] = ()
) -> list[StepCurve]:
    """Return the curves of all tables of ablations that rows belong to.

    Or those of ``tables``. Curves and cells of such a table that no row belongs to are
    there too, empty. Of several rows that belong to one cell, the one with most seeds,
    then epochs, counts.
    """
    steps = {
        run.name: ablation_steps(dataset_name(run.record), run.record.config)
        for run in runs
    }
    curves: dict[tuple[str, str, str, str], dict[int, PaperNumber]] = {}
    for number in PAPER_NUMBERS:
        if number.steps is not None:
            key = (number.data, number.target, number.metric, number.protocol)
            curves.setdefault(key, {})[number.steps] = number
    found = []
    for (data, target, metric, protocol), paper in curves.items():
        ours: dict[int, TableRow] = {}
        for row in sorted(rows, key=lambda row: (row.seeds, row.epochs)):
            same = row.data.casefold() == data.casefold()
            same = same and (row.metric, row.protocol) == (metric, protocol)
            if same and row.targets == ((target,) if target else row.targets[:1]):
                length = steps[row.run]
                if length is not None:
                    ours[length] = row
        found.append(StepCurve(data, target, metric, ours, paper))
    shown = tables or {_table(curve) for curve in found if curve.ours}
    return [curve for curve in found if _table(curve) in shown]


def step_pages(runs: Sequence[Run], rows: Sequence[TableRow]) -> dict[str, bytes]:
    """Return page and figure of the runs of ablations; nothing if there are none."""
    curves = step_curves(runs, rows)
    if not curves:
        return {}
    page = step_markdown(curves, STEPS_FIGURE).encode()
    return {STEPS_FILE: page, STEPS_FIGURE: step_png(curves)}


def _table(curve: StepCurve) -> str:
    return next(iter(curve.paper.values())).table


def step_markdown(curves: Sequence[StepCurve], figure: str) -> str:
    """Return a page with all curves in a table, ours above the paper's."""
    steps = sorted({n for curve in curves for n in (*curve.ours, *curve.paper)})
    head = ["target", "metric", "", "epochs", *(f"{n} steps" for n in steps)]
    body = []
    for curve in curves:
        trained = sorted({row.epochs for row in curve.ours.values()})
        epochs = {_OURS: trained, _PAPER: [_PAPER_EPOCHS[_table(curve)]]}
        for whose, line in curve.lines.items():
            cells = [
                show_result(curve.metric, line[n].value, line[n].spread)
                if n in line
                else NOTHING
                for n in steps
            ]
            shown = ", ".join(map(str, epochs[whose]))
            body.append([curve.name, curve.metric, whose, shown, *cells])
    notes = dict.fromkeys(n.note for curve in curves for n in curve.paper.values())
    parts = [
        "# Steps of walks", _ABOUT, f"![ours and the paper's]({figure})",
        markdown_table(head, body), *filter(None, notes),
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def step_png(curves: Sequence[StepCurve]) -> bytes:
    """Return a PNG with a panel for every target, ours and the paper's as two lines.

    Of a target with two metrics the first is drawn; errors of counts on a log scale.
    """
    panels = list(
        {(curve.data, curve.name): curve for curve in reversed(curves)}.values()
    )
    panels.reverse()
    groups = [
        [panel for panel in panels if panel.metric == metric]
        for metric in dict.fromkeys(panel.metric for panel in panels)
    ]

    def draw(figure: Any) -> None:
        grid = figure.subplots(len(groups), _PER_ROW, squeeze=False)
        for line, group in zip(grid, groups, strict=True):
            for axes in line[len(group) :]:
                axes.set_visible(False)
            for axes, panel in zip(line, group, strict=False):
                _panel(axes, panel)
            line[0].set_ylabel(as_text(group[0].metric))
        handles, labels = grid[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", ncols=2, frameon=False)

    return draw_png((3.1 * _PER_ROW, 2.7 * len(groups) + 0.4), draw)


def _panel(axes: Any, curve: StepCurve) -> None:
    """Draw both lines of a curve; what is missing or not finite is a gap."""
    styles = {_OURS: (WATCHED, "o-"), _PAPER: (MARK, "s--")}
    steps = sorted({*curve.ours, *curve.paper})
    for label, values in curve.lines.items():
        colour, style = styles[label]
        y = [values[n].value if n in values else math.nan for n in steps]
        y = [value if math.isfinite(value) else math.nan for value in y]
        axes.plot(steps, y, style, color=colour, markersize=4, label=label)
    axes.set_title(as_text(curve.name), loc="left", weight="bold", size=10)
    axes.set_xlabel("steps")
    axes.set_xticks(steps)
    axes.grid(color="#EEEEEE")
    axes.set_axisbelow(True)
    if curve.metric == "test_accuracy":
        from matplotlib.ticker import PercentFormatter

        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    elif "log10" not in curve.metric:
        axes.set_yscale("log")
