"""Compiled loops: hops cut out of a dataset, or sampled around seeds, and trees."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sekgnn.graphs.graph import CsrGraph
from sekgnn.hops.levels import sort_range
from sekgnn.hops.sampling import hop_state, sample_level
from sekgnn.kernel import kernel
from sekgnn.walks.ball import new_table, slot_of

Ints = NDArray[np.int32]


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
