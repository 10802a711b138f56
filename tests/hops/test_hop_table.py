"""The table of hops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sekgnn.errors import ConfigError
from sekgnn.graphs.graph import Graph
from sekgnn.hops import HopTable, hop_pairs
from sekgnn.testing.strategies import graphs


def small() -> HopTable:
    """Node 3 is isolated; hop 2 of 3 is empty."""
    indptr = np.array([0, 2, 2, 3, 3, 3, 3, 3, 3, 3, 5, 5, 5])
    return HopTable(indptr, np.array([1, 2, 0, 0, 2], dtype=np.int32), num_hops=3)


def test_by_hand() -> None:
    pairs = small()
    assert pairs.row.tolist() == [0, 0, 2, 1, 1]
    assert pairs.col.tolist() == [1, 2, 0, 0, 2]
    assert pairs.hop.tolist() == [1, 1, 1, 3, 3]
    assert [a.tolist() for a in pairs.csr(3)] == [[0, 0, 2, 2, 2], [0, 2]]
    assert [a.tolist() for a in pairs.csr(2)] == [[0, 0, 0, 0, 0], []]
    assert pairs.counts().tolist() == [[2, 0, 0], [0, 0, 2], [1, 0, 0], [0, 0, 0]]
    assert pairs.num_pairs == 5
    assert pairs.members(3, 1).tolist() == [0, 2]
    assert repr(pairs) == "HopTable(num_nodes=4, num_hops=3, num_pairs=5)"


@given(graphs(max_nodes=8), st.integers(1, 4))
def test_every_form_says_the_same(g: Graph, num_hops: int) -> None:
    pairs = hop_pairs(g, num_hops)
    counts = pairs.counts()
    assert counts.shape == (g.num_nodes, num_hops)
    assert counts.dtype == np.int64
    for k in range(1, num_hops + 1):
        indptr, indices = pairs.csr(k)
        np.testing.assert_array_equal(np.diff(indptr), counts[:, k - 1])
        row, col = pairs.row[pairs.hop == k], pairs.col[pairs.hop == k]
        np.testing.assert_array_equal(indices, col)
        np.testing.assert_array_equal(np.bincount(row, minlength=g.num_nodes),
                                      counts[:, k - 1])  # fmt: skip
        members = [pairs.members(k, v).tolist() for v in range(g.num_nodes)]
        assert [x.tolist() for x in np.split(indices, indptr[1:-1])] == (
            members or [[]]
        )


@given(graphs(max_nodes=8))
def test_hop_one_is_the_graph(g: Graph) -> None:
    indptr, indices = hop_pairs(g, 1).csr(1)
    assert Graph(indptr, indices) == g


def test_the_arrays_cannot_be_written_to() -> None:
    pairs = small()
    for array in (pairs.indptr, pairs.indices, pairs.csr(1)[1]):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0


@pytest.mark.parametrize("k", [0, 4, -1])
def test_hops_outside_the_range_are_refused(k: int) -> None:
    with pytest.raises(ConfigError, match="k must be at"):
        small().csr(k)


@pytest.mark.parametrize(("rows", "num_hops"), [([0, 1, 2, 2], 2), ([0, 1, 1], 2)])
def test_rows_that_do_not_fit_are_refused(rows: list[int], num_hops: int) -> None:
    with pytest.raises(ConfigError, match="do not hold"):
        HopTable(np.array(rows), np.zeros(2, dtype=np.int32), num_hops)
