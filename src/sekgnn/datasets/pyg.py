"""Graphs as PyG data, and fixed lists of them; torch is imported when it is needed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from sekgnn.graphs import Graph

if TYPE_CHECKING:
    from torch_geometric.data import Data

T = TypeVar("T")


def as_data(
    graph: Graph,
    x: NDArray[np.float32] | None = None,
    **values: int | NDArray[Any] | None,
) -> Data:
    """Return a graph as PyG data, ``edge_index`` ``[2, 2 m]`` and ``x`` ``[n, C]``.

    Without ``x`` it is a column of ones, so that a network starts from nothing but the
    structure. Of further values an integer becomes int64 ``[1]``, an array a tensor of
    its own type and shape; ``None`` is left out.

    Example:
        >>> from sekgnn.graphs import cycle_graph
        >>> data = as_data(cycle_graph(3), y=1)
        >>> data.x.tolist(), data.y.tolist(), data.num_edges
        ([[1.0], [1.0], [1.0]], [1], 6)
    """
    import torch
    from torch_geometric.data import Data

    features = np.ones((graph.num_nodes, 1), np.float32) if x is None else x
    stored: dict[str, Any] = {
        name: torch.from_numpy(v) if isinstance(v, np.ndarray) else torch.tensor([v])
        for name, v in values.items()
        if v is not None
    }
    return Data(
        x=torch.from_numpy(features),
        edge_index=torch.from_numpy(graph.edge_index()),
        num_nodes=graph.num_nodes,
        **stored,
    )


class Collection(Sequence[T]):
    """An immutable sequence of items that can become PyG data.

    Those read from a file take ``data_root``, the data folder (by default what
    ``SEKGNN_DATA`` names), and raise ``DataNotFoundError`` if the file is missing and
    ``GraphInputError`` if its SHA-256 is wrong.
    """

    def __init__(self, items: Iterable[T]) -> None:
        self._items = tuple(items)

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return list(self._items[index])
        return self._items[index]

    @abstractmethod
    def to_pyg(self) -> list[Data]:
        """Return one PyG ``Data`` per graph, with ``x``, ``y`` and ``num_nodes``."""

    def __repr__(self) -> str:
        source = f", {self.source}" if hasattr(self, "source") else ""
        return f"{type(self).__name__}({len(self)}{source})"
