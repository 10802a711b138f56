r"""Unbiased estimates of long walks on large graphs, with their standard errors.

The exact half walk of length ⌈l/2⌉ soon covers a large graph, so its cost cannot stay
linear in n. Here M walks start at v and M in each of its shells, at a node drawn
uniformly: the fraction of walks at v, in :math:`N_k(v)`, or back at their start, times
the number of starting nodes, estimates the sums of f1, f2 and f3. This takes O(M K l)
steps per node.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_positive, check_seed
from sekgnn.digest import scramble
from sekgnn.encoding.channels import (
    DIAGONAL,
    OFF_DIAGONAL,
    RETURN,
    TO_SHELL,
    Plan,
    divisor_value,
    with_shell_sizes,
)
from sekgnn.encoding.substructure import SubstructureEncoding
from sekgnn.encoding.walk_encoding import WalkEncoding
from sekgnn.errors import ConfigError
from sekgnn.graphs.convert import as_graph
from sekgnn.graphs.graph import CsrGraph
from sekgnn.graphs.packed import pack
from sekgnn.hops import shell_sizes
from sekgnn.hops.sampling import absorb
from sekgnn.kernel import kernel
from sekgnn.parallel import PerThread, Progress, even_chunks, run_chunks, within
from sekgnn.walks.ball import search_level
from sekgnn.walks.vector import prefetch

_TOGETHER = 192  # walks in flight that keep memory busy
_LARGE = 256  # nodes of shells above which marking them twice does not pay
_STEP = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class SampledEncoding:
    """Estimates and their standard errors.

    Attributes:
        values: Unbiased estimates, float64 ``[n, C, L]``.
        standard_error: Estimated standard deviation of each value, same shape; an upper
            bound where a channel adds several estimates from the same walks, as their
            events exclude each other. It is 0 where no walk, or every walk, meets the
            event, and where nothing is estimated: step 0 and shell sizes.
    """

    values: NDArray[np.float64]
    standard_error: NDArray[np.float64]


@kernel
def below(state: np.uint64, count: int) -> np.int64:
    """Return a number in 0..count - 1 from the upper half of ``state``."""
    high = state >> np.uint64(32)
    return np.int64((high * np.uint64(count)) >> np.uint64(32))


@kernel
def step_walks(
    graph: CsrGraph,
    loop: int,
    count: int,
    states: NDArray[np.uint64],  # random state of each walk; advanced
    edges: NDArray[np.int64],  # scratch, [>= count]
    before: NDArray[np.int32],  # the node of each walk
    after: NDArray[np.int32],  # the next one; written
) -> None:
    """Take one step with each of ``count`` walks, none of them at an isolated node.

    Walks do not wait for each other: the edge or row that one needs next is fetched
    from memory while the others are processed.
    """
    indptr, indices = graph
    for w in range(count):
        states[w] += _STEP
        first, last = indptr[before[w]], indptr[before[w] + 1]
        edge = first + below(scramble(states[w]), last - first + loop)
        prefetch(indices, edge)
        edges[w] = edge if edge < last else -1
    for w in range(count):
        after[w] = before[w]
        if edges[w] >= 0:
            after[w] = indices[edges[w]]
            prefetch(indptr, after[w])


@kernel
def fetch_rows(graph: CsrGraph, v: int) -> None:
    """Fetch the rows of v's neighbours, and the row starts for those of v + 1."""
    indptr, indices = graph
    if v + 2 < indptr.size:
        for e in range(indptr[v + 1], indptr[v + 2]):
            prefetch(indptr, indices[e])
    if v + 1 < indptr.size:
        for e in range(indptr[v], indptr[v + 1]):
            prefetch(indices, indptr[indices[e]])


