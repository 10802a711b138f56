"""The paper's tables with our numbers: Markdown, CSV and figures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from sekgnn.datasets.qm9 import HARTREE_IN_EV, QM9_TARGETS
from sekgnn.files import write_files
from sekgnn.paper.paper_numbers import (
    LATER_QM9,
    PAPER_NUMBERS,
    PaperNumber,
    best_published,
    paper_number_of,
)
from sekgnn.paper.queue import QueueEntry, shown_runs
from sekgnn.paper.recipes import COLUMNS, TABLES, Recipe
from sekgnn.paper.step_curves import step_curves, step_markdown, step_png
from sekgnn.reports.figures import INK, MARK, WATCHED, as_text, draw_png
from sekgnn.reports.run_table import (
    NOTHING,
    TableRow,
    markdown_table,
    show_result,
    show_value,
    table_rows,
)
from sekgnn.training.predictions import to_csv
from sekgnn.training.run_record import SELECTS_ON, is_better_high, selected_on

_TITLES = {
    "table1": "Table 1: graph properties and counts of substructures",
    "table2": "Table 2: classes of TU graphs",
    "table3": "Table 3: properties of molecules (QM9)",
}
_NOT_RERUN = (
    "‡ was made by an earlier recipe of the run, whose config and record lie in "
    "`results/earlier/`; the present one is not run yet."
)
_FEWER = (
    "† was trained for fewer epochs than its authors train for; *epochs* says for how "
    "many of how many."
)
_METRICS = {
    "test_log10_mse": "Graph properties, log10 of the MSE",
    "test_mae": "Counts, MAE: what GNN-AK's code computes, and SEK-PPGN's",
    "test_mse": "Counts, MSE: what the code of KP-GNN and SEK-GIN computed for the "
    "published numbers, though the column says MAE",
}
_ABOUT = (
    f"Ours, and in brackets the paper's number for the same system; {NOTHING} is not "
    "run yet, or not published. Accuracies in percent, ± over folds or, of several "
    "runs that differ in the seed, over seeds."
)
_PAPER_SELECTS = {
    "holdout": "The paper does not say what its epochs were chosen by.",
    "xu2019": "The paper's numbers are chosen like this, too, on the test folds; those "
    "of WWL and RetGK, which it takes from their own papers, are not.",
    "wijesinghe2022": "The paper's numbers are chosen like this, too: on the test "
    "folds.",
}
_LAST = (
    "Runs of `xu2019` after all their epochs: what `fixed` is with the settings of the "
    "paper's authors, which were chosen on these sets."
)
_OTHER = (
    "The paper has no numbers of this protocol; its best, chosen on the "
    "test folds (xu2019), stands below."
)
_EV = (
    "Ours again, times the 27.211386246 eV of a Hartree, as PyG has these targets; the "
    "others are not energies. The table above has the units of the literature: D, a0³, "
    "Hartree, a0² and cal/(mol K). `sek-gin-ridge` is a network on what the ridge "
    "leaves; rows that do not end in `one-target` learn all twelve at once."
)
_IN_SHORT = (
    "Our numbers beside the paper's for the same system, in the same metric. *Equal* "
    "are those within one standard error of ours (over ten folds, or over seeds), and "
    "those that agree in the digits that the paper prints. Earlier recipes (‡) count."
)
_EARLIER, _SHORT = "‡", "†"
_FOLDS = 10  # of every protocol of Table 2
_PER_ROW = 4  # panels of the figure
OUTCOMES = ("ahead", "equal", "behind", "not run")


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Attributes:
        row: A system, or a variant of ours.
        column: Dataset or target.
        protocol: Protocol of both numbers.
        metric: Metric of both numbers.
        ours: Our number, if the run has finished.
        paper: The paper's number for the system, if published.
        run: Name of our run, if any.
        chosen_by: What ours is selected on, in words.
        earlier: Whether ours was made by an earlier recipe of the run.
        of_epochs: Epochs of the system's authors, if known.
    """

    row: str
    column: str
    protocol: str
    metric: str
    ours: TableRow | None
    paper: PaperNumber | None
    run: str = ""
    chosen_by: str = ""
    earlier: bool = False
    of_epochs: int | None = None

    @property
    def is_short(self) -> bool:
        """Whether ours was trained for fewer epochs than the authors' runs."""
        return self.ours is not None and self.ours.epochs < (self.of_epochs or 0)

    @property
    def outcome(self) -> str:
        """How ours compares with the paper's: one of :data:`OUTCOMES`."""
        if self.ours is None or self.paper is None:
            return "not run"
        paper = self.paper.value
        high = is_better_high(self.metric)  # accuracies, printed as 89.9 %
        printed = 3 if high else len(str(paper).partition(".")[2])
        error, count = 0.0, _FOLDS if self.ours.seeds == 1 else self.ours.seeds
        if self.ours.spread is not None:
            error = self.ours.spread / math.sqrt(count - 1)
        difference = self.ours.value - paper
        if abs(difference) <= error or round(self.ours.value, printed) == paper:
            return "equal"
        return "ahead" if (difference > 0) == high else "behind"


