"""Registered modules of your own, behind the interface of this library's models."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from sekgnn import fields
from sekgnn.checks import check_positive
from sekgnn.encoding.substructure import encoding_from_dict
from sekgnn.models.graph_inputs import hops_of
from sekgnn.models.graph_model import MODELS, GraphModel
from sekgnn.parameters import build


def build_model(config: Mapping[str, Any]) -> GraphModel:
    """Return a new model from ``model.to_config()`` or values like it.

    Raises:
        ConfigError: If the model or a key is unknown, or a value cannot work.

    Example:
        >>> build_model({"model": "gin", "in_channels": 3, "out_channels": 2}).level
        'graph'
    """
    cls = MODELS.known(config.get("model"))
    values = {key: value for key, value in config.items() if key != "model"}
    if isinstance(values.get("encoding"), Mapping):
        values["encoding"] = encoding_from_dict(values["encoding"])
    model = build(cls, f"model {cls.name!r}", values)  # type: ignore[attr-defined]
    return model if isinstance(model, GraphModel) else ModuleModel(model, values)


class ModuleModel(GraphModel):
    """A registered module of your own behind the interface of the other models.

    Args:
        module: The module.
        arguments: With which it was made.
    """

    def __init__(self, module: nn.Module, arguments: Mapping[str, Any]) -> None:
        nn.Module.__init__(self)
        self.module = module
        cls: Any = type(module)
        self.__dict__["name"] = cls.name
        bound = inspect.signature(cls).bind(**arguments)
        bound.apply_defaults()
        given = bound.arguments
        self.__dict__["arguments"] = given
        self.in_channels = given.get("in_channels", 0)
        self.out_channels = given.get("out_channels", 1)
        self.edge_channels = given.get("edge_channels", 0)
        self.graph_channels = given.get("graph_channels", 0)
        self.graph_scale = None
        self.hidden_channels = given.get("hidden_channels", 1)
        self.num_hops = check_positive("num_hops", given.get("num_hops", 1))
        self.encoding = given.get("encoding")
        self.level = given.get("level", "graph")
        self.skip = None

    def fit_inputs(self, batches: Callable[[], Iterable[Any]]) -> None:
        """Let the module fit itself, if it has a method of this name."""
        fit = getattr(self.module, "fit_inputs", None)
        if fit is not None:
            fit(batches)

    def forward(self, data: Any) -> Tensor:
        """Return the module's output for a batch whose hops are pairs."""
        if fields.HOPS in data and fields.HOP_EDGE_INDEX not in data:
            hops = hops_of(data, data.num_nodes, self.num_hops)
            pairs = [hops.pairs(k) for k in range(1, self.num_hops + 1)]
            data[fields.HOP_EDGE_INDEX] = torch.cat(
                [torch.stack([sender, receiver]) for receiver, sender in pairs], dim=1
            )
            data[fields.HOP_ORDER] = torch.cat(
                [torch.full_like(row, k + 1) for k, (row, _) in enumerate(pairs)]
            )
        out: Tensor = self.module(data)
        return out

    def __repr__(self) -> str:
        """The module's name and arguments, and the number of parameters."""
        return super().__repr__().replace("ModuleModel", type(self.module).__name__, 1)