@kernel
def count_hits(
    plan: Plan,
    ends: NDArray[np.int64],
    walks: NDArray[np.int32],
    shell_of: NDArray[Any],
    hits: NDArray[np.int64],
) -> None:
    """Write the hits of walks from one node and its shells, ``[C_raw, l]``.

    Walks ``ends[k]..ends[k + 1] - 1`` begin in shell k; ``walks`` holds the node of
    every walk at t = 0..l, ``[l + 1, W]``.
    """
    num_shells, offsets = plan.num_shells, plan.offsets
    met = np.empty(num_shells + 2, dtype=np.int64)  # outside, then by shell
    for t in range(hits.shape[1]):
        met[:] = 0
        for w in range(ends[0], ends[1]):
            met[shell_of[walks[t + 1, w]] + 1] += 1
        hits[offsets[RETURN], t] = met[1]
        for k in range(1, num_shells + 1):
            hits[offsets[TO_SHELL] + k - 1, t] = met[k + 1]
            back = inside = 0
            for w in range(ends[k], ends[k + 1]):
                back += walks[t + 1, w] == walks[0, w]
                inside += shell_of[walks[t + 1, w]] == k
            hits[offsets[DIAGONAL] + k - 1, t] = back
            hits[offsets[OFF_DIAGONAL] + k - 1, t] = inside - back