def metrics_of(table: str, column: str) -> tuple[str, ...]:
    """Return the metrics of the published numbers in a column of a table.

    Counts have two: some systems report the absolute error, others the squared one.
    """
    named = [n for n in PAPER_NUMBERS if column in (n.target, n.data)]
    return tuple(dict.fromkeys(n.metric for n in named if n.table == TABLES[table]))


def cells(table: str, entries: Sequence[QueueEntry], runs: Path) -> list[Cell]:
    """Return the cells of a table: ours, then those that are only published.

    Args:
        table: ``"table1"``, ``"table2"`` or ``"table3"``.
        entries: The runs of the table.
        runs: Folder of the run folders.
    """
    shown, earlier = shown_runs(entries, runs)
    results: dict[tuple[str, str, str, str], TableRow] = {}
    columns = {entry.recipe.name: entry.recipe.column for entry in entries}
    joint = {f"{m}[{c}]": (c, m) for c in COLUMNS[table] for m in metrics_of(table, c)}
    for is_joint, metrics in ((False, ()), (True, tuple(joint))):
        selected = [run for run in shown if is_joint != bool(columns[run.name])]
        rows = table_rows(selected, metrics, paper_number_of)
        for row in sorted(rows, key=lambda row: row.seeds):
            column, metric = joint.get(row.metric, (columns[row.run], row.metric))
            results[row.run, column, row.protocol, metric] = row
    published = {
        (n.model, n.target or n.data, n.protocol, n.metric): n
        for n in PAPER_NUMBERS
        if n.table == TABLES[table]
    }
    out: dict[tuple[str, str, str, str], Cell] = {}
    for entry in entries:
        recipe = entry.recipe
        for protocol, column in product(_protocols(recipe), recipe.columns):
            for metric in metrics_of(table, column):
                key = (recipe.row, column, protocol, metric)
                ours = results.get((recipe.name, column, protocol, metric))
                if key in out and (ours is None or ours.seeds < 2):
                    continue  # another seed
                words = selected_on(recipe.config) if ours is None else ours.selected_on
                paper = published.pop(key, out[key].paper if key in out else None)
                old = recipe.name in earlier and ours is not None
                out[key] = Cell(
                    *key, ours, paper, recipe.name, words, old, recipe.authors_epochs
                )
    for key, number in published.items():
        out[key] = Cell(*key, None, number)
    return [*out.values()]


def _protocols(recipe: Recipe) -> tuple[str, ...]:
    """Return the protocols whose numbers a run reports."""
    protocol = recipe.config.protocol
    curves = protocol == "xu2019" and recipe.config.has_epochs
    return (protocol, "wijesinghe2022", "last epoch") if curves else (protocol,)


def markdown(table: str, all_cells: Sequence[Cell], figure: str) -> str:
    """Return the page of a table: a section per protocol, a row per system.

    Args:
        table: ``"table1"``, ``"table2"`` or ``"table3"``.
        all_cells: Its cells.
        figure: File of the figure.
    """
    sections = [f"# {_TITLES[table]}", f"![ours and the paper's]({figure})"]
    blocks: dict[str, list[str]] = {}
    for column in COLUMNS[table]:
        for metric in metrics_of(table, column):
            blocks.setdefault(metric, []).append(column)
    notes: list[str] = []
    for protocol in dict.fromkeys(cell.protocol for cell in all_cells):
        selects = f"`{protocol}` selects on {SELECTS_ON[protocol]}.".format(
            monitor="loss or accuracy", things="graphs"
        )
        paper = _PAPER_SELECTS.get(protocol, _OTHER)
        if protocol == "last epoch":
            paper = f"{_LAST} {_OTHER}"
        sections += [f"## `{protocol}`", f"{selects} {paper}"]
        for metric, columns in blocks.items():
            key = (protocol, metric)
            group = [c for c in all_cells if (c.protocol, c.metric) == key]
            if len(blocks) > 1:
                sections.append(f"### {_METRICS[metric]}")
            sections.append(_block(table, protocol, metric, columns, group, notes))
    if table == "table3":
        sections += ["## In eV", _EV, _in_ev(all_cells)]
    sections[1:1] = [_ABOUT, "## In short", _IN_SHORT, _in_short(all_cells)]
    if any(cell.is_short for cell in all_cells):
        sections.insert(2, _FEWER)
    if any(cell.earlier for cell in all_cells):
        sections.insert(2, _NOT_RERUN)
    sections += [f"({i}) {text}" for i, text in enumerate(notes, start=1)]
    doubts = dict.fromkeys(
        cell.paper.note for cell in all_cells if cell.paper and cell.paper.note
    )
    return "\n\n".join([*sections, *(f"* {note}" for note in doubts)]) + "\n"


