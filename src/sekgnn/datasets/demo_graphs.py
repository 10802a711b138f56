"""Random graphs of four families, the input of ``sekgnn demo``."""

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


def demo_graphs(
    count: int, seed: int, progress: Progress | None = None
) -> tuple[list[Graph], dict[str, int]]:
    """Return ``count`` graphs, four families in turn, and the size of each share."""
    rng = np.random.default_rng(seed)

    def size() -> int:
        return int(rng.integers(10, 41))

    def sparse() -> Graph:
        n = size()
        return random_graph(n, 4 / (n - 1), rng)

    families: dict[str, Callable[[], Graph]] = {
        "Erdős–Rényi, 10 to 40 nodes, mean degree about 4": sparse,
        "random 3-regular, 10 to 40 nodes": lambda: random_regular_graph(
            2 * int(rng.integers(5, 21)), 3, rng
        ),
        "Barabási–Albert, 10 to 40 nodes": lambda: barabasi_albert_graph(
            size(), 2, rng
        ),
        "circular skip links, 41 nodes": lambda: csl_graph(41, int(rng.choice(_SKIPS))),
    }
    draws = list(families.values())
    graphs = []
    for i in range(count):
        graphs.append(draws[i % len(draws)]())
        if progress is not None:
            progress(i + 1, count)
    shares = {name: len(range(i, count, len(draws))) for i, name in enumerate(families)}
    return graphs, shares
