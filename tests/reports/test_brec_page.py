"""The scoreboard's page, frontier and figure show the record's numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from sekgnn.brec import BRECScore, ExactPair, TrainedPair
from sekgnn.datasets import CATEGORIES
from sekgnn.reports.brec_page import brec_page, brec_png, frontier, trained_page
from sekgnn.reports.figures import INK
from sekgnn.wl.ladder import MEMORY_CLASSES

PAIRS = 9  # of each record made here


def make_row(
    key: str, memory: str, seconds: float, separated: int, wrong: int = 0
) -> BRECScore[ExactPair]:
    """Return a score whose first ``separated`` pairs are told apart."""
    names = list(CATEGORIES)
    pairs = []
    for i in range(PAIRS):
        at = i if i < separated else None
        pairs.append(ExactPair(i, names[i % 5], seconds / PAIRS, at, int(i < wrong)))
    settings = {"tests": [{"test": key}], "copies": 2, "seed": 7}
    versions = {"python": "3.x", "numpy": "9.9"}
    about = settings, versions, ("abc123",), "x86, 5 cores", tuple(pairs)
    peak = 2**20 + 2**19
    return BRECScore(
        key, f"test {key}", f"{key}(K=1)", *about, memory=memory, peak=peak
    )


BOARD = (
    make_row("a", "n·ball", 0.5, 3),
    make_row("b", "n·ball", 2.0, 2),
    make_row("c", "n²", 4.25, 8, wrong=3),
    replace(make_row("d", "n³", 1.0, 1), peak=None),
    make_row("e", "", 0.0, 9, wrong=1),
)


def tables(page: str) -> dict[str, list[list[str]]]:
    """Read the tables back: heading to rows of cells, the head first."""
    found: dict[str, list[list[str]]] = {}
    heading = ""
    for line in page.splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        elif line.startswith("|") and not line.startswith("|-"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            found.setdefault(heading, []).append(cells)
    return found


def test_the_table_repeats_the_record() -> None:
    head, *rows = tables(brec_page(BOARD))["Every test"]
    assert head == [
        "test", "basic", "simple", "SRG", "4-vtx", "DR", "ext", "CFI", "total",
        "seconds", "memory", "MB",
    ]  # fmt: skip
    assert len(head) == 1 + len(CATEGORIES) + 4
    for cells, row in zip(rows, BOARD, strict=True):
        counts = row.by_category()
        by_category = [
            str(counts[c]["separated"]) if c in counts else "" for c in CATEGORIES
        ]
        assert cells[0] == row.label
        assert cells[1:8] == by_category
        assert cells[6:8] == ["", ""]  # categories without pairs
        assert cells[8] == f"**{row.separated}**"
        assert float(cells[9]) == row.seconds
        assert cells[10] == (row.memory or "–")
        assert cells[11] == ("–" if row.peak is None else "1.5")


def test_the_frontier_of_each_class() -> None:
    found = tables(brec_page(BOARD))
    del found["Every test"]
    assert {
        heading: [row[0] for row in rows[1:]] for heading, rows in found.items()
    } == {
        "Memory at most n·ball: 3 of 9": ["test a"],
        "Memory at most n²: 8 of 9": ["test a", "test c"],
        "Memory at most n³: 8 of 9": ["test a", "test c"],
    }
    assert found["Memory at most n²: 8 of 9"] == [
        ["test", "pairs", "seconds", "MB"],
        ["test a", "3", "0.50", "1.5"],
        ["test c", "8", "4.25", "1.5"],
    ]


def test_the_words_count_too() -> None:
    page = brec_page(BOARD)
    facts = ("9 pairs", "2 relabelled copies", "**4 false separations** in 180",
             "numpy 9.9", "commit abc123", "x86, 5 cores", "(exact.png)")  # fmt: skip
    for words in (*facts, *(f"- `{row.name}`: `{row.model}`" for row in BOARD)):
        assert words in page
    one = replace(BOARD[0], settings={"copies": 1, "seed": 7}, commits=())
    single = brec_page([one])
    for words in ("1 relabelled copy of", "**0 false", "in 18 ", "commit unknown"):
        assert words in single


ROWS = st.lists(
    st.builds(
        lambda memory, seconds, separated: make_row("x", memory, seconds, separated),
        st.sampled_from([*MEMORY_CLASSES, ""]),
        st.integers(0, 4).map(float),
        st.integers(0, 4),
    ),
    max_size=8,
).map(lambda rows: [replace(row, name=f"k{i}") for i, row in enumerate(rows)])


def beats(first: BRECScore[ExactPair], second: BRECScore[ExactPair]) -> bool:
    """Tell whether ``first`` is at least as good in both, and better in one."""
    fast = first.seconds - second.seconds
    more = first.separated - second.separated
    return fast <= 0 and more >= 0 and (fast < 0 or more > 0)


def equal(first: BRECScore[ExactPair], second: BRECScore[ExactPair]) -> bool:
    return (first.seconds, first.separated) == (second.seconds, second.separated)


@given(ROWS, st.sampled_from(MEMORY_CLASSES))
def test_frontier_by_brute_force(rows: list[BRECScore[ExactPair]], memory: str) -> None:
    """No row of the frontier is beaten; every other allowed one is, or has a twin."""
    allowed = MEMORY_CLASSES[: MEMORY_CLASSES.index(memory) + 1]
    within = [row for row in rows if row.memory in allowed]
    found = frontier(rows, memory)
    keys = [row.name for row in found]
    assert len(set(keys)) == len(keys) and set(keys) <= {row.name for row in within}
    for i, row in enumerate(within):
        if row.name in keys:
            assert not any(beats(other, row) for other in within)
            assert not any(equal(other, row) for other in within[:i])
        else:
            assert any(beats(other, row) for other in found) or any(
                equal(other, row) for other in found
            )
    seconds = [row.seconds for row in found]
    assert seconds == sorted(set(seconds))
    assert bool(found) == bool(within)


def test_figure_shows_and_names_every_row(figures: list[Figure]) -> None:
    """A numbered dot for each, in ink on the frontier, and its name beside the plot."""
    for board, best in ((BOARD, "ac"), (BOARD[4:], "")):
        brec_png(board)
        axes: Any = figures[-1].axes[0]
        dots = [tuple(dot) for c in axes.collections for dot in c.get_offsets()]
        assert dots == [(max(row.seconds, 1e-3), row.separated) for row in board]
        ink = {int(t.get_text()) for t in axes.texts if t.get_color() == INK}
        assert ink == {i for i, row in enumerate(board, start=1) if row.name in best}
        (key,) = figures[-1].legends
        names = [text.get_text() for text in key.get_texts()]
        shown = [f"{i} {row.label}" for i, row in enumerate(board, start=1)]
        assert [" ".join(name.split()) for name in names[-len(board) :]] == shown


def test_trained_networks_show_both_statistics() -> None:
    """A line for each: ours, and the released score with its own failures."""

    def pair(i: int, category: str, t2: float, released: float) -> TrainedPair:
        return TrainedPair(
            i, category, 1.5, "", t2, 0.0, released, 0.0, 0.0, 72.34, 1e-10, 0.5, 3
        )

    pairs = pair(0, "basic", 99, 99), pair(1, "basic", 99, 1), pair(9, "cfi", 99, 1)
    failed = replace(pair(10, "cfi", 99, 99), t2_reliability=99.0)
    score = BRECScore(
        "plain",
        "plain",
        "GIN(8)",
        {"dtype": "float64", "transform": None, "protocol": {"seed": 77}},
        {"torch": "9.9"},
        ("ab", "cd"),
        pairs=(*pairs, failed),
    )
    page = trained_page([score, replace(score, name="x", label="x", subset=(0,))])
    head, *lines = tables(page)["What trained networks separate on BREC"]
    cells = [dict(zip(head, line, strict=True)) for line in lines]
    assert [line["statistic"] for line in cells] == ["T²", "released"] * 2
    shown = [(c["basic"], c["SRG"], c["CFI"], c["total"], c["of"]) for c in cells[:2]]
    assert shown == [("2", "", "1", "**3**", "4"), ("1", "", "1", "**2**", "4")]
    assert [c["unreliable"] for c in cells[:2]] == ["1", "0"]
    outside = [c["outside its subset"] for c in cells]
    assert outside == ["–", "–", "2 of 3", "1 of 3"]
    assert [c["seconds"] for c in cells] == ["6", ""] * 2
    for words in ("`GIN(8)`", "seed 77", "float64", "1e-10", "torch 9.9", "ab, cd"):
        assert words in page
    for subset in ("0", "none declared"):
        assert f"- pairs it was chosen on: {subset}\n" in page
