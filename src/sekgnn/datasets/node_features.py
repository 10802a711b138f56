"""Node features from nested lists."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.errors import GraphInputError


def feature_rows(rows: Any, place: str) -> NDArray[np.float32]:
    """Return one row of finite numbers per node, float32 ``[n, C]``.

    A single number per node is a row of one.

    Raises:
        GraphInputError: If there is a text, NaN or infinity in it, or rows differ in
            length; names node and place.

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
            f"{place}: node features must be one list of numbers per node, all of the "
            "same length."
        ) from None
    bad = np.argwhere(~np.isfinite(table))
    if bad.size:
        node, feature = bad[0].tolist()
        raise GraphInputError(
            f"{place}: feature {feature} of node {node} is {table[node, feature]}; it "
            "must be finite."
        )
    return table
