"""The exact score is what the tests say, in order, and counts false separations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.brec.cases import UNSORTED as PAIRS
from tests.brec.cases import NodeNumbers

from sekgnn.brec.exact import score_exact
from sekgnn.brec.record import plain
from sekgnn.datasets import BREC, CATEGORIES, BRECPair
from sekgnn.errors import ConfigError, DataNotFoundError, GraphInputError
from sekgnn.graphs import complete_graph, path_graph
from sekgnn.wl import TESTS, KHopWL, OneWL, ThreeFWL, TwoFWL, compare, refinement

RIGID = path_graph(9)  # 2 of 9! relabellings leave it as it is
BLANK = complete_graph(9)  # all do


@pytest.mark.parametrize("test", TESTS)
def test_each_pair_has_the_verdict_of_compare(test: str) -> None:
    score = score_exact(test, pairs=PAIRS)
    assert [(p.index, p.category) for p in score.pairs] == [
        (p.index, p.category) for p in PAIRS
    ]
    for result, pair in zip(score.pairs, PAIRS, strict=True):
        verdict = compare(pair.first, pair.second, test)
        assert (result.round, result.separated) == (verdict.round, verdict.separated)
        assert result.seconds >= 0
    assert score.separated == sum(p.separated for p in score.pairs)
    assert score.failures == 0
    assert score.settings["tests"] == plain([TESTS[test]().to_dict()])
    assert score.model == str(TESTS[test]())
    assert score.seconds == pytest.approx(sum(p.seconds for p in score.pairs), abs=1e-3)


def test_the_given_order_is_kept() -> None:
    straight = score_exact("2fwl", pairs=PAIRS)
    back = score_exact("2fwl", pairs=(p for p in reversed(PAIRS)))
    assert back.pairs == straight.pairs[::-1]
    assert [p.separated for p in straight.pairs] == [True, True, False, True]


@pytest.mark.parametrize("test", ["sek", "3fwl"])
def test_workers_never_change_the_verdicts(test: str) -> None:
    many = tuple(
        BRECPair(i, pair.category, pair.first, pair.second)
        for i, pair in enumerate(PAIRS * 5)
    )
    runs = [score_exact(test, pairs=many, threads=w, copies=2) for w in (1, 2, 7)]
    assert runs[0] == runs[1] == runs[2]
    assert runs[0].pairs != ()


def test_progress_counts_pairs() -> None:
    calls: list[tuple[int, int]] = []
    score_exact(
        "1wl",
        pairs=PAIRS,
        threads=1,
        progress=lambda done, total: calls.append((done, total)),
    )
    assert calls == [(i + 1, 4) for i in range(4)]


@pytest.mark.parametrize("copies", [0, 1, 3])
def test_false_separations_are_counted(copies: int) -> None:
    """Each copy of each graph that a wrong test takes for another, and no other."""
    pairs = (
        BRECPair(0, "basic", RIGID, BLANK),
        BRECPair(1, "basic", BLANK, RIGID),
        BRECPair(2, "basic", RIGID, RIGID),
        BRECPair(3, "basic", BLANK, BLANK),
    )
    score = score_exact(NodeNumbers(), pairs=pairs, copies=copies)
    wrong = [copies, copies, 2 * copies, 0]
    assert [p.failures for p in score.pairs] == wrong
    assert score.failures == sum(wrong) == score.to_dict()["failures"]
    assert f"{4 * copies} false separations among {8 * copies} " in score.sentence()
    assert [p.separated for p in score.pairs] == [True, True, False, False]


def test_copies_depend_on_seed_and_pair_alone() -> None:
    """How often a wrong test errs on paths of three nodes tells the copies apart."""
    small = path_graph(3)
    pairs = [BRECPair(i, "basic", small, small) for i in range(8)]

    def wrong(seed: int, chosen: list[BRECPair]) -> list[int]:
        score = score_exact(NodeNumbers(), pairs=chosen, copies=20, seed=seed)
        assert score.settings["seed"] == seed
        return [pair.failures for pair in score.pairs]

    first = wrong(0, pairs)
    assert wrong(0, pairs) == first
    assert wrong(0, pairs[5:]) == first[5:]
    assert len(set(first)) > 1
    assert any(count % 20 for count in first)  # each copy by itself
    assert wrong(1, pairs) != first


def test_tables_and_dictionaries_agree() -> None:
    score = score_exact("2fwl", pairs=PAIRS, copies=2)
    assert score.by_category() == {
        "basic": {"separated": 2, "total": 2},
        "simple_regular": {"separated": 1, "total": 1},
        "strongly_regular": {"separated": 0, "total": 1},
    }
    head, *rows, blank, words = score.table().splitlines()
    assert (head.split(), blank) == (["category", "separated", "of"], "")
    assert [row.rsplit(maxsplit=2) for row in rows] == [
        ["basic", "2", "2"],
        ["simple regular", "1", "1"],
        ["strongly regular", "0", "1"],
        ["total", "3", "4"],
    ]
    assert words == score.sentence()
    assert words.startswith("2fwl: 3 of 4 pairs in ")
    assert words.endswith("; 0 false separations among 16 relabelled copies.")
    content = score.to_dict()
    assert (content["separated"], content["settings"]["copies"]) == (3, 2)
    assert content["by_category"]["basic"] == {"separated": 2, "total": 2}


def test_categories_stand_in_the_order_of_tables() -> None:
    pairs = [replace(PAIRS[1], category=name) for name in reversed(CATEGORIES)]
    score = score_exact("1wl", pairs=pairs, copies=0)
    assert score.by_category() == {
        name: {"separated": 0, "total": 1} for name in CATEGORIES
    }
    assert list(score.by_category()) == list(CATEGORIES)


def test_no_pairs() -> None:
    score = score_exact("1wl", pairs=[])
    assert (score.pairs, score.separated, score.by_category()) == ((), 0, {})


def test_graphs_too_large_are_refused_before_any_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Even if a pair that would fit comes first."""
    pairs = [*PAIRS, BRECPair(0, "basic", path_graph(2), path_graph(30))]
    monkeypatch.setattr(refinement, "MEMORY_LIMIT", TwoFWL().memory([2, 30]) - 1)

    def never(done: int, total: int) -> None:
        raise AssertionError("work began")

    with pytest.raises(GraphInputError, match="30 nodes"):
        score_exact("2fwl", pairs=pairs, progress=never, threads=1)


