"""What the neighbours of a node look like among themselves, in words."""

from __future__ import annotations

from collections import Counter

from sekgnn.graphs import Graph

_COUNTS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}


def describe_neighbourhood(graph: Graph, node: int) -> str:
    """Return the subgraph induced on the neighbours of ``node``, in words.

    That is where a walk of ``internal`` scope and radius 1 lives.

    Example:
        >>> from sekgnn.graphs import rook_graph, shrikhande_graph
        >>> describe_neighbourhood(rook_graph(4), 0)
        'two triangles'
        >>> describe_neighbourhood(shrikhande_graph(), 0)
        'one 6-cycle'
    """
    kinds = Counter(_kind(graph, part) for part in neighbour_components(graph, node))
    if not kinds:
        return "no neighbours"
    return " and ".join(
        f"{_COUNTS.get(count, count)} {name}{'s' if count > 1 else ''}"
        for name, count in sorted(kinds.items())
    )


def describe_neighbourhoods(graph: Graph) -> str:
    """Return the neighbourhoods of all nodes in words, the most frequent first.

    Example:
        >>> from sekgnn.graphs import path_graph
        >>> describe_neighbourhoods(path_graph(4))
        'one single node (2 of 4 nodes), two single nodes (2 of 4 nodes)'
    """
    n = graph.num_nodes
    kinds = Counter(describe_neighbourhood(graph, v) for v in range(n))
    if len(kinds) == 1:
        return f"{next(iter(kinds))} (every node)"
    ranked = sorted(kinds.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{kind} ({count} of {n} nodes)" for kind, count in ranked)


def neighbour_components(graph: Graph, node: int) -> list[list[int]]:
    """Return the connected parts of the neighbourhood without ``node`` itself.

    The nodes of a part come in the order of a depth-first walk, so a cycle comes in
    the order of its edges; the parts come in the order of their smallest node.
    """
    left = set(_neighbours(graph, node))
    parts = []
    while left:
        stack, part = [min(left)], []
        while stack:
            v = stack.pop()
            if v not in left:
                continue
            left.remove(v)
            part.append(v)
            stack += [u for u in reversed(_neighbours(graph, v)) if u in left]
        parts.append(part)
    return parts


def _kind(graph: Graph, part: list[int]) -> str:
    """Name a connected graph, given by its nodes."""
    n = len(part)
    inside = set(part)
    degrees = [sum(u in inside for u in _neighbours(graph, v)) for v in part]
    m = sum(degrees) // 2
    if n <= 2:
        return "single node" if n == 1 else "edge"
    if n == 3 and m == 3:
        return "triangle"
    if m == n * (n - 1) // 2:
        return f"complete graph on {n} nodes"
    if max(degrees) == 2:
        return f"{n}-cycle" if m == n else f"path on {n} nodes"
    return f"connected part with {n} nodes and {m} edges"


def _neighbours(graph: Graph, node: int) -> list[int]:
    begin, end = int(graph.indptr[node]), int(graph.indptr[node + 1])
    found: list[int] = graph.indices[begin:end].tolist()
    return found
