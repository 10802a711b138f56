r"""Exact landing probabilities, as residues modulo two primes.

A probability is a fraction whose denominator is a product of degrees, so modulo a prime
p larger than every degree it is a definite integer. Equal fractions have equal
residues; different ones agree modulo both 31-bit primes about once in :math:`2^{62}`.
Rounded floats, in contrast, may differ for equal numbers and agree for different ones.

Both primes are :math:`2^{31} - c` with a small c, so that
:math:`x \equiv (x \gg 31)\,c + (x \bmod 2^{31})` reduces by shifts and additions, which
the compiler vectorises over eight pairs (:func:`modular_step`); divisions would be done
one by one.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_positive
from sekgnn.digest import Colours, key_of
from sekgnn.graphs.graph import Graph
from sekgnn.graphs.twins import quotient
from sekgnn.kernel import kernel

PRIMES = (2_147_483_647, 2_147_483_629)
"""The two largest primes below 2^31: products of residues stay below 2^63."""
MAX_STEPS = 256
STEP_KEYS: NDArray[np.uint64] = np.array(
    [[key_of(f"step {t} lane {a}") | np.uint64(1) for a in (0, 1)] for t in range(256)]
)
"""Odd multipliers of the words of each step, uint64 ``[MAX_STEPS, 2]``."""
STEP_KEYS.flags.writeable = False

_P = np.uint64(PRIMES[0])
_Q = np.uint64(PRIMES[1])
_CP, _CQ = np.uint64(2**31 - PRIMES[0]), np.uint64(2**31 - PRIMES[1])
_LOW = np.uint64(2**31 - 1)
_31, _32 = np.uint64(31), np.uint64(32)


@kernel
def inverse(value: int, prime: int) -> int:
    """Return the residue r with ``r * value = 1`` modulo ``prime`` (Euclid)."""
    a, b, r, after = value % prime, prime, 1, 0
    while b:
        times = a // b
        a, b, r, after = b, a - times * b, after, r - times * after
    return r % prime


@kernel
def reduce(x: np.uint64, prime: np.uint64, c: np.uint64) -> np.uint64:
    """Return ``x`` modulo ``prime = 2^31 - c``, for x below 2^62 and c below 32."""
    x = (x >> _31) * c + (x & _LOW)  # below 2^36
    x = (x >> _31) * c + (x & _LOW)  # below 2^31 + 2^10
    return x - prime if x >= prime else x


@kernel
def inverse_degrees(rows: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the inverse of every row length modulo both primes, or 0, ``[2, n]``."""
    out = np.zeros((2, rows.size - 1), dtype=np.uint64)
    for p in range(2):
        for i in range(rows.size - 1):
            if rows[i + 1] > rows[i]:
                out[p, i] = inverse(rows[i + 1] - rows[i], PRIMES[p])
    return out


@kernel
def modular_step(
    rows: NDArray[np.int64],
    columns: NDArray[np.int32],
    inverses: NDArray[np.uint64],
    before: NDArray[np.uint64],
    after: NDArray[np.uint64],
) -> None:
    """Write ``after = P @ before`` modulo both primes, each ``[2, n, W]``.

    ``rows`` and ``columns`` list the self-loops of the walk, ``inverses`` are from
    :func:`inverse_degrees`.
    """
    _, n, width = before.shape
    for i in range(n):
        for j in range(width):
            after[0, i, j] = np.uint64(0)
            after[1, i, j] = np.uint64(0)
        for e in range(rows[i], rows[i + 1]):
            u = columns[e]
            for j in range(width):  # fewer than 2^31 terms below 2^31
                after[0, i, j] += before[0, u, j]
                after[1, i, j] += before[1, u, j]
        a, b = inverses[0, i], inverses[1, i]
        for j in range(width):
            after[0, i, j] = reduce(reduce(after[0, i, j], _P, _CP) * a, _P, _CP)
            after[1, i, j] = reduce(reduce(after[1, i, j], _Q, _CQ) * b, _Q, _CQ)


def modular_landing(
    graph: Graph, walk_length: int, *, self_loops: bool = True
) -> NDArray[np.int64]:
    r"""Return :math:`H^{(t)} = P^t`, t = 1..l, modulo :data:`PRIMES`.

    Returns:
        int64 ``[l, n, n, 2]``.

    Example:
        >>> edge = Graph.from_edge_index([[0, 1], [1, 0]], 2)
        >>> half = modular_landing(edge, 1)[0, 0, 1]
        >>> (2 * half % PRIMES).tolist()
        [1, 1]
    """
    check_positive("walk_length", walk_length)
    n = graph.num_nodes
    singletons = np.arange(n, dtype=np.int32)
    _, _, rows, columns = quotient(graph.csr, singletons, 0, n, int(self_loops))
    inverses = inverse_degrees(rows)
    out = np.empty((walk_length, n, n, len(PRIMES)), dtype=np.int64)
    before = np.stack([np.eye(n, dtype=np.uint64)] * len(PRIMES))
    after = np.empty_like(before)
    for t in range(walk_length):
        modular_step(rows, columns, inverses, before, after)
        before, after = after, before
        out[t] = np.moveaxis(before, 0, -1)
    return out


def residues(value: Fraction) -> tuple[int, ...]:
    """Return ``value`` modulo :data:`PRIMES`.

    Example:
        >>> residues(Fraction(6, 3))
        (2, 2)
    """
    return tuple(value.numerator * pow(value.denominator, -1, p) % p for p in PRIMES)


@kernel
def walk_digests(
    rows: NDArray[np.int64],
    columns: NDArray[np.int32],
    steps: int,
    scratch: NDArray[np.uint64],
    out: Colours,
) -> None:
    r"""Write a digest of the step vector of every ordered pair of nodes.

    With the word :math:`w_t = 2^{32} (H^{(t)}_{ij} \bmod p) + (H^{(t)}_{ij} \bmod q)`,
    lane a is :math:`\sum_t k_{ta} w_t` modulo :math:`2^{64}`.
    ``rows`` and ``columns`` list the self-loops of the walk, ``scratch`` is ``[2, 2, s,
    s]``, ``out`` is ``[2, s, s]``: lane, from, to.
    """
    s = rows.size - 1
    inverses = inverse_degrees(rows)
    for i in range(s):
        for j in range(s):
            identity = np.uint64(1 if i == j else 0)
            scratch[0, 0, i, j] = identity
            scratch[0, 1, i, j] = identity
            out[0, i, j] = np.uint64(0)
            out[1, i, j] = np.uint64(0)
    for t in range(steps):
        k0, k1 = STEP_KEYS[t, 0], STEP_KEYS[t, 1]
        after = scratch[1 - t % 2]
        modular_step(rows, columns, inverses, scratch[t % 2], after)
        for i in range(s):
            for j in range(s):
                word = (after[0, i, j] << _32) | after[1, i, j]
                out[0, i, j] += k0 * word
                out[1, i, j] += k1 * word
