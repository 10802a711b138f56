r"""The K-hop neighbourhoods of every node, of one graph or of many at once."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from sekgnn.checks import check_choice, check_positive
from sekgnn.errors import ConfigError
from sekgnn.graphs.graph import Graph
from sekgnn.graphs.packed import PackedGraphs
from sekgnn.hops.pairs import HopPairs
from sekgnn.hops.sweep import sweep

HopKernel = Literal["shortest_path", "diffusion"]
"""What "k hops away" means; see :func:`hop_pairs`."""


def hop_pairs(
    graph: Graph,
    num_hops: int,
    *,
    kernel: HopKernel = "shortest_path",
    max_neighbors: int | None = None,
    seed: int = 0,
    threads: int | None = None,
) -> HopPairs:
    r"""Return :math:`\{(v, u, k) : u \in N_k(v)\}` for k = 1..K and every node v.

    * ``"shortest_path"``: :math:`N_k(v) = \{u : d(u, v) = k\}`. The hops of v are
      disjoint and do not contain v.
    * ``"diffusion"``: :math:`N_k(v) = \{u : (A^k)_{vu} > 0\}`, the nodes that a walk of
      exactly k steps can reach. A node may be in several hops, v itself included.

    Hops that do not exist (K beyond the diameter, isolated nodes) are empty.

    Args:
        graph: The graph, n nodes.
        num_hops: K, at least 1.
        kernel: ``"shortest_path"`` or ``"diffusion"``.
        max_neighbors: Keep at most this many nodes of each :math:`N_k(v)`, drawn
            uniformly without replacement; ``None`` keeps all. The sample is a function
            of (seed, v, k) and the set :math:`N_k(v)`, so it is not symmetric, and
            relabelling the nodes draws another one.
        seed: Seed of the samples, in [0, 2^64).
        threads: Threads, ``None`` for all usable cores. Never changes the answer.

    Raises:
        ConfigError: If a parameter cannot work.

    Example:
        >>> path = Graph.from_edge_index([[0, 1], [1, 2]], 3, undirected="add")
        >>> pairs = hop_pairs(path, 2)
        >>> [array.tolist() for array in pairs.select(2)]
        [[0, 2], [2, 0]]
        >>> hop_pairs(path, 2, kernel="diffusion").counts().tolist()
        [[1, 2], [2, 1], [1, 2]]
    """
    node_ptr = np.array([0, graph.num_nodes], dtype=np.int64)
    return hop_pairs_packed(
        PackedGraphs(node_ptr, graph.indptr, graph.indices),
        num_hops,
        kernel=kernel,
        max_neighbors=max_neighbors,
        seed=seed,
        threads=threads,
    )


def hop_pairs_packed(
    packed: PackedGraphs,
    num_hops: int,
    *,
    kernel: HopKernel = "shortest_path",
    max_neighbors: int | None = None,
    seed: int = 0,
    threads: int | None = None,
) -> HopPairs:
    """Return the pairs of many graphs, with the node numbers of their union.

    Equal to :func:`hop_pairs` graph by graph, samples included, shifted by
    ``packed.node_ptr`` and sorted by (hop, row, col) over the whole union.

    Args:
        packed: The graphs, N nodes together.
        num_hops: K, at least 1.
        kernel: As in :func:`hop_pairs`.
        max_neighbors: As in :func:`hop_pairs`.
        seed: As in :func:`hop_pairs`.
        threads: As in :func:`hop_pairs`.

    Raises:
        ConfigError: If a parameter cannot work.
    """
    check_choice("kernel", kernel, get_args(HopKernel))
    if max_neighbors is not None:
        max_neighbors = check_positive("max_neighbors", max_neighbors)
    if check_positive("seed", seed, minimum=0) >= 2**64:
        raise ConfigError(f"seed must be below 2^64, got {seed}.")
    return sweep(
        packed,
        check_positive("num_hops", num_hops),
        diffusion=kernel == "diffusion",
        max_neighbors=max_neighbors,
        seed=int(seed),
        threads=threads,
    )
