r"""Digests of exact step vectors: two pairs of nodes agree exactly when walks do.

Landing probabilities are residues modulo the two primes of
:mod:`sekgnn.walks.modular`. Both are :math:`2^{31} - c` with a small c, so that
:math:`x \equiv (x \gg 31)\,c + (x \bmod 2^{31})` reduces by shifts and additions, which
the compiler does for eight pairs at once; a division would be done one by one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sekgnn.digest import Colours, key_of
from sekgnn.kernel import kernel
from sekgnn.walks.modular import PRIMES, inverse

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
def reduce(x: np.uint64, prime: np.uint64, c: np.uint64) -> np.uint64:
    """Return ``x`` modulo ``prime = 2^31 - c``, for x below 2^62 and c below 32."""
    x = (x >> _31) * c + (x & _LOW)  # below 2^36
    x = (x >> _31) * c + (x & _LOW)  # below 2^31 + 2^10
    return x - prime if x >= prime else x


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
    ``rows`` and ``columns`` list the self-loops of the walk, ``scratch`` is
    ``[2, 2, s, s]``, ``out`` is ``[2, s, s]``: lane, from, to.
    """
    s = rows.size - 1
    for i in range(s):
        for j in range(s):
            scratch[0, 0, i, j] = np.uint64(0)
            scratch[0, 1, i, j] = np.uint64(0)
            out[0, i, j] = np.uint64(0)
            out[1, i, j] = np.uint64(0)
        scratch[0, 0, i, i] = np.uint64(1)
        scratch[0, 1, i, i] = np.uint64(1)
    now = 0
    for t in range(steps):
        k0, k1 = STEP_KEYS[t, 0], STEP_KEYS[t, 1]
        after = 1 - now
        for i in range(s):
            for j in range(s):
                scratch[after, 0, i, j] = np.uint64(0)
                scratch[after, 1, i, j] = np.uint64(0)
            for e in range(rows[i], rows[i + 1]):
                u = columns[e]
                for j in range(s):  # fewer than 2^31 terms below 2^31
                    scratch[after, 0, i, j] += scratch[now, 0, u, j]
                    scratch[after, 1, i, j] += scratch[now, 1, u, j]
            degree = rows[i + 1] - rows[i]
            if degree == 0:
                continue
            a = np.uint64(inverse(degree, PRIMES[0]))
            b = np.uint64(inverse(degree, PRIMES[1]))
            for j in range(s):
                x = reduce(reduce(scratch[after, 0, i, j], _P, _CP) * a, _P, _CP)
                y = reduce(reduce(scratch[after, 1, i, j], _Q, _CQ) * b, _Q, _CQ)
                scratch[after, 0, i, j] = x
                scratch[after, 1, i, j] = y
                word = (x << _32) | y
                out[0, i, j] += k0 * word
                out[1, i, j] += k1 * word
        now = after
