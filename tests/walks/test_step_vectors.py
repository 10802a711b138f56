"""Step vectors of merged graphs: the residues and floats of fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.brute_force import landing

from sekgnn.graphs import Graph, random_graph
from sekgnn.testing import graphs
from sekgnn.walks.ball import induced
from sekgnn.walks.modular import MAX_STEPS, inverse
from sekgnn.walks.step_vectors import (
    INVERSES,
    PRIMES,
    STEP_FACTORS,
    Merged,
    merge_twins,
    multiply,
    remainder,
    step_vectors,
)


def merged_graph(g: Graph, loops: bool) -> Merged:
    n = g.num_nodes
    nodes, place = np.arange(n, dtype=np.int32), np.arange(n, dtype=np.int32)
    rows, columns = induced(g.csr, nodes, n, True, int(loops), place)
    merged = merge_twins(rows, columns, np.zeros(n, dtype=np.int32))
    return merged._replace(digest=(np.uint64(0), np.uint64(0)))  # from Python's int


def modulo(x: Fraction, prime: int) -> int:
    return x.numerator * pow(x.denominator, -1, prime) % prime


@given(graphs(max_nodes=6), st.integers(1, 6), st.booleans())
@settings(max_examples=60)
def test_every_pair_has_its_residues_and_floats(
    g: Graph, steps: int, loops: bool
) -> None:
    n, merged = g.num_nodes, merged_graph(g, loops)
    residues, floats = step_vectors(merged, steps)
    assert floats.shape == (steps, merged.rows.size - 1, merged.second.size)
    q, h = merged.second.size, landing(g, list(range(n)), steps, loops)
    for i in range(n):
        for j in range(n):
            c, d = merged.class_of[[i, j]]
            row = merged.second[c] if c == d and i != j else c
            assert floats[:, row, d].tolist() == [
                round(x * 2**52) / 2**52 for x in h[i, j]
            ]
            for k, prime in enumerate(PRIMES):
                total = sum(
                    int(STEP_FACTORS[t, k]) * modulo(x, prime)
                    for t, x in enumerate(h[i, j])
                )
                assert residues[row, k * q + d] == total % prime


def test_degrees_beyond_the_table_of_inverses() -> None:
    """A random graph of 90 nodes has none below 64."""
    g = random_graph(90, 0.9, np.random.default_rng(0))
    merged = merged_graph(g, True)
    residues, floats = step_vectors(merged, 2)
    size = len(INVERSES)
    assert np.diff(g.indptr).min() > size and merged.second.size == 90
    i, j = 3, 7
    c, d = merged.class_of[[i, j]]
    degree = [len(g.neighbors(v)) + 1 for v in range(90)]
    near = [set(g.neighbors(v).tolist()) | {v} for v in range(90)]
    once = Fraction(int(j in near[i]), degree[i])
    both = near[i] & near[j]
    twice = sum((Fraction(1, degree[i] * degree[u]) for u in both), Fraction(0))
    assert floats[:, c, d].tolist() == [round(x * 2**52) / 2**52 for x in (once, twice)]
    for k, prime in enumerate(PRIMES):
        first, second = (int(x) for x in STEP_FACTORS[:2, k])
        total = first * modulo(once, prime) + second * modulo(twice, prime)
        assert residues[c, 90 * k + d] == total % prime


@pytest.mark.parametrize("k", [0, 1])
def test_products_and_remainders_at_the_edges(k: int) -> None:
    prime = PRIMES[k]
    edges = [0, 1, prime - 1, prime, prime + 1, 2**18 * prime - 1, 2**18 * prime]
    for x in [*edges, 2**52 // prime * prime - 1, 2**52 - 1]:
        rest = int(remainder(float(x), float(prime)))
        assert -2 <= rest <= prime + 2 and (x - rest) % prime == 0
        for a in (0, 1, 2**17, prime - 1, prime // 3):
            product = np.array([float(x)])
            multiply(product, float(a >> 17), float(a % 2**17), float(prime))
            assert -2 <= product[0] <= prime + 2
            assert (int(product[0]) - a * x) % prime == 0


def test_constants_are_residues() -> None:
    """No factor is 0, which would lose its step."""
    assert STEP_FACTORS.shape == (MAX_STEPS, 2)
    assert (STEP_FACTORS > 0).all() and (STEP_FACTORS < PRIMES).all()
    assert np.unique(STEP_FACTORS).size == STEP_FACTORS.size
    for d, parts in enumerate(INVERSES):
        for prime, (high, low) in zip(PRIMES, parts, strict=True):
            a = int(high) * 2**17 + int(low)
            assert a == (inverse(d, prime) if d else 0)
            assert low < 2**17 and (not d or a * d % prime == 1)
