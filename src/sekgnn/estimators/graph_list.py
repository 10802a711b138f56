"""A list of graphs, of whatever library, as the data of a task without targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sekgnn.datasets import GraphTask, networkx_task, pyg_task
from sekgnn.datasets.graph_task import make_task
from sekgnn.datasets.pyg import as_data
from sekgnn.datasets.smiles_task import MOLECULE_NAMES, molecule_data
from sekgnn.errors import GraphInputError
from sekgnn.graphs import Graph


def as_task(graphs: Sequence[Any], node_features: Sequence[str] = ()) -> GraphTask:
    """Return graphs as a task without targets.

    Args:
        graphs: All of one kind: PyG ``Data`` (their ``y`` is not looked at), networkx
            graphs, :class:`~sekgnn.graphs.Graph`, or SMILES.
        node_features: Node attributes of networkx graphs to use.

    Raises:
        GraphInputError: If there are none, or one is of another kind or wrong; names
            it.
    """
    from torch_geometric.data import Data

    items = list(graphs)
    if not items:
        raise GraphInputError("no graphs are given.")
    first = items[0]
    places = [f"graph {i}" for i in range(len(items))]
    kinds = {str: "SMILES", Graph: "a Graph", Data: "a PyG Data"}
    for kind, name in kinds.items():
        if not isinstance(first, kind):
            continue
        for item, place in zip(items, places, strict=True):
            if not isinstance(item, kind):
                raise GraphInputError(
                    f"{place} is {type(item).__name__}, graph 0 is {name}; all must be "
                    "of one kind."
                )
    if isinstance(first, str):
        return _molecules(items, places)
    if isinstance(first, Graph):
        return make_task("graphs", [as_data(graph) for graph in items], places)
    if isinstance(first, Data):
        bare = [item.clone() for item in items]
        for item in bare:
            item.pop("y", None)
        return pyg_task(bare)
    return networkx_task(items, node_features=node_features)


def _molecules(texts: list[str], places: list[str]) -> GraphTask:
    graphs = []
    for text, place in zip(texts, places, strict=True):
        data = molecule_data(text, add_hydrogens=False)
        if data is None:
            raise GraphInputError(f"{place}: rdkit cannot read the SMILES {text!r}.")
        graphs.append(data)
    return make_task("SMILES", graphs, places, names=MOLECULE_NAMES)