def test_parameters_and_bad_values() -> None:
    by_name = score_exact("khop", num_hops=2, pairs=PAIRS)
    assert by_name == score_exact(KHopWL(2), pairs=PAIRS)
    assert by_name.settings["tests"][0]["num_hops"] == 2
    with pytest.raises(ConfigError, match="copies"):
        score_exact("1wl", pairs=PAIRS, copies=-1)
    with pytest.raises(ConfigError, match="seed"):
        score_exact("1wl", pairs=PAIRS, seed=-1)
    with pytest.raises(ConfigError, match="test"):
        score_exact("2wl", pairs=PAIRS)
    with pytest.raises(ConfigError, match="parameters"):
        score_exact(KHopWL(2), pairs=PAIRS, num_hops=2)


def test_without_data(tmp_path: Path) -> None:
    with pytest.raises(DataNotFoundError, match="GraphPKU/BREC"):
        score_exact("1wl", data_root=tmp_path)


@pytest.mark.dataset
def test_all_pairs_by_default(data_root: Path) -> None:
    score = score_exact("1wl", data_root=data_root, copies=0)
    assert [pair.index for pair in score.pairs] == list(range(400))
    assert score.separated == 0
    assert score.counts()["total"] == len(BREC(data_root))


def test_later_tests_see_what_earlier_ones_leave() -> None:
    """1-WL separates the fourth pair, 2-FWL all but the third, which 3-FWL does."""
    stairs = (OneWL(), TwoFWL())
    alone = {test.name: score_exact(test, pairs=PAIRS, copies=1) for test in stairs}
    score = score_exact("3fwl", after=stairs, pairs=PAIRS, copies=1)
    assert [pair.separated for pair in score.pairs] == [True] * 4
    assert score.pairs[3].round == alone["1wl"].pairs[3].round
    for i in (0, 1):
        assert score.pairs[i].round == alone["2fwl"].pairs[i].round
    assert score.failures == 0
    asked = [test.to_dict() for test in (*stairs, ThreeFWL())]
    assert score.settings["tests"] == plain(asked)
    assert score.model == "1wl, then 2fwl, then 3fwl"
