"""One step from colours nobody would meet: every part of it counts.

Colours of a real run are so regular that a step may overlook a part of what it should
read and still find the same classes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.brute_force_wl import brute_force_step, numbered
from tests.wl.cases import any_tests, batches, seks
from tests.wl.test_brute_force import assert_same_values, classes

from sekgnn.digest import digest_words, key_of
from sekgnn.graphs import Graph, LabelledGraph, path_graph
from sekgnn.wl import SEKTwoFWL, ThreeFWL, TwoFWL, Walks, WLTest
from sekgnn.wl.refinement import Batch


def assert_same_step(test: WLTest, items: Sequence[Graph], seed: int) -> None:
    colouring = test.start(Batch.of(items))
    sizes = np.diff(colouring.ptr).tolist()
    rng = np.random.default_rng(seed)
    numbers = [rng.integers(0, 2 + seed % 2, size).tolist() for size in sizes]
    colours = np.empty((sum(sizes), 2), dtype=np.uint64)
    words = np.array([n for part in numbers for n in part], dtype=np.int64)
    digest_words(words.reshape(-1, 1), key_of("any"), colours)
    expected = numbered(brute_force_step(test, items, numbers))
    assert classes(colouring.step(colours), sizes) == expected


@pytest.mark.parametrize(
    ("tests", "most"),
    [
        (any_tests(), 5),
        (seks(SEKTwoFWL) | st.just(TwoFWL()), 5),
        (st.just(ThreeFWL()), 4),
    ],
    ids=["all", "pairs", "triples"],
)
@given(st.data(), st.integers(0, 999))
@settings(max_examples=60)
def test_a_step_is_its_definition(
    tests: st.SearchStrategy[WLTest], most: int, data: st.DataObject, seed: int
) -> None:
    assert_same_step(data.draw(tests), data.draw(batches(most)), seed)


def test_sums_over_all_shells_of_an_ego_net() -> None:
    """``hops`` is for the whole graph; an ego-net has as many shells as its radius."""
    items = [LabelledGraph(path_graph(n)) for n in (5, 6, 7)]
    for scope in ("ego", "internal"):
        few, many = (
            Walks(scope, radius=3, num_shells=hops, walk_length=2, multisets=False)
            for hops in (1, 3)
        )
        batch = Batch.of(items)
        assert np.array_equal(few.colours(batch), many.colours(batch))
        assert_same_values(items, few)
