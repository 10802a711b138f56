"""The bricks that colours are made of, against the obvious way to do the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.brute_force import landing

from sekgnn.digest import (
    absorb_all,
    colour_text,
    count_distinct,
    digest_words,
    key_of,
    multiset_digests,
    number_colours,
    spread,
    spread_all,
)
from sekgnn.graphs import Graph, LabelledGraph
from sekgnn.testing import graphs
from sekgnn.walks.ball import induced
from sekgnn.walks.modular import (
    MAX_STEPS,
    PRIMES,
    STEP_KEYS,
    modular_landing,
    reduce,
    residues,
    walk_digests,
)
from sekgnn.wl.refinement import Batch

WORDS = st.integers(0, 2**64 - 1)
COLOURS = st.tuples(WORDS, WORDS)
MASK = 2**64 - 1
KEY = key_of("a test")


def scrambled(x: int) -> int:
    """Stafford's thirteenth finaliser, in whole numbers of any size."""
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
    return x ^ (x >> 31)


def round_keys(key: int) -> tuple[int, int, int]:
    return (
        key,
        key * 0x9E3779B97F4A7C15 & MASK,
        key * 0xD1B54A32D192ED03 & MASK,
    )


def table(rows: list[tuple[int, int]]) -> NDArray[np.uint64]:
    return np.array(rows, dtype=np.uint64).reshape(-1, 2)


@given(COLOURS, WORDS)
def test_spread_is_a_feistel_network_that_can_be_undone(
    colour: tuple[int, int], key: int
) -> None:
    first, second = table([colour])[0]
    c0, c1 = (int(x) for x in spread(first, second, np.uint64(key)))
    a, b, c = round_keys(key)
    c1 ^= scrambled((c0 + c) & MASK)
    c0 ^= scrambled((c1 + b) & MASK)
    c1 ^= scrambled((c0 + a) & MASK)
    assert (c0, c1) == colour


@given(st.lists(COLOURS), st.lists(COLOURS))
def test_spread_and_absorb_all(
    first: list[tuple[int, int]], second: list[tuple[int, int]]
) -> None:
    size = min(len(first), len(second))
    state, part = table(first[:size]), table(second[:size])
    sums = state + part
    expected = [spread(c0, c1, KEY) for c0, c1 in sums]
    out = np.empty_like(state)
    spread_all(sums, KEY, out)
    absorb_all(state, part, KEY)
    assert np.array_equal(state, table([(int(a), int(b)) for a, b in expected]))
    assert np.array_equal(state, out)


@given(st.lists(st.tuples(WORDS, WORDS), max_size=200), st.integers(1, 5))
def test_number_colours_is_a_dictionary(
    rows: list[tuple[int, int]], repeats: int
) -> None:
    rows = rows * repeats
    numbers: dict[tuple[int, int], int] = {}
    expected = [numbers.setdefault(row, len(numbers)) for row in rows]
    distinct, classes = number_colours(table(rows))
    assert classes.tolist() == expected
    assert [tuple(row) for row in distinct.tolist()] == list(numbers)


@pytest.mark.parametrize("number", [31, 32, 33, 127, 128, 129, 5_000])
def test_crowded_slots_are_kept_apart(number: int) -> None:
    """Colours whose low bits are all equal meet in the same slot, and are kept."""
    rows = [(k << 40, 7) for k in range(number)]
    distinct, classes = number_colours(table(rows + rows))
    assert classes.tolist() == [*range(number), *range(number)]
    assert distinct.tolist() == [list(row) for row in rows]


@given(st.lists(st.integers(0, 20)))
def test_counting_by_sorting_is_counting(labels: list[int]) -> None:
    colours = np.empty((len(labels), 2), dtype=np.uint64)
    digest_words(np.array(labels, dtype=np.int64).reshape(-1, 1), KEY, colours)
    assert count_distinct(colours) == len(set(labels))
    colours[:, 1] = 0  # either lane is enough
    assert count_distinct(colours) == len(set(labels))
    assert count_distinct(np.ascontiguousarray(colours[:, ::-1])) == len(set(labels))


