r"""Draw random regular graphs and count pairs of nodes, for every n and r.

Ground truth comes from :mod:`studies.theorem1.ego_nets`: a pair of nodes must be told
apart exactly if its rooted ego-nets :math:`G_u^K` and :math:`H_v^K` are not isomorphic.
Returns are residues and pairs are counted by class, so nothing is rounded and no pair
is left out.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from studies.theorem1.counts import Cell, RadiusCounts, Theorem1Config, Theorem1Record
from studies.theorem1.ego_nets import (
    Shells,
    context_sums,
    internal_labels,
    rooted_labels,
    shells_of,
    split_by,
)
from studies.theorem1.returns import (
    Labels,
    pairs_across,
    pairs_within,
    prefix_labels,
    return_residues,
    together,
)

from sekgnn.checks import require
from sekgnn.errors import CacheWarning, ConfigError
from sekgnn.files import atomic_path
from sekgnn.graphs import (
    PackedGraphs,
    pack,
    random_regular_graph,
    unpack,
)
from sekgnn.parallel import Progress
from sekgnn.provenance import package_versions, source_commit
from sekgnn.wl.graph_classes import canonical_digest

_PACKAGES = ("sekgnn", "numpy", "numba", "igraph")


def run_theorem1(
    config: Theorem1Config,
    *,
    partial: Path | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Theorem1Record:
    """Run the missing part of the simulation.

    Args:
        config: The settings.
        partial: File of finished cells. Cells in it of the same ``config`` and version
            are not run again. It is not removed.
        threads: Number of threads; ``None`` for all usable cores.
        progress: Called with (done, total) nodes after every cell.

    Raises:
        MissingExtraError: If igraph is not installed.
        OutputError: If ``partial`` cannot be written.
    """
    require("igraph", "iso")
    versions, commit = package_versions(_PACKAGES), source_commit()
    cells = _finished(partial, config, versions)
    done, total = 0, sum(n for n, _ in config.cells)
    for n, r in config.cells:
        if (n, r) not in cells:
            cells[n, r] = run_cell(config, n, r, threads=threads)
            if partial is not None:
                finished = tuple(cells[key] for key in config.cells if key in cells)
                text = Theorem1Record(config, finished, versions, commit).to_json()
                with atomic_path(partial) as draft:
                    draft.write_text(text, encoding="utf-8")
        done += n
        if progress is not None:
            progress(done, total)
    ordered = tuple(cells[key] for key in config.cells)
    return Theorem1Record(config, ordered, versions, commit)


def _finished(
    partial: Path | None, config: Theorem1Config, versions: dict[str, str]
) -> dict[tuple[int, int], Cell]:
    """Return the cells of an interrupted run with the same settings."""
    if partial is None or not partial.exists():
        return {}
    try:
        record = Theorem1Record.from_json(partial.read_text("utf-8"))
    except (ConfigError, UnicodeDecodeError) as error:
        warnings.warn(
            f"{partial} cannot be continued from, so all is run again: {error}",
            CacheWarning,
            stacklevel=3,
        )
        return {}
    if record.config != config or record.versions != versions:
        return {}
    return {(cell.nodes, cell.degree): cell for cell in record.cells}


def draw_graphs(config: Theorem1Config, nodes: int, degree: int) -> PackedGraphs:
    """Return the random regular graphs of one cell, which depend on seed, n and r."""
    seeds = np.random.SeedSequence(config.seed, spawn_key=(nodes, degree))
    rngs = [np.random.default_rng(s) for s in seeds.spawn(config.graphs)]
    return pack([random_regular_graph(nodes, degree, rng) for rng in rngs])


def run_cell(
    config: Theorem1Config, nodes: int, degree: int, *, threads: int | None = None
) -> Cell:
    """Draw the graphs of one cell and count."""
    begin = time.perf_counter()
    packed = draw_graphs(config, nodes, degree)
    cell = count_cell(packed, config, degree, threads=threads)
    return replace(cell, seconds=round(time.perf_counter() - begin, 2))


def count_cell(
    packed: PackedGraphs,
    config: Theorem1Config,
    degree: int,
    *,
    threads: int | None = None,
) -> Cell:
    """Count on given regular graphs of one size."""

    def returns(radius: int | None) -> NDArray[np.int64]:
        return prefix_labels(
            return_residues(
                packed,
                config.steps,
                radius=radius,
                self_loops=config.self_loops,
                threads=threads,
            )
        )

    graph = np.repeat(np.arange(packed.num_graphs), np.diff(packed.node_ptr))
    labels = returns(None)
    shells = shells_of(packed, config.radii[-1], threads)
    rng = np.random.default_rng(config.seed)
    sums = context_sums(packed, labels, config.radii[-1], rng, threads)
    radii = []
    rooted = np.zeros(packed.num_nodes, dtype=np.int64)
    for radius in config.radii:
        ego = returns(radius)
        # isomorphism at K implies isomorphism at smaller radii and equal invariants
        near = slice(radius + 1)
        invariants = (*shells.sizes[:, near].T, *shells.inside[:, near].T)
        rooted = rooted_labels(packed, radius, together(rooted, ego[-1], *invariants))
        counts = _count_radius(
            packed, graph, radius, labels, ego, sums[:, radius], rooted, shells
        )
        radii.append(counts)
    kinds = _graph_labels(packed, labels)
    graphs = unpack(packed)
    isomorphic = split_by(lambda g: canonical_digest(graphs[g]), kinds[-1])
    zeros = np.zeros_like(graph)
    return Cell(
        nodes=int(packed.node_ptr[1]),
        degree=degree,
        graphs=packed.num_graphs,
        pairs=pairs_across(zeros, graph),
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
    radius: int,
    labels: NDArray[np.int64],
    ego: NDArray[np.int64],
    sums: NDArray[np.int64],
    rooted: Labels,
    shells: Shells,
) -> RadiusCounts:
    """Return the counts that depend on K."""

    def across(*columns: Labels) -> int:
        return pairs_across(together(*columns), graph)

    sizes = shells.sizes[:, : radius + 1].sum(axis=1)
    returns = labels[2 * radius - 1]
    context = [together(row, *sums[:, t].T) for t, row in enumerate(labels)]
    internal = internal_labels(packed, radius, rooted, returns)
    same_edges = same_edges_alike = 0
    before = np.zeros_like(graph)
    ends = np.arange(1, shells.configurations.shape[2] + 1)
    for k in range(radius):
        configuration = shells.configurations[:, k]  # [N, r]
        edges = together(before, configuration @ ends)
        after = together(before, *configuration.T)
        same_edges += across(edges) - across(after)
        same_edges_alike += across(edges, returns) - across(after, returns)
        before = after
    return RadiusCounts(
        radius=radius,
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
    """Label graphs by the multiset of their nodes' labels, ``[G]`` for every t."""
    rows = labels.reshape(len(labels), packed.num_graphs, -1)
    ordered = np.sort(rows, axis=2)
    return [np.unique(row, axis=0, return_inverse=True)[1] for row in ordered]