def _in_short(all_cells: Sequence[Cell]) -> str:
    """Return counts per system of numbers ahead, equal, behind and not run."""
    outcomes: dict[tuple[str, str], Counter[str]] = {}
    for cell in all_cells:
        if cell.paper is not None:
            outcomes.setdefault((cell.row, cell.protocol), Counter())[cell.outcome] += 1
    body = [
        [system, f"`{protocol}`", *(str(counts[o]) for o in OUTCOMES)]
        for (system, protocol), counts in outcomes.items()
    ]
    total = sum(outcomes.values(), Counter())
    body.append(["all", "", *(str(total[outcome]) for outcome in OUTCOMES)])
    return markdown_table(["", "protocol", *OUTCOMES], body)


def _block(
    table: str,
    protocol: str,
    metric: str,
    columns: Sequence[str],
    group: Sequence[Cell],
    notes: list[str],
) -> str:
    """Return the table of one protocol and metric; new notes go to ``notes``."""
    body = []
    for row in dict.fromkeys(cell.row for cell in group):
        line = {cell.column: cell for cell in group if cell.row == row}
        marks = []
        for text in dict.fromkeys(c.chosen_by for c in line.values() if c.run):
            if text not in notes:
                notes.append(text)
            marks.append(f"({notes.index(text) + 1})")
        shown = [_shown(line.get(column)) for column in columns]
        body.append([row, *shown, _epochs([*line.values()]), " ".join(marks)])
    published = protocol if protocol in _PAPER_SELECTS else "xu2019"
    best = best_published(TABLES[table], published)
    numbers = [best.get((column, metric)) for column in columns]
    body.append(["best in the paper", *map(_best, numbers), "", ""])
    if table == "table3":
        later = (show_value(metric, LATER_QM9[column]) for column in columns)
        body.append(["later papers", *later, "", ""])
    return markdown_table(["", *columns, "epochs", "ours is chosen by"], body)


def _epochs(line: Sequence[Cell]) -> str:
    """Return the epochs of a row and those of its authors, if known."""
    trained = sorted({c.ours.epochs for c in line if c.ours and c.ours.epochs > 1})
    of = sorted({c.of_epochs for c in line if c.ours and c.of_epochs})
    return " of ".join(", ".join(map(str, n)) for n in (trained, of) if n)


def _in_ev(all_cells: Sequence[Cell]) -> str:
    """Return the energies of our runs as a Markdown table."""
    columns = [t.name for t in QM9_TARGETS if t.unit == "Ha"]
    body = []
    for row in dict.fromkeys(cell.row for cell in all_cells if cell.ours):
        values = {c.column: c.ours.value for c in all_cells if c.row == row and c.ours}
        shown = (values.get(column) for column in columns)
        body.append([
            row,
            *(NOTHING if v is None else show_value("", HARTREE_IN_EV * v)
              for v in shown),
        ])  # fmt: skip
    return markdown_table(["", *columns], body)


def _shown(cell: Cell | None) -> str:
    if cell is None:
        return NOTHING
    text = NOTHING
    if cell.ours is not None:
        text = show_result(cell.ours.metric, cell.ours.value, cell.ours.spread)
        text = text.removesuffix(" %") + _SHORT * cell.is_short
        text += _EARLIER * cell.earlier
    if cell.paper is None:
        return text
    mark = "*" if cell.paper.note else ""
    return f"{text} ({show_value(cell.paper.metric, cell.paper.value)}{mark})"


def _best(number: PaperNumber | None) -> str:
    if number is None:
        return NOTHING
    return f"{show_value(number.metric, number.value)} ({number.model})"


def csv(table: str, all_cells: Sequence[Cell]) -> bytes:
    """Return a CSV file with a line per cell, at full precision."""
    head = ["table", "protocol", "system", "column", "metric", "run", "state", "value",
            "spread", "seeds", "seconds", "epochs", "authors_epochs", "chosen_by",
            "paper", "paper_spread", "best_in_paper", "best_system"]  # fmt: skip
    lines: list[list[Any]] = []
    for cell in all_cells:
        published = cell.protocol if cell.protocol in _PAPER_SELECTS else "xu2019"
        best = best_published(TABLES[table], published).get((cell.column, cell.metric))
        ours, paper = cell.ours, cell.paper
        lines.append([
            table, cell.protocol, cell.row, cell.column,
            cell.metric, cell.run,
            "" if not cell.run else "missing" if ours is None
            else "earlier recipe" if cell.earlier else "done",
            *(("",) * 5 if ours is None else (
                ours.value, ours.spread, ours.seeds, ours.seconds, ours.epochs)),
            cell.of_epochs, cell.chosen_by,
            *(("",) * 2 if paper is None else (paper.value, paper.spread)),
            *(("",) * 2 if best is None else (best.value, best.model)),
        ])  # fmt: skip
    return to_csv(head, lines)


