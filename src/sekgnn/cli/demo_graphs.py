"""The random graphs that ``sekgnn demo`` encodes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sekgnn.graphs import (
    Graph,
    barabasi_albert_graph,
    csl_graph,
    random_graph,
    random_regular_graph,
)
from sekgnn.parallel import Progress

_SKIPS = (2, 3, 4, 5, 6, 9, 11, 12, 13, 16)  # of the CSL benchmark


def _sparse(rng: np.random.Generator) -> Graph:
    n = int(rng.integers(10, 41))
    return random_graph(n, 4 / (n - 1), rng)


FAMILIES: dict[str, Callable[[np.random.Generator], Graph]] = {
    "Erdős–Rényi, 10 to 40 nodes, mean degree about 4": _sparse,
    "random 3-regular, 10 to 40 nodes": lambda rng: random_regular_graph(
        2 * int(rng.integers(5, 21)), 3, rng
    ),
    "Barabási–Albert, 10 to 40 nodes": lambda rng: barabasi_albert_graph(
        int(rng.integers(10, 41)), 2, rng
    ),
    "circular skip links, 41 nodes": lambda rng: csl_graph(41, int(rng.choice(_SKIPS))),
}


def demo_graphs(
    count: int, seed: int, progress: Progress | None = None
) -> tuple[list[Graph], dict[str, int]]:
    """Return ``count`` graphs, the families in turn, and how many of each."""
    rng = np.random.default_rng(seed)
    names = list(FAMILIES)
    graphs = []
    for i in range(count):
        graphs.append(FAMILIES[names[i % len(names)]](rng))
        if progress is not None:
            progress(i + 1, count)
    share = {name: len(range(i, count, len(names))) for i, name in enumerate(names)}
    return graphs, share
