"""Where the encodings of two graphs first differ, scope by scope, and why."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.encoding.channels import output_map
from sekgnn.encoding.encoder import encode_many
from sekgnn.encoding.walk_encoding import SHELL_SIZES, WalkEncoding
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs import Graph

_COUNTS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}
TOLERANCE = 1e-9
"""Values closer than this count as equal: far above the rounding of float64 sums (about
1e-14), far below what a small graph changes in a few steps. It proves nothing."""


@dataclass(frozen=True)
class Difference:
    """The first number that tells two graphs apart: smallest step, then channel.

    Attributes:
        channel: Name of the channel.
        step: Walk length t; of shell sizes the place in the channel, counted alike.
        first: Its value at a node of the first graph.
        second: Its value at the corresponding node of the second, both graphs' nodes
            sorted by this value; the pair that is furthest apart.
    """

    channel: str
    step: int
    first: float
    second: float

    @property
    def gap(self) -> float:
        """How far the two values are apart."""
        return abs(self.first - self.second)


@dataclass(frozen=True)
class ScopeComparison:
    """Whether the encodings of one scope, as multisets over nodes, differ.

    Attributes:
        scope: ``"graph"``, scope and radius such as ``"internal1"``, either behind the
            prefix of its channels, if they have one; or ``"shell_sizes"``.
        separated: Whether the multisets differ.
        difference: The first number whose own multiset differs. None if not separated,
            or if only several numbers together tell the graphs apart.
        distinct: Number of different encodings: first graph, second, both together.
        num_nodes: Nodes of each graph.
        tolerance: Up to where values count as equal.
    """

    scope: str
    separated: bool
    difference: Difference | None
    distinct: tuple[int, int, int]
    num_nodes: int
    tolerance: float

    def sentence(self) -> str:
        """Return the verdict in words."""
        within = f"(equal means within {self.tolerance:g})"
        if not self.separated:
            if self.distinct[2] == 1:
                why = f"all {2 * self.num_nodes} nodes have the same encoding"
            else:
                why = f"both have the same {self.distinct[2]} encodings, equally often"
            return f"{self.scope}: not separated; {why} {within}."
        if self.difference is None:
            return (
                f"{self.scope}: separated, only by several numbers together {within}."
            )
        d = self.difference
        return (
            f"{self.scope}: separated; the first difference is {d.channel} at step "
            f"{d.step}: {d.first:.6g} against {d.second:.6g}, {d.gap:.6g} apart "
            f"{within}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values."""
        return {**asdict(self), "distinct": list(self.distinct)}


@dataclass(frozen=True, eq=False)
class Comparison:
    """The encodings of two graphs and what tells them apart.

    Attributes:
        encoding: What was computed.
        scopes: One verdict per block of walks, in order, then one of shell sizes, if
            they are encoded.
        encodings: Both graphs', float64 ``[n, C, L]`` each.
    """

    encoding: WalkEncoding
    scopes: tuple[ScopeComparison, ...]
    encodings: tuple[NDArray[np.float64], NDArray[np.float64]]

    def scope(self, name: str) -> ScopeComparison:
        """Return the verdict of one scope, such as ``"internal1"``.

        Raises:
            ConfigError: If it was not compared.
        """
        for verdict in self.scopes:
            if verdict.scope == name:
                return verdict
        known = [verdict.scope for verdict in self.scopes]
        raise ConfigError(f"scope must be one of {known}, got {name!r}.")


def compare_graphs(
    first: Graph, second: Graph, encoding: WalkEncoding, *, tolerance: float = TOLERANCE
) -> Comparison:
    """Encode two graphs and compare the multisets of their nodes' encodings.

    Numerically: values are equal if they are joined by a chain of values at most
    ``tolerance`` apart. Exact verdicts need exact arithmetic.

    Args:
        first: A graph.
        second: Another with as many nodes.
        encoding: What to compare.
        tolerance: Up to where values count as equal.

    Raises:
        GraphInputError: If the numbers of nodes differ (which tells them apart), or
            there are no nodes.

    Example:
        >>> from sekgnn.graphs import rook_graph, shrikhande_graph
        >>> encoding = WalkEncoding(num_shells=1, walk_length=4, scope="internal")
        >>> found = compare_graphs(rook_graph(4), shrikhande_graph(), encoding)
        >>> found.scopes[0].difference.step
        3
    """
    if first.num_nodes != second.num_nodes or first.num_nodes == 0:
        raise GraphInputError(
            f"the graphs have {first.num_nodes} and {second.num_nodes} nodes; only "
            "graphs with the same number of nodes, at least one, are compared."
        )
    a, b = encode_many([first, second], encoding)
    widths = {
        f"{prefix}{block.label}": len(output_map(part, block)[0])
        for prefix, part in encoding.walks.items()
        for block in part.blocks
    }
    if encoding.shell_sizes:
        widths[SHELL_SIZES] = encoding.num_channels - sum(widths.values())
    verdicts = []
    begin = 0
    for label, width in widths.items():
        here = slice(begin, begin + width)
        found = compare_multisets(
            a[:, here], b[:, here], label, encoding.channels[here], tolerance,
            encoding.first_step,
        )  # fmt: skip
        verdicts.append(found)
        begin = here.stop
    return Comparison(encoding, tuple(verdicts), (a, b))