def png(table: str, all_cells: Sequence[Cell]) -> bytes:
    """Return a figure: a panel per column and metric, ours and the paper's.

    Markers of the protocol with published numbers are filled; those of protocols that
    select nothing on test graphs are open.
    """
    panels = [(c, m) for c in COLUMNS[table] for m in metrics_of(table, c)]
    lines = (len(panels) + _PER_ROW - 1) // _PER_ROW
    names = dict.fromkeys(cell.row for cell in all_cells if cell.ours or cell.paper)

    def draw(figure: Any) -> None:
        grid = figure.subplots(lines, _PER_ROW, squeeze=False, sharey=True)
        for axes in grid.flat[len(panels) :]:
            axes.set_visible(False)
        for axes, (column, metric) in zip(grid.flat, panels, strict=False):
            group = [c for c in all_cells if (c.column, c.metric) == (column, metric)]
            _panel(axes, table, column, metric, group, list(names))
        handles, labels = grid.flat[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", ncols=5, frameon=False)

    return draw_png((3.1 * _PER_ROW, (0.22 * len(names) + 1.0) * lines + 0.4), draw)


def _panel(
    axes: Any,
    table: str,
    column: str,
    metric: str,
    group: Sequence[Cell],
    names: list[str],
) -> None:
    published = "xu2019" if table == "table2" else "holdout"
    for label, colour, mark, fill, protocol in (
        ("ours", WATCHED, "o", "full", published),
        ("ours, nested", WATCHED, "o", "none", "nested"),
        ("ours, fixed", WATCHED, "D", "none", "fixed"),
        ("paper", MARK, "s", "full", published),
    ):
        values = {
            cell.row: number.value
            for cell in group
            for number in [cell.paper if label == "paper" else cell.ours]
            if cell.protocol == protocol and number is not None
        }
        if table != "table2" and protocol != published:
            continue
        x = [values.get(name, float("nan")) for name in names]
        axes.plot(
            x, range(len(names)), mark, color=colour, fillstyle=fill, markersize=4,
            label=label,
        )  # fmt: skip
    best = best_published(TABLES[table], published).get((column, metric))
    if best is not None:
        axes.axvline(best.value, color=INK, lw=0.8, ls=":", label="best in the paper")
    axes.set_title(as_text(column), loc="left", weight="bold", size=10)
    axes.set_yticks(range(len(names)), [as_text(name) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(color="#EEEEEE", axis="x")
    axes.set_axisbelow(True)
    axes.set_xlabel(as_text(metric))
    if metric in ("test_mae", "test_mse"):
        axes.set_xscale("log")


def write_table(
    table: str, entries: Sequence[QueueEntry], runs: Path, folder: Path
) -> list[str]:
    """Write a table as Markdown, CSV and PNG; return the names of the files.

    Tables 4 and 5 are curves over walk lengths.

    Raises:
        OutputError: If a file cannot be written.
    """
    if table in _TITLES:
        all_cells = cells(table, entries, runs)
        files = {
            f"{table}.md": markdown(table, all_cells, f"{table}.png").encode(),
            f"{table}.csv": csv(table, all_cells),
            f"{table}.png": png(table, all_cells),
        }
    else:
        files = _steps(table, entries, runs)
    folder.mkdir(parents=True, exist_ok=True)
    write_files(folder, files)
    return sorted(files)


def _steps(table: str, entries: Sequence[QueueEntry], runs: Path) -> dict[str, bytes]:
    runs_done, _ = shown_runs(
        [entry for entry in entries if entry.state == "done"], runs
    )
    curves = step_curves(runs_done, table_rows(runs_done), tables=(TABLES[table],))
    lines = []
    for curve in curves:
        for steps in curve.steps:
            paper = curve.paper.get(steps)
            rows: list[TableRow | None]
            rows = [line[steps] for line in (curve.ours, curve.together)
                    if steps in line]  # fmt: skip
            for ours in rows or [None]:
                lines.append([
                    table, curve.name, curve.metric, steps,
                    *(("",) * 4 if ours is None
                      else (ours.run, ours.epochs, ours.value, ours.spread)),
                    *(("",) * 2 if paper is None else (paper.value, paper.spread)),
                ])  # fmt: skip
    head = ["table", "column", "metric", "steps", "run", "epochs", "value", "spread",
            "paper", "paper_spread"]  # fmt: skip
    return {
        f"{table}.md": step_markdown(curves, f"{table}.png").encode(),
        f"{table}.csv": to_csv(head, lines),
        f"{table}.png": step_png(curves),
    }
