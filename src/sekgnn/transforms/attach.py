"""Put an encoding on a ``Data``, the same way for one graph and for a dataset."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data

from sekgnn.errors import GraphInputError
from sekgnn.transforms.parameters import device_of


def attach_encoding(data: Data, encoding: Tensor, attr_name: str | None) -> Data:
    """Write ``encoding`` on ``data``, on the device of its edges.

    Args:
        data: Changed in place.
        encoding: ``[N, C, L]``.
        attr_name: The field, or ``None`` to append columns ``[N, C * L]`` to ``x``.
            Integer features then become floats, where PyG's own transforms would cut
            the encoding to integers.

    Raises:
        GraphInputError: If ``data.x`` cannot take columns.
    """
    encoding = encoding.to(device_of(data))
    if attr_name is not None:
        data[attr_name] = encoding
        return data
    columns = encoding.flatten(start_dim=1)  # [N, C * L]
    x = data.x
    if x is None:
        data.x = columns
        return data
    if not isinstance(x, Tensor) or x.layout != torch.strided or x.dim() not in (1, 2):
        raise GraphInputError(
            "data.x must be a dense tensor [N] or [N, F] to append to; "
            'pass attr_name="sub_enc" to keep the encoding apart.'
        )
    x = x.view(-1, 1) if x.dim() == 1 else x  # [N, F]
    dtype = torch.promote_types(x.dtype, columns.dtype)
    data.x = torch.cat([x.to(dtype), columns.to(x.device, dtype)], dim=1)
    return data
