"""The substructure encoding as a PyG transform."""

from __future__ import annotations

from dataclasses import fields as spec_fields
from typing import Any

import torch
from torch_geometric.data import Data
from torch_geometric.data.datapipes import functional_transform
from torch_geometric.transforms import BaseTransform

from sekgnn import fields
from sekgnn.checks import check_choice
from sekgnn.encoding.encoder import encode
from sekgnn.encoding.spec import WalkEncoding
from sekgnn.errors import ConfigError
from sekgnn.graphs import SelfLoops, Undirected, from_pyg
from sekgnn.parallel import resolve_threads
from sekgnn.transforms.attach import attach_encoding
from sekgnn.transforms.parameters import (
    check_attr_name,
    check_data,
    check_dtype,
    check_loops,
    check_undirected,
    numpy_dtype,
)

_SPEC_KEYS = tuple(field.name for field in spec_fields(WalkEncoding))


@functional_transform("add_substructure_encoding")
class AddSubstructureEncoding(BaseTransform):
    r"""Write the substructure encoding f (SEK paper, Eq. 1) to ``data.sub_enc``.

    What to compute is given by the keywords of :class:`~sekgnn.encoding.WalkEncoding`,
    or by such an object. Nothing here is random. For a whole dataset
    :func:`~sekgnn.transforms.encode_dataset` is faster and keeps a cache.

    Args:
        spec: What to compute, instead of keywords.
        attr_name: The field to write; ``None`` appends the encoding to ``data.x``, as
            ``[N, C * L]`` columns (``x`` is made if there is none).
        dtype: ``torch.float32`` or ``torch.float64``; computed in float64 either way.
        undirected: ``"error"`` or ``"add"`` when an edge lacks its reverse. Only the
            encoding sees the edges added; ``edge_index`` and ``edge_attr`` stay.
        loops: Edges from a node to itself: ``"drop"`` (with a warning; again
            only for the encoding) or ``"error"``. Not to be confused with the keyword
            ``self_loops`` of the walk.
        threads: Threads for one graph; ``None`` for all usable cores. Never changes the
            result, and so is not shown.
        **spec_kwargs: ``num_hops``, ``walk_length``, ``scope``, ``radius``,
            ``aggregate``, ``merge``, ``self_loops``: see ``WalkEncoding``.

    Shapes:
        - **input:** a ``Data`` with ``edge_index`` :math:`(2, E)` and a known number of
          nodes (``x`` or ``num_nodes``)
        - **output:** ``sub_enc`` :math:`(N, C, L)`, ``C = spec.num_channels``,
          ``L = spec.walk_length``

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
        spec: WalkEncoding | None = None,
        *,
        attr_name: str | None = fields.SUB_ENC,
        dtype: Any = torch.float32,
        undirected: Undirected = "error",
        loops: SelfLoops = "drop",
        threads: int | None = 1,
        **spec_kwargs: Any,
    ) -> None:
        """Check the parameters."""
        self.spec = _spec_of(spec, spec_kwargs)
        self.attr_name = check_attr_name(attr_name)
        self.dtype = check_dtype(dtype)
        self.undirected = check_undirected(undirected)
        self.loops = check_loops(loops)
        self.threads = None if threads is None else resolve_threads(threads)

    @classmethod
    def paper(cls, **kwargs: Any) -> AddSubstructureEncoding:
        """Return the transform with :meth:`WalkEncoding.paper`.

        Args:
            **kwargs: Parameters other than those of the spec.
        """
        return cls(WalkEncoding.paper(), **kwargs)

    def forward(self, data: Data) -> Data:
        """Write the encoding on ``data``."""
        graph = from_pyg(
            check_data(data),
            undirected=self.undirected,
            loops=self.loops,
        )
        encoding = encode(
            graph, self.spec, dtype=numpy_dtype(self.dtype), threads=self.threads
        )  # [N, C, L]
        return attach_encoding(data, torch.from_numpy(encoding), self.attr_name)

    def __repr__(self) -> str:
        """Every parameter that changes the result: PyG knows a stale cache by this."""
        shown = {key: getattr(self.spec, key) for key in _SPEC_KEYS}
        for key in ("attr_name", "dtype", "undirected", "loops"):
            shown[key] = getattr(self, key)
        args = ", ".join(f"{key}={value!r}" for key, value in shown.items())
        return f"{type(self).__name__}({args})"


def _spec_of(spec: Any, spec_kwargs: dict[str, Any]) -> WalkEncoding:
    """Return the spec, given whole or by keywords."""
    own = ("attr_name", "dtype", "undirected", "loops", "threads")
    for key in spec_kwargs:
        check_choice("keywords of AddSubstructureEncoding", key, (*_SPEC_KEYS, *own))
    if spec is None:
        return WalkEncoding(**spec_kwargs)
    if not isinstance(spec, WalkEncoding):
        raise ConfigError(
            f"spec must be an WalkEncoding, got {spec!r}; give its parameters by "
            "name, as in AddSubstructureEncoding(num_shells=3)."
        )
    if spec_kwargs:
        raise ConfigError(
            f"pass either spec or its keywords, not both; got {', '.join(spec_kwargs)} "
            "beside spec. To change one, use dataclasses.replace(spec, ...)."
        )
    return spec
