"""Splits are disjoint and lose nothing."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sekgnn.datasets import Split


@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9), st.integers(0, 99))
def test_parts_are_the_order_cut_in_three(a: int, b: int, c: int, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(a + b + c)
    split = Split.of(order, a, b)
    assert split.sizes == (a, b, c)
    joined = np.concatenate([split.train, split.val, split.test])
    assert np.array_equal(joined, order)
    assert Split.contiguous(a, b, c).val.tolist() == list(range(a, a + b))
