"""BREC: 400 pairs of graphs that 1-WL cannot tell apart."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sekgnn.checks import check_choice
from sekgnn.datasets.pyg import Collection, as_data
from sekgnn.datasets.root import read_data_file
from sekgnn.graphs import Graph, from_graph6

if TYPE_CHECKING:
    from torch_geometric.data import Data

CATEGORIES = {
    "basic": "basic",
    "simple_regular": "simple regular",
    "strongly_regular": "strongly regular",
    "four_vertex": "4-vertex condition",
    "distance_regular": "distance-regular",
    "extension": "extension",
    "cfi": "CFI",
}
"""The categories in the order in which tables show them, and how they are written."""

_NAMES_IN_FILE = {
    "Basic": "basic",
    "Regular": "simple_regular",
    "Str": "strongly_regular",
    "Extension": "extension",
    "CFI": "cfi",
    "4-Vertex_Condition": "four_vertex",
    "Distance_Regular": "distance_regular",
}


@dataclass(frozen=True)
class BRECPair:
    """Two graphs that are not isomorphic, though 1-WL cannot tell.

    Attributes:
        index: Number of the pair in BREC, 0..399.
        category: A key of ``CATEGORIES``.
        first: One graph.
        second: The other; as many nodes and edges, and the same degrees.
    """

    index: int
    category: str
    first: Graph
    second: Graph


class BREC(Collection[BRECPair]):
    """The pairs of BREC (Wang and Zhang, ICML 2024), in its own order.

    ================  =====  =======  =====
    category          pairs  index    nodes
    ================  =====  =======  =====
    basic             60     0-59     10
    simple_regular    50     60-109   7-10
    strongly_regular  50     110-159  16-35
    extension         100    160-259  10-19
    cfi               100    260-359  18-198
    four_vertex       20     360-379  63
    distance_regular  20     380-399  30-63
    ================  =====  =======  =====

    The paper's category "Regular" (140 pairs) is split into its four parts here. The
    relabelled copies of upstream's file are left out: :mod:`sekgnn.brec` makes them
    from a seed.
    """

    def __init__(self, data_root: str | os.PathLike[str] | None = None) -> None:
        """Read the file."""
        lines = read_data_file("brec", data_root).decode("ascii").splitlines()
        super().__init__(
            BRECPair(
                int(index), _NAMES_IN_FILE[category], from_graph6(a), from_graph6(b)
            )
            for category, index, a, b in (line.split("\t") for line in lines)
        )

    @classmethod
    def of(cls, pairs: Iterable[BRECPair]) -> BREC:
        """Return a collection of given pairs, which keep their numbers."""
        made = cls.__new__(cls)
        Collection.__init__(made, pairs)
        return made

    def select(self, *categories: str) -> BREC:
        """Return the pairs of some categories, in the order of BREC.

        Raises:
            ConfigError: If there is no such category.
        """
        wanted = {check_choice("category", name, CATEGORIES) for name in categories}
        return BREC.of(pair for pair in self if pair.category in wanted)

    def to_pyg(self) -> list[Data]:
        """Return both graphs of each pair, one after the other, as PyG data.

        ``y`` is 0 for the first graph and 1 for the second, ``pair`` the pair's number;
        ``x`` is a column of ones.
        """
        return [
            as_data(graph, y=side, pair=pair.index)
            for pair in self
            for side, graph in enumerate((pair.first, pair.second))
        ]
