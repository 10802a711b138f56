"""Labels of nodes and edges, for tests that must respect them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.errors import GraphInputError
from sekgnn.graphs.cleaning import without_torch
from sekgnn.graphs.graph import Graph


class LabelledGraph(Graph):
    """The :class:`Graph` of a structure and labels of its nodes, edges, or both.

    Labels are compared, never ordered or added. Integers stand for themselves; anything
    else (text, floats, rows of features) is replaced by 64 bits of its BLAKE2b digest,
    the same on every machine.

    Args:
        graph: The structure; labels that it has are left out.
        node_labels: One label, or one row of numbers, per node; kept as int64 ``[n]``.
            ``None`` for none.
        edge_labels: One label per entry of ``graph.indices``, both directions of an
            edge alike; or a mapping ``{(u, v): label}`` that names each edge in at
            least one direction; kept as int64 ``[2 m]``. ``None`` for none.
        label_names: What people call a node's label, such as ``{6: "C"}``, no part of
            the graph's value; text that is given as a label is its own name.

    Raises:
        GraphInputError: If a label is missing, or the two directions of an edge differ.

    Example:
        >>> edge = Graph.from_edge_index([[0, 1], [1, 0]], 2)
        >>> LabelledGraph(edge, [6, 8], {(0, 1): 2})
        Graph(num_nodes=2, num_edges=1, node_labels=True, edge_labels=True)
    """

    def __init__(
        self,
        graph: Graph,
        node_labels: Any = None,
        edge_labels: Any = None,
        label_names: Mapping[int, str] | None = None,
    ) -> None:
        """Check the labels against the structure and forbid writing to them."""
        nodes = None if node_labels is None else as_labels("node_labels", node_labels)
        if nodes is not None and nodes.size != graph.num_nodes:
            raise GraphInputError(
                f"node_labels has {nodes.size} entries, but the graph has "
                f"{graph.num_nodes} nodes; give one label per node."
            )
        edges = None if edge_labels is None else _edge_labels(graph, edge_labels)
        names = dict(label_names or {})
        if nodes is not None and nodes.size:
            if isinstance(next(iter(node_labels)), str):
                names |= zip(nodes.tolist(), map(str, node_labels), strict=True)
        self._hold(graph.indptr, graph.indices, nodes, edges, names)


def as_labels(name: str, values: Any) -> NDArray[np.int64]:
    """Return labels as int64 ``[n]``: integers as they are, all else digested.

    Raises:
        GraphInputError: If a label is NaN, an integer too large to be one of a row,
            or not an integer, a string, a number or a row of numbers.

    Example:
        >>> as_labels("labels", [3, 1]).tolist()
        [3, 1]
        >>> as_labels("labels", ["C", "O"]).tolist() == as_labels("l", "CO").tolist()
        True
    """
    values = without_torch(values)
    try:
        array = np.array(list(values) if isinstance(values, str) else values)
    except ValueError as error:
        raise GraphInputError(f"{name} must be rows of one length: {error}") from error
    if array.dtype.kind in "biu" and array.ndim == 1:
        return array.astype(np.int64)
    if array.size == 0:
        return np.zeros(array.shape[0] if array.ndim else 0, dtype=np.int64)
    if array.dtype.kind == "U" and array.ndim == 1:
        # of what was given: numpy drops the zero bytes at the end of a string
        return np.array([_digest(str(v).encode()) for v in values], dtype=np.int64)
    if array.dtype.kind not in "biuf" or array.ndim not in (1, 2):
        raise GraphInputError(
            f"{name} must be integers, strings, numbers or rows of numbers, got "
            f"{array.dtype} of shape {list(array.shape)}."
        )
    if array.dtype.kind in "iu" and (np.abs(array.astype("<f8")) >= 2**53).any():
        raise GraphInputError(
            f"{name} holds integers beyond 2^53 in rows of numbers, which are compared "
            "as floats; give one integer per label instead."
        )
    rows = array.astype("<f8").reshape(array.shape[0], -1) + 0.0  # no negative zero
    if np.isnan(rows).any():
        raise GraphInputError(f"{name} holds NaN, which equals nothing; replace it.")
    return np.array([_digest(row.tobytes()) for row in rows], dtype=np.int64)


def _digest(content: bytes) -> int:
    """Return 64 bits of BLAKE2b as a signed integer."""
    code = hashlib.blake2b(content, digest_size=8).digest()
    return int.from_bytes(code, "little", signed=True)


def _edge_labels(graph: Graph, labels: Any) -> NDArray[np.int64]:
    """Return labels in the order of ``graph.indices``, checked for symmetry."""
    row, col = graph.edge_index()
    if isinstance(labels, Mapping):
        coded = as_labels("edge_labels", list(labels.values()))
        known: dict[tuple[int, int], int] = {}
        for (u, v), label in zip(labels, coded.tolist(), strict=True):
            for pair in ((int(u), int(v)), (int(v), int(u))):
                if known.setdefault(pair, label) != label:
                    raise GraphInputError(
                        f"edge {u} - {v} has two different labels; an undirected edge "
                        "has one."
                    )
        pairs = list(zip(row.tolist(), col.tolist(), strict=True))
        missing = next((pair for pair in pairs if pair not in known), None)
        if missing is not None:
            raise GraphInputError(f"edge {missing[0]} - {missing[1]} has no label.")
        if len(known) > len(pairs):
            u, v = min(set(known) - set(pairs))
            raise GraphInputError(
                f"there is a label for {u} - {v}, which is not an edge."
            )
        return np.array([known[pair] for pair in pairs], dtype=np.int64)
    array = as_labels("edge_labels", labels)
    if array.size != row.size:
        raise GraphInputError(
            f"edge_labels has {array.size} entries, but the graph stores {row.size} "
            "directed edges; give one label per entry of graph.indices."
        )
    reverse = np.lexsort((row, col))  # where each edge's other direction stands
    differ = np.flatnonzero(array != array[reverse])
    if differ.size:
        raise GraphInputError(
            f"edge {row[differ[0]]} - {col[differ[0]]} has different labels in its two "
            "directions; an undirected edge has one."
        )
    return array
