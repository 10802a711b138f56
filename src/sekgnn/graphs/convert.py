"""Graphs, with or without labels, from other libraries; none is imported here."""

from __future__ import annotations

import numbers
import sys
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.errors import GraphInputError
from sekgnn.graphs.cleaning import (
    SelfLoops,
    Undirected,
    check_rules,
    clean_edges,
    note_weights,
    without_torch,
)
from sekgnn.graphs.graph import Graph, LabelledGraph, as_labels
from sekgnn.graphs.graph6 import from_graph6
from sekgnn.graphs.molecules import from_rdkit, labelled_from_rdkit


def as_graph(
    obj: Any, *, undirected: Undirected = "error", loops: SelfLoops = "drop"
) -> Graph:
    """Return ``obj`` as a :class:`Graph`, whatever library it comes from.

    A string is read as graph6, never as SMILES (``"CC"`` is both; ``from_smiles``).

    Args:
        obj: A Graph (returned unchanged), PyG ``Data``, networkx graph, scipy sparse
            matrix, square numpy array, rdkit ``Mol`` or graph6 string. Weights are
            not used; if there are any, there is a warning.
        undirected: ``"error"`` or ``"add"`` when an edge lacks its reverse.
        loops: ``"drop"`` (with a warning) or ``"error"``.

    Raises:
        GraphInputError: If the type is none of these or the content is wrong.

    Example:
        >>> as_graph("Bw")
        Graph(num_nodes=3, num_edges=3)
    """
    check_rules(undirected, loops)
    if isinstance(obj, Graph):
        return obj
    if isinstance(obj, str | bytes):
        return from_graph6(obj)
    if _is_a(obj, "rdkit.Chem.rdchem", "Mol"):
        return from_rdkit(obj)
    for matches, convert in (
        (isinstance(obj, np.ndarray), from_scipy),
        (_is_a(obj, "scipy.sparse", "sparray", "spmatrix"), from_scipy),
        (_is_a(obj, "networkx", "Graph"), from_networkx),
        (hasattr(obj, "edge_index"), from_pyg),  # num_nodes would make PyG guess
    ):
        if matches:
            return convert(obj, undirected=undirected, loops=loops)
    raise GraphInputError(
        f"cannot make a graph of {type(obj).__name__}; accepted: sekgnn.Graph, "
        "torch_geometric Data, networkx graph, scipy sparse matrix, square numpy "
        "array, rdkit Mol, graph6 string."
    )