@kernel
def sample_nodes(
    graph: CsrGraph,
    start: int,
    stop: int,
    first: int,
    plan: Plan,
    num_walks: int,
    seed: np.uint64,
    shell_of: NDArray[Any],
    values: NDArray[np.float64],
    variances: NDArray[np.float64],
) -> None:
    """Add estimates of nodes ``start..stop - 1`` to two arrays ``[.., C, L]``.

    Node ``first`` is row 0. Walks of v depend on the seed and v alone, but those of a
    few nodes are taken together. ``plan`` has no squares; ``shell_of`` is scratch,
    ``[N]``, -1 everywhere on entry and on return.
    """
    indptr = graph.indptr
    num_shells, offsets, terms = plan.num_shells, plan.offsets, plan.terms
    steps, most = values.shape[2], (num_shells + 1) * num_walks
    group = max(1, _TOGETHER // most)
    hits = np.zeros((plan.num_raw, steps), dtype=np.int64)
    sizes = np.zeros(num_shells, dtype=np.int64)
    bounds = np.zeros((group, num_shells + 2), dtype=np.int64)  # of shells in nodes
    ends = np.zeros((group, num_shells + 2), dtype=np.int64)  # of their walks
    nodes = np.empty(64, dtype=np.int32)
    states = np.empty(group * most, dtype=np.uint64)
    edges = np.empty(group * most, dtype=np.int64)
    walks = np.empty((steps + 1, group * most), dtype=np.int32)
    high = start
    while high < stop:
        low, begin, num_nodes, count = high, 0, 0, 0
        while high < min(low + group, stop) and num_nodes - begin < _LARGE:
            v, high = high, high + 1
            for a in range(begin, num_nodes):  # the marks of the previous node
                shell_of[nodes[a]] = -1
            begin = num_nodes
            fetch_rows(graph, v + 1)
            shells, walk_ends = bounds[v - low], ends[v - low]
            if num_nodes == nodes.size:
                nodes = np.append(nodes, nodes)
            nodes[num_nodes] = v
            shell_of[v] = 0
            num_nodes += 1
            shells[0], shells[1] = begin, num_nodes
            for k in range(1, num_shells + 1):
                nodes, num_nodes = search_level(
                    graph, nodes, shells[k - 1], shells[k], k, shell_of
                )
                shells[k + 1] = num_nodes
            stuck = indptr[v + 1] - indptr[v] + plan.loop == 0
            origin = absorb(scramble(seed), v)
            walk_ends[0] = count
            for k in range(num_shells + 1):
                size = shells[k + 1] - shells[k]
                origin_of_shell = absorb(origin, k)
                for walk in range(0 if stuck or size == 0 else num_walks):
                    states[count] = absorb(origin_of_shell, walk)
                    u = nodes[shells[k] + below(states[count], size)]
                    prefetch(indptr, u)
                    walks[0, count] = u
                    count += 1
                walk_ends[k + 1] = count
        for t in range(steps):
            step_walks(graph, plan.loop, count, states, edges, walks[t], walks[t + 1])
        for v in range(high - 1, low - 1, -1):  # the last node is marked already
            shells, walk_ends = bounds[v - low], ends[v - low]
            for k in range(num_shells + 1 if v < high - 1 else 0):
                for a in range(shells[k], shells[k + 1]):
                    shell_of[nodes[a]] = k
            for k in range(num_shells):
                sizes[k] = shells[k + 2] - shells[k + 1]
            count_hits(plan, walk_ends, walks, shell_of, hits)
            for i in range(terms.shape[0]):
                source, hop = terms[i, 0], terms[i, 3]
                whole = divisor_value(terms[i, 2], hop, sizes)
                if whole == 0:
                    continue
                from_shell = offsets[DIAGONAL] <= source < offsets[RETURN]
                weight = np.float64(sizes[hop - 1]) if from_shell else 1.0
                factor = weight / (whole * terms[i, 4])
                value = values[v - first, terms[i, 1]]
                variance = variances[v - first, terms[i, 1]]
                for t in range(steps):
                    share = hits[source, t] / num_walks
                    spread = share * (1.0 - share) / (num_walks - 1)
                    value[t] += factor * share
                    variance[t] += factor * factor * spread
            for a in range(shells[0], shells[num_shells + 1]):
                shell_of[nodes[a]] = -1


def encode_sampled(
    graph: Any,
    encoding: WalkEncoding | None = None,
    *,
    num_walks: int = 256,
    seed: int = 0,
    nodes: tuple[int, int] | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> SampledEncoding:
    """Estimate the ``graph``-scope encoding of every node from random walks.

    Args:
        graph: As for :func:`~sekgnn.encoding.encoder.encode`.
        encoding: ``scope="graph"``; any aggregate but ``moments``, whose squares would
            be biased. Defaults to 32 steps.
        num_walks: M, walks from each node and from each of its shells.
        seed: The result depends on it, not on ``threads``.
        nodes: Range of nodes to encode, ``(start, stop)``; all by default.
        threads: Threads; ``None`` for all usable cores.
        progress: Called with (done, total) nodes.

    Raises:
        ConfigError: If the encoding cannot be sampled.

    Example:
        >>> from sekgnn.graphs import cycle_graph
        >>> result = encode_sampled(cycle_graph(5), WalkEncoding(walk_length=4))
        >>> result.values.shape
        (5, 10, 4)
    """
    encoding = WalkEncoding(walk_length=32) if encoding is None else encoding
    check_sampling(encoding, num_walks, seed)
    g = as_graph(graph)
    n, plans = g.num_nodes, encoding.plans
    start, stop = (0, n) if nodes is None else nodes
    size = stop - start
    values = np.zeros((size, len(encoding.walk_channels), encoding.walk_length))
    variances = np.zeros_like(values)
    csr = g.csr
    if size == n and csr.indices.size < 2**31:  # int32 halves the memory read most
        csr = csr._replace(indptr=csr.indptr.astype(np.int32))
    small = np.int8 if encoding.num_shells < 127 else np.int16
    shell_of = PerThread(lambda: np.full(n, -1, dtype=small))
    for i, plan in enumerate(plans):

        def work(low: int, high: int, plan: Plan = plan) -> None:
            sample_nodes(
                csr, start + low, start + high, start, plan, num_walks,
                np.uint64(seed), shell_of.value, values, variances,
            )  # fmt: skip

        share = within(progress, i * size, size, len(plans) * size)
        run_chunks(work, even_chunks(size, 256), threads, share)
    sizes = shell_sizes(
        pack([g]), encoding.sized_shells, nodes=(start, stop), threads=threads
    )
    errors = with_shell_sizes(encoding, variances, None)
    np.sqrt(errors, out=errors)
    return SampledEncoding(with_shell_sizes(encoding, values, sizes), errors)


def check_sampling(encoding: SubstructureEncoding, num_walks: int, seed: int) -> None:
    """Refuse an encoding that cannot be sampled.

    Raises:
        ConfigError: If so; names an alternative.
    """
    check_positive("num_walks", num_walks, minimum=2)
    check_seed(seed)
    if not isinstance(encoding, WalkEncoding):
        raise ConfigError(f"only walk encodings can be sampled, not {encoding.name!r}.")
    if encoding.scope != ("graph",):
        raise ConfigError(
            f'sampling walks on the whole graph: use scope="graph", got '
            f"{encoding.scope}. Ego-nets are exact at any graph size with encode()."
        )
    if encoding.aggregate in ("moments", "learned"):
        raise ConfigError(
            f"sampling has no unbiased squares or multisets: use "
            f'aggregate="sum", got {encoding.aggregate!r}.'
        )
