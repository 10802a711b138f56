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
from sekgnn.errors import GraphInputError
from sekgnn.graphs import Graph, path_graph, rook_graph, shrikhande_graph
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


@settings(max_examples=30)
@given(g=graphs(max_nodes=9), seed=st.integers(0, 999))
def test_a_relabelled_copy_has_the_same_residues(g: Graph, seed: int) -> None:
    """Bit for bit, which float walks do not achieve."""
    perm = random.Random(seed).sample(range(g.num_nodes), g.num_nodes)
    encoding = WalkEncoding(num_shells=3, walk_length=12, scope=("graph", "internal"))
    np.testing.assert_array_equal(
        encode_exact(g.relabel(perm), encoding)[perm], encode_exact(g, encoding)
    )


def test_rook_and_shrikhande() -> None:
    """Equal in ``graph`` scope for every walk length; different inside."""
    whole = WalkEncoding(num_shells=2, walk_length=32)
    rook, shrikhande = rook_graph(4), shrikhande_graph()
    np.testing.assert_array_equal(
        encode_exact(rook, whole), encode_exact(shrikhande, whole)
    )
    inside = WalkEncoding(num_shells=1, walk_length=4, scope="internal")
    assert (encode_exact(rook, inside) != encode_exact(shrikhande, inside)).any()


def test_threads_change_nothing() -> None:
    encoding = WalkEncoding(num_shells=2, walk_length=4, scope=("graph", "ego"))
    one = encode_exact(path_graph(150), encoding, threads=1)
    np.testing.assert_array_equal(
        encode_exact(path_graph(150), encoding, threads=2), one
    )


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


def test_too_large_is_refused() -> None:
    with pytest.raises(
        GraphInputError, match="handles up to 8192 nodes; the graph has 9000"
    ):
        encode_exact(path_graph(9000), WalkEncoding(walk_length=1))
