r"""Colours: 128-bit digests of signatures, the same in every run.

A colour is two 64-bit words. Three operations make every colour of every test:

* :func:`spread` permutes the :math:`2^{128}` colours (a keyed Feistel network, so two
  different colours never become one);
* a multiset of colours is the lane-wise sum of their spread colours modulo
  :math:`2^{64}`;
* a sequence is absorbed element by element, ``spread(state + colour)``.

Two objects get the same colour exactly when their signatures are the same, up to a
chance of about :math:`2^{-128}` per pair. Nothing depends on the other graphs of a run,
their order, the process or Python's ``hash``, so colours of different runs can be
compared.
"""

from __future__ import annotations

import hashlib
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.errors import ConfigError
from sekgnn.kernel import kernel

Colours = NDArray[np.uint64]
"""Colours of N objects, uint64 ``[N, 2]``."""

# Odd multipliers and shifts of a 64-bit finaliser (Stafford's thirteenth).
_A = np.uint64(0xBF58476D1CE4E5B9)
_B = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31 = np.uint64(30), np.uint64(27), np.uint64(31)
_K2 = np.uint64(0x9E3779B97F4A7C15)
_K3 = np.uint64(0xD1B54A32D192ED03)


def key_of(name: str) -> np.uint64:
    """Return the 64-bit key of a named use of :func:`spread`."""
    code = hashlib.blake2b(f"sekgnn.wl.1:{name}".encode(), digest_size=8).digest()
    return np.uint64(int.from_bytes(code, "little"))


KEY_LABEL = key_of("node label")
KEY_EDGE = key_of("edge label")
KEY_OWN = key_of("own colour")
KEY_MEMBER = key_of("member of a multiset")
KEY_PART = key_of("part of a signature")
KEY_GRAPH = key_of("node of a graph")


@kernel
def scramble(x: np.uint64) -> np.uint64:
    """Scramble one 64-bit word bijectively."""
    x = (x ^ (x >> _S30)) * _A
    x = (x ^ (x >> _S27)) * _B
    return x ^ (x >> _S31)


