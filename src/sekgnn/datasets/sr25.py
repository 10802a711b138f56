"""SR25: fifteen strongly regular graphs with the same parameters."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from sekgnn.datasets.collection import Collection
from sekgnn.datasets.pyg import as_data
from sekgnn.datasets.root import read_data_file
from sekgnn.graphs import Graph, from_graph6

if TYPE_CHECKING:
    from torch_geometric.data import Data


class SR25(Collection[Graph]):
    """The 15 strongly regular graphs (25, 12, 5, 6), pairwise not isomorphic.

    2-FWL (3-WL) tells none of their 105 pairs apart.

    Args:
        root: The data folder; by default what ``SEKGNN_DATA`` names.

    Raises:
        DataNotFoundError: If the file is missing.
        GraphInputError: If its SHA-256 is wrong.
    """

    def __init__(self, root: str | os.PathLike[str] | None = None) -> None:
        """Read the file."""
        texts = read_data_file("sr25", root).decode("ascii").split()
        super().__init__(from_graph6(text) for text in texts)

    def to_pyg(self) -> list[Data]:
        """Return the graphs as PyG data; ``y`` is the number of the graph, 0..14."""
        return [as_data(graph, y=number) for number, graph in enumerate(self)]
