"""Checks of what users pass as ``edge_index`` and ``num_nodes``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.errors import GraphInputError


def check_edge_index(edge_index: Any, num_nodes: int | None) -> NDArray[np.int64]:
    """Return ``edge_index`` as int64 ``[2, E]`` after checking it.

    Raises:
        GraphInputError: If shape, dtype, node count or node ids are wrong.
    """
    edges = edge_array(edge_index)
    n = check_num_nodes(num_nodes)
    if edges.size and not 0 <= edges.min() <= edges.max() < n:
        raise GraphInputError(
            f"edge_index holds nodes {edges.min()}..{edges.max()}, but "
            f"num_nodes={n}; node ids must lie in [0, {n})."
        )
    return edges


def edge_array(edge_index: Any) -> NDArray[np.int64]:
    """Return ``edge_index`` (numpy, torch or nested lists) as int64 ``[2, E]``.

    Raises:
        GraphInputError: If shape or dtype are wrong.
    """
    if hasattr(edge_index, "detach"):  # a torch tensor, without importing torch
        edge_index = edge_index.detach().cpu().numpy()
    try:
        edges = np.asarray(edge_index)
    except ValueError as error:
        raise GraphInputError(
            "edge_index must have shape [2, E]; its rows differ in length."
        ) from error
    if edges.size == 0 and edges.ndim <= 2:
        edges = np.zeros((2, 0), dtype=np.int64)
    if edges.ndim != 2 or edges.shape[0] != 2:
        hint = (
            " If you have one edge per row, pass edge_index.T."
            if edges.ndim == 2 and edges.shape[1] == 2
            else ""
        )
        raise GraphInputError(
            f"edge_index must have shape [2, E], got {list(edges.shape)}.{hint}"
        )
    if not np.issubdtype(edges.dtype, np.integer):
        raise GraphInputError(f"edge_index must hold integers, got {edges.dtype}.")
    if edges.dtype == np.uint64 and edges.size and int(edges.max()) >= 2**63:
        raise GraphInputError(
            f"edge_index holds node {edges.max()}; that is too large."
        )
    return edges.astype(np.int64)


def check_num_nodes(num_nodes: Any) -> int:
    """Return ``num_nodes`` as an int in ``[0, 2^31)``.

    Raises:
        GraphInputError: If it is not set, no whole number, or too large.
    """
    if num_nodes is None:
        raise GraphInputError(
            "num_nodes is not set; isolated nodes would be lost. Pass num_nodes."
        )
    if not _is_whole(num_nodes):
        raise GraphInputError(f"num_nodes must be a whole number, got {num_nodes!r}.")
    if num_nodes >= 2**31:
        raise GraphInputError(f"num_nodes must be below 2^31, got {num_nodes}.")
    return int(num_nodes)


def _is_whole(value: Any) -> bool:
    """Tell whether ``value`` is a whole number of at least 0."""
    if isinstance(value, bool | str):
        return False
    try:
        return bool(int(value) == value and int(value) >= 0)
    except (TypeError, ValueError, OverflowError):
        return False