@kernel
def spread(c0: np.uint64, c1: np.uint64, key: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return a permutation of the colour (c0, c1), chosen by ``key``."""
    c1 = c1 ^ scramble(c0 + key)
    c0 = c0 ^ scramble(c1 + key * _K2)
    c1 = c1 ^ scramble(c0 + key * _K3)
    return c0, c1


@kernel
def spread_all(colours: Colours, key: np.uint64, out: Colours) -> None:
    """Write ``spread(colour, key)`` of every object."""
    for i in range(colours.shape[0]):
        out[i, 0], out[i, 1] = spread(colours[i, 0], colours[i, 1], key)


@kernel
def absorb_all(state: Colours, colours: Colours, key: np.uint64) -> None:
    """Absorb a colour into the state of every object, in place."""
    for i in range(state.shape[0]):
        state[i, 0], state[i, 1] = spread(
            state[i, 0] + colours[i, 0], state[i, 1] + colours[i, 1], key
        )


@kernel
def digest_words(rows: NDArray[np.int64], key: np.uint64, out: Colours) -> None:
    """Write the digest of each row of integers, ``rows`` is ``[N, W]``."""
    for i in range(rows.shape[0]):
        c0, c1 = key, np.uint64(0)
        for j in range(rows.shape[1]):
            c0, c1 = spread(c0 + np.uint64(rows[i, j]), c1, key)
        out[i, 0], out[i, 1] = c0, c1


@kernel
def multiset_digest(
    colours: Colours, start: int, stop: int
) -> tuple[np.uint64, np.uint64]:
    """Return the digest of the multiset of the colours ``start..stop - 1``."""
    t0, t1 = np.uint64(0), np.uint64(0)
    for i in range(start, stop):
        s0, s1 = spread(colours[i, 0], colours[i, 1], KEY_GRAPH)
        t0 += s0
        t1 += s1
    return t0, t1


@kernel
def multiset_digests(colours: Colours, ptr: NDArray[np.int64]) -> Colours:
    """Return the digest of the multiset of colours of each graph, ``[G, 2]``."""
    out = np.empty((ptr.size - 1, 2), dtype=np.uint64)
    for g in range(ptr.size - 1):
        out[g, 0], out[g, 1] = multiset_digest(colours, ptr[g], ptr[g + 1])
    return out


@kernel
def find_key(
    table: NDArray[np.int32], keys: Colours, k0: np.uint64, k1: np.uint64
) -> int:
    """Return the slot of ``table`` that holds the number of a key, or the one for it.

    Numbers are rows of ``keys``, ``[P, 2]``; free slots hold -1.
    """
    mask = np.uint64(table.size - 1)
    slot = k0 & mask
    while table[slot] >= 0 and (
        keys[table[slot], 0] != k0 or keys[table[slot], 1] != k1
    ):
        slot = (slot + np.uint64(1)) & mask
    return int(slot)


@kernel
def empty_table(room: int) -> NDArray[np.int32]:
    """Return a table for ``room`` keys."""
    size = 64
    while size < 2 * room:
        size *= 2
    return np.full(size, -1, dtype=np.int32)


@kernel
def number_colours(colours: Colours) -> tuple[Colours, NDArray[np.int64]]:
    """Number the distinct colours in order of appearance.

    Returns them, ``[C, 2]``, and the number of each object's colour, int64 ``[N]``.
    """
    count = colours.shape[0]
    table = empty_table(count)
    distinct = np.empty((count, 2), dtype=np.uint64)
    classes = np.empty(count, dtype=np.int64)
    num_distinct = 0
    for i in range(count):
        c0, c1 = colours[i, 0], colours[i, 1]
        slot = find_key(table, distinct, c0, c1)
        if table[slot] < 0:
            table[slot] = num_distinct
            distinct[num_distinct, 0], distinct[num_distinct, 1] = c0, c1
            num_distinct += 1
        classes[i] = table[slot]
    return distinct[:num_distinct], classes


@kernel
def count_colours(colours: Colours) -> int:
    """Return the number of distinct colours of a few objects."""
    return number_colours(colours)[0].shape[0]


def colours_of(values: NDArray[Any], use: str) -> Colours:
    """Return a colour for every row of integers, equal exactly for equal rows.

    Args:
        values: ``[N, ...]``, any integers of at most 64 bits.
        use: Their meaning; equal rows of another use get other colours.

    Raises:
        ConfigError: If the values are not integers.

    Example:
        >>> a, b, c = colours_of(np.array([3, 4, 3]), "degree")
        >>> (a == c).all(), (a == b).any()
        (np.True_, np.False_)
    """
    if values.dtype.kind not in "biu":
        raise ConfigError(
            f"colours are made of integers, got {values.dtype}: rounding would tell "
            "equal values apart. Scale or count instead."
        )
    rows = np.ascontiguousarray(values).astype(np.int64, copy=False)
    out = np.empty((len(rows), 2), dtype=np.uint64)
    digest_words(rows.reshape(len(rows), prod(rows.shape[1:])), key_of(use), out)
    return out


def check_colours(what: str, colours: Colours, count: int) -> Colours:
    """Return colours for kernels, which do not check them."""
    if colours.dtype != np.uint64 or colours.shape != (count, 2):
        raise ConfigError(
            f"{what} must be colours, uint64 [{count}, 2], got {colours.dtype} "
            f"{list(colours.shape)}; colours_of() makes them of integers."
        )
    return np.ascontiguousarray(colours)


def count_distinct(colours: Colours) -> int:
    """Return the number of distinct colours, ``[N, 2]``.

    Sorting one lane of plain words is several times faster than a table of colours. One
    lane can only count too few, if two of its words agree by chance.

    Example:
        >>> count_distinct(np.array([[1, 2], [1, 2], [3, 4]], dtype=np.uint64))
        2
    """
    if not len(colours):
        return 0
    lanes = (np.sort(colours[:, 0]), np.sort(colours[:, 1]))
    return max(1 + int(np.count_nonzero(lane[1:] != lane[:-1])) for lane in lanes)


def colour_text(colour: Colours) -> str:
    """Return a colour as 32 hexadecimal digits."""
    return f"{int(colour[0]):016x}{int(colour[1]):016x}"
