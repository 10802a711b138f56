"""The law every node function here must obey."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.graphs.graph import Graph


def assert_permutation_equivariant(
    function: Callable[[Graph], Any],
    graph: Graph,
    perm: Sequence[int] | NDArray[np.integer[Any]],
    *,
    atol: float = 1e-12,
) -> None:
    r"""Assert :math:`f(\pi G)_{\pi(v)} = f(G)_v` for every node v.

    Args:
        function: Maps a graph to an array ``[N, ...]``, one row per node.
        graph: The graph G.
        perm: Node v is renamed ``perm[v]``.
        atol: Largest absolute difference allowed; NaN equals NaN.

    Raises:
        AssertionError: If the law is broken, or the result has not one row per node.

    Example:
        >>> from sekgnn.graphs.families import path_graph
        >>> assert_permutation_equivariant(
        ...     lambda g: g.degrees, path_graph(3), [1, 0, 2]
        ... )
    """
    before = np.asarray(function(graph))
    after = np.asarray(function(graph.relabel(perm)))
    for result in (before, after):
        if result.ndim == 0 or result.shape[0] != graph.num_nodes:
            raise AssertionError(
                f"function must return one row for each of {graph.num_nodes} nodes, "
                f"got shape {list(result.shape)}."
            )
    np.testing.assert_allclose(
        after[np.asarray(perm, dtype=np.int64)],
        before,
        rtol=0,
        atol=atol,
        err_msg="function is not permutation equivariant",
    )
