"""Explanations of tests of one's own, made of public pieces, claim nothing false."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sekgnn.digest import Colours
from sekgnn.errors import ConfigError
from sekgnn.graphs import LabelledGraph, complete_graph, cycle_graph, path_graph
from sekgnn.hops import hop_pairs
from sekgnn.wl import (
    SEK,
    Batch,
    Colouring,
    ExactEncoding,
    HopColouring,
    PairColouring,
    WLTest,
    colours_of,
    compare,
)

from .cases import pairs


@dataclass(frozen=True)
class OwnFirst(WLTest):
    """Nodes, or pairs of them, from any first colours, with or without words."""

    name = "own_first"

    values: tuple[int, ...] = ()
    num_hops: int = 1
    worded: bool = False
    pairs: bool = False

    def start(self, batch: Batch, threads: int | None = None) -> Colouring:
        """Give the nodes the numbers in turn."""
        values = np.resize(np.array(self.values), batch.packed.num_nodes)
        nodes = HopColouring(
            batch,
            hop_pairs(batch.packed, self.num_hops),
            colours_of(values, "own"),
            (lambda v: [f"number {values[v]}"]) if self.worded else None,
            threads,
        )
        return PairColouring(nodes, threads) if self.pairs else nodes


class Blind(HopColouring):
    """A colouring that says nothing of its steps."""

    def sources(self, item: int) -> list[object]:  # type: ignore[override]
        """Say nothing."""
        return []


@dataclass(frozen=True)
class BlindTest(WLTest):
    """1-WL without words."""

    name = "blind"

    def start(self, batch: Batch, threads: int | None = None) -> Colouring:
        """Start from labels."""
        return Blind(batch, hop_pairs(batch.packed, 1), threads=threads)


@dataclass(frozen=True)
class Degree(ExactEncoding):
    """The degree, without words."""

    name = "plain_degree"

    def colours(self, batch: Batch, threads: int | None = None) -> Colours:
        """Digest the degrees."""
        return colours_of(np.diff(batch.packed.indptr), "degree")


class Few(Degree):
    """One colour too few."""

    def colours(self, batch: Batch, threads: int | None = None) -> Colours:
        """Forget the last node."""
        return super().colours(batch)[:-1]


def own_tests() -> st.SearchStrategy[WLTest]:
    values = st.lists(st.integers(0, 2), min_size=1, max_size=7).map(tuple)
    return st.one_of(
        st.builds(OwnFirst, values, st.integers(1, 3), st.booleans(), st.booleans()),
        st.just(BlindTest()),
        st.just(SEK(1, (Degree(),))),
    )


@given(own_tests(), pairs(6))
@settings(max_examples=80)
def test_no_separated_pair_is_called_alike(
    test: WLTest, pair: tuple[LabelledGraph, LabelledGraph]
) -> None:
    """What is said to differ differs, and "alike" is said of one colour only."""
    verdict = compare(*pair, test)
    text = verdict.explain()
    assert ("alike" in text) <= (verdict.run.class_counts[0] == 1)
    if verdict.counterpart is None:
        assert "What differs" not in text
        return
    assert verdict.witness is not None and verdict.round is not None
    why = verdict.words.difference(verdict.witness, verdict.counterpart, verdict.round)
    assert why
    for line in why:
        left, against, right = line.partition(" against ")
        if against:
            assert left.rpartition(": ")[2] != right
        else:
            assert "differ" in line or "not the same" in line


def test_own_first_colours() -> None:
    """Nodes 0..3 are numbered 0, 1, 2, 3 and those of the other graph 4, 0, 1, 2."""
    pair = path_graph(4), path_graph(4)
    values = tuple(range(5))
    lines = compare(*pair, OwnFirst(values)).explain().splitlines()
    assert lines[2:] == [
        "  D0: one of 5 first colours of nodes",
        "What differs, node 3 of first against node 0 of second:",
        "  their first colours differ",
    ]
    worded = compare(*pair, OwnFirst(values, worded=True)).explain()
    assert worded.endswith("  number 3 against number 4")
    blank = compare(*pair, OwnFirst(values, pairs=True)).explain()
    assert "first: their first colours differ" in blank


def test_pairs_of_nodes_whose_colours_have_no_words() -> None:
    """Both graphs have pairs that are not adjacent: that alone would mean nothing."""
    pair = path_graph(4), path_graph(4)
    verdict = compare(*pair, OwnFirst((0, 1, 1, 0, 0, 0, 1, 1), pairs=True))
    assert verdict.round == 0 and "first: node colour " in verdict.explain()
    colouring = verdict.run.colouring
    words = ["; ".join(colouring.first_words(item)) for item in range(32)]
    pairs = {*zip(words, map(bytes, colouring.first), strict=True)}
    assert len(pairs) == len({*words})  # one meaning, one colour
    alike = compare(*pair, OwnFirst((0,), pairs=True))
    assert alike.run.colouring.first_words(1) == ["two adjacent nodes"]


def test_steps_without_words() -> None:
    text = compare(cycle_graph(4), complete_graph(4), BlindTest()).explain()
    assert text.endswith("  their colours of round 1 differ")


def test_wrong_colours_never_reach_a_kernel() -> None:
    batch = Batch.of([LabelledGraph(path_graph(3))])
    words = r"first must be colours, uint64 \[3, 2\], got .* colours_of\(\)"
    some: list[Any] = [np.zeros((2, 2), np.uint64), np.zeros((3, 2)), np.zeros(3)]
    for wrong in some:
        with pytest.raises(ConfigError, match=words):
            HopColouring(batch, hop_pairs(batch.packed, 1), wrong)
    with pytest.raises(ConfigError, match=r":Few gives must be colours"):
        compare(path_graph(3), path_graph(3), SEK(1, (Few(),)))
    with pytest.raises(ConfigError, match="integers"):
        colours_of(np.zeros(3), "floats")


def test_an_own_encoding_without_words() -> None:
    text = compare(cycle_graph(4), path_graph(4), SEK(1, (Degree(),))).explain()
    assert "a value of plain_degree in both, but not the same value" in text
