"""What all models share: configuration, inputs, readout, parameter count, files."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, TypeVar, cast

import torch
from torch import Tensor, nn

from sekgnn.checks import check_choice
from sekgnn.encoding.spec import WalkEncoding
from sekgnn.encoding.substructure import encoding_from_dict
from sekgnn.errors import ConfigError
from sekgnn.models.graph_inputs import GraphInputs, InputNeeds, graph_inputs
from sekgnn.nn import Csr, GraphReadout
from sekgnn.nn.mlp import reset_children

Level = Literal["graph", "node"]
LEVELS: tuple[Level, ...] = ("graph", "node")
M = TypeVar("M", bound="GraphModel")


class GraphModel(nn.Module):
    """Base of the models: branches of node representations, one linear head.

    A subclass has a constructor of plain values, each kept as an attribute of its name,
    and ``branches``: modules from :class:`GraphInputs` to ``[N, C]``. For every graph
    (``level="graph"``) each branch is read out, or for every node (``level="node"``)
    taken as it is; the results are concatenated, and a linear layer follows.

    Attributes:
        branches: The encoders.
        readouts: One per branch, for graphs.
        head: The linear layer.
    """

    in_channels: int
    out_channels: int
    hidden_channels: int
    num_hops: int = 1
    edge_channels: int
    encoding: WalkEncoding | None = None
    level: Level
    needs_pairs: ClassVar[bool] = False

    def finish(self, branches: list[nn.Module], readout: Any, dropout: float) -> None:
        """Take the branches and make readout and head; ends every constructor."""
        check_choice("level", self.level, LEVELS)
        self.branches = nn.ModuleList(branches)
        self.readouts = nn.ModuleList(
            GraphReadout(self.hidden_channels, readout)
            for _ in branches
            if self.level == "graph"
        )
        self.drop = nn.Dropout(dropout)
        width = self.hidden_channels * len(branches)
        self.head = nn.Linear(width, self.out_channels)

    def forward(self, data: Any) -> Tensor:
        """Return ``[G, out_channels]``, or ``[N, out_channels]`` for nodes.

        Args:
            data: A PyG ``Data`` or ``Batch``, or its :meth:`prepare`.

        Raises:
            GraphInputError: If the data lack something that the model reads.
        """
        inputs = data if isinstance(data, GraphInputs) else self.prepare(data)
        return self.compute(inputs)

    @torch.compiler.disable
    def prepare(self, data: Any) -> GraphInputs:
        """Return the tensors of ``data`` that the model computes with.

        Raises:
            GraphInputError: If the data lack something that the model reads.
        """
        spec = self.encoding
        needs = InputNeeds(
            num_hops=self.num_hops,
            in_channels=self.in_channels,
            encoding=(spec.num_channels, spec.walk_length) if spec else None,
            edge_channels=self.edge_channels,
            pairs=self.needs_pairs,
            dtype=self.head.weight.dtype,
        )
        return graph_inputs(data, needs)

    def compute(self, inputs: GraphInputs) -> Tensor:
        """Return the output from prepared tensors; ``torch.compile`` takes it whole."""
        parts = [branch(inputs) for branch in self.branches]  # each [N, C]
        if self.level == "graph":
            parts = [
                self._read(readout, part, inputs.graphs)
                for readout, part in zip(self.readouts, parts, strict=True)
            ]  # each [G, C]
        joined = parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)
        out: Tensor = self.head(self.drop(joined))
        return out

    @staticmethod
    def _read(readout: nn.Module, part: Tensor, graphs: Csr) -> Tensor:
        out: Tensor = readout(part, graphs)
        return out

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        reset_children(self)

    @property
    def num_parameters(self) -> int:
        """Number of learned numbers."""
        return sum(p.numel() for p in self.parameters() if p.requires_grad)

    def to_config(self) -> dict[str, Any]:
        """Return the model's name and constructor arguments as plain JSON values."""
        config: dict[str, Any] = {"model": type(self).__name__}
        for name in _arguments(type(self)):
            value = getattr(self, name)
            config[name] = value.to_dict() if isinstance(value, WalkEncoding) else value
        return config

    @classmethod
    def from_config(cls: type[M], config: Mapping[str, Any]) -> M:
        """Return a new model of this class, the inverse of :meth:`to_config`.

        Raises:
            ConfigError: If the config is of another model, or a key is unknown, missing
                or has a value that cannot work.
        """
        values = dict(config)
        name = values.pop("model", cls.__name__)
        if name != cls.__name__:
            raise ConfigError(f"this is the config of {name}, not of {cls.__name__}.")
        known = _arguments(cls)
        for key in values:
            check_choice(f"keys of a {name} config", key, known)
        missing = [key for key, needed in known.items() if needed and key not in values]
        if missing:
            raise ConfigError(f"a {name} config needs {', '.join(missing)}.")
        if isinstance(values.get("encoding"), Mapping):
            values["encoding"] = _spec(values["encoding"])
        return cls(**values)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write config and weights to one file; see :func:`~sekgnn.models.save_model`.

        Raises:
            OutputError: If it cannot be written; an older file is then unchanged.
        """
        from sekgnn.models.model_file import save_model

        save_model(self, path)

    @classmethod
    def load(cls: type[M], path: str | os.PathLike[str]) -> M:
        """Return the model of this class that :meth:`save` wrote.

        Raises:
            ModelFileError: If the file is damaged, or of another model.
        """
        from sekgnn.models.model_file import read_model

        return read_model(path, cls)

    def __repr__(self) -> str:
        """Every constructor argument, and the number of parameters."""
        args = ", ".join(f"{name}={getattr(self, name)!r}" for name in _arguments(self))
        return f"{type(self).__name__}({args})  # {self.num_parameters:,} parameters"


def _arguments(model: GraphModel | type[GraphModel]) -> dict[str, bool]:
    """Return the names of a constructor's arguments, and whether each is needed."""
    cls = model if isinstance(model, type) else type(model)
    parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
    return {p.name: p.default is inspect.Parameter.empty for p in parameters}


def _spec(values: Mapping[str, Any]) -> WalkEncoding:
    """Return an encoding from plain values."""
    return cast("WalkEncoding", encoding_from_dict(values))
