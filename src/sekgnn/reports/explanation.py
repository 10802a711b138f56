"""Why walks among the neighbours of a node tell two graphs apart, in words."""

from __future__ import annotations

from sekgnn.graphs import Graph
from sekgnn.reports.comparison import Comparison
from sekgnn.reports.neighbourhoods import describe_neighbourhoods


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
    if back and comparison.spec.aggregate == "sum" and len(degrees) == 1:
        size = degrees.pop()
        text += (
            f" After {d.step} steps it is back at its start with probability "
            f"{d.first / size:.4f} in {names[0]}, {d.second / size:.4f} in {names[1]}."
        )
    return text
