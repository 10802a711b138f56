"""The record that every reader yields: a graph, its features and its location."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sekgnn.errors import GraphInputError
from sekgnn.graphs.graph import Graph


class FeatureNames(NamedTuple):
    """The names of the columns of ``x`` and ``edge_attr``, where they have any."""

    node: tuple[str, ...] | None = None
    edge: tuple[str, ...] | None = None


NO_NAMES = FeatureNames()


@dataclass(frozen=True, eq=False)
class GraphRecord:
    """One graph of a file or a list.

    Attributes:
        graph: The structure.
        place: Its location in the source, such as ``row 3 (line 4)``.
        row: Its number there, from 1, counting rows that were left out.
        x: Node features, float32 ``[n, C]``; ``None`` if there are none.
        edge_attr: Edge features, float32 ``[2 m, C]``, in the order of
            ``graph.indices``; ``None`` if there are none.
        targets: Targets and other requested columns, as in the source, by name; columns
            of a table perhaps by number.
        text: The SMILES as in the source; ``None`` if there is none.
        names: The columns of the features.
    """

    graph: Graph
    place: str
    row: int
    x: NDArray[np.float32] | None = None
    edge_attr: NDArray[np.float32] | None = None
    targets: Mapping[Any, Any] = field(default_factory=dict)
    text: str | None = None
    names: FeatureNames = NO_NAMES


def feature_rows(rows: Any, location: str) -> NDArray[np.float32]:
    """Return one row of finite numbers per node, float32 ``[n, C]``.

    A single number per node is a row of one.

    Raises:
        GraphInputError: If there is a string, NaN or infinity, or rows differ in
            length; names node and location.

    Example:
        >>> feature_rows([1, 2.5], "here").tolist()
        [[1.0], [2.5]]
    """
    try:
        array = np.array(rows)
        if array.dtype.kind not in "biuf":
            raise ValueError
        table = array.astype(np.float32).reshape(len(array), -1)
    except (ValueError, TypeError):
        raise GraphInputError(
            f"{location}: node features must be one list of numbers per node, all of "
            "the same length."
        ) from None
    bad = np.argwhere(~np.isfinite(table))
    if bad.size:
        node, feature = bad[0].tolist()
        raise GraphInputError(
            f"{location}: feature {feature} of node {node} is {table[node, feature]}; "
            "it must be finite."
        )
    return table
