"""Write the tables of docs/results.md from the records of all runs.

``python -m studies.results_page`` replaces the tables on the page, found by their first
heading; the text around them is written by hand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

from sekgnn.files import write_atomically
from sekgnn.paper.paper_numbers import best_published, paper_number_of
from sekgnn.paper.queue import look, shown_runs
from sekgnn.paper.recipes import recipes
from sekgnn.reports.run_table import (
    NOTHING,
    TableRow,
    show_result,
    show_value,
    table_rows,
)

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "results.md"
RUNS = ROOT / "results" / "runs"


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes:
        heading: Heading of the column.
        run: Suffix of the runs' names, after the name of the row.
        protocol: Protocol of the numbers.
        paper: Whether to show the paper's number in brackets.
    """

    heading: str
    run: str
    protocol: str = "holdout"
    paper: bool = False

    def cell(
        self,
        name: str,
        metric: str,
        rows: Sequence[TableRow],
        earlier: AbstractSet[str],
    ) -> str:
        """Return our number, averaged over seeds; marked if by an earlier recipe."""
        key = f"{name}-{self.run}", metric, self.protocol
        matching = [row for row in rows if (row.run, row.metric, row.protocol) == key]
        if not matching:
            return NOTHING
        row = max(matching, key=lambda row: row.seeds)
        text = show_result(metric, row.value, row.spread) + "‡" * (row.run in earlier)
        if not self.paper or row.paper is None:
            return text
        return f"{text} ({show_value(metric, row.paper.value)})"


@dataclass(frozen=True)
class Table:
    """One table; rows without any run are left out.

    Attributes:
        heading: Heading of the first column, which identifies the table.
        names: Names of the rows.
        metric: Metric of all numbers.
        columns: Columns of our numbers.
        best: Format of the paper's best number, in a last column.
    """

    heading: str
    names: tuple[str, ...]
    metric: str
    columns: tuple[Column, ...]
    best: Callable[[float], str] | None = None

    def markdown(
        self, rows: Sequence[TableRow], earlier: AbstractSet[str] = frozenset()
    ) -> str:
        """Return the table; ``earlier`` are the runs by earlier recipes."""
        lines = [[self.heading, *(column.heading for column in self.columns)]]
        for name in self.names:
            cells = [
                column.cell(name, self.metric, rows, earlier) for column in self.columns
            ]
            if set(cells) != {NOTHING}:
                lines.append([name, *cells])
        if self.best is not None:
            lines[0].append("best in the paper")
            best = best_published("exp:syn", "holdout")
            for line in lines[1:]:
                line.append(self.best(best[line[0], self.metric].value))
        head, *body = ["| " + " | ".join(line) + " |" for line in lines]
        rule = "|---|" + "---:|" * (len(lines[0]) - 1)
        return "\n".join([head, rule, *body])


PATTERNS = ("triangle", "tailed_triangle", "star3", "cycle4")
OURS = (Column("closed form", "closed-form"), Column("SEK-GIN", "sek-gin-lbfgs"))
BESIDE = (Column("K-GIN+", "k-gin-lbfgs"), Column("GIN", "gin-lbfgs"))
SEK_GIN = Column("SEK-GIN, paper's settings", "sek-gin", paper=True)
SEK_PPGN = Column("SEK-PPGN, paper's settings", "sek-ppgn", paper=True)
TABLES = (
    Table(
        "pattern, MAE", PATTERNS, "test_mae", (*OURS, *BESIDE, SEK_PPGN),
        "{:.4f}".format,
    ),
    Table(
        "pattern, MSE", PATTERNS, "test_mse",
        (
            *OURS, SEK_GIN, Column("K-GIN+, its settings", "k-gin", paper=True),
            Column("KP-GIN+, its settings", "kp-gin+", paper=True),
        ),
        "{:.4f}".format,
    ),
    Table(
        "property",
        ("is_connected", "diameter", "spectral_radius"),
        "test_log10_mse",
        (*OURS, *BESIDE, SEK_GIN, SEK_PPGN),
        "{:.2f}".format,
    ),
    Table(
        "dataset",
        (
            "MUTAG", "PTC_MR", "BZR", "COX2", "ENZYMES", "PROTEINS", "IMDB-BINARY",
            "IMDB-MULTI",
        ),
        "test_accuracy",
        (
            Column("SEK-GIN + forest", "sek-gin-forest-fixed", "fixed"),
            Column("SEK-GIN", "sek-gin-fixed", "fixed"),
            Column("GIN", "gin-fixed", "fixed"),
            Column("forest", "forest-fixed", "fixed"),
            Column("ridge", "ridge-fixed", "fixed"),
            Column("SEK-GIN, xu2019", "sek-gin-xu2019", "xu2019", paper=True),
        ),
    ),
)  # fmt: skip


def with_tables(
    text: str, rows: Sequence[TableRow], earlier: AbstractSet[str] = frozenset()
) -> str:
    """Return the page with all tables replaced.

    Raises:
        ValueError: If a table is missing.
    """
    for table in TABLES:
        match = re.search(rf"^\| {table.heading} \|.*(?:\n\|.*)*", text, re.M)
        if match is None:
            raise ValueError(
                f"docs/results.md has no table with heading {table.heading!r}."
            )
        text = (
            text[: match.start()] + table.markdown(rows, earlier) + text[match.end() :]
        )
    return text


def shown_rows() -> tuple[list[TableRow], set[str]]:
    """Return all numbers to show, and the runs by earlier recipes."""
    runs, earlier = shown_runs(look(recipes(), RUNS), RUNS)
    return table_rows(runs, (), paper_number_of), earlier


def main() -> None:
    """Write the page."""
    content = with_tables(PAGE.read_text("utf-8"), *shown_rows()).encode()
    write_atomically(PAGE, lambda file: file.write(content))


if __name__ == "__main__":
    main()
