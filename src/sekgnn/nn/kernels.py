"""Compiled loops: hops of a batch, or around seeds; equal multisets; trees."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sekgnn.digest import empty_table, find_key, key_of, scramble, spread
from sekgnn.graphs.graph import CsrGraph
from sekgnn.hops.levels import sort_range
from sekgnn.hops.sampling import hop_state, sample_level
from sekgnn.kernel import kernel
from sekgnn.walks.ball import new_table, slot_of

Ints = NDArray[np.int32]

_KEY_VECTOR = key_of("vector of a multiset")


@kernel
def cut_hops(
    indptr: NDArray[np.int64],
    indices: Ints,
    node_ptr: NDArray[np.int64],
    chosen: NDArray[np.int64],
    num_hops: int,
) -> tuple[Ints, Ints]:
    """Return the hops of a batch, renumbered: one straight copy per hop and graph.

    Hop-major rows ``[K N + 1]`` and nodes ``[M]`` of the dataset, of which graph g has
    the nodes from ``node_ptr[g]``, become those of the graphs ``chosen``.
    """
    total, rows, pairs = node_ptr[-1], 0, 0
    for k in range(num_hops):
        for g in chosen:
            first, last = k * total + node_ptr[g], k * total + node_ptr[g + 1]
            rows += last - first
            pairs += indptr[last] - indptr[first]
    out_indptr = np.empty(rows + 1, dtype=np.int32)
    out_indices = np.empty(pairs, dtype=np.int32)
    out_indptr[0] = r = q = 0
    for k in range(num_hops):
        before = 0
        for g in chosen:
            first, last = k * total + node_ptr[g], k * total + node_ptr[g + 1]
            for v in range(first, last):
                out_indptr[r + 1] = out_indptr[r] + (indptr[v + 1] - indptr[v])
                r += 1
            shift = before - node_ptr[g]
            for p in range(indptr[first], indptr[last]):
                out_indices[q] = indices[p] + shift
                q += 1
            before += last - first
    return out_indptr, out_indices


@kernel
def sample_neighborhood(
    graph: CsrGraph,
    seeds: NDArray[np.int64],
    num_hops: int,
    limit: int,
    depth: int,
    seed: np.uint64,
) -> tuple[NDArray[np.int32], NDArray[np.int64], Ints]:
    """Return the nodes that seeds reach in ``depth`` layers, and their sampled hops.

    Memory is that of the answer and of the largest ball of K hops that is met. The
    samples are those of ``hop_pairs(max_neighbors=limit, seed=seed)``; a ``limit`` of
    -1 keeps all. Only nodes that are reached before the last layer have hops.

    Returns:
        nodes: Seeds first, layer by layer, int32 ``[N]``.
        sizes: Of the hops of the first R nodes, node by node, int64 ``[R K]``.
        flat: Their nodes, by position in ``nodes``, int32.
    """
    indptr, indices = graph
    nodes = np.empty(4 * seeds.size + 64, dtype=np.int32)
    known = new_table(nodes.size)  # position of every node of the answer
    for i in range(seeds.size):
        nodes[i] = seeds[i]
        slot = slot_of(known, seeds[i])
        known[slot, 0], known[slot, 1] = seeds[i], i
    found = seeds.size
    sizes = np.empty(num_hops * (found + 1), dtype=np.int64)
    flat = np.empty(64, dtype=np.int32)
    filled = 0
    seen, queue = new_table(64), np.empty(64, dtype=np.int32)
    keys, chosen = np.empty(max(limit, 0), np.uint64), np.empty(max(limit, 0), np.int32)
    first, last = 0, found
    for _ in range(depth):
        if num_hops * last > sizes.size:
            more = np.empty(2 * num_hops * last, dtype=np.int64)
            more[: sizes.size] = sizes
            sizes = more
        for r in range(first, last):
            v = nodes[r]
            queue[0] = v
            slot = slot_of(seen, v)
            seen[slot, 0] = v
            begin, end = 0, 1
            for k in range(num_hops):
                tail = end
                for i in range(begin, end):
                    w = queue[i]
                    for p in range(indptr[w], indptr[w + 1]):
                        u = indices[p]
                        slot = slot_of(seen, u)
                        if seen[slot, 0] >= 0:
                            continue
                        if tail == queue.size:
                            longer = np.empty(2 * tail, dtype=np.int32)
                            longer[:tail] = queue
                            queue = longer
                        queue[tail] = u
                        tail += 1
                        seen[slot, 0] = u
                        if 2 * tail > seen.shape[0]:
                            seen = new_table(2 * tail)
                            for j in range(tail):
                                seen[slot_of(seen, queue[j]), 0] = queue[j]
                begin, end = end, tail
                size = end - begin
                level = queue[begin:end]
                if 0 <= limit < size:
                    sample_level(level, 0, hop_state(seed, v, k + 1), keys, chosen)
                    size, level = limit, chosen
                else:
                    sort_range(queue, begin, end)
                sizes[r * num_hops + k] = size
                if filled + size > flat.size:
                    longer = np.empty(2 * (filled + size), dtype=np.int32)
                    longer[:filled] = flat[:filled]
                    flat = longer
                for i in range(size):
                    u = level[i]
                    slot = slot_of(known, u)
                    if known[slot, 0] < 0:
                        if found == nodes.size:
                            longer = np.empty(2 * found, dtype=np.int32)
                            longer[:found] = nodes
                            nodes = longer
                        known[slot, 0], known[slot, 1] = u, found
                        nodes[found] = u
                        found += 1
                        flat[filled + i] = found - 1
                        if 2 * found > known.shape[0]:
                            known = new_table(2 * found)
                            for j in range(found):
                                slot = slot_of(known, nodes[j])
                                known[slot, 0], known[slot, 1] = nodes[j], j
                    else:
                        flat[filled + i] = known[slot, 1]
                filled += size
            if end > seen.shape[0] // 8:
                for slot in range(seen.shape[0]):
                    seen[slot, 0] = -1
            else:
                # sorting has changed the order, so look each up before any is removed
                for i in range(end):
                    queue[i] = slot_of(seen, queue[i])
                for i in range(end):
                    seen[queue[i], 0] = -1
        first, last = last, found
    return nodes[:found].copy(), sizes[: num_hops * first].copy(), flat[:filled].copy()


class JoinedMultisets(NamedTuple):
    """The different multisets of a batch, channel by channel, graph by graph."""

    rows: Ints  # multiset of every node and channel, [N, C]
    indptr: Ints  # first member of every multiset, [U + 1]
    members: Ints  # its vectors, numbered as in ``vectors``
    counts: Ints  # how often each is in it
    vectors: NDArray[np.int64]  # those that are used, by number in the input, [T]
    splits: NDArray[np.int64]  # multisets and vectors of every channel, [2, C]
    cuts: NDArray[np.int64]  # channel, and ends of multisets, members, vectors, [B, 4]


@kernel
def _hashes(words: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Return a 64-bit hash of every vector, given as integers."""
    factors = np.empty(words.shape[1], dtype=np.uint64)
    for j in range(factors.size):
        factors[j] = scramble(np.uint64(j + 1)) | np.uint64(1)
    out = np.empty(words.shape[0], dtype=np.uint64)
    for i in range(out.size):
        total = np.uint64(0)
        for j in range(factors.size):
            total += np.uint64(words[i, j]) * factors[j]
        out[i] = total
    return out


