"""Estimates of the time to encode large graphs, before it begins.

Around a hub every neighbourhood is almost the whole graph, so the time grows with the
square of the number of nodes, or its cube. A sample of neighbourhoods shows it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.encoding.channels import SQUARES
from sekgnn.encoding.walk_encoding import WalkEncoding
from sekgnn.errors import ConfigError
from sekgnn.graphs.packed import PackedGraphs
from sekgnn.kernel import kernel
from sekgnn.parallel import resolve_threads
from sekgnn.walks.ball import ball_nodes
from sekgnn.walks.vector import padded

TIME_LIMIT = 3600.0
"""Estimated seconds above which an encoding is refused; ``--force`` lifts it."""

_SAMPLE = 64  # nodes whose neighbourhoods are searched
_ENOUGH = 3e7  # edges after which the search stops early
_LARGE = 1024  # nodes up to which a graph costs little
# nanoseconds, rough, on one 2.3 GHz core
_BALL = 8.0  # per edge of a ball, searched with a hash table for half walks
_SEARCH = 2.0  # per edge of a ball, searched with an array over all nodes
_HALF = 0.55  # per number and edge of half walks
_EGO = 0.06  # per number and edge of walks in ego-nets
_COLUMN = 18.0  # per step and landing node of such a walk
_WALK = 5.2  # per step of a sampled walk
_OUT = 4.0  # per number that is written


@contextmanager
def patient(force: bool) -> Iterator[None]:
    """Lift ``TIME_LIMIT`` within the block, with ``force``."""
    global TIME_LIMIT
    limit = TIME_LIMIT
    TIME_LIMIT = math.inf if force else limit
    try:
        yield
    finally:
        TIME_LIMIT = limit


def check_costs(
    graphs: PackedGraphs,
    encoding: WalkEncoding,
    backend: str,
    threads: int | None,
    alike: NDArray[np.int32] | None = None,
    count: int | None = None,
) -> None:
    """Refuse an encoding that would take more than ``TIME_LIMIT`` seconds.

    The arguments are those of :func:`predicted_seconds`.

    Raises:
        ConfigError: If so; it names the time, that of sampling, and what to do.
    """
    if graphs.num_nodes <= _LARGE or not np.isfinite(TIME_LIMIT):
        return
    seconds, sampled = predicted_seconds(
        graphs, encoding, backend=backend, threads=threads, alike=alike, count=count
    )
    if seconds > TIME_LIMIT:
        raise ConfigError(
            f"this encoding of {_large_nodes(graphs, alike, count).size:,} nodes would "
            f"take about {_duration(seconds)}: neighbourhoods are large, as around "
            "hubs. Take fewer shells, a smaller radius or shorter walks; or estimate "
            "walks on the whole graph from samples (encode_sampled, --backend sampled),"
            f" which would take about {_duration(sampled)} with 256 walks; or lift the "
            "limit (--force; sekgnn.encoding.costs.TIME_LIMIT)."
        )


def predicted_seconds(
    graphs: PackedGraphs,
    encoding: WalkEncoding,
    *,
    backend: str = "auto",
    num_walks: int = 256,
    threads: int | None = None,
    alike: NDArray[np.int32] | None = None,
    count: int | None = None,
) -> tuple[float, float]:
    """Predict the seconds to encode large graphs, exactly and from samples.

    Counts the edges in the neighbourhoods of a few nodes; graphs of up to 1024 nodes
    and dense matrices are left out. Of the first ``count`` nodes, only those that are
    their smallest twin, ``alike``, are computed.
    """
    nodes = _large_nodes(graphs, alike, count)
    if not nodes.size:
        return 0.0, 0.0
    if alike is None:
        alike = np.arange(graphs.num_nodes, dtype=np.int32)
    rng = np.random.default_rng(0)
    chosen = rng.choice(nodes, min(_SAMPLE, nodes.size), replace=False)
    exact, sampled, steps = 0.0, 0.0, encoding.walk_length
    half = (steps + 1) // 2
    for plan in encoding.plans:
        squares, num_shells = plan.offsets[SQUARES] >= 0, plan.num_shells
        reach = plan.radius
        if reach == 0 and (squares or backend in ("auto", "push")):
            reach = num_shells + half
        if reach == 0:  # dense matrices, whose size is limited
            continue
        levels, inside, shells = ball_costs(
            graphs.csr, alike, chosen, reach, num_shells
        )
        within = np.cumsum(levels, axis=1)  # edges up to every level
        write = _OUT * plan.terms.shape[0] * steps
        if plan.radius or squares:
            work = _SEARCH * within[:, -1]
            work += (1 + squares) * steps * shells * (_EGO * inside + _COLUMN)
        else:
            width = padded(2 * num_shells + 1)
            walked = within[:, num_shells : num_shells + half].sum(axis=1)
            work = _BALL * within[:, -2] + _HALF * width * walked
            work += _BALL * within[:, half - 1] + _HALF * within[:, :half].sum(axis=1)
        exact += float(work.mean()) + write
        sampled += _SEARCH * float(within[:, num_shells - 1].mean())
        sampled += _WALK * (num_shells + 1) * num_walks * steps + 2 * write
    share = 1e-9 * nodes.size / resolve_threads(threads)
    return share * exact, share * sampled


def _large_nodes(
    graphs: PackedGraphs, alike: NDArray[np.int32] | None, count: int | None
) -> NDArray[np.int64]:
    """Return the nodes of large graphs that are computed one by one."""
    sizes = np.diff(graphs.node_ptr)
    large = np.repeat(sizes > _LARGE, sizes)
    if alike is not None:
        large &= alike == np.arange(graphs.num_nodes)
    return np.flatnonzero(large[:count])


@kernel
def ball_costs(
    graph: Any, alike: NDArray[np.int32], centres: Any, radius: int, num_shells: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return edges by level up to ``radius``, edges inside, and nodes of shells.

    The shapes are ``[S, radius + 1]``, ``[S]`` and ``[S]``; twins count once among the
    nodes of shells. Where balls are huge, S is less than the number of centres.
    """
    levels = np.zeros((centres.size, radius + 1))
    inside, shells = np.zeros(centres.size), np.zeros(centres.size)
    position = np.full(graph.indptr.size - 1, -1, dtype=np.int32)
    num_edges, count = 0.0, 0
    while count < centres.size and num_edges < _ENOUGH:
        c, count = count, count + 1
        nodes, bounds = ball_nodes(graph, centres[c], radius, position)
        for k in range(radius + 1):
            for i in range(bounds[k], bounds[k + 1]):
                u = nodes[i]
                inside[c] += 1
                for e in range(graph.indptr[u], graph.indptr[u + 1]):
                    inside[c] += position[graph.indices[e]] >= 0
                levels[c, k] += graph.indptr[u + 1] - graph.indptr[u] + 1
                if k <= num_shells and alike[u] == u:
                    shells[c] += 1
            num_edges += levels[c, k]
        for i in range(bounds[radius + 1]):
            position[nodes[i]] = -1
    return levels[:count], inside[:count], shells[:count]


def _duration(seconds: float) -> str:
    """Return seconds in words.

    Example:
        >>> _duration(3 * 3600), _duration(90 * 86400)
        ('3 hours', '90 days')
    """
    if seconds < 5400:
        return f"{max(seconds / 60, 1):,.0f} minutes"
    hours = seconds / 3600
    return f"{hours:,.0f} hours" if hours < 48 else f"{hours / 24:,.0f} days"
