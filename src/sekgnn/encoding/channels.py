r"""From the raw sums of the backends to the channels that users see.

For one scope at one radius every backend fills an array of raw sums ``[N, C_raw, L]``
laid out by a :class:`Plan`. AGG and COMBINE are then one sparse linear map, whose
coefficients are rational numbers: the same map serves float64 (:func:`finish`) and
exact arithmetic.

At t = 0 a walk is at its start, :math:`H^{(0)} = I`: a return is 1, the diagonal of a
shell (and of its squares) is :math:`|N_k(v)|`, every other sum is 0. Step 0 thus
follows from the sizes of shells, with any backend (:func:`with_shell_sizes`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sekgnn.encoding.walk_encoding import Block, WalkEncoding
from sekgnn.kernel import kernel
from sekgnn.walks.modular import inverse

# positions in Plan.offsets; the square of raw sum c is at c + offsets[SQUARES]
TO_SHELL, DIAGONAL, OFF_DIAGONAL, OUTWARD, INWARD, RETURN, SQUARES = range(7)
ALL, SAME, OTHER = range(3)  # pairs (i, j) of two shells: all, i = j, i ≠ j

KINDS = {
    TO_SHELL: "to_shell",
    DIAGONAL: "across_diagonal",
    OFF_DIAGONAL: "across_off_diagonal",
    OUTWARD: "outward",
    INWARD: "inward",
}

PARTS = {
    TO_SHELL: "to_shell",
    DIAGONAL: "across",
    OFF_DIAGONAL: "across",
    OUTWARD: "neighbouring",
    INWARD: "neighbouring",
}
"""The part of f of every kind, where hops are merged."""

# divisors of raw sums; n_k = |N_k(v)|
BY_ONE, BY_START, BY_PAIRS, BY_ALL_PAIRS, BY_NEXT_PAIRS, BY_NEXT = range(6)

DIVISORS: dict[str, dict[int, int]] = {
    "sum": {},
    "moments": {},
    "learned": {},
    "landing": {
        DIAGONAL: BY_START,
        OFF_DIAGONAL: BY_START,
        OUTWARD: BY_START,
        INWARD: BY_NEXT,
    },
    "mean": {
        TO_SHELL: BY_START,
        DIAGONAL: BY_START,
        OFF_DIAGONAL: BY_PAIRS,
        OUTWARD: BY_NEXT_PAIRS,
        INWARD: BY_NEXT_PAIRS,
    },
}
"""The divisor of a raw sum in AGG, where it is not 1."""


class Plan(NamedTuple):
    r"""The raw sums and terms of one scope at one radius, as kernels read them.

    Raw sum c is :math:`\sum (H_{ij})^p` over pairs (i, j) of two shells around v, the
    centre being shell 0: ``pairs[c]`` is the shell of i, that of j, ``ALL``, ``SAME``
    (i = j) or ``OTHER`` (i ≠ j), and the power p. A term is a raw sum, the channel of
    the whole encoding to which it is added, a divisor (``BY_ONE``, ...), the hop of the
    divisor, and a denominator.
    """

    loop: int  # 1 with self-loops, else 0
    with_centre: bool  # whether a walk may step on the centre
    radius: int  # of the ego-net; 0 in graph scope
    num_shells: int  # K
    offsets: NDArray[np.int64]  # first raw sum of each kind, [7]; -1: there is none
    num_raw: int  # C_raw
    pairs: NDArray[np.int64]  # [C_raw, 4]
    terms: NDArray[np.int64]  # [T, 5]


class Output(NamedTuple):
    """The output of kernels, one of two arrays, so that they compile once."""

    single: NDArray[np.float32]  # [N, C, L]; or [0, C, L]
    double: NDArray[np.float64]  # likewise

    @classmethod
    def of(cls, out: NDArray[Any]) -> Output:
        """Return ``out``, float32 or float64 ``[N, C, L]``, as kernels take it."""
        if out.dtype == np.float32:
            return cls(out, np.empty((0, *out.shape[1:])))
        return cls(np.empty((0, *out.shape[1:]), np.float32), out)


def make_plans(encoding: WalkEncoding) -> tuple[tuple[Plan, ...], tuple[str, ...]]:
    """Return a plan for every walk and block, and the names of all their channels."""
    plans: list[Plan] = []
    channels: list[str] = []
    loops = encoding.self_loops
    for self_loops in loops if isinstance(loops, tuple) else (loops,):
        prefix = ""
        if isinstance(loops, tuple):
            prefix = "loops/" if self_loops else "no_loops/"
        for block in encoding.blocks:
            scope, radius, num_shells = block
            offsets, pairs = raw_layout(block, encoding.aggregate == "moments")
            names, rows = output_map(encoding, block, offsets.tolist())
            terms = np.array(rows, dtype=np.int64)
            terms[:, 1] += len(channels)
            plans.append(Plan(
                int(self_loops), scope != "internal", radius, num_shells, offsets,
                len(pairs), pairs, terms,
            ))  # fmt: skip
            walk = f"{prefix}{scope}{radius or ''}"
            channels += [f"{walk}/{name}" for name in names]
    return tuple(plans), tuple(channels)


def _kinds(block: Block) -> list[tuple[int, int]]:
    """Return (kind, number of hops), in order."""
    scope, _, shells = block
    if scope != "internal":
        return [(TO_SHELL, shells), (DIAGONAL, shells), (OFF_DIAGONAL, shells)]
    between = [(OUTWARD, shells - 1), (INWARD, shells - 1)]
    return [(DIAGONAL, shells), (OFF_DIAGONAL, shells), *between]


def raw_layout(
    block: Block, squares: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return ``offsets`` and ``pairs`` of a :class:`Plan`."""
    offsets = np.full(7, -1, dtype=np.int64)
    pairs: list[tuple[int, int, int]] = []
    for kind, hops in _kinds(block):
        offsets[kind] = len(pairs)
        for k in range(1, hops + 1):
            of_kind = {
                TO_SHELL: (0, k, ALL),
                DIAGONAL: (k, k, SAME),
                OFF_DIAGONAL: (k, k, OTHER),
                OUTWARD: (k, k + 1, ALL),
                INWARD: (k + 1, k, ALL),
            }
            pairs.append(of_kind[kind])
    powers = (1, 2) if squares else (1,)
    if squares:
        offsets[SQUARES] = len(pairs)
    rows = [(*pair, power) for power in powers for pair in pairs]
    if block[0] != "internal":
        offsets[RETURN] = len(rows)
        rows.append((0, 0, SAME, 1))
    return offsets, np.array(rows, dtype=np.int64)