@kernel
def merge_multisets(
    rows: Ints,
    sizes: Ints,
    members: Ints,
    counts: Ints,
    words: Ints,
    tables: NDArray[np.int64],
    num_nodes: NDArray[np.int64],
    block: int,
) -> JoinedMultisets:
    """Return the multisets of several graphs; equal ones of a channel become one.

    Multisets and vectors are numbered in the order they are met. The multisets of a
    cut read vectors of that cut alone: a cut ends with a graph, after ``block`` vectors
    or more, and with a channel. Other arguments are those of
    :func:`~sekgnn.nn.join_multisets`, vectors as ``words``.
    """
    graphs, _, channels = tables.shape
    hashes = _hashes(words)
    # where the multisets, members and vectors of every graph and channel begin
    first = np.zeros(sizes.size + 1, dtype=np.int64)
    for u in range(sizes.size):
        first[u + 1] = first[u] + sizes[u]
    begin = np.zeros((graphs * channels + 1, 2), dtype=np.int64)
    for i in range(graphs * channels):
        for kind in range(2):
            part = tables[i // channels, kind, i % channels]
            begin[i + 1, kind] = begin[i, kind] + part
    number = np.empty(sizes.size, dtype=np.int32)  # of every multiset
    place = np.full(words.shape[0], -1, dtype=np.int32)  # of every vector
    keys = np.empty((sizes.size, 2), dtype=np.uint64)
    indptr = np.zeros(sizes.size + 1, dtype=np.int32)
    used, often = np.empty_like(members), np.empty_like(counts)
    vectors = np.empty(words.shape[0], dtype=np.int64)
    splits = np.zeros((2, channels), dtype=np.int64)
    cuts = np.empty((graphs * channels, 4), dtype=np.int64)
    distinct = filled = last = ends = 0
    for c in range(channels):
        table = empty_table(tables[:, 0, c].sum())
        splits[0, c], splits[1, c] = -distinct, -filled
        for g in range(graphs):
            i = g * channels + c
            shift = begin[g * channels, 1]
            for u in range(begin[i, 0], begin[i + 1, 0]):
                k0, k1 = np.uint64(c), np.uint64(sizes[u])
                for p in range(first[u], first[u + 1]):
                    t = shift + members[p]
                    h0, h1 = spread(hashes[t], np.uint64(c), _KEY_VECTOR)
                    k0 += h0 * np.uint64(counts[p])
                    k1 += h1 * np.uint64(counts[p])
                slot = find_key(table, keys, k0, k1)
                if table[slot] < 0:
                    table[slot] = distinct
                    keys[distinct, 0], keys[distinct, 1] = k0, k1
                    at = indptr[distinct]
                    for p in range(first[u], first[u + 1]):
                        t = shift + members[p]
                        if place[t] < 0:
                            place[t] = filled
                            vectors[filled] = t
                            filled += 1
                        used[at], often[at] = place[t], counts[p]
                        at += 1
                    distinct += 1
                    indptr[distinct] = at
                number[u] = table[slot]
            if filled - last >= block or (g == graphs - 1 and distinct + splits[0, c]):
                cuts[ends, 0], cuts[ends, 1] = c, distinct
                cuts[ends, 2], cuts[ends, 3] = indptr[distinct], filled
                last = filled
                ends += 1
        splits[0, c] += distinct
        splits[1, c] += filled
    out, v = np.empty_like(rows), 0
    for g in range(graphs):
        for _ in range(num_nodes[g]):
            for c in range(channels):
                out[v, c] = number[begin[g * channels, 0] + rows[v, c]]
            v += 1
    total = indptr[distinct]
    return JoinedMultisets(
        out,
        indptr[: distinct + 1].copy(),
        used[:total].copy(),
        often[:total].copy(),
        vectors[:filled].copy(),
        splits,
        cuts[:ends].copy(),
    )


@kernel
def transposed_rows(
    indptr: Ints, indices: Ints, entries: Ints, columns: int
) -> tuple[Ints, Ints, Ints]:
    """Return row starts, rows and entries of the transpose of a matrix."""
    starts = np.zeros(columns + 1, dtype=np.int32)
    for p in range(indices.size):
        starts[indices[p] + 1] += 1
    for j in range(columns):
        starts[j + 1] += starts[j]
    free = starts[:-1].copy()
    rows, moved = np.empty_like(indices), np.empty_like(entries)
    for i in range(indptr.size - 1):
        for p in range(indptr[i], indptr[i + 1]):
            at = free[indices[p]]
            free[indices[p]] += 1
            rows[at] = i
            if entries.size:
                moved[at] = entries[p]
    return starts, rows, moved


@kernel
def add_leaves(
    feature: Ints,
    threshold: NDArray[np.float64],
    left: Ints,
    right: Ints,
    value: NDArray[np.float64],
    start: Ints,
    column: Ints,
    x: NDArray[np.float32],
    out: NDArray[np.float64],
) -> None:
    """Add to ``out[r, column[t]:]`` the values of the leaf of row r in every tree t.

    Arguments are those of :class:`~sekgnn.models.forest.DecisionTrees`.
    """
    for t in range(start.size):
        for r in range(x.shape[0]):
            node = start[t]
            while True:
                low = x[r, feature[node]] <= threshold[node]
                after = left[node] if low else right[node]
                if after == node:
                    break
                node = after
            for w in range(value.shape[1]):
                out[r, column[t] + w] += value[node, w]
