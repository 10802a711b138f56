r"""The smallest regular graphs on which 2K steps are not enough.

Found among all cubic graphs of up to 8 nodes and worked out by hand. The theorem
requires n > 45 for r = 3; disjoint copies of these graphs have the same walks and
ego-nets, and 48 nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sekgnn.graphs import Graph, circulant_graph

_PRISM = ((0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3), (1, 4), (2, 5))
_K33 = tuple((i, j) for i in (0, 1, 2) for j in (3, 4, 5))
_CUBE = tuple((v, v ^ bit) for v in range(8) for bit in (1, 2, 4) if v < v ^ bit)
# 0 and 4 both joined to 1, 2, 3, which are joined to the triangle 5, 6, 7
_CAPPED = (
    *((end, i) for end in (0, 4) for i in (1, 2, 3)),
    *((1, 5), (2, 6), (3, 7), (5, 6), (6, 7), (7, 5)),
)
# triangles 2, 3, 4 and 5, 6, 7; 0 and 1 joined to each other and to both triangles
_LADDER = (
    *((2, 3), (3, 4), (4, 2), (5, 6), (6, 7), (7, 5)),
    *((0, 1), (0, 2), (0, 5), (1, 3), (1, 6), (4, 7)),
)


@dataclass(frozen=True)
class Counterexample:
    """Two nodes whose ego-nets differ although their first 2K returns are equal.

    Attributes:
        radius: K.
        graphs: Two regular graphs of equal size; the nodes are node 0 of each.
        names: Names of the graphs.
        reason: The difference, and why the walk does not see it.
        first_step: First t with different returns; None if they never differ.
    """

    radius: int
    graphs: tuple[Graph, Graph]
    names: tuple[str, str]
    reason: str
    first_step: int | None

    def returns(self, steps: int) -> tuple[list[Fraction], list[Fraction]]:
        """Return node 0's self-return probabilities on A + I, t = 1..steps."""
        first, second = (_returns(graph, steps) for graph in self.graphs)
        return first, second


def counterexamples() -> tuple[Counterexample, ...]:
    """Return a pair for K = 1, one for K = 2, and one that no walk ever separates."""
    wagner = circulant_graph(8, [1, 4])
    return (
        Counterexample(
            1,
            (_graph(6, _PRISM), _graph(6, _K33)),
            ("triangular prism", "K3,3"),
            "In the prism two neighbours of the node are joined, in K3,3 none are. "
            "That edge lies inside shell 1, and the shortest closed walk through it "
            "has 3 steps. Two steps give 1/(r+1) twice on every r-regular graph, so "
            "for K = 1 the theorem's 2K steps never tell any two nodes apart.",
            3,
        ),
        Counterexample(
            2,
            (_graph(8, _CUBE), _graph(8, _CAPPED)),
            ("cube", "capped triangle (0 and 4 both joined to 1, 2, 3; 1-5, 2-6, 3-7; "
             "triangle 5, 6, 7)"),
            "The ego-nets do not even have equally many nodes: shell 2 of the cube is "
            "three nodes with two parents each, shell 2 of the other is one node with "
            "three parents and three with one. Walks of four steps count the squares: "
            "3 * 4 = 9 + 3 * 1. The triangle inside shell 2 is seen at step 5.",
            5,
        ),
        Counterexample(
            2,
            (wagner, _graph(8, _LADDER)),
            ("Wagner graph (circulant:8:1:4)", "two triangles 2, 3, 4 and 5, 6, 7 "
             "with 0-1, 0-2, 0-5, 1-3, 1-6, 4-7"),
            "Both ego-nets are the whole graph of 8 nodes; one has no triangle, the "
            "other two. The first 16 returns are equal, and both sequences obey one "
            "linear recurrence of order at most 16 (Cayley-Hamilton), so all are.",
            None,
        ),
    )  # fmt: skip


def _graph(n: int, edges: tuple[tuple[int, int], ...]) -> Graph:
    return Graph.from_edge_index(list(zip(*edges, strict=True)), n, undirected="add")


def _returns(graph: Graph, steps: int) -> list[Fraction]:
    """Return node 0's returns by walking in fractions, step by step."""
    near = [[v, *graph.neighbors(v).tolist()] for v in range(graph.num_nodes)]
    mass = [Fraction(int(v == 0)) for v in range(graph.num_nodes)]
    returns = []
    for _ in range(steps):
        mass = [
            sum((mass[u] / len(near[u]) for u in near[v]), Fraction(0))
            for v in range(graph.num_nodes)
        ]
        returns.append(mass[0])
    return returns
