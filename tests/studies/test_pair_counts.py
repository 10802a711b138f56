"""Counting by class equals counting pair by pair."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sekgnn.studies.pair_counts import (
    pairs_across,
    pairs_within,
    prefix_labels,
    together,
)

columns = st.integers(0, 12).flatmap(
    lambda n: st.lists(
        st.lists(st.integers(-2, 2), min_size=n, max_size=n), min_size=1, max_size=4
    )
)


@given(columns)
def test_together_is_equality_of_all(rows: list[list[int]]) -> None:
    label = together(*(np.array(row, dtype=np.int64) for row in rows))
    whole = list(zip(*rows, strict=True))
    for i, j in combinations(range(len(whole)), 2):
        assert (label[i] == label[j]) == (whole[i] == whole[j])
    assert sorted({*label.tolist()}) == list(range(len({*whole})))


@given(columns)
def test_pairs(rows: list[list[int]]) -> None:
    label, graph = (np.array(row, dtype=np.int64) for row in (rows[0], rows[-1]))
    pairs = list(combinations(range(label.size), 2))
    same = [(i, j) for i, j in pairs if label[i] == label[j]]
    assert pairs_within(label) == len(same)
    across = sum(graph[i] != graph[j] for i, j in same)
    assert pairs_across(label, graph) == across


@given(st.integers(0, 10**6))
def test_prefixes_only_refine(seed: int) -> None:
    values = np.random.default_rng(seed).integers(2, size=(9, 4, 2))
    labels = prefix_labels(values)
    for t in range(4):
        for i, j in combinations(range(9), 2):
            equal = bool((values[i, : t + 1] == values[j, : t + 1]).all())
            assert (labels[t, i] == labels[t, j]) == equal
