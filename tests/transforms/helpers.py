"""Graphs as PyG ``Data``, and small datasets of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from tests.small_graphs import empty_graph
from torch_geometric.data import Data, InMemoryDataset, OnDiskDataset

from sekgnn.graphs import Graph, cycle_graph, path_graph, petersen_graph


def to_data(graph: Graph, **more: Any) -> Data:
    """Return ``graph`` as ``Data`` without ``x``."""
    edge_index = torch.from_numpy(graph.edge_index().copy())
    return Data(edge_index=edge_index, num_nodes=graph.num_nodes, **more)


def mixed_graphs() -> list[Graph]:
    """Corners among ordinary graphs: no edges, one node, an isolated node, no nodes."""
    return [
        cycle_graph(5),
        empty_graph(1),
        path_graph(4),
        empty_graph(3),
        Graph.from_edge_index([[0, 1], [1, 0]], 3),
        empty_graph(0),
        petersen_graph(),
    ]


class InMemory(InMemoryDataset):
    """A dataset that goes through PyG's own processing and files."""

    def __init__(
        self,
        root: str,
        source: Sequence[Data],
        transform: Callable[[Data], Data] | None = None,
        pre_transform: Callable[[Data], Data] | None = None,
    ) -> None:
        self.source = source
        super().__init__(root, transform, pre_transform)
        self.load(self.processed_paths[0])

    @property
    def raw_file_names(self) -> list[str]:
        return []

    @property
    def processed_file_names(self) -> list[str]:
        return ["data.pt"]

    def process(self) -> None:
        items = list(self.source)
        if self.pre_transform is not None:
            items = [self.pre_transform(item) for item in items]
        self.save(items, self.processed_paths[0])


class OnDisk(OnDiskDataset):
    """The same in an SQLite database; PyG gives it no ``pre_transform``."""

    def __init__(
        self,
        root: str,
        source: Sequence[Data],
        transform: Callable[[Data], Data] | None = None,
        before_saving: Callable[[Data], Data] | None = None,
    ) -> None:
        self.source = source
        self.before_saving = before_saving
        super().__init__(root, transform, backend="sqlite")

    @property
    def raw_file_names(self) -> list[str]:
        return []

    def process(self) -> None:
        items = list(self.source)
        if self.before_saving is not None:
            items = [self.before_saving(item) for item in items]
        self.extend(items)
