"""The scoreboard: its rows, and runs that go on where they were interrupted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.brec.cases import UNSORTED as PAIRS

from sekgnn.brec import BRECScore, ExactPair, exact
from sekgnn.brec.exact import run_board, score_exact
from sekgnn.brec.record import from_json, to_json
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
)
from sekgnn.wl.ladder import BOARD, MEMORY_CLASSES, Rung, advised, explored

SMALL = BREC.of(PAIRS)
RUNGS = (
    Rung("1wl", "1-WL", OneWL(), "n·ball"),
    Rung("khop2", "K-hop, K = 2", KHopWL(2), "n·ball"),
    Rung("2fwl", "2-FWL", TwoFWL(), "n²"),
)


class Interrupted(Exception):
    """Stands for Ctrl-C."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the titles of the tests that were run."""
    ran: list[str] = []

    def score(test: WLTest, **options: Any) -> BRECScore[ExactPair]:
        ran.append(str(test))
        return score_exact(test, **options)

    monkeypatch.setattr(exact, "score_exact", score)
    return ran


def test_the_board_is_sorted_by_memory_and_says_nothing_twice() -> None:
    classes = [e.memory for e in BOARD]
    assert set(classes) == {*MEMORY_CLASSES, ""}
    order = [(*MEMORY_CLASSES, "").index(memory) for memory in classes]
    assert order == sorted(order)  # the cheaper memory first
    assert [e.key for e in BOARD if not e.memory] == ["isomorphism"]
    assert len({(str(e.test), str(e.after)) for e in BOARD}) == len(BOARD)


LADDERS = BOARD, explored(), advised(4, 16), advised(2, 5, edge_labels=True)


@pytest.mark.parametrize("ladder", LADDERS)
def test_rungs_come_after_those_that_they_refine(ladder: tuple[Rung, ...]) -> None:
    keys = [rung.key for rung in ladder]
    assert len(set(keys)) == len({rung.label for rung in ladder}) == len(keys)
    for i, rung in enumerate(ladder):
        assert not {*rung.refines} & {*keys[i:]}


def test_a_label_stands_for_one_test_on_all_ladders() -> None:
    rungs = {(r.label, r.test, r.after) for ladder in LADDERS[:3] for r in ladder}
    assert len(rungs) == len({label for label, *_ in rungs})
    assert {"1wl", "2fwl"} <= set.intersection(*({r.key for r in x} for x in LADDERS))


def test_memory_grows_as_the_class_says() -> None:
    """Ten times the nodes, at least so much more memory for n² and n³."""
    for rung in BOARD:
        ratio = rung.test.memory([2000, 2000]) / rung.test.memory([200, 200])
        least = {"n²": 90, "n³": 900}.get(rung.memory, 9)
        assert ratio >= least, rung.key


def test_known_results_are_of_the_published_settings() -> None:
    """K = 4; l = 16 on the graph, 12 inside ego-nets, all pairs of shells there.

    The numbers are in ``tests/wl/test_benchmarks.py``.
    """
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
    assert {e.key: e.test for e in BOARD if e.key in expected} == expected


def test_a_run_holds_every_row(asked: list[str]) -> None:
    labels: list[str] = []
    scores = run_board(
        RUNGS, pairs=SMALL, copies=2, seed=3, progress=lambda x: labels.append(x)
    )
    assert labels == [rung.label for rung in RUNGS]
    for score, rung in zip(scores, RUNGS, strict=True):
        expected = score_exact(rung.test, pairs=PAIRS, copies=2, seed=3)
        assert score == replace(
            expected, name=rung.key, label=rung.label, memory=rung.memory
        )
        assert score.failures == 0
        assert {"python", "sekgnn", "numpy"} <= set(score.versions)
    assert from_json(to_json(scores)) == scores


