r"""Multisets of step vectors over shells: what ``aggregate="learned"`` leaves to learn.

For every channel of a :class:`~sekgnn.encoding.WalkEncoding` a node has the multiset of
the vectors :math:`(H^{(t)}_{ij})_{t=1}^l` of its pairs (i, j). Which of them are equal
is decided by digests of exact residues, and the order of everything kept follows these
digests. Floats of equal numbers are equal, too (:func:`walk_floats`), so the arrays of
relabelled graphs agree bit for bit, and equal multisets of different graphs as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sekgnn.digest import Colours, empty_table, find_key, key_of, spread
from sekgnn.encoding.channels import plans
from sekgnn.encoding.ragged import RaggedEncoding
from sekgnn.encoding.walk_encoding import WalkEncoding
from sekgnn.errors import GraphInputError
from sekgnn.graphs.graph import CsrGraph
from sekgnn.graphs.packed import PackedGraphs
from sekgnn.hops.levels import sort_range
from sekgnn.kernel import kernel
from sekgnn.memory import free_bytes
from sekgnn.parallel import (
    PerThread,
    Progress,
    even_chunks,
    resolve_threads,
    run_chunks,
)
from sekgnn.walks.ball import WalkScope, ball_nodes, walk_place
from sekgnn.walks.modular import walk_digests

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]

MEMORY_LIMIT = 8 * 2**30
"""Bytes that multisets and the walks behind them may need, if that much is free."""

KEY_VECTOR = key_of("step vector of a pair")
KEY_MULTISET = key_of("multiset of step vectors")

_GRAPHS_CHUNK = 16
ALL, SAME, OTHER = range(3)  # pairs (i, j) of a channel: all, i = j, i ≠ j


@kernel
def walk_floats(
    rows: NDArray[np.int64], columns: Ints, scratch: Floats, out: Floats
) -> None:
    r"""Write the step vectors of all ordered pairs, ``out`` is ``[s, s, L]``.

    Equal fractions get equal bits, in whatever graph and by whatever numbering. A
    probability is :math:`(x + y\, 2^{-b})\, 2^{-b}` with whole numbers x and y below
    :math:`2^b`, b = 40 for degrees below 2,048, and is rounded off only behind them:
    sums of such numbers are exact in any order. In the end :math:`b + 12` bits are
    kept, which errors of :math:`t\, 2^{-2b}` do not reach.

    Args:
        rows: Row starts, self-loops listed, ``[s + 1]``.
        columns: Neighbours.
        scratch: ``[4, s, s]``.
        out: Written.
    """
    s, steps = out.shape[0], out.shape[2]
    most, bits = 1, 51
    for i in range(s):
        most = max(most, rows[i + 1] - rows[i])
    while most > 0:
        bits -= 1
        most >>= 1
    base = 2.0 ** min(bits, 40)
    for i in range(s):
        for j in range(s):
            scratch[0, i, j] = base if i == j else 0.0
            scratch[1, i, j] = 0.0
    now = 0
    for t in range(steps):
        after = 2 - now
        for i in range(s):
            high, low = scratch[after, i], scratch[after + 1, i]
            for j in range(s):
                high[j] = low[j] = 0.0
            for e in range(rows[i], rows[i + 1]):
                before, behind = scratch[now, columns[e]], scratch[now + 1, columns[e]]
                for j in range(s):
                    high[j] += before[j]
                    low[j] += behind[j]
            degree = float(max(rows[i + 1] - rows[i], 1))
            for j in range(s):
                carry = np.floor(low[j] / base)
                total = high[j] + carry
                quotient = np.floor(total / degree)
                rest = (total - quotient * degree) * base + (low[j] - carry * base)
                high[j], low[j] = quotient, np.floor(rest / degree)
            for j in range(s):
                out[i, j, t] = (high[j] + np.rint(low[j] / base * 4096) / 4096) / base
        now = after


@kernel
def number_pairs(
    digests: Colours,
    floats: Floats,
    table: Ints,
    keys: Colours,
    vectors: Floats,
    found: int,
    numbers: Ints,
) -> tuple[Ints, Colours, Floats, int]:
    """Write the number of the step vector of every pair, the same for equal ones.

    ``digests`` are from :func:`~sekgnn.walks.modular.walk_digests`, ``floats`` from
    :func:`walk_floats`. Of those ``found`` already, ``table`` knows the numbers,
    ``keys``, ``[P, 2]``, and ``vectors``, ``[P, L]``, have room for more. All four are
    returned, replaced where they were too small.
    """
    s, steps = floats.shape[0], floats.shape[2]
    for i in range(s):
        for j in range(s):
            k0, k1 = spread(digests[0, i, j], digests[1, i, j], KEY_VECTOR)
            slot = find_key(table, keys, k0, k1)
            number = table[slot]
            if number < 0:
                if found == keys.shape[0]:
                    old_keys, old_vectors = keys, vectors
                    keys = np.empty((2 * found, 2), dtype=np.uint64)
                    vectors = np.empty((2 * found, steps))
                    keys[:found], vectors[:found] = old_keys, old_vectors
                    table = empty_table(2 * found)
                    for p in range(found):
                        table[find_key(table, keys, keys[p, 0], keys[p, 1])] = p
                    slot = find_key(table, keys, k0, k1)
                number = found
                found += 1
                table[slot] = number
                keys[number, 0], keys[number, 1] = k0, k1
                vectors[number] = floats[i, j]
            numbers[i, j] = number
    return table, keys, vectors, found


@kernel
def tally_pairs(
    numbers: Ints,
    at: Ints,
    bounds: NDArray[np.int64],
    start: int,
    end: int,
    which: int,
    tally: Ints,
    seen: Ints,
) -> int:
    """Count the vectors of the pairs between two shells.

    Args:
        numbers: Of :func:`number_pairs`.
        at: Rows of the nodes, shell by shell; the centre is shell 0.
        bounds: Shell k is ``at[bounds[k]:bounds[k + 1]]``.
        start: Shell of i.
        end: Shell of j.
        which: ``ALL``, ``SAME`` or ``OTHER``.
        tally: Zero; receives how often each number occurs.
        seen: Receives the numbers that do.

    Returns:
        How many they are.
    """
    size = 0
    for x in range(bounds[start], bounds[start + 1]):
        low = x if which == SAME else bounds[end]
        high = x + 1 if which == SAME else bounds[end + 1]
        for y in range(low, high):
            if which == OTHER and x == y:
                continue
            number = numbers[at[x], at[y]]
            if tally[number] == 0:
                seen[size] = number
                size += 1
            tally[number] += 1
    return size


@kernel
def graph_multisets(
    graph: CsrGraph,
    start: int,
    stop: int,
    blocks: NDArray[np.int64],
    pairs: NDArray[np.int64],
    steps: int,
    place: Ints,
) -> tuple[Ints, Ints, Ints, Ints, Floats, NDArray[np.int64], Colours]:
    """Return the multisets of the graph of nodes ``start..stop - 1``.

    ``blocks`` and ``pairs`` are those of :func:`_channels`; ``place`` is scratch, -1
    everywhere, one per node, and as it was on return.

    Returns:
        The arrays of a :class:`~sekgnn.encoding.RaggedEncoding`, ``tables`` without the
        first axis, and the digest of every multiset, uint64 ``[U, 2]``.
    """
    n, channels = stop - start, pairs.shape[0]
    rows = np.empty((n, channels), dtype=np.int32)
    keys, vectors = np.empty((64, 2), dtype=np.uint64), np.empty((64, steps))
    table, found = empty_table(64), 0
    digests = np.empty((n * channels, 2), dtype=np.uint64)
    owners, ends = np.empty(n * channels, np.int32), np.empty(n * channels, np.int64)
    known, multisets = empty_table(n * channels), 0
    members, counts = np.empty(256, dtype=np.int32), np.empty(256, dtype=np.int32)
    tally, seen = np.zeros(64, dtype=np.int32), np.empty(64, dtype=np.int32)
    filled = 0
    lanes = np.empty((2, 0, 0), dtype=np.uint64)
    residues = np.empty((2, 2, 0, 0), dtype=np.uint64)
    scratch, floats = np.empty((4, 0, 0)), np.empty((0, 0, steps))
    numbers = np.empty((0, 0), dtype=np.int32)
    for b in range(blocks.shape[0]):
        scope = WalkScope(
            blocks[b, 0] == 1, blocks[b, 1], blocks[b, 2] == 1, blocks[b, 3]
        )
        first = blocks[b, 4]
        last = blocks[b + 1, 4] if b + 1 < blocks.shape[0] else channels
        for v in range(start, stop):
            at, bounds, nodes, near, columns = walk_place(
                graph, start, stop, v, scope, place
            )
            s = nodes.size
            if s:
                if s != lanes.shape[1]:
                    lanes = np.empty((2, s, s), dtype=np.uint64)
                    residues = np.empty((2, 2, s, s), dtype=np.uint64)
                    scratch, floats = np.empty((4, s, s)), np.empty((s, s, steps))
                    numbers = np.empty((s, s), dtype=np.int32)
                walk_digests(near, columns, steps, residues, lanes)
                walk_floats(near, columns, scratch, floats)
                table, keys, vectors, found = number_pairs(
                    lanes, floats, table, keys, vectors, found, numbers
                )
                if tally.size < found:
                    tally = np.zeros(2 * found, dtype=np.int32)
                    seen = np.empty(2 * found, dtype=np.int32)
            for c in range(first, last):
                different = tally_pairs(
                    numbers, at, bounds, pairs[c, 0], pairs[c, 1], pairs[c, 2],
                    tally, seen,
                )  # fmt: skip
                k0, k1 = np.uint64(0), np.uint64(c)
                for q in range(different):
                    k0 += np.uint64(tally[seen[q]]) * keys[seen[q], 0]
                    k1 += np.uint64(tally[seen[q]]) * keys[seen[q], 1]
                k0, k1 = spread(k0, k1, KEY_MULTISET)
                slot = find_key(known, digests, k0, k1)
                if known[slot] < 0:
                    known[slot] = multisets
                    digests[multisets, 0], digests[multisets, 1] = k0, k1
                    owners[multisets] = c
                    while filled + different > members.size:
                        members = np.concatenate((members, members))
                        counts = np.concatenate((counts, counts))
                    for q in range(different):
                        members[filled + q] = seen[q]
                        counts[filled + q] = tally[seen[q]]
                    filled += different
                    ends[multisets] = filled
                    multisets += 1
                rows[v - start, c] = known[slot]
                for q in range(different):
                    tally[seen[q]] = 0
    return in_order(
        rows, owners[:multisets], ends, members, counts, digests[:multisets],
        keys[:found], vectors, tally,
    )  # fmt: skip


@kernel
def in_order(
    rows: Ints,
    owners: Ints,
    ends: NDArray[np.int64],
    members: Ints,
    counts: Ints,
    digests: Colours,
    keys: Colours,
    vectors: Floats,
    tally: Ints,
) -> tuple[Ints, Ints, Ints, Ints, Floats, NDArray[np.int64], Colours]:
    """Bring multisets and vectors in the order of their channels and digests.

    Args:
        rows: Multiset of every node and channel, ``[n, C]``; renumbered.
        owners: Channel of every multiset, ``[U]``.
        ends: Where its members end.
        members: Numbers of vectors.
        counts: How often each occurs.
        digests: Of the multisets, ``[U, 2]``.
        keys: Of the vectors, ``[P, 2]``.
        vectors: At least ``[P, L]``.
        tally: Scratch, zero, at least ``[P]``; as it was on return.

    Returns:
        As :func:`graph_multisets`.
    """
    (n, channels), different = rows.shape, owners.size
    tables = np.zeros((2, channels), dtype=np.int64)
    rank = np.empty(keys.shape[0], dtype=np.int32)
    by_key = np.argsort(keys[:, 0].copy())
    for p in range(by_key.size):
        rank[by_key[p]] = p
    order, sizes = np.empty(different, np.int64), np.empty(different, np.int32)
    renumbered = np.empty(different, dtype=np.int32)
    by_digest = np.argsort(digests[:, 0].copy())
    done = 0
    for c in range(channels):
        for u in by_digest:
            if owners[u] == c:
                order[done], renumbered[u] = u, done
                done += 1
                tables[0, c] += 1
    for v in range(n):
        for c in range(channels):
            rows[v, c] = renumbered[rows[v, c]]
    filled = ends[different - 1] if different else 0
    new_members = np.empty(filled, dtype=np.int32)
    new_counts = np.empty(filled, dtype=np.int32)
    kept = np.empty(filled, dtype=np.int64)  # the vectors of the rows, as numbers
    row_of = np.full(keys.shape[0], -1, dtype=np.int32)
    used = np.empty(keys.shape[0], dtype=np.int32)
    at, total, done = 0, 0, 0
    for c in range(channels):
        few, begin = 0, at
        for x in range(done, done + tables[0, c]):
            u = order[x]
            low = ends[u - 1] if u else 0
            sizes[x] = ends[u] - low
            for q in range(low, ends[u]):
                p = rank[members[q]]
                new_members[at + q - low] = p
                tally[p] = counts[q]
                if row_of[p] < 0:
                    row_of[p] = 0
                    used[few] = p
                    few += 1
            sort_range(new_members, at, at + sizes[x])
            for q in range(at, at + sizes[x]):
                new_counts[q] = tally[new_members[q]]
                tally[new_members[q]] = 0
            at += sizes[x]
        done += tables[0, c]
        sort_range(used, 0, few)
        for q in range(few):
            row_of[used[q]] = total + q
            kept[total + q] = by_key[used[q]]
        for q in range(begin, at):
            new_members[q] = row_of[new_members[q]]
        for q in range(few):
            row_of[used[q]] = -1
        total += few
        tables[1, c] = few
    numbers = np.empty((total, vectors.shape[1]))
    for q in range(total):
        numbers[q] = vectors[kept[q]]
    ordered = np.empty_like(digests)
    for x in range(different):
        ordered[x] = digests[order[x]]
    return rows, sizes, new_members, new_counts, numbers, tables, ordered


@kernel
def count_pairs(
    graph: CsrGraph, blocks: NDArray[np.int64], pairs: NDArray[np.int64]
) -> tuple[int, int]:
    """Return the pairs in all multisets, and the nodes of the largest ego-net."""
    total, most = 0, 0
    place = np.full(graph.indptr.size - 1, -1, dtype=np.int32)
    for b in range(blocks.shape[0]):
        first = blocks[b, 4]
        last = blocks[b + 1, 4] if b + 1 < blocks.shape[0] else pairs.shape[0]
        for v in range(place.size):
            nodes, bounds = ball_nodes(graph, v, blocks[b, 1], place)
            inside = bounds[bounds.size - 1]
            for i in range(inside):
                place[nodes[i]] = -1
            if blocks[b, 0] == 0:
                most = max(most, inside)
            for c in range(first, last):
                a, z = pairs[c, 0], pairs[c, 1]
                other = 1 if pairs[c, 2] == SAME else bounds[z + 1] - bounds[z]
                total += (bounds[a + 1] - bounds[a]) * other
    return total, most


def encode_multisets(
    packed: PackedGraphs,
    encoding: WalkEncoding,
    dtype: DTypeLike,
    threads: int | None = None,
    progress: Progress | None = None,
) -> RaggedEncoding:
    """Return the multisets of every node and channel; see :func:`sekgnn.encode`.

    Raises:
        GraphInputError: If they would need more than :data:`MEMORY_LIMIT`.
    """
    parts = _run(packed, encoding, np.dtype(dtype), threads, progress)
    return RaggedEncoding(*(np.concatenate(arrays) for arrays in parts[:-1]))


def exact_multisets(
    packed: PackedGraphs, encoding: WalkEncoding, threads: int | None = None
) -> NDArray[np.int64]:
    """Return a digest of every multiset, equal exactly where they are, ``[N, C, 2]``.

    Raises:
        GraphInputError: As :func:`encode_multisets`.
    """
    parts = _run(packed, encoding, np.dtype(np.float32), threads, None)
    digests = [d[rows] for rows, d in zip(parts[0], parts[-1], strict=True)]
    return np.concatenate(digests).view(np.int64)


def _run(
    packed: PackedGraphs,
    encoding: WalkEncoding,
    dtype: np.dtype[Any],
    threads: int | None,
    progress: Progress | None,
) -> list[list[NDArray[Any]]]:
    """Return what :func:`graph_multisets` does, as one list of arrays per part."""
    blocks, pairs = _channels(encoding)
    _check_memory(packed, encoding, blocks, pairs, dtype, threads)
    starts = packed.node_ptr.tolist()
    graphs, steps = len(starts) - 1, encoding.walk_length
    parts: list[list[NDArray[Any]]] = [[np.empty(0)] * graphs for _ in range(7)]
    place = PerThread(lambda: np.full(starts[-1], -1, dtype=np.int32))

    def work(first: int, last: int) -> None:
        for g in range(first, last):
            start, stop = starts[g : g + 2]
            rows, sizes, members, counts, vectors, tables, digests = graph_multisets(
                packed.csr, start, stop, blocks, pairs, steps, place.value
            )
            vectors = vectors.astype(dtype)
            found: list[NDArray[Any]] = [
                rows, sizes, members, counts, vectors, tables[None], digests,
            ]  # fmt: skip
            for part, array in zip(parts, found, strict=True):
                part[g] = array

    run_chunks(work, even_chunks(graphs, _GRAPHS_CHUNK), threads, progress)
    return parts


def _channels(encoding: WalkEncoding) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the scopes and the channels as the kernels read them.

    Returns:
        blocks: Whether the walk is on the whole graph, the radius to search, whether
            the centre is there, whether there are self-loops, and the first channel.
        pairs: Shell of i, shell of j and which of the pairs (i, j), for every channel;
            the centre is shell 0.
    """
    blocks: list[tuple[int, ...]] = []
    pairs: list[tuple[int, int, int]] = []
    for plan, names in plans(encoding):
        whole, radius = plan.radius == 0, plan.radius or plan.num_shells
        blocks.append((whole, radius, plan.with_centre, plan.loop, len(pairs)))
        for name in names:
            *_, kind, hop = name.split("/")
            k = int(hop) if hop.isdigit() else 0
            pairs.append(
                {
                    "to_shell": (0, k, ALL),
                    "across_diagonal": (k, k, SAME),
                    "across_off_diagonal": (k, k, OTHER),
                    "outward": (k, k + 1, ALL),
                    "inward": (k + 1, k, ALL),
                }.get(kind, (0, 0, SAME))  # the return
            )
    return np.array(blocks), np.array(pairs)