@given(st.lists(COLOURS, max_size=20), st.randoms())
def test_multisets_do_not_depend_on_order(
    rows: list[tuple[int, int]], rng: object
) -> None:
    mixed = list(rows)
    rng.shuffle(mixed)  # type: ignore[attr-defined]
    n = len(rows)
    both = table([*rows, *mixed])
    out = multiset_digests(both, np.array([0, n, 2 * n, 2 * n]))
    assert np.array_equal(out[0], out[1])
    assert out[2].tolist() == [0, 0]
    if n:  # one copy more is another multiset
        out = multiset_digests(both, np.array([0, n, n + n - 1, 2 * n]))
        assert not np.array_equal(out[0], out[1])


@given(st.lists(st.lists(st.integers(-5, 5), min_size=3, max_size=3), max_size=30))
def test_equal_rows_have_equal_digests(rows: list[list[int]]) -> None:
    out = np.empty((len(rows), 2), dtype=np.uint64)
    words = np.array(rows, dtype=np.int64).reshape(-1, 3)
    digest_words(words, KEY, out)
    assert len({tuple(c) for c in out.tolist()}) == len({tuple(r) for r in rows})


def test_colours_as_text() -> None:
    assert colour_text(np.array([1, 2**64 - 1], dtype=np.uint64)) == (
        "0000000000000001ffffffffffffffff"
    )
    assert key_of("a") != key_of("b")


@given(st.one_of(st.integers(0, 2**62 - 1), st.integers(2**62 - 2**36, 2**62 - 1)))
@settings(max_examples=150)
def test_reduce_is_the_remainder(x: int) -> None:
    assert_reduces(x)


def test_reduce_at_the_edges() -> None:
    for prime in PRIMES:
        squares = [(prime - 1) ** 2, (prime - 1) * prime, 2**31, 2**36, 2**61]
        for x in [0, 1, prime - 1, prime, prime + 1, 2 * prime, 2**62 - 1, *squares]:
            assert_reduces(x)
        for k in range(2**31 - prime, 40):
            assert_reduces(prime * k - 1)
            assert_reduces(prime * ((2**62 - 1) // prime) - k)


def assert_reduces(x: int) -> None:
    for prime in PRIMES:
        words = np.uint64(x), np.uint64(prime), np.uint64(2**31 - prime)
        assert int(reduce(*words)) == x % prime


@given(graphs(max_nodes=6), st.integers(1, 6), st.booleans())
def test_step_vectors_digest_the_residues(g: Graph, steps: int, loops: bool) -> None:
    """And the residues are those of the fractions."""
    n = g.num_nodes
    nodes, place = np.arange(n, dtype=np.int32), np.arange(n, dtype=np.int32)
    rows, columns = induced(g.csr, nodes, n, True, int(loops), place)
    scratch = np.full((2, 2, n, n), 99, dtype=np.uint64)
    out = np.full((2, n, n), 99, dtype=np.uint64)
    walk_digests(rows, columns, steps, scratch, out)
    values = modular_landing(g, steps, self_loops=loops)
    fractions = landing(g, list(range(n)), steps, loops)
    for i in range(n):
        for j in range(n):
            assert values[:, i, j].tolist() == [
                list(residues(x)) for x in fractions[i, j]
            ]
            for lane in (0, 1):
                words = (
                    int(STEP_KEYS[t, lane]) * (int(p) * 2**32 + int(q))
                    for t, (p, q) in enumerate(values[:, i, j])
                )
                assert int(out[lane, i, j]) == sum(words) & MASK


def test_step_keys_are_odd_and_different() -> None:
    """Odd: a single step that differs can never be lost."""
    assert STEP_KEYS.shape == (MAX_STEPS, 2)
    assert (STEP_KEYS % 2 == 1).all()
    assert np.unique(STEP_KEYS).size == STEP_KEYS.size


def test_batches_locate_their_nodes() -> None:
    batch = Batch.of(["A_", LabelledGraph(Graph.from_edge_index([[], []], 0)), "Bw"])
    assert batch.sizes == [2, 0, 3]
    assert [batch.locate(v) for v in range(5)] == [
        (0, 0),
        (0, 1),
        (2, 0),
        (2, 1),
        (2, 2),
    ]
    assert not batch.has_node_labels and not batch.has_edge_labels
    assert batch.node_labels.tolist() == [0] * 5
    labels = Batch.of([LabelledGraph(batch.graphs[2].graph, [3, 4, 3])]).label_colours
    assert len({tuple(c) for c in labels.tolist()}) == 2
    assert not Batch.of([]).has_node_labels