def as_labelled(obj: Any, *, node_labels: Any = None, edge_labels: Any = None) -> Graph:
    """Return ``obj`` as a :class:`Graph` with labels, whatever library it comes from.

    Args:
        obj: Anything :func:`as_graph` takes. A ``Graph`` keeps its labels unless others
            are given, and any name below stands for them; the labels of an rdkit
            ``Mol`` are its atoms and bonds.
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
    if isinstance(obj, Graph):
        graph = obj
        node_labels = _chosen_labels("node", graph.node_labels, node_labels)
        edge_labels = _chosen_labels("edge", graph.edge_labels, edge_labels)
        if node_labels is graph.node_labels and edge_labels is graph.edge_labels:
            return graph
    elif hasattr(obj, "GetBonds"):
        molecule = labelled_from_rdkit(obj)
        return as_labelled(molecule, node_labels=node_labels, edge_labels=edge_labels)
    else:
        graph = as_graph(obj)
        if isinstance(node_labels, str):
            node_labels = _node_attribute(obj, node_labels)
        if isinstance(edge_labels, str):
            edge_labels = _edge_attribute(obj, edge_labels)
        if node_labels is None and edge_labels is None:
            return graph
    return LabelledGraph(graph, node_labels, edge_labels, graph.label_names)


def from_pyg(
    data: Any, *, undirected: Undirected = "error", loops: SelfLoops = "drop"
) -> Graph:
    """Build a graph from a PyG ``Data`` with ``edge_index`` (or ``adj_t``).

    Weights (``edge_weight``) are not used, with a warning; they and features must be
    numbers. ``data.num_nodes`` or ``data.x`` must be set: PyG's guess of the node count
    would lose isolated nodes.

    Raises:
        GraphInputError: If edges or the node count are missing, or a weight is NaN or
            infinite.
    """
    edge_index = getattr(data, "edge_index", None)
    adj_t: Any = getattr(data, "adj_t", None)
    if edge_index is None and adj_t is None:
        raise GraphInputError(
            "data has neither edge_index nor adj_t; for a graph without edges set "
            "data.edge_index = torch.empty(2, 0, dtype=torch.long)."
        )
    for name in ("edge_weight", "edge_attr"):
        _check_weights(name, getattr(data, name, None))
    weights = getattr(data, "edge_weight", None)
    if weights is not None and bool((weights != 1).any()):
        note_weights("weights (data.edge_weight)")
    if edge_index is None:
        if hasattr(adj_t, "to_sparse_coo"):  # torch's own sparse tensors
            col, row = adj_t.to_sparse_coo().coalesce().indices().cpu().numpy()
        else:  # torch_sparse.SparseTensor
            col, row = (index.cpu().numpy() for index in adj_t.coo()[:2])
        edge_index = np.stack([row, col])
    num_nodes = _set_num_nodes(data)
    return Graph.from_edge_index(
        edge_index, num_nodes, undirected=undirected, loops=loops
    )


def from_networkx(
    graph: Any, *, undirected: Undirected = "error", loops: SelfLoops = "drop"
) -> Graph:
    """Build a graph from a networkx one; node i is the i-th in its iteration order.

    Parallel edges are merged; weights are not used, with a warning. A directed graph
    must hold both directions of each edge, or ``undirected="add"`` be passed.

    Raises:
        GraphInputError: If an edge has one direction only, or its weight is NaN or
            infinite.
    """
    nodes = list(graph.nodes)
    number = {node: i for i, node in enumerate(nodes)}
    pairs, weighted = [], False
    for u, v, weight in graph.edges(data="weight"):
        weighted = weighted or (isinstance(weight, numbers.Real) and weight != 1)
        if isinstance(weight, float | np.floating) and not np.isfinite(weight):
            raise GraphInputError(
                f"edge {u!r} - {v!r} has weight {weight}; set a finite weight, or "
                "remove the edge."
            )
        pairs.append((number[u], number[v]))
    if weighted:
        note_weights("weights of networkx edges")
    row, col = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    if not graph.is_directed():
        row, col = np.concatenate([row, col]), np.concatenate([col, row])
    return Graph.over(
        *clean_edges(
            row,
            col,
            len(nodes),
            undirected=undirected,
            loops=loops,
            describe=lambda node: (repr(nodes[node]), ""),
        )
    )


def from_scipy(
    matrix: Any, *, undirected: Undirected = "error", loops: SelfLoops = "drop"
) -> Graph:
    """Build a graph from a square matrix; entries other than 0 are edges.

    Values other than 0 and 1 are weights, which are not used, with a warning.

    Args:
        matrix: scipy sparse, any format, or dense. Repeated entries are added up
            first, and an explicit zero is not an edge.
        undirected: ``"error"`` or ``"add"`` when the matrix is not symmetric.
        loops: ``"drop"`` the diagonal (with a warning) or ``"error"``.

    Raises:
        GraphInputError: If the matrix is not square, not numeric or not finite.
    """
    sparse = hasattr(matrix, "tocoo")
    shape = list(matrix.shape if sparse else np.shape(matrix))
    if len(shape) != 2 or shape[0] != shape[1]:
        raise GraphInputError(f"an adjacency matrix must be square, got shape {shape}.")
    if sparse:
        coo = matrix.tocoo(copy=True)
        coo.sum_duplicates()
        row, col, data = coo.row, coo.col, coo.data
    else:
        dense = np.asarray(matrix)
        row, col = np.nonzero(dense)
        data = dense[row, col]
    if not (np.issubdtype(data.dtype, np.number) or data.dtype == np.bool_):
        raise GraphInputError(f"an adjacency matrix must be numeric, got {data.dtype}.")
    bad = np.flatnonzero(~np.isfinite(data))
    if bad.size:
        raise GraphInputError(
            f"the matrix holds {data[bad[0]]} at row {row[bad[0]]}, column "
            f"{col[bad[0]]}; entries must be finite. Use 0 where there is no edge."
        )
    if not np.isin(data, (0, 1)).all():
        note_weights("entries of the matrix other than 0 and 1 (node pairs go to "
                     "Graph.from_edge_index)")  # fmt: skip
    edges = np.stack([row, col])[:, data != 0]
    return Graph.from_edge_index(edges, shape[0], undirected=undirected, loops=loops)


def _is_a(obj: object, module: str, *names: str) -> bool:
    """Return whether ``obj`` is of a class of a module, which is not imported here."""
    classes = (getattr(sys.modules.get(module), name, None) for name in names)
    return any(isinstance(c, type) and isinstance(obj, c) for c in classes)


def _set_num_nodes(data: Any) -> Any:
    """Return ``data.num_nodes``; refuse PyG's guess, which comes with a warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        num_nodes = getattr(data, "num_nodes", None)
    if num_nodes is None or any("num_nodes" in str(w.message) for w in caught):
        raise GraphInputError(
            "data.num_nodes is not set and could only be guessed from the largest "
            "node id, losing isolated nodes; set data.num_nodes or data.x."
        )
    return num_nodes