def output_map(
    encoding: WalkEncoding, block: Block, offsets: list[int]
) -> tuple[list[str], list[tuple[int, ...]]]:
    """Return the channels of ``block``, and the terms of its :class:`Plan`."""
    mean, merged = encoding.aggregate == "mean", encoding.merge != "concat"
    num_parts = 3  # f1, f2 and f3; or f3 within shells, and between them
    if block[0] == "internal":
        num_parts = 1 + (block[2] > 1)
    share = num_parts if encoding.merge == "mean" else 1
    names: list[str] = []
    terms: list[tuple[int, ...]] = []

    def add(name: str, source: int, divisor: int, hop: int, denominator: int) -> None:
        if encoding.merge == "mean":
            name = "mean"
        if name not in names:
            names.append(name)
        terms.append((source, names.index(name), divisor, hop, denominator))

    if offsets[RETURN] >= 0:
        add("return", offsets[RETURN], BY_ONE, 1, share)
    for kind, hops in _kinds(block):
        divisor = DIVISORS[encoding.aggregate].get(kind, BY_ONE)
        whole = 1
        if merged:  # the mean over all hops, and with "mean" over all pairs of a hop
            whole = share * hops
            if mean and kind in (OUTWARD, INWARD):
                whole *= 2
            if mean and kind in (DIAGONAL, OFF_DIAGONAL):
                divisor = BY_ALL_PAIRS
        for k in range(1, hops + 1):
            name = PARTS[kind] if merged else f"{KINDS[kind]}/{k}"
            add(name, offsets[kind] + k - 1, divisor, k, whole)
    for kind, hops in _kinds(block) if offsets[SQUARES] >= 0 else ():
        for k in range(1, hops + 1):
            source = offsets[SQUARES] + offsets[kind] + k - 1
            add(f"{KINDS[kind]}/{k}/squares", source, BY_ONE, k, 1)
    return names, terms


