"""Checks of what the transforms are given, and what PyG would do with it."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import torch
from torch_geometric.data import Data

from sekgnn.checks import check_choice
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs import SelfLoops, Undirected

_TAKEN = {"face", "ptr", "num_nodes"}
_DTYPES = {"float32": torch.float32, "float64": torch.float64}


def check_data(data: Any) -> Data:
    """Return ``data`` if it is a homogeneous PyG graph.

    Raises:
        GraphInputError: If it is a ``HeteroData`` or no ``Data`` at all.
    """
    if isinstance(data, Data):
        return data
    cure = (
        "call data.to_homogeneous() first"
        if hasattr(data, "node_types")
        else "for other graph types call sekgnn.encode"
    )
    raise GraphInputError(
        f"a torch_geometric Data is needed, got {type(data).__name__}; {cure}."
    )


def device_of(data: Data) -> torch.device:
    """Return the device that holds the edges of ``data``."""
    edges = data.adj_t if data.edge_index is None else data.edge_index
    device = edges.device
    return cast(torch.device, device() if callable(device) else device)


def check_attr_name(attr_name: str | None) -> str | None:
    """Return ``attr_name`` if PyG joins such a field node by node when batching.

    Raises:
        ConfigError: If it is no name, or PyG would add node offsets to its values.
    """
    if attr_name is None:
        return None
    if not isinstance(attr_name, str) or not attr_name.isidentifier():
        raise ConfigError(
            f"attr_name must be a Python name or None, got {attr_name!r}."
        )
    if "index" in attr_name or "batch" in attr_name or attr_name in _TAKEN:
        raise ConfigError(
            f"attr_name must not be one of {sorted(_TAKEN)} or contain 'index' or "
            f"'batch', got {attr_name!r}: PyG treats such fields as node ids when it "
            "batches graphs."
        )
    return attr_name


def check_dtype(dtype: Any) -> torch.dtype:
    """Return ``dtype``, of torch, numpy or as text, as ``torch.float32`` or 64.

    Raises:
        ConfigError: If it is any other type.
    """
    if isinstance(dtype, torch.dtype):
        name = str(dtype).removeprefix("torch.")
    else:
        try:
            name = np.dtype(dtype).name
        except TypeError:
            name = str(dtype)
    return _DTYPES[check_choice("dtype", name, _DTYPES)]


def numpy_dtype(dtype: torch.dtype) -> np.dtype[Any]:
    """Return the numpy type of a checked ``dtype``."""
    return np.dtype(np.float32 if dtype == torch.float32 else np.float64)


def check_undirected(value: object) -> Undirected:
    """Return ``value`` if it is a rule for edges that lack their reverse.

    Raises:
        ConfigError: If it is not.
    """
    return cast(Undirected, check_choice("undirected", value, ("error", "add")))


def check_loops(value: object) -> SelfLoops:
    """Return ``value`` if it is a rule for edges from a node to itself.

    Raises:
        ConfigError: If it is not.
    """
    return cast(SelfLoops, check_choice("loops", value, ("drop", "error")))
