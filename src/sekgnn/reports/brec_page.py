"""The scoreboards as pages: exact tests, with a figure, and trained networks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from sekgnn.brec.board import MEMORY_CLASSES, Board, Row
from sekgnn.brec.model_score import CategoryCount
from sekgnn.datasets.brec import CATEGORIES
from sekgnn.reports.figures import GREY, INK, draw_png, name_points

if TYPE_CHECKING:
    from sekgnn.brec.trained import TrainedBoard, TrainedRow

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
_COLOURS = {"n·ball": "#228833", "n²": "#4477aa", "n³": "#ee6677", "": "#777777"}


def frontier(rows: Sequence[Row], memory: str) -> list[Row]:
    """Return the rows that no other beats within a class of memory, the fastest first.

    A row is beaten if another one, of this class of memory or a smaller one, separates
    at least as many pairs in at most its time, and is better in one of the two. Of rows
    that are equal in both, the first stays.
    """
    allowed = MEMORY_CLASSES[: MEMORY_CLASSES.index(memory) + 1]
    best: list[Row] = []
    within = [row for row in rows if row.memory in allowed]
    for row in sorted(within, key=lambda r: (r.score.seconds, -r.score.separated)):
        if not best or row.score.separated > best[-1].score.separated:
            best.append(row)
    return best


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
        *_lines(
            ["test", *_SHORT.values(), "total", "seconds", "memory", "MB"],
            [_cells(row) for row in board.rows],
        ),
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
    ]
    for memory in MEMORY_CLASSES:
        rows = frontier(board.rows, memory)
        if rows:
            best = rows[-1].score.separated
            lines += [f"### Memory at most {memory}: {best} of {pairs}", ""]
            lines += _lines(
                ["test", "pairs", "seconds", "MB"],
                [[row.label, row.score.separated, *_costs(row)] for row in rows],
            )
            lines.append("")
    versions = ", ".join(f"{name} {text}" for name, text in board.versions.items())
    seeds = sorted({row.score.seed for row in board.rows})
    lines += [
        "## Made with",
        "",
        f"{versions}; commit {board.commit or 'unknown'}; {board.machine}; seed of the "
        f"copies {', '.join(map(str, seeds))}.",
        "",
        "Exact parameters of every row, by the name used in `exact.json`:",
        "",
        *(f"- `{row.key}`: `{row.score.title}`" for row in board.rows),
        "",
    ]
    return "\n".join(lines)


def _lines(head: list[str], rows: list[list[Any]]) -> list[str]:
    """Return the lines of a Markdown table."""
    body = [f"| {' | '.join(map(str, cells))} |" for cells in rows]
    return [f"| {' | '.join(head)} |", "|---" * len(head) + "|", *body]


def _cells(row: Row) -> list[Any]:
    counts = row.score.by_category()
    cells = [counts[name][0] if name in counts else "" for name in _SHORT]
    seconds, size = _costs(row)
    total = f"**{row.score.separated}**"
    return [row.label, *cells, total, seconds, row.memory or "–", size]


def _costs(row: Row) -> tuple[str, str]:
    """Return seconds and megabytes."""
    size = "–" if row.peak is None else f"{row.peak / 2**20:.1f}"
    return f"{row.score.seconds:.2f}", size


def brec_png(board: Board) -> bytes:
    """Return a PNG of separated pairs against time, with every frontier."""

    def point(row: Row) -> tuple[float, int]:
        return max(row.score.seconds, 1e-3), row.score.separated

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for memory in (*MEMORY_CLASSES, ""):
            axes.scatter(
                *_columns([point(row) for row in board.rows if row.memory == memory]),
                color=_COLOURS[memory],
                label=f"memory {memory}" if memory else "isomorphism",
                zorder=3,
            )
        axes.set_xscale("log")
        best: set[str] = set()
        for i, memory in enumerate(MEMORY_CLASSES):  # the wider lie below
            rows = frontier(board.rows, memory)
            best |= {row.key for row in rows}
            axes.step(
                *_columns([point(row) for row in rows]),
                where="post",
                color=_COLOURS[memory],
                linewidth=1 + 2 * i,
                alpha=0.5,
                zorder=2 - i / 10,
            )
        axes.set_xlabel("seconds of processor time for all pairs")
        axes.set_ylabel(f"pairs separated, of {len(board.rows[0].score.pairs)}")
        axes.set_title("Exact tests on BREC, and the frontier of each class of memory")
        axes.grid(alpha=0.25)
        axes.legend(loc="lower right", fontsize=9)
        axes.margins(0.06, 0.08)
        order = sorted(board.rows, key=lambda row: (row.key not in best, *point(row)))
        name_points(
            axes,
            [point(row) for row in order],
            [row.label for row in order],
            [INK if row.key in best else GREY for row in order],
        )

    return draw_png((12, 9), draw)


def _columns(points: list[tuple[float, int]]) -> tuple[list[float], list[int]]:
    return [x for x, _ in points], [y for _, y in points]


def trained_page(board: TrainedBoard) -> str:
    """Return the page: every recipe by category and statistic, then what it is."""
    from sekgnn.brec.trained import pair_text

    head = ["recipe", "statistic", *_SHORT.values(), "total", "of", "unreliable",
            "outside its subset", "seconds"]  # fmt: skip
    lines = [
        "# What trained networks separate on BREC",
        "",
        "Written by `sekgnn brec --model` beside the record of the same name, which "
        "holds every pair. For each pair a new network is trained on relabelled copies "
        "of both graphs; the recipe is the same for all pairs.",
        "",
        f"| {' | '.join(head)} |",
        "|---" * len(head) + "|",
        *(line for row in board.rows for line in _trained_lines(row)),
        "",
        "*T²*: Hotelling's statistic with its factor q; a pair counts if it is above "
        "the threshold for the pair and below it for copies of one graph. *released*: "
        "the statistic of BREC's released code, without q, and its final score, from "
        "which unreliable pairs are subtracted. *unreliable*: copies of one graph were "
        "told apart. *outside its subset*: without the pairs that the recipe was "
        "chosen on. *seconds*: processor time.",
        "",
        "## Recipes",
        "",
    ]
    for row in board.rows:
        score = row.score
        settings = ", ".join(f"{k} {v}" for k, v in asdict(score.protocol).items())
        versions = ", ".join(f"{name} {text}" for name, text in score.versions.items())
        floors = ", ".join(f"{x:g}" for x in sorted({p.epsilon for p in score.pairs}))
        subset = "none declared" if row.subset is None else pair_text(row.subset)
        lines += [
            f"### {row.name}",
            "",
            f"- `{score.model}`",
            f"- {row.recipe.dtype}, rounding errors taken as {floors}; {settings}",
            f"- pairs it was chosen on: {subset}",
            f"- {versions}; commit {', '.join(score.commits) or 'unknown'}",
            "",
        ]
    return "\n".join(lines)


def _trained_lines(row: TrainedRow) -> list[str]:
    """Return the two lines of a recipe."""
    counts, total = row.score.by_category(), row.score.counts()
    outside = row.outside.counts()

    def line(name: str, statistic: str, good: str, bad: str, seconds: str) -> str:
        def shown(count: CategoryCount) -> str:
            return str(getattr(count, good))

        cells = [shown(counts[key]) if key in counts else "" for key in _SHORT]
        rest = "–" if row.subset is None else f"{shown(outside)} of {outside.total}"
        last = [f"**{shown(total)}**", total.total, getattr(total, bad), rest, seconds]
        return f"| {' | '.join(map(str, [name, statistic, *cells, *last]))} |"

    return [
        line(row.name, "T²", "separated", "failures", f"{row.score.seconds:.0f}"),
        line("", "released", "released", "released_failures", ""),
    ]
