"""The paper's ablation: errors and accuracies against the walk length.

Made from the rows of runs with the ablation's fixed settings; see
:func:`~sekgnn.paper.paper_numbers.ablation_steps`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
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
    table_rows,
)

STEPS_FILE, STEPS_FIGURE = "steps.md", "steps.png"
_PER_ROW = 4  # panels of the figure
_OURS, _TOGETHER, _PAPER = "ours", "ours, together", "paper"
_PAPER_EPOCHS = {"exp:ab_study1": 400, "exp:ab_study2": 350}
_ABOUT = (
    "SEK-GIN with the fixed settings of the paper's ablation; steps are the length of "
    "walks, 0 is without f. *Ours, together* is one network for all four counts, where "
    "the paper has one per count. `test_accuracy` is by `wijesinghe2022`, which "
    "chooses every epoch by the test folds; ± is over folds or, of several runs that "
    f"differ in the seed, over seeds. {NOTHING} is missing."
)


@dataclass(frozen=True)
class StepCurve:
    """One metric of one target against walk lengths: our rows, the paper's numbers.

    Attributes:
        ours: Runs that learned the target alone.
        together: Runs that learned several targets at once.
    """

    data: str
    target: str
    metric: str
    ours: Mapping[int, TableRow]
    paper: Mapping[int, PaperNumber]
    together: Mapping[int, TableRow] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The target, or the dataset if it has one target."""
        return self.target or self.data

    @property
    def steps(self) -> list[int]:
        """The walk lengths that have a number."""
        return sorted({*self.ours, *self.together, *self.paper})

    @property
    def lines(self) -> dict[str, Mapping[int, TableRow | PaperNumber]]:
        """Our lines that exist, and the paper's."""
        ours = {_OURS: self.ours} if self.ours or not self.together else {}
        together = {_TOGETHER: self.together} if self.together else {}
        return {**ours, **together, _PAPER: self.paper}


def step_curves(
    runs: Sequence[Run], rows: Sequence[TableRow], tables: Collection[str] = ()
) -> list[StepCurve]:
    """Return the curves of ``tables``, by default of those that have a row.

    Curves and cells without a row are included, empty. Of several rows for one cell
    the one with the most seeds, then the most epochs, counts.
    """
    steps = {
        run.name: ablation_steps(dataset_name(run.record), run.record.config)
        for run in runs
    }
    many = [
        run
        for run in runs
        if steps[run.name] is not None and len(run.record.data["targets"]) > 1
    ]
    single = {r.metric for run in many for r in run.record.results if "[" in r.metric}
    all_rows = [*rows, *(table_rows(many, sorted(single)) if single else ())]
    published: dict[tuple[str, str, str, str], dict[int, PaperNumber]] = {}
    for number in PAPER_NUMBERS:
        if number.steps is not None:
            key = (number.data, number.target, number.metric, number.protocol)
            published.setdefault(key, {})[number.steps] = number
    curves = []
    for (data, target, metric, protocol), paper in published.items():
        ours: dict[int, TableRow] = {}
        together: dict[int, TableRow] = {}
        for row in sorted(all_rows, key=lambda row: (row.seeds, row.epochs)):
            length = steps[row.run]
            if length is None or row.data.casefold() != data.casefold():
                continue
            if row.protocol != protocol:
                continue
            if row.metric == f"{metric}[{target}]":
                together[length] = row
            alone = row.targets == ((target,) if target else row.targets[:1])
            if row.metric == metric and alone:
                ours[length] = row
        curves.append(StepCurve(data, target, metric, ours, paper, together))
    shown = tables or {_table(c) for c in curves if c.ours or c.together}
    return [curve for curve in curves if _table(curve) in shown]


def step_pages(runs: Sequence[Run], rows: Sequence[TableRow]) -> dict[str, bytes]:
    """Return page and figure of the ablations, if any were run."""
    curves = step_curves(runs, rows)
    if not curves:
        return {}
    page = step_markdown(curves, STEPS_FIGURE).encode()
    return {STEPS_FILE: page, STEPS_FIGURE: step_png(curves)}


def _table(curve: StepCurve) -> str:
    return next(iter(curve.paper.values())).table


def step_markdown(curves: Sequence[StepCurve], figure: str) -> str:
    """Return a page with a table of all curves, ours above the paper's."""
    steps = sorted({n for curve in curves for n in curve.steps})
    head = ["target", "metric", "", "epochs", *(f"{n} steps" for n in steps)]
    body = []
    for curve in curves:
        for whose, line in curve.lines.items():
            trained = {n.epochs for n in line.values() if isinstance(n, TableRow)}
            epochs = [_PAPER_EPOCHS[_table(curve)]] if whose == _PAPER else trained
            cells = [
                show_result(curve.metric, line[n].value, line[n].spread)
                if n in line
                else NOTHING
                for n in steps
            ]
            shown = ", ".join(map(str, sorted(epochs)))
            body.append([curve.name, curve.metric, whose, shown, *cells])
    notes = dict.fromkeys(n.note for curve in curves for n in curve.paper.values())
    sections = [
        "# Steps of walks", _ABOUT, f"![ours and the paper's]({figure})",
        markdown_table(head, body), *filter(None, notes),
    ]  # fmt: skip
    return "\n\n".join(sections) + "\n"


def step_png(curves: Sequence[StepCurve]) -> bytes:
    """Return a PNG with a panel for every target, ours and the paper's as two lines.

    Only the first metric of a target is drawn; errors of counts on a log scale.
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
        drawn = {
            label: handle
            for axes in grid.flat
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
        }
        figure.legend(
            drawn.values(), drawn, loc="outside upper left", ncols=3, frameon=False
        )

    return draw_png((3.1 * _PER_ROW, 2.7 * len(groups) + 0.4), draw)


def _panel(axes: Any, curve: StepCurve) -> None:
    """Draw the lines of a curve, with gaps where a value is missing or not finite."""
    styles = {
        _OURS: (WATCHED, "o-"), _TOGETHER: (WATCHED, "D:"), _PAPER: (MARK, "s--")
    }  # fmt: skip
    steps = curve.steps
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
