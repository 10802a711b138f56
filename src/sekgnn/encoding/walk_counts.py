"""f from numbers of walks: powers of A instead of probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sekgnn.checks import MOST_LEVELS
from sekgnn.encoding.channels import Plan
from sekgnn.encoding.exact import GRAPHS_CHUNK, add_step, check_pairs, exact_walks
from sekgnn.encoding.substructure import SubstructureEncoding, register_encoding
from sekgnn.encoding.walk_encoding import WalkEncoding
from sekgnn.graphs.graph import CsrGraph
from sekgnn.graphs.packed import PackedGraphs
from sekgnn.graphs.twins import quotient
from sekgnn.hops.levels import class_shells
from sekgnn.kernel import kernel
from sekgnn.parallel import Progress, even_chunks, run_chunks
from sekgnn.parameters import check_fields, parameter


@kernel
def count_walks(
    node_ptr: NDArray[np.int64],
    graph: CsrGraph,
    identity: NDArray[np.int32],
    first: int,
    last: int,
    plan: Plan,
    raw: NDArray[np.float64],
) -> None:
    """Write the raw sums of all nodes of graphs ``first..last - 1``.

    ``raw`` is zero, ``[N, C_raw, L]``, laid out by ``plan``; ``identity`` is the number
    of every node.
    """
    for g in range(first, last):
        begin, n = node_ptr[g], node_ptr[g + 1] - node_ptr[g]
        _, ones, rows, columns = quotient(graph, identity, begin, n, 0)
        members, bounds = class_shells(ones, rows, columns, plan.num_shells)
        before, after = np.eye(n), np.empty((n, n))
        for t in range(raw.shape[2]):
            for i in range(n):
                for j in range(n):
                    after[i, j] = 0.0
                for e in range(rows[i], rows[i + 1]):
                    for j in range(n):
                        after[i, j] += before[columns[e], j]
            before, after = after, before
            for v in range(n):
                add_step(
                    before, v, members, bounds[v], plan.pairs, np.uint64(0), t,
                    raw[begin + v],
                )  # fmt: skip


@register_encoding("walk_counts")
@dataclass(frozen=True)
class WalkCounts(SubstructureEncoding):
    r"""Numbers of walks of t = 1..l steps: :math:`A^t` in place of :math:`P^t`.

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

    num_shells: int = parameter(
        3, "K, number of shells to summarise", low=1, high=MOST_LEVELS
    )
    walk_length: int = parameter(
        8, "l, number of steps of a walk", low=1, high=MOST_LEVELS
    )
    log1p: bool = parameter(False, "take log(1 + count) of each count")

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def channels(self) -> tuple[str, ...]:
        """The return, then every kind for k = 1..K."""
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
        plan = self._plan()
        check_pairs(graphs, (plan,), threads)
        identity = np.arange(graphs.num_nodes, dtype=np.int32)
        raw = np.zeros((graphs.num_nodes, plan.num_raw, self.length))

        def work(first: int, last: int) -> None:
            count_walks(graphs.node_ptr, graphs.csr, identity, first, last, plan, raw)

        run_chunks(
            work, even_chunks(graphs.num_graphs, GRAPHS_CHUNK), threads, progress
        )
        out = raw[:, plan.terms[:, 0]]
        return np.log1p(out) if self.log1p else out

    def exact(
        self, graphs: PackedGraphs, *, threads: int | None = None
    ) -> NDArray[np.int64]:
        """Return the counts modulo two primes, int64 ``[N, C, L, 2]``.

        Like :func:`~sekgnn.encoding.encode_exact`: different numbers agree about once
        in 2^62, however large they are.
        """
        out = exact_walks(graphs, (self._plan(),), self.length, threads, count=True)
        return np.stack(list(out), axis=-1)

    def _plan(self) -> Plan:
        """Return the plan of walks on A, in ``graph`` scope."""
        (plan,) = WalkEncoding(
            self.num_shells, self.walk_length, self_loops=False
        ).plans
        return plan
