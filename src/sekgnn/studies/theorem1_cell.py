r"""Theorem 1 for one number of nodes and one degree: draw graphs, count pairs.

Ground truth comes from :mod:`sekgnn.studies.ego_forms`: a pair of nodes must be told
apart exactly if its rooted ego-nets :math:`G_u^K` and :math:`H_v^K` are not isomorphic.
Returns are residues, labels are equal or not, pairs are counted by class; nothing is
rounded and no pair is left out.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sekgnn.graphs import PackedGraphs, pack, random_regular_graph, unpack
from sekgnn.studies.balls import Shells, context_sums, shells_of
from sekgnn.studies.ego_forms import canonical_form, rooted_labels
from sekgnn.studies.internal_forms import internal_labels
from sekgnn.studies.pair_counts import (
    Labels,
    pairs_across,
    pairs_within,
    prefix_labels,
    together,
)
from sekgnn.studies.return_residues import return_residues
from sekgnn.studies.theorem1_config import Theorem1Config
from sekgnn.studies.theorem1_record import Cell, HopCounts


def draw_graphs(config: Theorem1Config, nodes: int, degree: int) -> PackedGraphs:
    """Return the random regular graphs of one cell; only the seed, n, r matter."""
    seeds = np.random.SeedSequence(config.seed, spawn_key=(nodes, degree))
    rngs = [np.random.default_rng(s) for s in seeds.spawn(config.graphs)]
    return pack([random_regular_graph(nodes, degree, rng) for rng in rngs])


def run_cell(
    config: Theorem1Config,
    nodes: int,
    degree: int,
    *,
    threads: int | None = None,
    advance: Callable[[], None] | None = None,
) -> Cell:
    """Draw the graphs of one cell and count.

    Args:
        config: What to look at.
        nodes: n.
        degree: r.
        threads: Threads; ``None`` for all usable cores.
        advance: Called once the graphs' walks are done, and after every K.

    Raises:
        MissingExtraError: If igraph is not installed.
    """
    begin = time.perf_counter()
    packed = draw_graphs(config, nodes, degree)
    cell = count_cell(packed, config, degree, threads=threads, advance=advance)
    object.__setattr__(cell, "seconds", round(time.perf_counter() - begin, 2))
    return cell


def count_cell(
    packed: PackedGraphs,
    config: Theorem1Config,
    degree: int,
    *,
    threads: int | None = None,
    advance: Callable[[], None] | None = None,
) -> Cell:
    """Count on given regular graphs of one size; see :func:`run_cell`."""
    step = advance or (lambda: None)
    graph = np.repeat(np.arange(packed.num_graphs), np.diff(packed.node_ptr))
    residues = return_residues(
        packed, config.steps, self_loops=config.self_loops, threads=threads
    )
    labels = prefix_labels(residues)
    shells = shells_of(packed, config.hops[-1], threads)
    rng = np.random.default_rng(config.seed)
    sums = context_sums(packed, labels, config.hops[-1], rng, threads)
    step()
    radii = []
    rooted = np.zeros(packed.num_nodes, dtype=np.int64)
    for hops in config.hops:
        ego = prefix_labels(
            return_residues(
                packed,
                config.steps,
                radius=hops,
                self_loops=config.self_loops,
                threads=threads,
            )
        )
        # isomorphic at K means isomorphic at every smaller radius, and all else equal
        invariants = (*shells.sizes[:, : hops + 1].T, *shells.inside[:, : hops + 1].T)
        rooted = rooted_labels(packed, hops, together(rooted, ego[-1], *invariants))
        radii.append(
            _count_radius(
                packed, graph, hops, labels, ego, sums[:, hops], rooted, shells
            )
        )
        step()
    kinds = _graph_labels(packed, labels)
    isomorphic = _isomorphism_labels(packed, kinds[-1])
    everyone = np.zeros_like(graph)
    return Cell(
        nodes=int(packed.node_ptr[1]),
        degree=degree,
        graphs=packed.num_graphs,
        pairs=pairs_across(everyone, graph),
        alike=tuple(pairs_across(row, graph) for row in labels),
        own_pairs=pairs_within(graph),
        own_alike=tuple(pairs_within(together(row, graph)) for row in labels),
        graph_pairs=packed.num_graphs * (packed.num_graphs - 1) // 2,
        graph_isomorphic=pairs_within(isomorphic),
        graph_alike=tuple(pairs_within(kind) for kind in kinds),
        radii=tuple(radii),
    )


def _count_radius(
    packed: PackedGraphs,
    graph: Labels,
    hops: int,
    labels: NDArray[np.int64],
    ego: NDArray[np.int64],
    sums: NDArray[np.int64],
    rooted: Labels,
    shells: Shells,
) -> HopCounts:
    """Count everything that depends on K."""

    def across(*columns: Labels) -> int:
        return pairs_across(together(*columns), graph)

    sizes = shells.sizes[:, : hops + 1].sum(axis=1)
    returns = labels[2 * hops - 1]
    context = [together(row, *sums[:, t].T) for t, row in enumerate(labels)]
    internal = internal_labels(packed, hops, rooted, returns)
    same_edges = same_edges_alike = 0
    before = np.zeros_like(graph)
    ends = np.arange(1, shells.configurations.shape[2] + 1)
    for k in range(hops):
        found = shells.configurations[:, k]  # [N, r]
        edges, after = together(before, found @ ends), together(before, *found.T)
        same_edges += across(edges) - across(after)
        same_edges_alike += across(edges, returns) - across(after, returns)
        before = after
    return HopCounts(
        hops=hops,
        ball_nodes=int(sizes.sum()),
        smallest=int(sizes.min()),
        largest=int(sizes.max()),
        types=int(np.unique(rooted).size),
        isomorphic=across(rooted),
        alike_isomorphic=tuple(across(row, rooted) for row in labels),
        ego_alike=tuple(across(row) for row in ego),
        context_alike=tuple(across(row) for row in context),
        context_alike_isomorphic=tuple(across(row, rooted) for row in context),
        internal_collisions=across(returns) - across(internal),
        configuration_alike=across(before),
        configuration_alike_returns_alike=across(before, returns),
        same_edges=same_edges,
        same_edges_alike=same_edges_alike,
    )


def _graph_labels(
    packed: PackedGraphs, labels: NDArray[np.int64]
) -> list[NDArray[np.int64]]:
    """Label graphs by the multiset of their nodes' labels, for every t, ``[G]``."""
    rows = labels.reshape(len(labels), packed.num_graphs, -1)
    ordered = np.sort(rows, axis=2)
    return [np.unique(row, axis=0, return_inverse=True)[1] for row in ordered]


def _isomorphism_labels(packed: PackedGraphs, kinds: Labels) -> Labels:
    """Label graphs by isomorphism; only those of equal ``kinds`` are in question."""
    forms: dict[bytes, int] = {}
    form = np.zeros(kinds.size, dtype=np.int64)
    graphs = unpack(packed)
    for g in np.flatnonzero(np.bincount(kinds)[kinds] > 1).tolist():
        row, col = graphs[g].edge_index()
        edges = np.stack([row, col], axis=1)[row < col].astype(np.int32)
        key = canonical_form(np.zeros(graphs[g].num_nodes, dtype=np.int32), edges)
        form[g] = forms.setdefault(key, len(forms))
    return together(kinds, form)
