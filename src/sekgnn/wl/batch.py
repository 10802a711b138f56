"""Graphs side by side, the input of every test."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.digest import KEY_LABEL, Colours, digest_words
from sekgnn.graphs.convert import as_labelled
from sekgnn.graphs.graph import Graph, join_labels
from sekgnn.graphs.packed import PackedGraphs, pack


@dataclass(frozen=True, eq=False)
class Batch:
    """The graphs that are coloured together, and their disjoint union.

    Attributes:
        graphs: The graphs, G of them.
        packed: Their union, N nodes.
        node_labels: int64 ``[N]``; 0 everywhere when there are none.
        edge_labels: int64 ``[2 M]`` in the order of ``packed.indices``; empty when
            there are none.
    """

    graphs: tuple[Graph, ...]
    packed: PackedGraphs
    node_labels: NDArray[np.int64]
    edge_labels: NDArray[np.int64]

    @classmethod
    def of(cls, graphs: Iterable[Graph]) -> Batch:
        """Pack ``graphs``.

        Raises:
            GraphInputError: If some of them carry labels and others do not.
        """
        items = tuple(graphs)
        packed = pack(items)
        nodes = join_labels("node", [item.node_labels for item in items])
        edges = join_labels("edge", [item.edge_labels for item in items])
        return cls(
            items,
            packed,
            np.zeros(packed.num_nodes, np.int64) if nodes is None else nodes,
            np.zeros(0, np.int64) if edges is None else edges,
        )

    @property
    def node_ptr(self) -> NDArray[np.int64]:
        """Graph g owns nodes ``node_ptr[g]:node_ptr[g + 1]``, int64 ``[G + 1]``."""
        return self.packed.node_ptr

    @property
    def sizes(self) -> list[int]:
        """Number of nodes of each graph."""
        return [item.num_nodes for item in self.graphs]

    @property
    def has_node_labels(self) -> bool:
        """Whether the nodes carry labels."""
        return bool(self.graphs) and self.graphs[0].node_labels is not None

    @property
    def has_edge_labels(self) -> bool:
        """Whether the edges carry labels."""
        return bool(self.graphs) and self.graphs[0].edge_labels is not None

    @cached_property
    def label_colours(self) -> Colours:
        """The colour that each node's label stands for, uint64 ``[N, 2]``."""
        out = np.empty((self.node_labels.size, 2), dtype=np.uint64)
        digest_words(self.node_labels[:, None], KEY_LABEL, out)
        out.flags.writeable = False
        return out

    def locate(self, node: int) -> tuple[int, int]:
        """Return the graph that owns ``node`` of the union, and its number there."""
        graph = int(np.searchsorted(self.node_ptr, node, side="right")) - 1
        return graph, node - int(self.node_ptr[graph])


def as_batch(
    graphs: Sequence[Any], *, node_labels: Any = None, edge_labels: Any = None
) -> Batch:
    """Return whatever :func:`~sekgnn.graphs.convert.as_labelled` takes as a batch.

    Labels are the name of the attribute that holds them, for all graphs.
    """
    return Batch.of(
        as_labelled(graph, node_labels=node_labels, edge_labels=edge_labels)
        for graph in graphs
    )
