"""Residues are the fractions of the definition, exactly."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sekgnn.encoding import WalkEncoding, encode_exact
from sekgnn.encoding.reference import reference_encoding
from sekgnn.encoding.walk_encoding import Scope
from sekgnn.errors import GraphInputError
from sekgnn.graphs import (
    Graph,
    complete_graph,
    cycle_graph,
    random_graph,
    rook_graph,
    shrikhande_graph,
)
from sekgnn.testing import graphs, walk_encodings
from sekgnn.walks import PRIMES, modular_landing, residues


@settings(max_examples=80)
@given(g=graphs(max_nodes=6), encoding=walk_encodings())
def test_residues_are_those_of_the_fractions(g: Graph, encoding: WalkEncoding) -> None:
    expected = reference_encoding(g, encoding, Fraction(1))
    got = encode_exact(g, encoding)
    assert got.shape == (*expected.shape, len(PRIMES))
    for place, fraction in np.ndenumerate(expected):
        assert tuple(got[place]) == residues(fraction)


@settings(max_examples=60)
@given(graphs(max_nodes=9), walk_encodings(max_steps=12), st.randoms())
def test_a_relabelled_copy_has_the_same_residues(
    g: Graph, encoding: WalkEncoding, rng: random.Random
) -> None:
    """Bit for bit, which float walks do not achieve."""
    perm = rng.sample(range(g.num_nodes), g.num_nodes)
    np.testing.assert_array_equal(
        encode_exact(g.relabel(perm), encoding)[perm], encode_exact(g, encoding)
    )


def test_sums_stay_residues_in_large_shells() -> None:
    """A hub's shell of 60 nodes: sums of thousands of residues, none beyond p.

    Every row of P sums to 1, so from any node of a complete shell the walk lands in
    the ball with certainty: the sums over all pairs are whole numbers.
    """
    encoding = WalkEncoding(num_shells=1, walk_length=3, scope=("graph", "internal"))
    got = encode_exact(complete_graph(61), encoding)
    assert (got >= 0).all()
    assert (got < np.array(PRIMES)).all()
    names = list(encoding.channels)
    inside = got[:, names.index("internal1/across_diagonal/1")]
    inside = inside + got[:, names.index("internal1/across_off_diagonal/1")]
    np.testing.assert_array_equal(inside % np.array(PRIMES), 60)


def test_rook_and_shrikhande() -> None:
    """Equal in ``graph`` scope for every walk length; different inside."""
    whole = WalkEncoding(num_shells=2, walk_length=32)
    rook, shrikhande = rook_graph(4), shrikhande_graph()
    np.testing.assert_array_equal(
        encode_exact(rook, whole), encode_exact(shrikhande, whole)
    )
    inside = WalkEncoding(num_shells=1, walk_length=4, scope="internal")
    assert (encode_exact(rook, inside) != encode_exact(shrikhande, inside)).any()


def test_threads_do_not_share_their_scratch() -> None:
    """Balls large enough, and chunks many enough, that threads overlap."""
    g = random_graph(1000, 0.006, np.random.default_rng(0))
    encoding = WalkEncoding(num_shells=2, walk_length=2, scope="ego")
    one = encode_exact(g, encoding, threads=1)
    for _ in range(3):
        np.testing.assert_array_equal(encode_exact(g, encoding, threads=4), one)


def test_modular_landing_adds_up_to_one() -> None:
    """Every row of P^t sums to 1, in every arithmetic."""
    rows = modular_landing(rook_graph(3, 4), 9).sum(axis=2)
    np.testing.assert_array_equal(rows % np.array(PRIMES), 1)


def test_residues_by_hand() -> None:
    assert residues(Fraction(0)) == (0, 0)
    assert residues(Fraction(1, 2)) == tuple((p + 1) // 2 for p in PRIMES)


@pytest.mark.parametrize("prime", PRIMES)
def test_primes_are_prime(prime: int) -> None:
    assert all(prime % d for d in range(2, int(prime**0.5) + 1))


@pytest.mark.parametrize("scope", ["graph", "ego", "internal"])
def test_too_large_is_refused(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sekgnn.encoding.exact.PAIRS_LIMIT", 5)
    encoding = WalkEncoding(num_shells=3, walk_length=1, scope=scope)
    assert len(encode_exact(cycle_graph(5), encoding)) == 5
    with pytest.raises(GraphInputError, match="up to 5 nodes"):
        encode_exact(cycle_graph(6), encoding)
