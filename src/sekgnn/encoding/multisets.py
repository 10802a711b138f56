r"""Multisets of step vectors over shells, for ``aggregate="learned"``.

For every channel of a :class:`~sekgnn.encoding.WalkEncoding` a node has the multiset of
the vectors :math:`(H^{(t)}_{ij})_{t=1}^l` of its pairs (i, j). Digests of exact
residues decide which vectors are equal, and order vectors and multisets. Floats of
equal numbers are equal, too (:mod:`sekgnn.walks.step_vectors`), so the arrays of
relabelled graphs agree bit for bit, and so do equal multisets of different graphs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sekgnn.checks import free_bytes
from sekgnn.digest import Colours, empty_table, find_key, key_of, spread
from sekgnn.encoding.channels import OTHER, SAME
from sekgnn.encoding.ragged import RaggedEncoding
from sekgnn.encoding.walk_encoding import WalkEncoding
from sekgnn.errors import GraphInputError
from sekgnn.graphs.graph import CsrGraph
from sekgnn.graphs.packed import PackedGraphs
from sekgnn.graphs.twins import find_alike
from sekgnn.hops import shell_sizes
from sekgnn.kernel import kernel
from sekgnn.parallel import (
    PerThread,
    Progress,
    even_chunks,
    resolve_threads,
    run_chunks,
)
from sekgnn.walks.ball import WalkScope, walk_graph
from sekgnn.walks.step_vectors import Merged, merge_twins, step_vectors

Ints = NDArray[np.int32]

MEMORY_LIMIT = 8 * 2**30
"""Most bytes for multisets and the walks behind them, if that much is free."""

KEY_VECTOR = key_of("step vector of a pair")
KEY_MULTISET = key_of("multiset of step vectors")

_GRAPHS_CHUNK = 64
_MOST_VECTORS = 2**16  # of earlier graphs to remember


class Store(NamedTuple):
    """Distinct items by digest, with room for more."""

    table: Ints  # of find_key
    keys: Colours  # [P, 2]


@kernel
def new_store() -> Store:
    """Return an empty store."""
    return Store(empty_table(64), np.empty((64, 2), dtype=np.uint64))


@kernel
def roomy(store: Store, count: int, more: int) -> Store:
    """Return the store, of ``count`` keys, with room for ``more``."""
    if count + more <= store.keys.shape[0]:
        return store
    keys = with_room(store.keys, count + more)
    table = empty_table(keys.shape[0])
    for p in range(count):
        table[find_key(table, keys, keys[p, 0], keys[p, 1])] = p
    return Store(table, keys)


@kernel
def number_of(store: Store, count: int, k0: np.uint64, k1: np.uint64) -> int:
    """Return the number of a key, ``count`` if it is new; the store has room for it."""
    slot = find_key(store.table, store.keys, k0, k1)
    if store.table[slot] < 0:
        store.keys[count, 0], store.keys[count, 1] = k0, k1
        store.table[slot] = count
    return int(store.table[slot])


@kernel
def with_room(array: NDArray[Any], needed: int) -> NDArray[Any]:
    """Return the array, or a copy with room for ``needed`` rows and some more."""
    if array.shape[0] >= needed:
        return array
    larger = np.empty((max(needed, 2 * array.shape[0]), *array.shape[1:]), array.dtype)
    larger[: array.shape[0]] = array
    return larger


@kernel
def number_pairs(
    merged: Merged, steps: int, store: Store, vectors: NDArray[Any], count: int
) -> tuple[Ints, Store, NDArray[Any], int]:
    """Number the step vectors of all pairs of classes, ``[q, q + 1]``.

    Equal vectors have one number; the last column is that of two nodes of one class.
    ``store`` holds the digests of the ``count`` vectors so far and ``vectors`` their
    values, ``[P, L]``; both are returned with the new ones.
    """
    q = merged.second.size
    residues, floats = step_vectors(merged, steps)
    numbers = np.empty((q, q + 1), dtype=np.int32)
    store = roomy(store, count, numbers.size)
    vectors = with_room(vectors, count + numbers.size)
    for c in range(q):
        for d in range(q + 1 if merged.second[c] >= 0 else q):
            i, j = (c, d) if d < q else (merged.second[c], c)
            x, y = np.uint64(residues[i, j]), np.uint64(residues[i, q + j])
            k0, k1 = spread(x, y, KEY_VECTOR)
            numbers[c, d] = number_of(store, count, k0, k1)
            if numbers[c, d] == count:
                for t in range(steps):
                    vectors[count, t] = floats[t, i, j]
                count += 1
    return numbers, store, vectors, count


class Shells(NamedTuple):
    """The number of nodes of each class in every shell."""

    ptr: NDArray[np.int64]  # shell k is ptr[k]..ptr[k + 1] - 1, [h + 2]
    classes: Ints
    counts: Ints


@kernel
def classes_by_shell(
    merged: Merged, members: Ints, bounds: NDArray[np.int64]
) -> Shells:
    """Return the classes of the shells; shell k is ``members[bounds[k]:...]``."""
    ptr = np.zeros(bounds.size, dtype=np.int64)
    classes, counts = np.empty_like(members), np.empty_like(members)
    where, filled = np.full(merged.second.size, -1, dtype=np.int64), 0
    for k in range(bounds.size - 1):
        for x in range(bounds[k], bounds[k + 1]):
            c = merged.class_of[members[x]]
            if where[c] < ptr[k]:
                where[c], classes[filled], counts[filled] = filled, c, 0
                filled += 1
            counts[where[c]] += 1
        ptr[k + 1] = filled
    return Shells(ptr, classes, counts)


@kernel
def tally_pairs(
    numbers: Ints,  # of number_pairs
    shells: Shells,
    start: int,  # shell of i
    end: int,  # shell of j
    which: int,  # ALL, SAME or OTHER
    tally: Ints,  # zero; receives the count of each number
    seen: Ints,  # receives the numbers that occur
) -> int:
    """Count the vectors of the pairs between two shells; return how many differ."""
    size = 0
    for x in range(shells.ptr[start], shells.ptr[start + 1]):
        for y in range(shells.ptr[end], shells.ptr[end + 1]):
            a, b = shells.classes[x], shells.classes[y]
            same = shells.counts[x] if x == y else 0  # pairs with i = j
            other = shells.counts[x] * shells.counts[y] - same
            if same and which != OTHER:
                if tally[numbers[a, a]] == 0:
                    seen[size] = numbers[a, a]
                    size += 1
                tally[numbers[a, a]] += same
            if other and which != SAME:
                number = numbers[a, b if a != b else -1]
                if tally[number] == 0:
                    seen[size] = number
                    size += 1
                tally[number] += other
    return size


@kernel
def graph_multisets(
    graph: CsrGraph,
    starts: NDArray[np.int64],
    alike: Ints,
    blocks: NDArray[np.int64],
    pairs: NDArray[np.int64],
    vectors: NDArray[Any],
    position: Ints,
) -> tuple[Ints, Ints, Ints, Ints, NDArray[Any], NDArray[np.int64], Colours]:
    """Return the multisets of some graphs, of nodes ``starts[g]..starts[g + 1] - 1``.

    The ego-nets of molecules, and of social networks up to twins, repeat: the multisets
    of one are reused where the digest of its merged graph occurs again, and those of
    the smallest twin, ``alike[v]``, serve all its twins. ``blocks`` and ``pairs`` are
    those of :func:`_channels`; ``vectors`` is scratch, ``[1, L]`` or more, of the type
    of the result; ``position`` is scratch, one entry per node, -1 everywhere on entry
    and on return.

    Returns:
        The arrays of a :class:`~sekgnn.encoding.RaggedEncoding`, and the digest of
        every multiset, uint64 ``[U, 2]``.
    """
    channels, steps, begin = pairs.shape[0], vectors.shape[1], starts[0]
    rows = np.empty((starts[starts.size - 1] - begin, channels), dtype=np.int32)
    tables = np.zeros((starts.size - 1, 2, channels), dtype=np.int64)
    out = Lists(
        np.empty(64, dtype=np.int32), np.empty(256, dtype=np.int32),
        np.empty(256, dtype=np.int32), np.empty_like(vectors),
        np.empty((64, 2), dtype=np.uint64), np.zeros(3, dtype=np.int64),
    )  # fmt: skip
    of_egos, of_vectors, of_multisets = new_store(), new_store(), new_store()
    egos = num_vectors = multisets = 0
    ego_rows = np.empty((64, channels), dtype=np.int32)
    ends = np.zeros(65, dtype=np.int64)  # of the members of every multiset
    members, counts = np.empty(256, dtype=np.int32), np.empty(256, dtype=np.int32)
    tally, seen = np.zeros(64, dtype=np.int32), np.empty(64, dtype=np.int32)
    row_of, position_of = np.zeros(64, dtype=np.int32), np.zeros_like(tally)
    merged = merge_twins(ends[:1], seen[:0], seen[:0])
    numbers = np.empty((0, 0), dtype=np.int32)
    for g in range(starts.size - 1):
        if num_vectors > _MOST_VECTORS:  # of earlier graphs: they only fill memory
            of_egos, of_vectors, of_multisets = new_store(), new_store(), new_store()
            egos = num_vectors = multisets = 0
        for b in range(blocks.shape[0]):
            scope = WalkScope(
                blocks[b, 0] == 1, blocks[b, 1], blocks[b, 2] == 1, blocks[b, 3]
            )
            first = blocks[b, 4]
            last = blocks[b + 1, 4] if b + 1 < blocks.shape[0] else channels
            for v in range(starts[g], starts[g + 1]):
                if alike[v] < v:
                    rows[v - begin, first:last] = rows[alike[v] - begin, first:last]
                    continue
                at, bounds, nodes, near, columns = walk_graph(
                    graph, starts[g], starts[g + 1], v, scope, position
                )
                ego = -1
                if nodes.size:
                    group = np.zeros(nodes.size, dtype=np.int32)
                    for k in range(0 if scope.whole else bounds.size - 1):
                        group[bounds[k] : bounds[k + 1]] = k
                    merged = merge_twins(near, columns, group)
                    if not scope.whole:
                        k0, k1 = merged.digest
                        of_egos = roomy(of_egos, egos, 1)
                        ego = number_of(of_egos, egos, k0, k1 + np.uint64(b))
                        if ego < egos:
                            rows[v - begin, first:last] = ego_rows[ego, first:last]
                            continue
                        egos += 1
                        ego_rows = with_room(ego_rows, egos)
                    numbers, of_vectors, vectors, num_vectors = number_pairs(
                        merged, steps, of_vectors, vectors, num_vectors
                    )
                    if tally.size < num_vectors:
                        tally = np.zeros(2 * num_vectors, dtype=np.int32)
                        position_of = np.zeros_like(tally)
                        seen = np.empty(2 * num_vectors, dtype=np.int32)
                shells = classes_by_shell(merged, at, bounds)
                for c in range(first, last):
                    different = tally_pairs(
                        numbers, shells, pairs[c, 0], pairs[c, 1], pairs[c, 2], tally,
                        seen,
                    )  # fmt: skip
                    k0, k1 = np.uint64(0), np.uint64(c)
                    for p in seen[:different]:
                        k0 += np.uint64(tally[p]) * of_vectors.keys[p, 0]
                        k1 += np.uint64(tally[p]) * of_vectors.keys[p, 1]
                    k0, k1 = spread(k0, k1, KEY_MULTISET)
                    of_multisets = roomy(of_multisets, multisets, 1)
                    number = number_of(of_multisets, multisets, k0, k1)
                    rows[v - begin, c] = number
                    if number == multisets:
                        multisets += 1
                        ends = with_room(ends, multisets + 1)
                        low = ends[number]
                        ends[multisets] = low + different
                        members = with_room(members, low + different)
                        counts = with_room(counts, low + different)
                        order = np.argsort(of_vectors.keys[seen[:different], 0])
                        for x in range(different):
                            members[low + x] = seen[order[x]]
                            counts[low + x] = tally[seen[order[x]]]
                    for p in seen[:different]:
                        tally[p] = 0
                if ego >= 0:
                    ego_rows[ego, first:last] = rows[v - begin, first:last]
        if row_of.size < multisets:
            row_of = np.zeros(2 * multisets, dtype=np.int32)
        out = in_order(
            rows[starts[g] - begin : starts[g + 1] - begin], tables[g], ends, members,
            counts, vectors, of_multisets.keys, row_of, position_of, out,
        )  # fmt: skip
    u, m, t = out.filled
    return (
        rows, out.sizes[:u], out.members[:m], out.counts[:m], out.vectors[:t], tables,
        out.digests[:u],
    )  # fmt: skip


class Lists(NamedTuple):
    """Arrays of several graphs, written one after the other, with room for more."""

    sizes: Ints  # [U]; these four are as in a RaggedEncoding
    members: Ints  # [M]
    counts: Ints  # [M]
    vectors: NDArray[Any]  # [T, L]
    digests: Colours  # of the multisets, [U, 2]
    filled: NDArray[np.int64]  # U, M, T


@kernel
def in_order(
    rows: Ints,  # multiset of every node and channel, [n, C]; renumbered
    table: NDArray[np.int64],  # receives the numbers of multisets and vectors, [2, C]
    ends: NDArray[np.int64],  # of the members of the previous multiset, [U + 1]
    members: Ints,  # numbers of vectors, in the order of their keys
    counts: Ints,  # of each in its multiset
    vectors: NDArray[Any],  # [>= P, L]
    digests: Colours,  # of the multisets, [U, 2]
    row_of: Ints,  # scratch, [U]: 1 + the row of a multiset when last written
    position_of: Ints,  # likewise of every vector, [P]
    out: Lists,  # appended to
) -> Lists:
    """Append the multisets of a graph, channel by channel, in the order of digests.

    Vectors are ordered by first use. Returns ``out``, larger if it was full.
    """
    n, channels = rows.shape
    chosen = np.empty(n, dtype=np.int32)
    u, m, t = out.filled
    u0, t0 = u, t
    for c in range(channels):
        size, entries, first = 0, 0, t
        for v in range(n):
            x = rows[v, c]
            if row_of[x] <= u0:
                row_of[x] = u0 + 1
                chosen[size] = x
                size += 1
                entries += ends[x + 1] - ends[x]
        out = Lists(
            with_room(out.sizes, u + size),
            with_room(out.members, m + entries),
            with_room(out.counts, m + entries),
            with_room(out.vectors, t + entries),
            with_room(out.digests, u + size),
            out.filled,
        )
        for x in chosen[np.argsort(digests[chosen[:size], 0])]:
            out.sizes[u] = ends[x + 1] - ends[x]
            out.digests[u] = digests[x]
            u += 1
            row_of[x] = u
            for e in range(ends[x], ends[x + 1]):
                p = members[e]
                if position_of[p] <= first:
                    for step in range(vectors.shape[1]):
                        out.vectors[t, step] = vectors[p, step]
                    t += 1
                    position_of[p] = t
                out.members[m], out.counts[m] = position_of[p] - 1 - t0, counts[e]
                m += 1
        for v in range(n):
            rows[v, c] = row_of[rows[v, c]] - 1 - u0
        table[0, c], table[1, c] = size, t - first
    out.filled[0], out.filled[1], out.filled[2] = u, m, t
    return out


def count_pairs(
    packed: PackedGraphs,
    blocks: NDArray[np.int64],
    pairs: NDArray[np.int64],
    threads: int | None,
) -> tuple[int, int]:
    """Return the pairs in all multisets, and the nodes of the largest ego-net."""
    total = most = 0
    for b, (whole, radius, _, _, first) in enumerate(blocks.tolist()):
        last = int(blocks[b + 1, 4]) if b + 1 < len(blocks) else len(pairs)
        around = shell_sizes(packed, radius, threads=threads)
        sizes = np.insert(around, 0, 1, axis=1)  # the centre is shell 0
        if not whole:
            most = max(most, int(sizes.sum(axis=1).max(initial=0)))
        for start, end, which in pairs[first:last].tolist():
            other = 1 if which == SAME else sizes[:, end]
            total += int((sizes[:, start] * other).sum())
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
    *arrays, _ = _run(packed, encoding, np.dtype(dtype), threads, progress)
    return RaggedEncoding(*arrays)


def exact_multisets(
    packed: PackedGraphs, encoding: WalkEncoding, threads: int | None = None
) -> NDArray[np.int64]:
    """Return the digest of every multiset, equal if the multisets are, ``[N, C, 2]``.

    Raises:
        GraphInputError: As :func:`encode_multisets`.
    """
    rows, *_, tables, digests = _run(
        packed, encoding, np.dtype(np.float32), threads, None
    )
    before = np.cumsum(tables[:, 0].sum(axis=1)) - tables[:, 0].sum(axis=1)
    rows = rows + np.repeat(before, np.diff(packed.node_ptr))[:, None]
    return digests[rows].view(np.int64)


def _run(
    packed: PackedGraphs,
    encoding: WalkEncoding,
    dtype: np.dtype[Any],
    threads: int | None,
    progress: Progress | None,
) -> list[NDArray[Any]]:
    """Return what :func:`graph_multisets` does, of all graphs."""
    blocks, pairs = _channels(encoding)
    _check_memory(packed, encoding, blocks, pairs, dtype, threads)
    starts, graphs = packed.node_ptr, len(packed.node_ptr) - 1
    _, alike = find_alike(packed, threads)
    position = PerThread(lambda: np.full(starts[-1], -1, dtype=np.int32))
    results: dict[int, tuple[NDArray[Any], ...]] = {}

    def work(first: int, last: int) -> None:
        vectors = np.empty((64, encoding.walk_length), dtype=dtype)
        results[first] = graph_multisets(
            packed.csr, starts[first : last + 1], alike, blocks, pairs, vectors,
            position.value,
        )  # fmt: skip

    chunks = even_chunks(graphs, _GRAPHS_CHUNK) if graphs else [(0, 0)]
    run_chunks(work, chunks, threads, progress)
    in_turn = (results[first] for first in sorted(results))
    return [np.concatenate(arrays) for arrays in zip(*in_turn, strict=True)]


def _channels(encoding: WalkEncoding) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the scopes and the channels as the kernels read them.

    Returns:
        blocks: 1 for walks on the whole graph, the radius to search, 1 with the centre,
            1 with self-loops, and the first channel; a row per scope.
        pairs: Those of a :class:`~sekgnn.encoding.channels.Plan` for every channel.
    """
    blocks: list[tuple[int, ...]] = []
    pairs: list[list[int]] = []
    for plan in encoding.plans:
        whole, radius = plan.radius == 0, plan.radius or plan.num_shells
        blocks.append((whole, radius, plan.with_centre, plan.loop, len(pairs)))
        pairs += plan.pairs[plan.terms[:, 0], :3].tolist()  # a term per channel
    return np.array(blocks), np.array(pairs)