def compare_multisets(
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    scope: str,
    channels: tuple[str, ...],
    tolerance: float = TOLERANCE,
    first_step: int = 1,
) -> ScopeComparison:
    """Compare two multisets of encodings, ``[n, C, L]`` each.

    Args:
        first: Encodings of the first graph.
        second: Encodings of the second.
        scope: What to call them.
        channels: Names of the C channels.
        tolerance: Up to where values count as equal.
        first_step: Of the L steps.
    """
    n = len(first)
    both = np.concatenate([first, second])  # [2 n, C, L]
    by_step = both.transpose(0, 2, 1).reshape(2 * n, -1)  # [2 n, L C]
    classes = _classes(by_step, tolerance)
    of_first = [tuple(row) for row in classes[:n].tolist()]
    of_second = [tuple(row) for row in classes[n:].tolist()]
    separated = Counter(of_first) != Counter(of_second)
    difference = None
    ordered = np.sort(classes[:n], axis=0), np.sort(classes[n:], axis=0)
    differing = np.flatnonzero((ordered[0] != ordered[1]).any(axis=0))
    if differing.size:
        column = int(differing[0])
        step, channel = divmod(column, len(channels))
        x, y = np.sort(by_step[:n, column]), np.sort(by_step[n:, column])
        at = int(np.abs(x - y).argmax())
        t = step + first_step
        difference = Difference(channels[channel], t, float(x[at]), float(y[at]))
    distinct = (len({*of_first}), len({*of_second}), len({*of_first, *of_second}))
    return ScopeComparison(scope, separated, difference, distinct, n, tolerance)


def _classes(values: NDArray[np.float64], tolerance: float) -> NDArray[np.int64]:
    """Number the values of each column so that equal ones share a number."""
    order = np.argsort(values, axis=0, kind="stable")
    jumps = np.diff(np.take_along_axis(values, order, axis=0), axis=0) > tolerance
    ranks = np.zeros(values.shape, dtype=np.int64)
    ranks[1:] = np.cumsum(jumps, axis=0)
    classes = np.empty_like(ranks)
    np.put_along_axis(classes, order, ranks, axis=0)
    return classes


def explain_neighbours(
    graphs: tuple[Graph, Graph], names: tuple[str, str], comparison: Comparison
) -> str:
    """Return what differs between the neighbourhoods, and what a walk notices of it.

    Args:
        graphs: The two graphs.
        names: What to call them.
        comparison: Of these graphs, with scope ``internal`` and radius 1 among others.
    """
    forms = [describe_neighbourhoods(graph) for graph in graphs]
    text = (
        f"Without the node itself, its neighbours form {forms[0]} in {names[0]} and "
        f"{forms[1]} in {names[1]}."
    )
    verdict = comparison.scope("internal1")
    d = verdict.difference
    if d is None:
        return text
    text += " A walk that must avoid the node stays in the part where it starts."
    degrees = {int(degree) for graph in graphs for degree in graph.degrees}
    back = d.channel == "internal1/across_diagonal/1"
    if back and comparison.encoding.aggregate == "sum" and len(degrees) == 1:
        size = degrees.pop()
        text += (
            f" After {d.step} steps it is back at its start with probability "
            f"{d.first / size:.4f} in {names[0]}, {d.second / size:.4f} in {names[1]}."
        )
    return text


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
    left = set(graph.neighbors(node).tolist())
    parts = []
    while left:
        stack, part = [min(left)], []
        while stack:
            v = stack.pop()
            if v not in left:
                continue
            left.remove(v)
            part.append(v)
            stack += [u for u in reversed(graph.neighbors(v).tolist()) if u in left]
        parts.append(part)
    return parts


def _kind(graph: Graph, part: list[int]) -> str:
    """Name a connected graph, given by its nodes."""
    n = len(part)
    inside = set(part)
    degrees = [sum(u in inside for u in graph.neighbors(v).tolist()) for v in part]
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
