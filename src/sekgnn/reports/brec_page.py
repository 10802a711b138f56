"""BREC's scoreboards as pages: exact tests, with a figure, and trained networks."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sekgnn.brec.record import AnyScore, to_json
from sekgnn.datasets.wl_benchmarks import CATEGORIES
from sekgnn.reports.figures import GREY, INK, as_text, draw_png
from sekgnn.wl.ladder import MEMORY_CLASSES

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


def frontier(scores: Sequence[AnyScore], memory: str) -> list[AnyScore]:
    """Return the scores that none beats within a class of memory, the fastest first.

    A score is beaten if another one, of this class of memory or a smaller one,
    separates at least as many pairs in at most its time, and is better in one of the
    two. Of scores that are equal in both, the first stays.
    """
    allowed = MEMORY_CLASSES[: MEMORY_CLASSES.index(memory) + 1]
    best: list[AnyScore] = []
    within = [score for score in scores if score.memory in allowed]
    for score in sorted(within, key=lambda s: (s.seconds, -s.separated)):
        if not best or score.separated > best[-1].separated:
            best.append(score)
    return best


def brec_files(scores: Sequence[AnyScore]) -> dict[str, bytes]:
    """Return the record, page and figure of exact tests, by file name."""
    return {
        "exact.png": brec_png(scores),
        "exact.md": brec_page(scores).encode(),
        "exact.json": to_json(scores).encode(),
    }


def trained_files(scores: Sequence[AnyScore], record: str) -> dict[str, bytes]:
    """Return the record of trained networks, and its page, by file name."""
    page = trained_page(scores).encode()
    return {Path(record).stem + ".md": page, record: to_json(scores).encode()}


def brec_page(scores: Sequence[AnyScore]) -> str:
    """Return the page: every test by category, then what each class of memory gets."""
    first = scores[0]
    pairs, copies = len(first.pairs), first.settings["copies"]
    wrong = sum(score.failures for score in scores)
    lines = [
        "# What exact tests separate on BREC",
        "",
        f"{pairs} pairs of graphs, exact arithmetic, refined to stability. Written by "
        "`sekgnn brec --all` from `exact.json`, which holds every verdict.",
        "",
        f"Each graph was also compared with {copies} relabelled "
        f"{'copy' if copies == 1 else 'copies'} of itself: "
        f"**{wrong} false separations** in "
        f"{2 * pairs * copies * len(scores)} comparisons.",
        "",
        "## Every test",
        "",
        *_lines(
            ["test", *_SHORT.values(), "total", "seconds", "memory", "MB"],
            [_cells(score) for score in scores],
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
        best = frontier(scores, memory)
        if best:
            most = best[-1].separated
            lines += [f"### Memory at most {memory}: {most} of {pairs}", ""]
            lines += _lines(
                ["test", "pairs", "seconds", "MB"],
                [[score.label, score.separated, *_costs(score)] for score in best],
            )
            lines.append("")
    seeds = sorted({score.settings["seed"] for score in scores})
    lines += [
        "## Made with",
        "",
        f"{_origin(first)}; {first.machine}; seed of the copies "
        f"{', '.join(map(str, seeds))}.",
        "",
        "Exact parameters of every row, by the name used in `exact.json`:",
        "",
        *(f"- `{score.name}`: `{score.model}`" for score in scores),
        "",
    ]
    return "\n".join(lines)


def _lines(head: list[str], rows: Iterable[list[Any]]) -> list[str]:
    """Return the lines of a Markdown table."""
    body = [f"| {' | '.join(map(str, cells))} |" for cells in rows]
    return [f"| {' | '.join(head)} |", "|---" * len(head) + "|", *body]


def _by_category(score: AnyScore, column: str) -> list[Any]:
    """Return a cell per category, empty where there are no pairs."""
    counts = score.by_category()
    return [counts[key][column] if key in counts else "" for key in _SHORT]


def _cells(score: AnyScore) -> list[Any]:
    seconds, size = _costs(score)
    cells = [score.label, *_by_category(score, "separated"), f"**{score.separated}**"]
    return [*cells, seconds, score.memory or "–", size]


def _costs(score: AnyScore) -> tuple[str, str]:
    """Return seconds and megabytes."""
    size = "–" if score.peak is None else f"{score.peak / 2**20:.1f}"
    return f"{score.seconds:.2f}", size


def _origin(score: AnyScore) -> str:
    versions = ", ".join(f"{name} {text}" for name, text in score.versions.items())
    return f"{versions}; commit {', '.join(score.commits) or 'unknown'}"


def brec_png(scores: Sequence[AnyScore]) -> bytes:
    """Return a PNG of separated pairs against time; numbers are rows of the record."""
    points = {s.name: (max(s.seconds, 1e-3), s.separated) for s in scores}
    lines = {memory: frontier(scores, memory) for memory in MEMORY_CLASSES}
    best = {score.name for line in lines.values() for score in line}

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        axes.set_xscale("log")
        for i, (memory, line) in enumerate(lines.items()):  # the wider lie below
            axes.step(
                *np.reshape([points[score.name] for score in line], (-1, 2)).T,
                where="post", color=_COLOURS[memory], linewidth=1 + 2 * i, alpha=0.5,
                zorder=2 - i / 10, label=f"frontier, memory at most {memory}",
            )  # fmt: skip
        for number, score in enumerate(scores, start=1):
            ink = INK if score.name in best else GREY
            axes.scatter(*points[score.name], color=_COLOURS[score.memory], zorder=3)
            axes.annotate(
                f"{number}", points[score.name], xytext=(0, 6 if number % 2 else -6),
                textcoords="offset points", ha="center", fontsize=8, color=ink,
                va="bottom" if number % 2 else "top",
            )  # fmt: skip
            words = textwrap.fill(f"{number}  {as_text(score.label, 160)}", 60)
            axes.plot([], [], " ", label=words)
        axes.set_xlabel("seconds of processor time for all pairs")
        axes.set_ylabel(f"pairs separated, of {len(scores[0].pairs)}")
        axes.set_title("Exact tests on BREC, and the frontier of each class of memory")
        axes.grid(alpha=0.25)
        axes.margins(0.06, 0.08)
        figure.legend(loc="outside right upper", fontsize=9, frameon=False)

    return draw_png((14, 9), draw)


def trained_page(scores: Sequence[AnyScore]) -> str:
    """Return the page: every recipe by category and statistic, then what it is."""
    from sekgnn.brec.recipes import pair_text

    head = ["recipe", "statistic", *_SHORT.values(), "total", "of", "unreliable",
            "outside its subset", "seconds"]  # fmt: skip
    lines = [
        "# What trained networks separate on BREC",
        "",
        "Written by `sekgnn brec --model` beside the record of the same name, which "
        "holds every pair. For each pair a new network is trained on relabelled copies "
        "of both graphs; the recipe is the same for all pairs.",
        "",
        *_lines(head, (cells for score in scores for cells in _statistics(score))),
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
    for score in scores:
        settings = score.settings
        protocol = ", ".join(f"{k} {v}" for k, v in settings["protocol"].items())
        epsilons = {pair.epsilon for pair in score.pairs}
        floors = ", ".join(f"{x:g}" for x in sorted(epsilons))
        subset = "none declared" if score.subset is None else pair_text(score.subset)
        lines += [
            f"### {score.label}",
            "",
            f"- `{score.model}`",
            f"- {settings['dtype']}, rounding errors taken as {floors}; {protocol}",
            f"- pairs it was chosen on: {subset}",
            f"- {_origin(score)}",
            "",
        ]
    return "\n".join(lines)


def _statistics(score: AnyScore) -> list[list[Any]]:
    """Return the cells of the two rows of a recipe: T², and the released code's."""
    total, outside = score.counts(), score.outside.counts()
    seconds = f"{score.seconds:.0f}"
    rows = []
    for name, statistic, good, bad, time in (
        (score.label, "T²", "separated", "failures", seconds),
        ("", "released", "released", "released_failures", ""),
    ):
        rest = "–"
        if score.subset is not None:
            rest = f"{outside[good]} of {outside['total']}"
        cells = [name, statistic, *_by_category(score, good), f"**{total[good]}**"]
        rows.append([*cells, total["total"], total[bad], rest, time])
    return rows