def _check_memory(
    packed: PackedGraphs,
    encoding: WalkEncoding,
    blocks: NDArray[np.int64],
    pairs: NDArray[np.int64],
    dtype: np.dtype[Any],
    threads: int | None,
) -> None:
    """Refuse multisets that would not fit into memory, before computing them."""
    sizes = np.diff(packed.node_ptr)
    at_once = min(resolve_threads(threads), max(sizes.size, 1))
    free = free_bytes()
    limit = MEMORY_LIMIT if free is None else min(MEMORY_LIMIT, free)

    def memory(total: int, most: int) -> int:
        stored = total * (8 + encoding.walk_length * dtype.itemsize)
        return stored + at_once * most**2 * (16 * encoding.walk_length + 108)

    largest = int(sizes.max(initial=0))
    if memory(len(blocks) * int((sizes**3).sum()), largest) <= limit:
        return  # even with every pair in a shell of every node, as in small graphs
    total, most = count_pairs(packed, blocks, pairs, threads)
    most = largest if blocks[:, 0].any() else most
    needed = memory(total, most)
    if needed > limit:
        raise GraphInputError(
            f'aggregate="learned" keeps up to {total:,} pairs of these graphs, walks '
            f"on up to {most:,} nodes at once, and may need {needed / 2**30:,.1f} GiB; "
            f"the limit is {limit / 2**30:.0f} GiB (free memory, or "
            "sekgnn.encoding.multisets.MEMORY_LIMIT). Use fewer num_shells, a smaller "
            'radius, scope "internal" alone, a shorter walk_length, fewer graphs, or '
            'aggregate="moments".'
        )
