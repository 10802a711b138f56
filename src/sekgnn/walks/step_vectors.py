r"""The step vectors of all pairs of a small graph: their residues and their floats.

Whether vectors are equal is decided by exact residues of a random combination of their
steps, :math:`\sum_t k_t H^{(t)}_{ij}` modulo two 34-bit primes: vectors that differ
agree in both with a chance of :math:`2^{-68}`. By Horner's rule the sum needs no more
than the walk itself, begun at its last step. Residues are whole numbers in float64, and
so are the parts of the fixed-point numbers that floats are made of: one walk, of four
numbers per pair, serves both, and the compiler takes eight of them at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sekgnn.digest import key_of
from sekgnn.kernel import kernel
from sekgnn.lanes import row_sums
from sekgnn.walks.merged import Merged
from sekgnn.walks.modular import MAX_STEPS, inverse

Floats = NDArray[np.float64]

PRIMES = (17_179_869_143, 17_179_869_107)
"""The two largest primes below 2^34: sums of up to 2^18 residues are exact."""
STEP_FACTORS: Floats = np.array(
    [
        [float(key_of(f"factor of step {t}, {p}") % np.uint64(p)) for p in PRIMES]
        for t in range(MAX_STEPS)
    ]
)
"""The residues k of each step, float64 ``[MAX_STEPS, 2]``."""
STEP_FACTORS.flags.writeable = False

_P, _Q = (float(p) for p in PRIMES)
_HALF = 2**17  # products of a residue with a number below it are exact
INVERSES: Floats = np.array(
    [[divmod(pow(d, -1, p) if d else 0, _HALF) for p in PRIMES] for d in range(64)],
    dtype=np.float64,
)
"""Inverses of small degrees, in two parts, float64 ``[64, 2, 2]``."""
INVERSES.flags.writeable = False


@kernel
def remainder(x: float, prime: float) -> float:
    """Return x modulo ``prime``, or up to 2 beyond, for whole x below 2^53."""
    return x - np.floor(x * (1 / prime)) * prime


@kernel
def multiply(x: Floats, high: float, low: float, prime: float) -> None:
    """Multiply whole numbers below 2^52 by ``high 2^17 + low``, in place."""
    for j in range(x.size):
        s = remainder(x[j], prime)
        s = remainder(s * high, prime) * _HALF + s * low
        x[j] = remainder(s, prime)


@kernel
def divide(high: Floats, low: Floats, degree: float, base: float, out: Floats) -> None:
    """Divide fixed-point numbers by a degree, in place, and write them as floats.

    A quotient may be one too small or too large: what it leaves goes to the next part.
    """
    once, unit = 1 / degree, 1 / base
    for j in range(out.size):
        carry = np.floor(low[j] * unit)
        total = high[j] + carry
        quotient = np.floor(total * once)
        rest = (total - quotient * degree) * base + (low[j] - carry * base)
        high[j], low[j] = quotient, np.floor(rest * once)
        out[j] = (quotient + np.rint(low[j] * (4096 * unit)) / 4096) * unit


@kernel
def step_vectors(merged: Merged, steps: int) -> tuple[Floats, Floats]:
    r"""Return residues and floats of the step vectors of all rows and classes.

    Equal fractions get equal bits, in whatever graph and by whatever numbering. A
    probability is :math:`(x + y\, 2^{-b})\, 2^{-b}` with whole numbers x and y of up to
    b bits, b = 40 for degrees below 2,048, and is rounded off only behind them: sums
    of such numbers are exact in any order. In the end :math:`b + 12` bits are kept,
    which errors of :math:`2 t\, 2^{-2b}` do not reach.

    Args:
        merged: The graph, self-loops listed; r rows, q classes.
        steps: L.

    Returns:
        residues: ``[r, 2 q]``, those modulo the first prime before those of the second.
        floats: ``[L, r, q]``.
    """
    r, q = merged.rows.size - 1, merged.second.size
    rows, weights = merged.rows, merged.weights.astype(np.float64)
    most, bits = 1, 51
    degrees, inverses = np.ones(r), np.empty((r, 2, 2))
    for i in range(r):
        degree = 0
        for e in range(rows[i], rows[i + 1]):
            degree += merged.weights[e]
        most, degrees[i] = max(most, degree), max(degree, 1)
        for p in range(2):
            if degree < INVERSES.shape[0]:
                inverses[i, p] = INVERSES[degree, p]
            else:
                number = inverse(degree, PRIMES[p])
                inverses[i, p, 0], inverses[i, p, 1] = divmod(number, _HALF)
    while most > 0:
        bits -= 1
        most >>= 1
    base = 2.0 ** min(bits, 40)
    floats = np.empty((steps, r, q))
    before, after = np.zeros((r, 4 * q)), np.empty((r, 4 * q))
    for i in range(q):
        before[i, 2 * q + i] = base
    for t in range(steps):
        for i in range(q):
            before[i, i] += STEP_FACTORS[steps - 1 - t, 0]
            before[i, q + i] += STEP_FACTORS[steps - 1 - t, 1]
        row_sums(rows, merged.columns, weights, before, after, 0, r)
        for i in range(r):
            multiply(after[i, :q], inverses[i, 0, 0], inverses[i, 0, 1], _P)
            multiply(after[i, q : 2 * q], inverses[i, 1, 0], inverses[i, 1, 1], _Q)
            high, low = after[i, 2 * q : 3 * q], after[i, 3 * q :]
            divide(high, low, degrees[i], base, floats[t, i])
        before, after = after, before
    for i in range(r):
        for j in range(2 * q):
            prime = _P if j < q else _Q
            x = before[i, j]
            before[i, j] = x + prime if x < 0 else x - prime if x >= prime else x
    return before[:, : 2 * q], floats
