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
    """Return ``graph`` as PyG data.

    Args:
        graph: The structure.
        x: Node features ``[n, C]``; a column of ones if left out, so that a network
            starts from nothing but the structure.
        **values: Values to store by name: an integer becomes int64 ``[1]``, an
            array a tensor of its own type and shape; ``None`` is left out.

    Shapes:
        - **output:** ``edge_index`` :math:`(2, 2m)`, both directions of every edge;
          ``x`` float32 :math:`(n, C)`

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

    Args:
        items: The items, in order.
    """

    def __init__(self, items: Iterable[T]) -> None:
        """Keep the items."""
        self._items = tuple(items)

    def __len__(self) -> int:
        """Number of items."""
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        """Return item ``index``, or a list for a slice."""
        if isinstance(index, slice):
            return list(self._items[index])
        return self._items[index]

    @abstractmethod
    def to_pyg(self) -> list[Data]:
        """Return one PyG ``Data`` per graph, with ``x``, ``y`` and ``num_nodes``."""

    def __repr__(self) -> str:
        """Name and size, and the source where there is a choice."""
        source = f", {self.source}" if hasattr(self, "source") else ""
        return f"{type(self).__name__}({len(self)}{source})"
