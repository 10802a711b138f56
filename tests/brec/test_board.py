"""The scoreboard: its rows, and runs that go on where they were interrupted."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.brec.exact_cases import PAIRS, timeless

from sekgnn.brec import board
from sekgnn.brec.board import BOARD, MEMORY_CLASSES, Board, Entry, run_board
from sekgnn.brec.exact_score import ExactScore, score_exact
from sekgnn.datasets import BREC
from sekgnn.errors import ConfigError, OutputError
from sekgnn.wl import (
    SEK,
    KHopWL,
    OneWL,
    SEKTwoFWL,
    ThreeFWL,
    TwoFWL,
    Walks,
    WLTest,
    make_test,
)

SMALL = BREC.of(PAIRS)
ENTRIES = (
    Entry("1wl", "1-WL", OneWL(), "n·ball"),
    Entry("khop2", "K-hop, K = 2", KHopWL(2), "n·ball"),
    Entry("2fwl", "2-FWL", TwoFWL(), "n²"),
)
# basic and simple regular pairs that a row separates, from the table of known results
KNOWN = {
    "1wl": (0, 0),
    "khop2": (16, 14),
    "khop4": (16, 14),
    "khop8": (16, 14),
    "2fwl": (60, 50),
    "graph_f1": (60, 50),
    "graph": (60, 50),
    "full": (60, 50),
    "sek2fwl": (60, 50),
    "3fwl": (60, 50),
}


class Interrupted(Exception):
    """Stands for Ctrl-C."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the titles of the tests that were run."""
    ran: list[str] = []

    def score(test: WLTest, **options: Any) -> ExactScore:
        ran.append(str(test))
        return score_exact(test, **options)

    monkeypatch.setattr(board, "score_exact", score)
    return ran


def still(board: Board) -> Board:
    """Return the record without times."""
    rows = tuple(replace(row, score=timeless(row.score)) for row in board.rows)
    return replace(board, rows=rows)


def test_rows_are_well_formed() -> None:
    keys, labels = [e.key for e in BOARD], [e.label for e in BOARD]
    assert len(set(keys)) == len(set(labels)) == len(BOARD)
    assert {*KNOWN, "isomorphism"} <= set(keys)
    classes = [e.memory for e in BOARD]
    assert set(classes) == {*MEMORY_CLASSES, ""}
    order = [(*MEMORY_CLASSES, "").index(memory) for memory in classes]
    assert order == sorted(order)  # the cheaper memory first
    assert [e.key for e in BOARD if not e.memory] == ["isomorphism"]
    assert len({(str(e.test), str(e.after)) for e in BOARD}) == len(BOARD)


@pytest.mark.parametrize("entry", BOARD, ids=[entry.key for entry in BOARD])
def test_every_row_can_be_made_again_from_its_record(entry: Entry) -> None:
    content = json.loads(json.dumps(entry.test.to_dict()))
    assert make_test(content.pop("test"), **content) == entry.test


def test_memory_grows_as_the_class_says() -> None:
    """Ten times the nodes, at least so much more memory for n² and n³."""
    for entry in BOARD:
        ratio = entry.test.memory([2000, 2000]) / entry.test.memory([200, 200])
        least = {"n²": 90, "n³": 900}.get(entry.memory, 9)
        assert ratio >= least, entry.key


def test_known_results_are_of_the_published_settings() -> None:
    """K = 4; l = 16 on the graph, 12 inside ego-nets, all pairs of shells there."""
    inside = tuple(Walks("internal", h, walk_length=12, pairs="all") for h in (1, 2, 3))
    everything = (Walks("graph", num_shells=4, walk_length=16), *inside)
    expected = {
        "1wl": OneWL(),
        "khop2": KHopWL(2),
        "khop4": KHopWL(4),
        "khop8": KHopWL(8),
        "2fwl": TwoFWL(),
        "graph_f1": SEK(
            4, (Walks("graph", num_shells=4, walk_length=16, parts=("f1",)),)
        ),
        "graph": SEK(4, everything[:1]),
        "full": SEK(4, everything),
        "sek2fwl": SEKTwoFWL(4, everything),
        "3fwl": ThreeFWL(),
    }
    assert set(expected) == set(KNOWN)
    assert {e.key: e.test for e in BOARD if e.key in KNOWN} == expected


@pytest.mark.dataset
@pytest.mark.parametrize("key", KNOWN)
def test_known_numbers(data_root: Path, key: str) -> None:
    entry = next(entry for entry in BOARD if entry.key == key)
    pairs = BREC(data_root).select("basic", "simple_regular")
    score = score_exact(entry.test, pairs=pairs, copies=0)
    basic, simple = KNOWN[key]
    assert score.by_category() == {
        "basic": (basic, 60),
        "simple_regular": (simple, 50),
    }


