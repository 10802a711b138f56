r"""The step vectors of all pairs of a small graph: their residues and their floats.

Walks in an ego-net need the probabilities :math:`H_{ij}` of all its pairs. Swapping two
twins is an automorphism (:mod:`sekgnn.graphs.twins`), so :math:`H_{ij}` depends only on
the classes of i and j and on whether i = j. To have all of them, it is enough to end in
the first node of each class, and to begin in its first and in its second: splitting
each class into its first node and the others is an equitable partition, so the walk
lives on these rows, each weighted by the number of its nodes.

Whether vectors are equal is decided by exact residues of a random combination of their
steps, :math:`\sum_t k_t H^{(t)}_{ij}` modulo two 34-bit primes: vectors that differ
agree in both with a chance of :math:`2^{-68}`. By Horner's rule the sum needs no more
than the walk itself, from its last step on. Residues are whole numbers in float64, and
so are the two halves of the fixed-point numbers that become floats: one walk of four
numbers per pair serves both, and the compiler vectorises over eight of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sekgnn.digest import empty_table, find_key, key_of, scramble, spread
from sekgnn.kernel import kernel
from sekgnn.lanes import row_sums
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
"""Inverses of small degrees, as high and low halves, float64 ``[64, 2, 2]``."""
INVERSES.flags.writeable = False

_ROUNDS = 2  # of refinement, to order the classes
_KEY_NODE = key_of("neighbour in a small graph")
_KEY_ADJACENT, _KEY_APART = key_of("twins, adjacent"), key_of("twins, apart")
_KEY_CLASS, _KEY_ROW = key_of("class of twins"), key_of("row of a merged graph")


class Merged(NamedTuple):
    """A graph of s nodes, merged into q classes of twins and r rows.

    Row c < q is the first node of class c; the others stand for the rest of a class.
    """

    class_of: NDArray[np.int32]  # of every node, [s]
    second: NDArray[np.int32]  # row of the other nodes of a class, or -1, [q]
    rows: NDArray[np.int64]  # row starts, [r + 1]
    columns: NDArray[np.int32]  # neighbouring rows
    weights: NDArray[np.int32]  # number of neighbours each stands for
    digest: tuple[np.uint64, np.uint64]  # of the groups and all fields but class_of


@kernel
def twin_classes(
    rows: NDArray[np.int64], columns: NDArray[np.int32], group: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return the class of each node, and first nodes and sizes of the classes.

    Nodes are in one class if they are twins of equal ``group``.
    """
    s = rows.size - 1
    class_of = np.empty(s, dtype=np.int32)
    first, sizes = np.empty(s, dtype=np.int32), np.zeros(s, dtype=np.int32)
    keys = np.empty((2 * s, 2), dtype=np.uint64)  # of a class: adjacent, apart
    table, q = empty_table(2 * s), 0
    for i in range(s):
        a0, a1 = np.uint64(group[i]), np.uint64(0)
        for e in range(rows[i], rows[i + 1]):
            if columns[e] != i:
                b0, b1 = spread(np.uint64(columns[e]), np.uint64(0), _KEY_NODE)
                a0 += b0
                a1 += b1
        b0, b1 = spread(np.uint64(i), np.uint64(0), _KEY_NODE)
        c0, c1 = spread(a0 + b0, a1 + b1, _KEY_ADJACENT)
        a0, a1 = spread(a0, a1, _KEY_APART)
        c = table[find_key(table, keys, c0, c1)] >> 1
        if c < 0:
            c = table[find_key(table, keys, a0, a1)] >> 1
        if c < 0:
            c = q
            first[c] = i
            q += 1
            keys[2 * c, 0], keys[2 * c, 1] = c0, c1
            table[find_key(table, keys, c0, c1)] = 2 * c
            keys[2 * c + 1, 0], keys[2 * c + 1, 1] = a0, a1
            table[find_key(table, keys, a0, a1)] = 2 * c + 1
        class_of[i] = c
        sizes[c] += 1
    return class_of, first[:q], sizes[:q]