def _check_memory(
    packed: PackedGraphs,
    encoding: WalkEncoding,
    blocks: NDArray[np.int64],
    pairs: NDArray[np.int64],
    dtype: np.dtype[Any],
    threads: int | None,
) -> None:
    """Refuse what would not fit, before anything is computed."""
    total, most = count_pairs(packed.csr, blocks, pairs)
    sizes = np.diff(packed.node_ptr)
    if blocks[:, 0].any():
        most = max(most, int(sizes.max(initial=0)))
    at_once = min(resolve_threads(threads), max(sizes.size, 1))
    needed = total * (8 + encoding.walk_length * dtype.itemsize)
    needed += at_once * most**2 * (16 * encoding.walk_length + 108)
    free = free_bytes()
    limit = MEMORY_LIMIT if free is None else min(MEMORY_LIMIT, free)
    if needed > limit:
        raise GraphInputError(
            f'aggregate="learned" keeps up to {total:,} pairs of these graphs, walks '
            f"on up to {most:,} nodes at once, and may need {needed / 2**30:,.1f} GiB; "
            f"the limit is {limit / 2**30:.0f} GiB (what is free, or "
            "sekgnn.encoding.multisets.MEMORY_LIMIT). Use fewer num_shells, a smaller "
            'radius, scope "internal" alone, a shorter walk_length, fewer graphs, or '
            'aggregate="moments".'
        )
