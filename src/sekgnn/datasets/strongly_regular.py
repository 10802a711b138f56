"""The pair that 2-FWL cannot tell apart and that fits on a page."""

from __future__ import annotations

from sekgnn.graphs import Graph, rook_graph, shrikhande_graph


def rook_shrikhande() -> tuple[Graph, Graph]:
    """Return the rook's graph 4 x 4 and the Shrikhande graph; needs no file.

    Both are strongly regular (16, 6, 2, 2). The neighbours of a node form two triangles
    in the first and a hexagon in the second.

    Example:
        >>> [g.num_edges for g in rook_shrikhande()]
        [48, 48]
    """
    return rook_graph(4), shrikhande_graph()
