"""Graphs as PyG data; torch is imported when this is first used, not before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.graphs import Graph

if TYPE_CHECKING:
    from torch_geometric.data import Data


def as_data(
    graph: Graph,
    x: NDArray[np.float32] | None = None,
    **targets: int | NDArray[Any],
) -> Data:
    """Return ``graph`` as PyG data.

    Args:
        graph: The structure.
        x: Node features ``[n, C]``; a column of ones if left out, so that a network
            starts from nothing but the structure.
        **targets: Values to store by name: a whole number becomes int64 ``[1]``, an
            array a tensor of its own type and shape.

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
        for name, v in targets.items()
    }
    return Data(
        x=torch.from_numpy(features),
        edge_index=torch.from_numpy(graph.edge_index()),
        num_nodes=graph.num_nodes,
        **stored,
    )
