"""Exact encodings, as residues modulo two primes; see :mod:`sekgnn.walks.modular`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.encoding.channels import (
    OTHER,
    SAME,
    Plan,
    divisor_value,
    with_shell_sizes,
)
from sekgnn.encoding.walk_encoding import WalkEncoding
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs.convert import as_graph
from sekgnn.graphs.graph import CsrGraph
from sekgnn.graphs.packed import PackedGraphs, pack
from sekgnn.graphs.twins import quotient
from sekgnn.hops import shell_sizes
from sekgnn.hops.levels import class_shells
from sekgnn.kernel import kernel
from sekgnn.parallel import PerThread, Progress, even_chunks, run_chunks, within
from sekgnn.walks.ball import local_ball
from sekgnn.walks.modular import PRIMES, inverse, inverse_degrees, modular_step

PAIRS_LIMIT = 8_192
"""Most nodes of a graph, or of an ego-net, for which all pairs are computed."""

GRAPHS_CHUNK, NODES_CHUNK = 32, 64


@kernel
def add_step(
    landing: NDArray[Any],
    centre: int,
    members: NDArray[np.int32],
    bounds: NDArray[np.int64],
    pairs: NDArray[np.int64],
    prime: np.uint64,
    t: int,
    raw: NDArray[Any],
) -> None:
    """Add the values of step t + 1 around one centre to its raw sums, ``[C_raw, L]``.

    ``landing`` is :math:`H^{(t + 1)}` modulo ``prime``, ``[s, s]``: fewer than 2^32
    residues below 2^31 are added, so sums are reduced at the end. Shell k of the row
    ``centre`` is ``members[bounds[k - 1]:bounds[k]]``; ``pairs`` are those of a plan.
    """
    for c in range(pairs.shape[0]):
        start, end, which = pairs[c, 0], pairs[c, 1], pairs[c, 2]
        low, high = 0, 1  # of the centre
        if start:
            low, high = bounds[start - 1], bounds[start]
        for x in range(low, high):
            i = members[x] if start else centre
            first, last = x, x + 1
            if which != SAME:
                first, last = bounds[end - 1], bounds[end]
            for y in range(first, last):
                j = i if which == SAME else members[y]
                if which != OTHER or i != j:
                    value = landing[i, j]
                    raw[c, t] += value * value % prime if pairs[c, 3] == 2 else value


@kernel
def finish_exact(
    raw: NDArray[np.uint64],
    bounds: NDArray[np.int64],
    terms: NDArray[np.int64],
    node: int,
    out: NDArray[np.int64],
) -> None:
    """Apply the terms of a :class:`~sekgnn.encoding.channels.Plan` to one node.

    ``raw`` is ``[2, C_raw, L]``, ``out`` ``[2, N, C, L]``.
    """
    sizes = np.diff(bounds)
    for i in range(terms.shape[0]):
        whole = divisor_value(terms[i, 2], terms[i, 3], sizes)
        if whole == 0:
            continue
        for p in range(2):
            prime = PRIMES[p]
            factor = inverse(whole * terms[i, 4], prime)
            row = out[p, node, terms[i, 1]]
            for t in range(row.size):
                residue = np.int64(raw[p, terms[i, 0], t] % np.uint64(prime))
                row[t] = (row[t] + residue * factor % prime) % prime


@kernel
def exact_values(
    rows: NDArray[np.int64],
    columns: NDArray[np.int32],
    inverses: NDArray[np.uint64],
    members: NDArray[np.int32],
    bounds: NDArray[np.int64],
    plan: Plan,
    first: int,
    out: NDArray[np.int64],
) -> None:
    """Add the residues of some nodes of a small graph to ``out``, ``[2, N, C, L]``.

    They are its rows 0, 1, ..., one for each row of ``bounds``, and the nodes from
    ``first`` on in ``out``; the other arguments are those of :func:`add_step` and
    :func:`~sekgnn.walks.modular.modular_step`.
    """
    n, count, steps = rows.size - 1, bounds.shape[0], out.shape[3]
    raw = np.zeros((count, 2, plan.num_raw, steps), dtype=np.uint64)
    before = np.zeros((2, n, n), dtype=np.uint64)
    after = np.empty((2, n, n), dtype=np.uint64)
    for i in range(n):
        before[0, i, i] = before[1, i, i] = np.uint64(1)
    for t in range(steps):
        modular_step(rows, columns, inverses, before, after)
        before, after = after, before
        for v in range(count):
            for p in range(2):
                prime, sums = np.uint64(PRIMES[p]), raw[v, p]
                add_step(before[p], v, members, bounds[v], plan.pairs, prime, t, sums)
    for v in range(count):
        finish_exact(raw[v], bounds[v], plan.terms, first + v, out)


@kernel
def exact_graph_scope(
    graph: CsrGraph,
    identity: NDArray[np.int32],
    start: int,
    stop: int,
    plan: Plan,
    count: bool,
    out: NDArray[np.int64],
) -> None:
    """Write the residues of nodes ``start..stop - 1``, which are one graph.

    With ``count`` they are of numbers of walks instead of probabilities; ``identity``
    is the number of every node.
    """
    _, ones, rows, columns = quotient(graph, identity, start, stop - start, plan.loop)
    members, bounds = class_shells(ones, rows, columns, plan.num_shells)
    inverses = inverse_degrees(rows)
    if count:
        inverses[:] = np.uint64(1)
    exact_values(rows, columns, inverses, members, bounds, plan, start, out)


@kernel
def exact_ego_nets(
    graph: CsrGraph,
    start: int,
    stop: int,
    plan: Plan,
    position: NDArray[np.int32],
    out: NDArray[np.int64],
) -> None:
    """Write the residues of nodes ``start..stop - 1`` on their ego-nets."""
    for v in range(start, stop):
        nodes, bounds, rows, columns = local_ball(
            graph, v, plan.radius, plan.with_centre, plan.loop, position
        )
        members = np.arange(nodes.size).astype(np.int32)
        shells = bounds[1 : plan.num_shells + 2].copy().reshape(1, -1)
        inverses = inverse_degrees(rows)
        exact_values(rows, columns, inverses, members, shells, plan, v, out)


def encode_exact(
    graph: Any,
    encoding: WalkEncoding | None = None,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> NDArray[np.int64]:
    """Return the encoding of every node in exact arithmetic.

    Two entries are equal exactly when the rational numbers are (up to a chance of about
    2^-62 per pair): a Weisfeiler-Lehman test may compare these, but not floats.

    Args:
        graph: As for :func:`~sekgnn.encoding.encoder.encode`.
        encoding: What to compute.
        threads: Threads; ``None`` for all usable cores.
        progress: Called with (done, total) nodes.

    Returns:
        Residues modulo :data:`~sekgnn.walks.modular.PRIMES`, int64
        ``[n, encoding.num_channels, encoding.length, 2]``.

    Raises:
        ConfigError: If the encoding is ragged.
        GraphInputError: If the graph is too large for exact arithmetic.

    Example:
        >>> from sekgnn.graphs import complete_graph
        >>> encoding = WalkEncoding(num_shells=1, walk_length=1)
        >>> third = encode_exact(complete_graph(3), encoding)[0, 0, 0]
        >>> (3 * third % PRIMES).tolist()
        [1, 1]
    """
    encoding = WalkEncoding() if encoding is None else encoding
    if encoding.ragged:
        raise ConfigError(
            'aggregate="learned" keeps multisets, not numbers: their digests are those '
            "of encoding.exact(pack([graph]))."
        )
    packed = graph if isinstance(graph, PackedGraphs) else pack([as_graph(graph)])
    walks = exact_walks(packed, encoding.plans, encoding.walk_length, threads, progress)
    sizes = shell_sizes(packed, encoding.sized_shells, threads=threads)
    values = [
        with_shell_sizes(encoding, residues, sizes, prime)
        for residues, prime in zip(walks, PRIMES, strict=True)
    ]
    return np.stack(values, axis=-1)


def exact_walks(
    packed: PackedGraphs,
    plans: Sequence[Plan],
    steps: int,
    threads: int | None = None,
    progress: Progress | None = None,
    *,
    count: bool = False,
) -> NDArray[np.int64]:
    """Return the residues of walks of t = 1..l steps, ``[2, N, C, l]``.

    With ``count`` they are of numbers of walks on whole graphs, not of probabilities.

    Raises:
        GraphInputError: If a graph or an ego-net is too large.
    """
    check_pairs(packed, plans, threads)
    n, starts = packed.num_nodes, packed.node_ptr.tolist()
    identity = np.arange(n, dtype=np.int32)
    position = PerThread(lambda: np.full(n, -1, dtype=np.int32))
    channels = 1 + max(int(plan.terms[:, 1].max()) for plan in plans)
    out = np.zeros((len(PRIMES), n, channels, steps), dtype=np.int64)
    for i, plan in enumerate(plans):

        def on_egos(start: int, stop: int, plan: Plan = plan) -> None:
            exact_ego_nets(packed.csr, start, stop, plan, position.value, out)

        def on_graphs(first: int, last: int, plan: Plan = plan) -> None:
            for start, stop in pairwise(starts[first : last + 1]):
                exact_graph_scope(packed.csr, identity, start, stop, plan, count, out)

        share = within(progress, i * n, n, len(plans) * n)
        if plan.radius:
            run_chunks(on_egos, even_chunks(n, NODES_CHUNK), threads, share)
        else:
            chunks = even_chunks(packed.num_graphs, GRAPHS_CHUNK)
            run_chunks(on_graphs, chunks, threads, share)
    return out


def check_pairs(
    packed: PackedGraphs, plans: Sequence[Plan], threads: int | None
) -> None:
    """Refuse graphs or ego-nets with too many pairs of nodes.

    Raises:
        GraphInputError: If there is one.
    """
    sizes = np.diff(packed.node_ptr)
    if sizes.max(initial=0) <= PAIRS_LIMIT:
        return
    for radius in dict.fromkeys(plan.radius for plan in plans):
        most, subgraph = int(sizes.max()), "a graph"
        if radius:
            around = shell_sizes(packed, radius, threads=threads)
            most = 1 + int(around.sum(axis=1).max())
            subgraph = f"an ego-net of radius {radius}"
        if most > PAIRS_LIMIT:
            raise GraphInputError(
                f"this needs a number for every pair of nodes and handles up to "
                f"{PAIRS_LIMIT} nodes; {subgraph} has {most}. Take a smaller scope, or "
                "encode() with walks, which gives floats."
            )