@kernel
def divisor_value(divisor: int, hop: int, sizes: NDArray[np.int64]) -> int:
    """Return the divisor of a raw sum at ``hop`` (from 1); ``sizes`` are the n_k."""
    n = sizes[hop - 1]
    if divisor == BY_START:
        return n
    if divisor == BY_PAIRS:
        return n * (n - 1)
    if divisor == BY_ALL_PAIRS:
        return n * n
    if divisor == BY_NEXT_PAIRS:
        return n * sizes[hop]
    if divisor == BY_NEXT:
        return sizes[hop]
    return 1


@kernel
def finish(
    raw: NDArray[np.float64],
    at: int,
    stride: int,
    sizes: NDArray[np.int64],
    terms: NDArray[np.int64],
    node: int,
    out: Output,
) -> None:
    """Add the terms of a :class:`Plan`; an empty shell adds nothing.

    Channel c of the node is ``raw[at + c * stride:][:L]``, flat, and its row in ``out``
    is ``node``; ``sizes`` are those of its shells, ``[S]``.
    """
    for i in range(terms.shape[0]):
        whole = divisor_value(terms[i, 2], terms[i, 3], sizes)
        if whole == 0:
            continue
        factor = 1.0 / (whole * terms[i, 4])
        source = raw[at + terms[i, 0] * stride :]
        if out.double.shape[0]:
            double = out.double[node, terms[i, 1]]  # a row, or it is not vectorised
            for t in range(double.size):
                double[t] += source[t] * factor
        else:
            single = out.single[node, terms[i, 1]]
            for t in range(single.size):
                single[t] += source[t] * factor


@kernel
def write_first_step(
    sizes: NDArray[np.int64], plan: Plan, prime: int, out: NDArray[Any]
) -> None:
    """Add t = 0 of one plan to ``out[:, :, 0]``, modulo ``prime`` if that is not 0.

    ``sizes`` are those of shells, ``[N, >= num_shells]``.
    """
    terms = plan.terms
    for i in range(terms.shape[0]):
        source, target, hop = terms[i, 0], terms[i, 1], terms[i, 3]
        shell = plan.pairs[source, 0]
        if plan.pairs[source, 2] != SAME:
            continue
        for v in range(sizes.shape[0]):
            whole = divisor_value(terms[i, 2], hop, sizes[v]) * terms[i, 4]
            if whole == 0:
                continue
            value = sizes[v, shell - 1] if shell else 1
            if prime == 0:
                out[v, target, 0] += value / whole
            else:
                share = value * inverse(whole, prime) % prime
                out[v, target, 0] = (out[v, target, 0] + share) % prime


def with_shell_sizes(
    encoding: WalkEncoding,
    walks: NDArray[Any],
    sizes: NDArray[np.int64] | None,
    prime: int = 0,
) -> NDArray[Any]:
    """Add step 0 and channels of shell sizes, if the encoding has them.

    Args:
        encoding: The encoding.
        walks: Steps 1..l of all walks, ``[N, C_walks, l]``.
        sizes: :func:`~sekgnn.hops.shell_sizes` of every node, up to
            ``encoding.sized_shells``; ``None`` leaves zeros.
        prime: Compute modulo this number; 0 for floats.

    Returns:
        ``[N, C, L]``; ``walks`` itself if there is nothing to add.
    """
    if not encoding.sized_shells:
        return walks
    num_nodes, channels, _ = walks.shape
    shape = num_nodes, encoding.num_channels, encoding.length
    out = np.zeros(shape, dtype=walks.dtype)
    out[:, :channels, 1 - encoding.first_step :] = walks
    if sizes is None:
        return out
    if encoding.first_step == 0:
        for plan in encoding.plans:
            write_first_step(sizes, plan, prime, out)
    first = channels * encoding.length
    numbers = out.reshape(num_nodes, encoding.num_features)  # a view
    numbers[:, first : first + encoding.shell_sizes] = sizes[:, : encoding.shell_sizes]
    return out
