"""What encoding large graphs would cost, estimated before it is begun.

Around a hub every neighbourhood is almost the whole graph, so the time grows with the
square of the number of nodes, or its cube. Neighbourhoods of a few nodes tell.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.encoding.channels import SQUARES, Plan
from sekgnn.errors import ConfigError
from sekgnn.graphs.packed import PackedGraphs
from sekgnn.kernel import kernel
from sekgnn.parallel import resolve_threads
from sekgnn.walks.ball import ball_nodes

TIME_LIMIT = 3600.0
"""Estimated seconds above which an encoding is refused; ``--force`` lifts it."""

_SAMPLE = 16  # nodes looked at
_LARGE = 1024  # nodes of graphs that are worth a look
_EGO, _HALF = 0.16, 2.0  # nanoseconds per number and edge, rough, on one 2.3 GHz core


@contextmanager
def patient(force: bool) -> Iterator[None]:
    """Let an encoding take as long as it needs, if asked to."""
    global TIME_LIMIT
    limit = TIME_LIMIT
    TIME_LIMIT = math.inf if force else limit
    try:
        yield
    finally:
        TIME_LIMIT = limit


def check_costs(
    graphs: PackedGraphs,
    blocks: list[Plan],
    alike: NDArray[np.int32],
    backend: str,
    out: NDArray[Any],
    threads: int | None,
) -> None:
    """Refuse what would take more than ``TIME_LIMIT`` seconds.

    Args:
        graphs: The graphs.
        blocks: What to compute.
        alike: The smallest twin of each node; only these are computed.
        backend: As for :func:`~sekgnn.encoding.encoder.encode`.
        out: ``[N, C, L]``.
        threads: Threads that share the work.

    Raises:
        ConfigError: If so; says how long it would take, and what to do instead.
    """
    sizes = np.diff(graphs.node_ptr)
    large = np.repeat(sizes > _LARGE, sizes)
    nodes = np.flatnonzero(large & (alike == np.arange(alike.size)))
    if not nodes.size:
        return
    rng = np.random.default_rng(0)
    chosen = rng.choice(nodes, min(_SAMPLE, nodes.size), replace=False)
    steps, total = out.shape[2], 0.0
    for plan in blocks:
        squares = plan.offsets[SQUARES] >= 0
        if plan.radius == 0 and (squares or backend in ("auto", "push")):
            reach = plan.num_shells + (steps + 1) // 2
        else:
            reach = plan.radius
        if reach == 0:  # dense matrices, whose size is limited
            continue
        edges, shells = ball_costs(graphs.csr, alike, chosen, reach, plan.num_shells)
        if plan.radius or squares:
            work = _EGO * (1 + squares) * steps * edges * shells
        else:
            work = _HALF * (2 * plan.num_shells + 1) * ((steps + 1) // 2) * edges
        total += nodes.size * float(work.mean())
    seconds = 1e-9 * total / resolve_threads(threads)
    if seconds > TIME_LIMIT:
        raise ConfigError(
            f"this encoding of {nodes.size:,} nodes would take about "
            f"{_duration(seconds)}: neighbourhoods reach {float(edges.mean()):,.0f} "
            "edges on average, as around hubs. Take fewer shells, a smaller radius or "
            "shorter walks, estimate it with encode_sampled, or say that it may take "
            "this long (--force; sekgnn.encoding.costs.TIME_LIMIT)."
        )


@kernel
def ball_costs(
    graph: Any, alike: NDArray[np.int32], centres: Any, radius: int, num_shells: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return edges within ``radius``, and nodes of shells but for twins, ``[S]``."""
    edges, shells = np.zeros(centres.size), np.zeros(centres.size)
    place = np.full(graph.indptr.size - 1, -1, dtype=np.int32)
    for c in range(centres.size):
        nodes, bounds = ball_nodes(graph, centres[c], radius, place)
        for i in range(bounds[radius + 1]):
            u = nodes[i]
            place[u] = -1
            edges[c] += graph.indptr[u + 1] - graph.indptr[u] + 1
            if i < bounds[min(num_shells, radius) + 1] and alike[u] == u:
                shells[c] += 1
    return edges, shells


def _duration(seconds: float) -> str:
    """Return seconds in words.

    Example:
        >>> _duration(3 * 3600), _duration(90 * 86400)
        ('3 hours', '90 days')
    """
    hours = seconds / 3600
    return f"{hours:,.0f} hours" if hours < 48 else f"{hours / 24:,.0f} days"
