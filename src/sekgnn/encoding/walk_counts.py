"""f from numbers of walks: powers of A instead of probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sekgnn.checks import MOST_LEVELS, check_positive
from sekgnn.encoding.substructure import SubstructureEncoding, register_encoding
from sekgnn.errors import GraphInputError
from sekgnn.graphs.graph import CsrGraph
from sekgnn.graphs.packed import PackedGraphs
from sekgnn.graphs.twins import quotient
from sekgnn.hops.levels import class_shells
from sekgnn.kernel import kernel
from sekgnn.parallel import Progress, even_chunks, run_chunks
from sekgnn.parameters import parameter
from sekgnn.walks.modular import PRIMES

PAIRS_LIMIT = 8_192
"""Nodes of a graph for which all pairs are counted."""

GRAPHS_CHUNK = 32


@kernel
def count_walks(
    node_ptr: NDArray[np.int64],
    graph: CsrGraph,
    first: int,
    last: int,
    num_shells: int,
    prime: int,
    out: NDArray[Any],
) -> None:
    """Write the sums of all nodes of graphs ``first..last - 1``.

    They are counted modulo ``prime``; 0 is for floats as they are. ``out`` is zero,
    ``[N, 1 + 3 K, L]``: return, then for every k to the shell, its diagonal, the rest.
    """
    for g in range(first, last):
        begin, n = node_ptr[g], node_ptr[g + 1] - node_ptr[g]
        alone = np.arange(node_ptr[g + 1]).astype(np.int32)
        _, ones, rows, columns = quotient(graph, alone, begin, n, 0)
        members, bounds = class_shells(ones, rows, columns, num_shells)
        before, after = np.zeros((n, n), out.dtype), np.zeros((n, n), out.dtype)
        for v in range(n):
            before[v, v] = 1
        for t in range(out.shape[2]):
            for i in range(n):
                for j in range(n):
                    after[i, j] = 0
                for e in range(rows[i], rows[i + 1]):
                    for j in range(n):
                        after[i, j] += before[columns[e], j]
                if prime > 0:
                    for j in range(n):
                        after[i, j] %= prime
            before, after = after, before
            for v in range(n):
                sums = out[begin + v]
                sums[0, t] = before[v, v]
                for k in range(1, num_shells + 1):
                    for a in range(bounds[v, k - 1], bounds[v, k]):
                        i = members[a]
                        sums[k, t] += before[v, i]
                        sums[num_shells + k, t] += before[i, i]
                        for b in range(bounds[v, k - 1], bounds[v, k]):
                            j = members[b]
                            if i != j:  # below n² terms of 31 bits
                                sums[2 * num_shells + k, t] += before[i, j]
                if prime > 0:
                    for c in range(sums.shape[0]):
                        sums[c, t] %= prime


@register_encoding("walk_counts")
@dataclass(frozen=True)
class WalkCounts(SubstructureEncoding):
    r"""How many walks of t = 1..l steps there are, :math:`A^t` in place of :math:`P^t`.

    The channels are those of :class:`~sekgnn.encoding.WalkEncoding` in ``graph`` scope:
    walks from v to itself; to its shell :math:`N_k(v)`; within the shell from a node to
    itself, and to another node.

    Args:
        num_shells: K, shells that are summarised.
        walk_length: l. Numbers grow like the degree to the power l.
        log1p: Return log(1 + count), which networks learn from more easily.

    Raises:
        ConfigError: If a value cannot work.

    Example:
        >>> from sekgnn.graphs import complete_graph, pack
        >>> packed = pack([complete_graph(3)])
        >>> WalkCounts(num_shells=1, walk_length=4).encode(packed)[0, 0].tolist()
        [0.0, 2.0, 2.0, 6.0]
    """

    num_shells: int = parameter(3, "K, number of shells to summarise")
    walk_length: int = parameter(8, "l, number of steps of a walk")
    log1p: bool = parameter(False, "take log(1 + count) of each count")

    def __post_init__(self) -> None:
        """Check the parameters."""
        for name in ("num_shells", "walk_length"):
            value = check_positive(name, getattr(self, name), 1, MOST_LEVELS)
            object.__setattr__(self, name, value)

    @property
    def channels(self) -> tuple[str, ...]:
        """Return, then every kind for k = 1..K."""
        kinds = ("to_shell", "across_diagonal", "across_off_diagonal")
        shells = range(1, self.num_shells + 1)
        return ("return", *(f"{kind}/{k}" for kind in kinds for k in shells))

    @property
    def length(self) -> int:
        """Numbers per channel: ``walk_length``."""
        return self.walk_length

    def encode(
        self,
        graphs: PackedGraphs,
        *,
        dtype: DTypeLike = np.float64,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> NDArray[np.float64]:
        """Return the counts, or their logarithms, ``[N, C, L]``."""
        out = self._counted(graphs, 0, np.float64, threads, progress)
        return np.log1p(out) if self.log1p else out

    def exact(
        self, graphs: PackedGraphs, *, threads: int | None = None
    ) -> NDArray[np.int64]:
        """Return the counts modulo two primes, int64 ``[N, C, L, 2]``.

        Like :func:`~sekgnn.encoding.encode_exact`: different numbers agree about once
        in 2^62, however large they are.
        """
        parts = [self._counted(graphs, p, np.int64, threads, None) for p in PRIMES]
        return np.stack(parts, axis=-1)

    def _counted(
        self,
        graphs: PackedGraphs,
        prime: int,
        dtype: DTypeLike,
        threads: int | None,
        progress: Progress | None,
    ) -> NDArray[Any]:
        most = int(np.diff(graphs.node_ptr).max(initial=0))
        if most > PAIRS_LIMIT:
            raise GraphInputError(
                f"walk_counts needs a number for every pair of nodes and handles up to "
                f"{PAIRS_LIMIT} nodes; a graph has {most}. Use the encoding walks."
            )
        out = np.zeros((graphs.num_nodes, self.num_channels, self.length), dtype=dtype)

        def work(first: int, last: int) -> None:
            count_walks(
                graphs.node_ptr, graphs.csr, first, last, self.num_shells, prime, out
            )

        run_chunks(
            work, even_chunks(graphs.num_graphs, GRAPHS_CHUNK), threads, progress
        )
        return out
