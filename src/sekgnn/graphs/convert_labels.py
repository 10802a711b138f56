"""Labelled graphs from the types of other libraries, none of which is imported."""

from __future__ import annotations

from typing import Any

from sekgnn.errors import GraphInputError
from sekgnn.graphs.convert import as_graph
from sekgnn.graphs.labelled import LabelledGraph, as_labels
from sekgnn.graphs.molecules import labelled_from_rdkit


def as_labelled(
    obj: Any, *, node_labels: Any = None, edge_labels: Any = None
) -> LabelledGraph:
    """Return ``obj`` as a :class:`LabelledGraph`, whatever library it comes from.

    Args:
        obj: A ``LabelledGraph`` (returned unchanged if no labels are given here), or
            whatever :func:`~sekgnn.graphs.convert.as_graph` takes; an rdkit ``Mol``
            brings its atoms and bonds along.
        node_labels: One label (or row of numbers) per node, or the name of an
            attribute: of a PyG ``Data`` such as ``"x"``, of networkx nodes such as
            ``"color"``.
        edge_labels: A mapping ``{(u, v): label}``, or the name of an attribute: of a
            PyG ``Data`` such as ``"edge_attr"``, of networkx edges.

    Raises:
        GraphInputError: If the graph or a label is missing or wrong.

    Example:
        >>> from sekgnn.graphs import path_graph
        >>> as_labelled(path_graph(3), node_labels=["C", "C", "O"]).node_labels.size
        3
    """
    if isinstance(obj, LabelledGraph):
        if node_labels is None and edge_labels is None:
            return obj
        nodes = obj.node_labels if node_labels is None else node_labels
        edges = obj.edge_labels if edge_labels is None else edge_labels
        return LabelledGraph(obj.graph, nodes, edges)
    if hasattr(obj, "GetBonds"):
        molecule = labelled_from_rdkit(obj)
        return as_labelled(molecule, node_labels=node_labels, edge_labels=edge_labels)
    graph = as_graph(obj)
    if isinstance(node_labels, str):
        node_labels = _node_attribute(obj, node_labels)
    if isinstance(edge_labels, str):
        edge_labels = _edge_attribute(obj, edge_labels)
    return LabelledGraph(graph, node_labels, edge_labels)


def _node_attribute(obj: Any, name: str) -> Any:
    """Return the labels that a PyG ``Data`` or networkx graph keeps under ``name``."""
    if hasattr(obj, "nodes"):
        found = [data.get(name) for _, data in obj.nodes(data=True)]
        if any(value is None for value in found):
            raise GraphInputError(f"a node has no attribute {name!r}.")
        return found
    values = getattr(obj, name, None)
    if values is None:
        raise GraphInputError(
            f"{type(obj).__name__} has no {name!r} to take node labels from; pass the "
            "labels themselves."
        )
    return values


def _edge_attribute(obj: Any, name: str) -> dict[tuple[int, int], Any]:
    """Return the edge labels kept under ``name``, by pair of node numbers."""
    if hasattr(obj, "nodes"):
        place = {node: i for i, node in enumerate(obj.nodes)}
        found = {(place[u], place[v]): d for u, v, d in obj.edges(data=name) if u != v}
        if any(value is None for value in found.values()):
            raise GraphInputError(f"an edge has no attribute {name!r}.")
        return found
    values, pairs = getattr(obj, name, None), getattr(obj, "edge_index", None)
    if values is None or pairs is None:
        raise GraphInputError(
            f"{type(obj).__name__} has no {name!r} to take edge labels from; pass a "
            "mapping {(u, v): label}."
        )
    coded = as_labels("edge_labels", values).tolist()
    row, col = (side.tolist() for side in pairs)
    if len(coded) != len(row):
        raise GraphInputError(
            f"{name!r} has {len(coded)} rows, but edge_index {len(row)} columns."
        )
    labels: dict[tuple[int, int], int] = {}
    for u, v, label in zip(row, col, coded, strict=True):
        if u != v and labels.setdefault((u, v), label) != label:
            raise GraphInputError(f"edge {u} - {v} is listed with different labels.")
    return labels
