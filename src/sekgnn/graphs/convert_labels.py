"""Labelled graphs from the types of other libraries, none of which is imported."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.errors import GraphInputError
from sekgnn.graphs.convert import as_graph
from sekgnn.graphs.labelled import LabelledGraph, as_labels
from sekgnn.graphs.molecules import labelled_from_rdkit


def as_labelled(
    obj: Any, *, node_labels: Any = None, edge_labels: Any = None
) -> LabelledGraph:
    """Return ``obj`` as a :class:`LabelledGraph`, whatever library it comes from.

    Args:
        obj: A ``LabelledGraph`` (returned unchanged if no labels are given here; the
            names below stand for the labels it has), or whatever
            :func:`~sekgnn.graphs.convert.as_graph` takes; an rdkit ``Mol`` brings
            its atoms and bonds along.
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
        nodes = _own_or_given("node", obj.node_labels, node_labels)
        edges = _own_or_given("edge", obj.edge_labels, edge_labels)
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


def _own_or_given(what: str, own: NDArray[np.int64] | None, given: Any) -> Any:
    """Return given labels, or those a graph has: it keeps them under no name."""
    if isinstance(given, str) and own is None:
        raise GraphInputError(
            f"a LabelledGraph without {what} labels has none called {given!r}; pass "
            "the labels themselves."
        )
    return own if given is None or isinstance(given, str) else given


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
        found: dict[tuple[int, int], Any] = {}
        for u, v, value in obj.edges(data=name):
            if value is None and u != v:
                raise GraphInputError(f"an edge has no attribute {name!r}.")
            if u != v and found.setdefault((place[u], place[v]), value) != value:
                raise GraphInputError(
                    f"edge {u} - {v} is listed with different labels."
                )
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
