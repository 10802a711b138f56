"""f from counts of small patterns through a node."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_choice
from sekgnn.errors import ConfigError
from sekgnn.kernel import kernel
from sekgnn.parallel import even_chunks, run_chunks
from sekgnn.wl.batch import Batch
from sekgnn.wl.colouring import option
from sekgnn.wl.digest import Colours, colours_of
from sekgnn.wl.encodings.base import ExactEncoding

PATTERNS = ("cycle3", "cycle4", "cycle5", "cycle6", "cycle7", "cycle8", "clique4")


@kernel
def cycles_through(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    v: int,
    longest: int,
    shared: NDArray[np.int64],
    on_path: NDArray[np.bool_],
    counts: NDArray[np.int64],
) -> None:
    """Count the simple cycles through ``v`` of each length up to ``longest``.

    A path v, p1, ..., pd closes to a cycle of d + 2 nodes through every common
    neighbour of pd and v that is not on it, so that the last node need not be tried.
    Every cycle is met twice, once per direction.

    Args:
        indptr: Row starts.
        indices: Neighbours.
        v: The node.
        longest: Longest cycle, at least 3.
        shared: Scratch, 0 everywhere; as it was on return.
        on_path: Scratch, false everywhere; as it was on return.
        counts: Written, ``[longest + 1]``.
    """
    counts[:] = 0
    for e in range(indptr[v], indptr[v + 1]):
        for f in range(indptr[indices[e]], indptr[indices[e] + 1]):
            shared[indices[f]] += 1
    path = np.empty(longest, dtype=np.int64)
    edge = np.empty(longest, dtype=np.int64)
    path[0], edge[0] = v, indptr[v]
    on_path[v] = True
    depth = 0
    while depth >= 0:
        if edge[depth] == indptr[path[depth] + 1]:
            on_path[path[depth]] = False
            depth -= 1
            continue
        u = indices[edge[depth]]
        edge[depth] += 1
        if on_path[u]:
            continue
        closings = shared[u]
        for i in range(1, depth + 1):
            if adjacent(indptr, indices, path[i], u) and adjacent(
                indptr, indices, path[i], v
            ):
                closings -= 1
        counts[depth + 3] += closings
        if depth + 3 < longest:
            depth += 1
            path[depth], edge[depth] = u, indptr[u]
            on_path[u] = True
    for e in range(indptr[v], indptr[v + 1]):
        for f in range(indptr[indices[e]], indptr[indices[e] + 1]):
            shared[indices[f]] = 0
    for length in range(longest + 1):
        counts[length] //= 2


@kernel
def cliques_through(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], v: int
) -> int:
    """Count the cliques of four nodes that contain ``v``."""
    count = 0
    for e in range(indptr[v], indptr[v + 1]):
        a = indices[e]
        for f in range(e + 1, indptr[v + 1]):
            b = indices[f]
            if not adjacent(indptr, indices, a, b):
                continue
            for g in range(f + 1, indptr[v + 1]):
                c = indices[g]
                if adjacent(indptr, indices, a, c) and adjacent(indptr, indices, b, c):
                    count += 1
    return count


@kernel
def adjacent(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], a: int, b: int
) -> bool:
    """Tell whether two nodes are neighbours, by bisection."""
    low, high = indptr[a], indptr[a + 1]
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < b:
            low = middle + 1
        else:
            high = middle
    return low < indptr[a + 1] and indices[low] == b


@kernel
def pattern_counts(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    start: int,
    stop: int,
    longest: int,
    cliques: bool,
    out: NDArray[np.int64],
) -> None:
    """Write the counts of nodes ``start..stop - 1``, ``out`` is ``[N, 7]``."""
    shared = np.zeros(indptr.size - 1, dtype=np.int64)
    on_path = np.zeros(indptr.size - 1, dtype=np.bool_)
    counts = np.zeros(longest + 1, dtype=np.int64)
    for v in range(start, stop):
        if longest >= 3:
            cycles_through(indptr, indices, v, longest, shared, on_path, counts)
        for length in range(3, longest + 1):
            out[v, length - 3] = counts[length]
        if cliques:
            out[v, 6] = cliques_through(indptr, indices, v)


@dataclass(frozen=True)
class PatternCounts(ExactEncoding):
    """How many small patterns contain a node, as not necessarily induced subgraphs.

    Args:
        patterns: Some of ``"cycle3"`` to ``"cycle8"`` and ``"clique4"``. The time to
            find cycles of length c grows with the number of paths of c - 1 nodes,
            about the degree to the power c - 2.
    """

    name = "patterns"

    patterns: tuple[str, ...] = option(
        ("cycle3", "cycle4", "cycle5", "clique4"), f"some of {' '.join(PATTERNS)}"
    )

    def __post_init__(self) -> None:
        """Check the parameters."""
        if not self.patterns:
            raise ConfigError("patterns must not be empty.")
        for pattern in self.patterns:
            check_choice("patterns", pattern, PATTERNS)

    def counts(self, batch: Batch, threads: int | None = None) -> NDArray[np.int64]:
        """Return how many of each pattern contain each node, int64 ``[N, P]``."""
        n = batch.packed.num_nodes
        out = np.zeros((n, len(PATTERNS)), dtype=np.int64)
        cycles = [int(p[5:]) for p in self.patterns if p.startswith("cycle")]
        longest = max(cycles, default=2)

        def work(start: int, stop: int) -> None:
            pattern_counts(
                batch.packed.indptr, batch.packed.indices, start, stop, longest,
                "clique4" in self.patterns, out,
            )  # fmt: skip

        run_chunks(work, even_chunks(n, 256), threads)
        return out[:, [PATTERNS.index(pattern) for pattern in self.patterns]]

    def colours(self, batch: Batch, threads: int | None = None) -> Colours:
        """Return the digest of every node's counts."""
        return colours_of(self.counts(batch, threads), "pattern counts")

    def words(self, batch: Batch, node: int) -> str:
        """Say the counts."""
        counts = self.counts(batch)[node].tolist()
        return "in " + ", ".join(
            f"{count} × {pattern}"
            for pattern, count in zip(self.patterns, counts, strict=True)
        )
