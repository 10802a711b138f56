"""Strategies of hypothesis for graphs, and the law that every node function obeys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from sekgnn.checks import check_positive
from sekgnn.encoding.walk_encoding import AGGREGATES, MERGES, SCOPES, WalkEncoding
from sekgnn.errors import ConfigError
from sekgnn.graphs.graph import Graph, LabelledGraph
from sekgnn.graphs.graph6 import pair_unrank


def graphs(min_nodes: int = 0, max_nodes: int = 8) -> st.SearchStrategy[Graph]:
    """Draw any simple graph: empty, disconnected, with isolated nodes, or dense.

    Failing examples shrink towards few nodes and few edges.

    Raises:
        ConfigError: If the limits are negative or in the wrong order.
    """
    check_positive("min_nodes", min_nodes, 0)
    if check_positive("max_nodes", max_nodes, 0) < min_nodes:
        raise ConfigError(f"max_nodes={max_nodes} is below min_nodes={min_nodes}.")
    return _graphs(min_nodes, max_nodes)


@st.composite
def _graphs(draw: st.DrawFn, min_nodes: int, max_nodes: int) -> Graph:
    """Draw the node count, then a bit for every pair of nodes."""
    n = draw(st.integers(min_nodes, max_nodes))
    pairs = n * (n - 1) // 2
    words = st.integers(0, 2**pairs - 1)
    chosen = draw(words)
    if draw(st.booleans()):  # half as dense: more disconnected graphs
        chosen &= draw(words)
    bits = np.array([chosen >> k & 1 for k in range(pairs)], dtype=np.bool_)
    edges = np.stack(pair_unrank(np.flatnonzero(bits)))
    return Graph.from_edge_index(edges, n, undirected="add")


def labelled_graphs(
    min_nodes: int = 0,
    max_nodes: int = 8,
    *,
    node_labels: bool = True,
    edge_labels: bool = True,
    num_labels: int = 2,
) -> st.SearchStrategy[Graph]:
    """Draw any simple graph with labels on its nodes, its edges, both or neither.

    Labels are 0 to ``num_labels - 1``.

    Raises:
        ConfigError: If a limit cannot work.
    """
    structure = graphs(min_nodes, max_nodes)
    labels = st.integers(0, check_positive("num_labels", num_labels) - 1)

    @st.composite
    def build(draw: st.DrawFn) -> Graph:
        graph = draw(structure)
        row, col = graph.edge_index().tolist()
        edges = [(u, v) for u, v in zip(row, col, strict=True) if u < v]
        nodes = [draw(labels) for _ in range(graph.num_nodes)] if node_labels else None
        kinds = {edge: draw(labels) for edge in edges} if edge_labels else None
        return LabelledGraph(graph, nodes, kinds)

    return build()


def walk_encodings(
    max_hops: int = 3, max_steps: int = 5
) -> st.SearchStrategy[WalkEncoding]:
    """Draw any :class:`~sekgnn.encoding.WalkEncoding` of arrays, with small numbers."""

    @st.composite
    def build(draw: st.DrawFn) -> WalkEncoding:
        scope = draw(st.lists(st.sampled_from(SCOPES), min_size=1, unique=True))
        radii = st.lists(st.integers(1, max_hops + 1), min_size=1, unique=True)
        loops = st.lists(st.booleans(), min_size=1, unique=True)
        aggregate = draw(st.sampled_from([a for a in AGGREGATES if a != "learned"]))
        return WalkEncoding(
            num_shells=draw(st.integers(1, max_hops)),
            walk_length=draw(st.integers(1, max_steps)),
            scope=tuple(scope),
            radius=None if scope == ["graph"] else tuple(draw(radii)),
            aggregate=aggregate,
            merge=(
                "concat" if aggregate == "moments" else draw(st.sampled_from(MERGES))
            ),
            self_loops=tuple(draw(loops)),
            first_step=draw(st.integers(0, 1)),
            shell_sizes=draw(st.integers(0, 2 * max_steps)),
        )

    return build()


def assert_permutation_equivariant(
    function: Callable[[Graph], Any],
    graph: Graph,
    perm: Sequence[int] | NDArray[np.integer[Any]],
    *,
    atol: float = 1e-12,
) -> None:
    r"""Assert :math:`f(\pi G)_{\pi(v)} = f(G)_v` for every node v, renamed ``perm[v]``.

    The function maps a graph to an array ``[N, ...]``; ``atol`` is the largest absolute
    difference allowed, and NaN equals NaN.

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