@kernel
def merge_twins(
    rows: NDArray[np.int64], columns: NDArray[np.int32], group: NDArray[np.int32]
) -> Merged:
    """Merge the twins of a small graph.

    Classes are ordered by a colour that does not depend on the numbering of the nodes.
    Ties keep that numbering, so isomorphic graphs mostly, not always, become equal.
    Equal digests mean equal groups and equal fields except ``class_of``.

    Args:
        rows: Row starts, int64 ``[s + 1]``.
        columns: Neighbours, and the node itself where a walk may stay.
        group: Nodes of different groups are not merged, int32 ``[s]``.
    """
    s = rows.size - 1
    class_of, first, sizes = twin_classes(rows, columns, group)
    q = first.size
    colours = np.empty((2, q), dtype=np.uint64)
    now = 0
    for c in range(q):
        i = first[c]
        label = (np.uint64(group[i]) << np.uint64(32)) + np.uint64(sizes[c])
        colours[0, c] = scramble(scramble(label) + np.uint64(rows[i + 1] - rows[i]))
    for _ in range(_ROUNDS):
        for c in range(q):
            total = scramble(colours[now, c])
            for e in range(rows[first[c]], rows[first[c] + 1]):
                total += colours[now, class_of[columns[e]]]
            colours[1 - now, c] = scramble(total)
        now = 1 - now
    order = np.argsort(colours[now])
    number = np.empty(q, dtype=np.int32)
    second, r = np.full(q, -1, dtype=np.int32), q
    node = np.empty(2 * q, dtype=np.int32)
    k0, k1 = _KEY_CLASS, np.uint64(q)
    for x in range(q):
        c = order[x]
        number[c], node[x] = x, first[c]
        if sizes[c] > 1:
            second[x] = r
            r += 1
        k0, k1 = spread(
            k0 + np.uint64(group[first[c]]), k1 + np.uint64(sizes[c]), _KEY_CLASS
        )
    for i in range(s):
        class_of[i] = number[class_of[i]]
        c = class_of[i]
        if node[c] != i:
            node[second[c]] = i
    starts = np.empty(r + 1, dtype=np.int64)
    where = np.full(r, -1, dtype=np.int64)
    merged = np.empty(columns.size, dtype=np.int32)
    weights = np.empty(columns.size, dtype=np.int32)
    starts[0] = filled = 0
    for x in range(r):
        for e in range(rows[node[x]], rows[node[x] + 1]):
            c = class_of[columns[e]]
            y = c if node[c] == columns[e] else second[c]
            if where[y] < starts[x]:
                where[y], merged[filled], weights[filled] = filled, y, 1
                filled += 1
            else:
                weights[where[y]] += 1
        t0, t1 = np.uint64(0), np.uint64(0)
        for e in range(starts[x], filled):
            d0, d1 = spread(np.uint64(merged[e]), np.uint64(weights[e]), _KEY_NODE)
            t0 += d0
            t1 += d1
        k0, k1 = spread(k0 + t0, k1 + t1, _KEY_ROW)
        starts[x + 1] = filled
    return Merged(class_of, second, starts, merged[:filled], weights[:filled], (k0, k1))


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

    A quotient may be off by one: its remainder goes to the low half.
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

    Equal fractions get equal bits, in any graph and any numbering. A probability is
    :math:`(x + y\, 2^{-b})\, 2^{-b}` with whole numbers x and y of up to b bits, b = 40
    for degrees below 2,048; only later bits are rounded off, so sums of such numbers
    are exact in any order. The last :math:`b - 12` bits are dropped at the end, and
    with them all errors, which are below :math:`2 t\, 2^{-2b}`.

    Args:
        merged: The graph, self-loops listed; r rows, q classes.
        steps: L.

    Returns:
        residues: ``[r, 2 q]``, modulo the first prime, then modulo the second.
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