def _check_weights(name: str, weights: Any) -> None:
    """Refuse one-dimensional float weights that are not finite."""
    if weights is None or len(getattr(weights, "shape", ())) != 1:
        return
    weights = without_torch(weights)
    if not np.issubdtype(weights.dtype, np.floating):
        return
    bad = np.flatnonzero(~np.isfinite(weights))
    if bad.size:
        raise GraphInputError(
            f"data.{name} is {weights[bad[0]]} at edge {bad[0]} ({bad.size} such "
            f"values); remove these edges or set finite values."
        )


def _chosen_labels(what: str, present: NDArray[np.int64] | None, requested: Any) -> Any:
    """Return the requested labels, or those of the graph for ``None`` or a name."""
    if isinstance(requested, str) and present is None:
        raise GraphInputError(
            f"a Graph without {what} labels has none called {requested!r}; pass the "
            "labels themselves."
        )
    return present if requested is None or isinstance(requested, str) else requested


def _node_attribute(obj: Any, name: str) -> Any:
    """Return the node labels of a PyG ``Data`` or networkx graph under ``name``."""
    if hasattr(obj, "nodes"):
        labels = [data.get(name) for _, data in obj.nodes(data=True)]
        if any(value is None for value in labels):
            raise GraphInputError(f"a node has no attribute {name!r}.")
        return labels
    values = getattr(obj, name, None)
    if values is None:
        raise GraphInputError(
            f"{type(obj).__name__} has no {name!r} to take node labels from; pass the "
            "labels themselves."
        )
    return values


def _edge_attribute(obj: Any, name: str) -> dict[tuple[int, int], Any]:
    """Return the edge labels under ``name``, by pair of node numbers."""
    number: dict[Any, int] = {}  # of nodes that are not numbers themselves
    if hasattr(obj, "nodes"):
        number = {node: i for i, node in enumerate(obj.nodes)}
        edges = list(obj.edges(data=name))
        if any(value is None and u != v for u, v, value in edges):
            raise GraphInputError(f"an edge has no attribute {name!r}.")
    else:
        values, pairs = getattr(obj, name, None), getattr(obj, "edge_index", None)
        if values is None or pairs is None:
            raise GraphInputError(
                f"{type(obj).__name__} has no {name!r} to take edge labels from; pass "
                "a mapping {(u, v): label}."
            )
        coded = as_labels("edge_labels", values).tolist()
        row, col = (side.tolist() for side in pairs)
        if len(coded) != len(row):
            raise GraphInputError(
                f"{name!r} has {len(coded)} rows, but edge_index {len(row)} columns."
            )
        edges = list(zip(row, col, coded, strict=True))
    labels: dict[tuple[int, int], Any] = {}
    for u, v, label in edges:
        pair = number.get(u, u), number.get(v, v)
        if u != v and labels.setdefault(pair, label) != label:
            raise GraphInputError(f"edge {u} - {v} is listed with different labels.")
    return labels