def test_an_interrupted_run_goes_on(asked: list[str], tmp_path: Path) -> None:
    partial = tmp_path / "partial.json"
    uninterrupted = run_board(RUNGS, pairs=SMALL)

    def interrupt(label: str) -> None:
        if label == RUNGS[1].label:
            raise Interrupted

    asked.clear()
    with pytest.raises(Interrupted):
        run_board(RUNGS, pairs=SMALL, partial=partial, progress=interrupt)
    assert asked == ["1wl"]
    assert list(tmp_path.iterdir()) == [partial]
    (saved,) = from_json(partial.read_text("utf-8"))
    assert saved.name == "1wl"
    asked.clear()
    resumed = run_board(RUNGS, pairs=SMALL, partial=partial)
    assert asked == ["khop(num_hops=2)", "2fwl"]
    assert resumed == uninterrupted
    assert resumed[0].seconds == saved.seconds
    assert partial.read_text("utf-8") == to_json(resumed)
    asked.clear()
    assert run_board(RUNGS, pairs=SMALL, partial=partial) == resumed
    assert asked == []


def test_rows_left_out_stay_in_the_file(asked: list[str], tmp_path: Path) -> None:
    partial = tmp_path / "partial.json"
    uninterrupted = run_board(RUNGS, pairs=SMALL, partial=partial)
    second = run_board(RUNGS[1:2], pairs=SMALL, partial=partial)
    assert second == uninterrupted[1:2]
    assert len(from_json(partial.read_text("utf-8"))) == 3
    asked.clear()
    assert run_board(RUNGS, pairs=SMALL, partial=partial) == uninterrupted
    assert asked == []


@pytest.mark.parametrize(
    "changed",
    [
        {"seed": 1},
        {"copies": 2},
        {"pairs": BREC.of(PAIRS[1:])},
        {"pairs": BREC.of(PAIRS[::-1])},
        {"rungs": (replace(RUNGS[0], test=KHopWL(3)),)},
    ],
)
def test_what_was_asked_otherwise_is_run_again(
    asked: list[str], tmp_path: Path, changed: dict[str, Any]
) -> None:
    partial = tmp_path / "partial.json"
    options: dict[str, Any] = {"rungs": RUNGS[:1], "pairs": SMALL}
    run_board(**options, partial=partial)
    asked.clear()
    scores = run_board(**options | changed, partial=partial)
    assert len(asked) == 1
    assert scores == run_board(**options | changed)
    assert partial.read_text("utf-8") == to_json(scores)


@pytest.mark.parametrize("what", ["versions", "commit"])
def test_rows_of_other_code_are_not_taken(
    asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    partial = tmp_path / "partial.json"
    run_board(RUNGS[:2], pairs=SMALL, partial=partial)
    asked.clear()
    if what == "commit":
        monkeypatch.setattr(exact, "source_commit", lambda: "other")
    else:
        monkeypatch.setattr(exact, "package_versions", lambda names: {"numpy": "0"})
    run_board(RUNGS[:1], pairs=SMALL, partial=partial)
    assert asked == ["1wl"]
    assert len(from_json(partial.read_text("utf-8"))) == 1


DAMAGED = ("", "{", "[]", "{}", "7", "null", '{"scores": 1}', '{"scores": [{"a": 1}]}')


@pytest.mark.parametrize("text", [*DAMAGED, "cut"])
def test_a_damaged_record_is_refused_and_kept(
    asked: list[str], tmp_path: Path, text: str
) -> None:
    partial = tmp_path / "partial.json"
    if text == "cut":
        run_board(RUNGS[:1], pairs=SMALL, partial=partial)
        text = partial.read_text("utf-8")[:-20]
        asked.clear()
    partial.write_text(text)
    with pytest.raises(OutputError, match="Remove it"):
        run_board(RUNGS, pairs=SMALL, partial=partial)
    assert (asked, partial.read_text()) == ([], text)
    with pytest.raises(ValueError):
        from_json(text)
    with pytest.raises(ConfigError, match="one pair"):
        run_board(RUNGS, pairs=BREC.of([]))
    assert asked == []