def test_a_run_holds_every_row(asked: list[str]) -> None:
    labels: list[str] = []
    board = run_board(
        ENTRIES, pairs=SMALL, copies=2, seed=3, progress=lambda x: labels.append(x)
    )
    assert labels == [entry.label for entry in ENTRIES]
    for row, entry in zip(board.rows, ENTRIES, strict=True):
        expected = score_exact(entry.test, pairs=PAIRS, copies=2, seed=3)
        assert (row.key, row.label, row.memory) == (
            entry.key, entry.label, entry.memory,
        )  # fmt: skip
        assert timeless(row.score) == timeless(expected)
    assert board.false_separations == 0
    assert {"python", "sekgnn", "numpy"} <= set(board.versions)
    assert Board.from_json(board.to_json()) == board


def test_an_interrupted_run_goes_on(asked: list[str], tmp_path: Path) -> None:
    partial = tmp_path / "partial.json"
    whole = run_board(ENTRIES, pairs=SMALL)

    def interrupt(label: str) -> None:
        if label == ENTRIES[1].label:
            raise Interrupted

    asked.clear()
    with pytest.raises(Interrupted):
        run_board(ENTRIES, pairs=SMALL, partial=partial, progress=interrupt)
    assert asked == ["1wl"]
    assert list(tmp_path.iterdir()) == [partial]
    kept = Board.from_json(partial.read_text("utf-8"))
    assert [row.key for row in kept.rows] == ["1wl"]
    asked.clear()
    resumed = run_board(ENTRIES, pairs=SMALL, partial=partial)
    assert asked == ["khop(num_hops=2)", "2fwl"]
    assert still(resumed) == still(whole)
    assert resumed.rows[0] == kept.rows[0]
    assert Board.from_json(partial.read_text("utf-8")) == resumed
    asked.clear()
    assert run_board(ENTRIES, pairs=SMALL, partial=partial) == resumed
    assert asked == []


def test_rows_left_out_stay_in_the_file(asked: list[str], tmp_path: Path) -> None:
    partial = tmp_path / "partial.json"
    whole = run_board(ENTRIES, pairs=SMALL, partial=partial)
    part = run_board(ENTRIES[1:2], pairs=SMALL, partial=partial)
    assert part.rows == whole.rows[1:2]
    assert len(Board.from_json(partial.read_text("utf-8")).rows) == 3
    asked.clear()
    assert run_board(ENTRIES, pairs=SMALL, partial=partial) == whole
    assert asked == []


@pytest.mark.parametrize(
    "changed",
    [
        {"seed": 1},
        {"copies": 2},
        {"pairs": BREC.of(PAIRS[1:])},
        {"pairs": BREC.of(PAIRS[::-1])},
        {"entries": (replace(ENTRIES[0], test=KHopWL(3)),)},
    ],
)
def test_what_was_asked_otherwise_is_run_again(
    asked: list[str], tmp_path: Path, changed: dict[str, Any]
) -> None:
    partial = tmp_path / "partial.json"
    options: dict[str, Any] = {"entries": ENTRIES[:1], "pairs": SMALL}
    run_board(**options, partial=partial)
    asked.clear()
    board = run_board(**options | changed, partial=partial)
    assert len(asked) == 1
    assert still(board) == still(run_board(**options | changed))
    assert Board.from_json(partial.read_text("utf-8")) == board


@pytest.mark.parametrize("what", ["versions", "commit"])
def test_rows_of_other_code_are_not_taken(
    asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    partial = tmp_path / "partial.json"
    run_board(ENTRIES[:2], pairs=SMALL, partial=partial)
    asked.clear()
    if what == "commit":
        monkeypatch.setattr(board, "source_commit", lambda: "other")
    else:
        monkeypatch.setattr(board, "package_versions", lambda names: {"numpy": "0"})
    run_board(ENTRIES[:1], pairs=SMALL, partial=partial)
    assert asked == ["1wl"]
    assert len(Board.from_json(partial.read_text("utf-8")).rows) == 1


DAMAGED = ["", "{", "[]", "{}", "7", "null", '{"rows": 1}', '{"rows": [{"key": "a"}]}']


@pytest.mark.parametrize("text", [*DAMAGED, "cut"])
def test_a_damaged_record_is_refused_and_kept(
    asked: list[str], tmp_path: Path, text: str
) -> None:
    partial = tmp_path / "partial.json"
    if text == "cut":
        run_board(ENTRIES[:1], pairs=SMALL, partial=partial)
        text = partial.read_text("utf-8")[:-20]
        asked.clear()
    partial.write_text(text)
    with pytest.raises(OutputError, match=r"cannot be continued: .*again"):
        run_board(ENTRIES, pairs=SMALL, partial=partial)
    assert (asked, partial.read_text()) == ([], text)
    with pytest.raises(ValueError):
        Board.from_json(text)


def test_no_pairs(asked: list[str]) -> None:
    with pytest.raises(ConfigError, match="at least one pair"):
        run_board(ENTRIES, pairs=BREC.of([]))
    assert asked == []
