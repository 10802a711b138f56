"""The substructure encoding as a PyG transform."""

from __future__ import annotations

from dataclasses import fields as dataclass_fields
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data
from torch_geometric.data.datapipes import functional_transform
from torch_geometric.transforms import BaseTransform

from sekgnn import fields
from sekgnn.checks import check_choice
from sekgnn.encoding.encoder import Encoding, encode, encode_pairs, quick_plans
from sekgnn.encoding.substructure import make_encoding
from sekgnn.encoding.walk_encoding import WalkEncoding
from sekgnn.errors import ConfigError
from sekgnn.graphs import SelfLoops, Undirected, from_pyg
from sekgnn.graphs.cleaning import check_rules
from sekgnn.parallel import resolve_threads
from sekgnn.transforms.pyg_data import attach_encoding, check_data, node_pairs

_OWN = ("attr_name", "dtype", "undirected", "loops")
_RESERVED = {"face", "ptr", "num_nodes"}
_DTYPES = {"float32": torch.float32, "float64": torch.float64}


@functional_transform("add_substructure_encoding")
class AddSubstructureEncoding(BaseTransform):
    r"""Write a substructure encoding f (SEK paper, Definition 2) to ``data.sub_enc``.

    Nothing here is random. For a whole dataset
    :func:`~sekgnn.transforms.encode_dataset` is faster and keeps a cache.

    Args:
        encoding: An encoding or its name; walks by default.
        attr_name: The field to write; ``None`` appends the encoding to ``data.x``, as
            ``[N, C * L]`` columns (``x`` is made if there is none).
        dtype: ``torch.float32`` or ``torch.float64``; computed in float64 either way.
        undirected: ``"error"`` or ``"add"`` when an edge lacks its reverse. Only the
            encoding sees added edges; ``edge_index`` and ``edge_attr`` stay.
        loops: Edges from a node to itself: ``"drop"`` (with a warning; again only for
            the encoding) or ``"error"``. Not the ``self_loops`` of the walk.
        threads: Threads for one graph; ``None`` for all usable cores. Never changes the
            result, so it is not in the repr.
        **parameters: Parameters of the encoding, such as ``walk_length``: see
            :class:`~sekgnn.encoding.WalkEncoding`.

    Shapes:
        - **input:** a ``Data`` with ``edge_index`` :math:`(2, E)` and a known number of
          nodes (``x`` or ``num_nodes``)
        - **output:** ``sub_enc`` :math:`(N, C, L)`, ``C = encoding.num_channels``,
          ``L = encoding.length``; a ragged encoding writes its arrays
          (:class:`~sekgnn.encoding.RaggedEncoding`) to ``sub_enc_rows``,
          ``sub_enc_sizes``, ... instead

    Raises:
        ConfigError: If a parameter is unknown or cannot work.
        GraphInputError: When called on a ``HeteroData`` or an unusable graph.

    Example:
        >>> edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        >>> data = Data(edge_index=edge_index, num_nodes=3)
        >>> AddSubstructureEncoding(num_shells=2, walk_length=4)(data).sub_enc.shape
        torch.Size([3, 7, 4])
    """

    def __init__(
        self,
        encoding: Encoding | None = None,
        *,
        attr_name: str | None = fields.SUB_ENC,
        dtype: Any = torch.float32,
        undirected: Undirected = "error",
        loops: SelfLoops = "drop",
        threads: int | None = 1,
        **parameters: Any,
    ) -> None:
        if encoding is None:  # a misspelt keyword may be one of ours
            names = [item.name for item in dataclass_fields(WalkEncoding)]
            for key in parameters:
                check_choice("keywords", key, (*names, *_OWN, "threads"))
        self.encoding = make_encoding(encoding, **parameters)
        self._is_quick = bool(quick_plans(self.encoding))
        self.attr_name = _checked_name(attr_name)
        self.dtype = _torch_float(dtype)
        check_rules(undirected, loops)
        self.undirected, self.loops = undirected, loops
        self.threads = None if threads is None else resolve_threads(threads)
        if self.encoding.ragged and attr_name is None:
            raise ConfigError(
                f"the encoding {self.encoding.name!r} is ragged and cannot be appended "
                "to x; give attr_name."
            )

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        """``dtype`` as a type of numpy."""
        return np.dtype(str(self.dtype).removeprefix("torch."))

    def forward(self, data: Data) -> Data:
        """Write the encoding on ``data``."""
        values = self._of_small(check_data(data))
        if values is None:
            graph = from_pyg(data, undirected=self.undirected, loops=self.loops)
            values = encode(
                graph, self.encoding, dtype=self.numpy_dtype, threads=self.threads
            )  # [N, C, L]
        if not self.encoding.ragged:
            values = torch.from_numpy(values)
        return attach_encoding(data, values, self.attr_name)

    def _of_small(self, data: Data) -> Any:
        """Return the encoding of a small graph by one compiled call, if possible."""
        if not self._is_quick or "edge_weight" in data.stores[0]:
            return None  # from_pyg warns about weights
        edge_index, num_nodes = node_pairs(data, self.undirected, self.loops)
        return encode_pairs(
            edge_index.numpy(), num_nodes, self.encoding, self.numpy_dtype
        )

    def __repr__(self) -> str:
        """Every parameter that changes the result; PyG detects stale caches by it."""
        shown: dict[str, Any] = {"encoding": self.encoding.name}
        for item in dataclass_fields(self.encoding):
            shown[item.name] = getattr(self.encoding, item.name)
        for key in _OWN:
            shown[key] = getattr(self, key)
        args = ", ".join(f"{key}={value!r}" for key, value in shown.items())
        return f"{type(self).__name__}({args})"


def _checked_name(attr_name: str | None) -> str | None:
    """Return ``attr_name`` if PyG concatenates such a field when batching."""
    if attr_name is None:
        return None
    if not isinstance(attr_name, str) or not attr_name.isidentifier():
        raise ConfigError(
            f"attr_name must be a Python name or None, got {attr_name!r}."
        )
    if "index" in attr_name or "batch" in attr_name or attr_name in _RESERVED:
        raise ConfigError(
            f"attr_name must not be one of {sorted(_RESERVED)} or contain 'index' or "
            f"'batch', got {attr_name!r}: PyG treats such fields as node ids when it "
            "batches graphs."
        )
    return attr_name


def _torch_float(dtype: Any) -> torch.dtype:
    """Return ``dtype``, of torch or numpy or a string, as a float type of torch."""
    if isinstance(dtype, torch.dtype):
        name = str(dtype).removeprefix("torch.")
    else:
        try:
            name = np.dtype(dtype).name
        except TypeError:
            name = str(dtype)
    return _DTYPES[check_choice("dtype", name, _DTYPES)]
