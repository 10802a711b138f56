"""The scoreboard as a page."""

from __future__ import annotations

from sekgnn.brec.board import MEMORY_CLASSES
from sekgnn.brec.board_run import Board, Row
from sekgnn.datasets.brec import CATEGORIES
from sekgnn.reports.brec_frontier import frontier

_SHORT = {
    "basic": "basic",
    "simple_regular": "simple",
    "strongly_regular": "SRG",
    "four_vertex": "4-vtx",
    "distance_regular": "DR",
    "extension": "ext",
    "cfi": "CFI",
}
assert list(_SHORT) == list(CATEGORIES)


def brec_page(board: Board) -> str:
    """Return the page: every test by category, then what each class of memory gets."""
    pairs = len(board.rows[0].score.pairs)
    copies = board.rows[0].score.copies
    lines = [
        "# What exact tests separate on BREC",
        "",
        f"{pairs} pairs of graphs, exact arithmetic, refined to stability. Written by "
        "`sekgnn brec --all` from `exact.json`, which holds every verdict.",
        "",
        f"Each graph was also compared with {copies} relabelled "
        f"{'copy' if copies == 1 else 'copies'} of itself: "
        f"**{board.false_separations} false separations** in "
        f"{2 * pairs * copies * len(board.rows)} comparisons.",
        "",
        "## Every test",
        "",
        *_table(board),
        "",
        "*seconds*: processor time of all verdicts, one thread, without the copies "
        "(a verdict ends when the graphs are apart). *memory*: how it grows with the "
        "nodes n, where a ball is what one node sees; *MB*: what the pair with the "
        "most nodes added to the process's memory, measured on Linux.",
        "",
        "## The frontier",
        "",
        "Tests that no other test, of the same class of memory or a smaller one, beats "
        "in both time and separated pairs.",
        "",
        "![separated pairs against time](exact.png)",
        "",
        "The names in the figure are those of the last section.",
        "",
    ]
    for memory in MEMORY_CLASSES:
        rows = frontier(board.rows, memory)
        if rows:
            lines += _frontier_lines(memory, rows)
    lines += ["## Made with", "", *_provenance(board), ""]
    return "\n".join(lines)


def _table(board: Board) -> list[str]:
    head = ["test", *_SHORT.values(), "total", "seconds", "memory", "MB"]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for row in board.rows:
        counts = row.score.by_category()
        cells = [str(counts[name][0]) if name in counts else "" for name in _SHORT]
        lines.append(
            f"| {row.label} | {' | '.join(cells)} | **{row.score.separated}** | "
            f"{row.score.seconds:.2f} | {row.memory or '–'} | {_megabytes(row)} |"
        )
    return lines


def _megabytes(row: Row) -> str:
    return "–" if row.peak is None else f"{row.peak / 2**20:.1f}"


def _frontier_lines(memory: str, rows: list[Row]) -> list[str]:
    best = rows[-1]
    lines = [
        f"### Memory at most {memory}: {best.score.separated} of "
        f"{len(best.score.pairs)}",
        "",
        "| test | pairs | seconds | MB |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {row.label} | {row.score.separated} | {row.score.seconds:.2f} | "
        f"{_megabytes(row)} |"
        for row in rows
    ]
    return [*lines, ""]


def _provenance(board: Board) -> list[str]:
    versions = ", ".join(f"{name} {text}" for name, text in board.versions.items())
    seeds = sorted({row.score.seed for row in board.rows})
    return [
        f"{versions}; commit {board.commit or 'unknown'}; {board.machine}; seed of the "
        f"copies {', '.join(map(str, seeds))}.",
        "",
        "Exact parameters of every row, by the name used in `exact.json`:",
        "",
        *(f"- `{row.key}`: {row.score.title}" for row in board.rows),
    ]
